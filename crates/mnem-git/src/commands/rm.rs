//! rm: stage the removal of a memory.

use mnem_store::NodeId;

use crate::context::Context;
use crate::error::Failure;
use crate::report::rm::Rm;

/// Stage the removal of a memory for the next commit
///
/// One that is staged and in no commit yet is taken out of staging instead. Earlier commits keep
/// theirs.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The memory's id
    id: String,
}

pub fn run(context: &Context, args: Args) -> Result<Rm, Failure> {
    let id = NodeId::from_stored(args.id);
    let store = context.open()?;
    store.remove(&id)?;
    let unstaged = !store.staged()?.deletions.contains(&id);
    Ok(Rm { id, unstaged })
}
