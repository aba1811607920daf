//! log: history.

use mnem_store::ops::log::LogOptions;

use crate::context::Context;
use crate::error::Failure;
use crate::report::log::Log;
use crate::report::shapes::Commit;

/// List the commits, newest first
///
/// A commit always stands before its parents, whatever times they carry.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Show at most N commits
    #[arg(short = 'n', long, value_name = "N")]
    max_count: Option<usize>,
    /// Print a commit on one line: its id and the first line of its message
    #[arg(long)]
    oneline: bool,
    /// Follow the first parent of a merge alone
    #[arg(long)]
    first_parent: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Log, Failure> {
    let store = context.open()?;
    let start = store.head_commit()?;
    let options = LogOptions { start, first_parent: args.first_parent, limit: args.max_count };
    let commits = store.log(&options)?;
    Ok(Log {
        commits: commits.iter().map(|(id, commit)| Commit::new(*id, commit)).collect(),
        oneline: args.oneline,
        unborn: start.is_none(),
    })
}
