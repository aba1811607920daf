//! inbox: branches that wait to be merged.

use crate::context::Context;
use crate::error::Failure;
use crate::report::inbox::{Inbox, Waiting};
use crate::report::shapes::Commit;

/// List the branches that the default branch has not taken in
///
/// The default branch is the one that `init` named, whichever one HEAD is on.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _: &Args) -> Result<Inbox, Failure> {
    let store = context.open()?;
    let mut branches = Vec::new();
    for (name, id) in store.unmerged()? {
        let commit = Commit::new(id, &*store.commit_object(id)?);
        branches.push(Waiting { name: name.to_string(), commit });
    }
    Ok(Inbox { into: store.default_branch()?.to_string(), branches })
}
