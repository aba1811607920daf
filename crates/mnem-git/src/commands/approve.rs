//! approve: merge a branch, with the reviewer as the merge's author.

use mnem_store::ops::MergeOptions;

use super::merge;
use crate::context::Context;
use crate::error::Failure;
use crate::report::approve::Approve;

/// Merge a branch into this one, with a reviewer as the merge commit's author
///
/// A conflict is told as merge tells it. Where this branch only moves forward there is no merge
/// commit; the record of the move names the reviewer.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The branch to merge
    #[arg(value_name = "BRANCH")]
    theirs: String,
    /// Who approves
    #[arg(long, value_name = "NAME")]
    reviewer: String,
}

pub fn run(context: &Context, args: Args) -> Result<Approve, Failure> {
    let options = MergeOptions {
        author: args.reviewer.clone(),
        time: context.time,
        ..MergeOptions::default()
    };
    let store = context.open()?;
    let outcome = store.merge(&args.theirs, &options)?;
    let mut merge = merge::report(&store, outcome, args.theirs, false)?;
    merge.author = Some(args.reviewer.clone());
    Ok(Approve { merge, reviewer: args.reviewer })
}
