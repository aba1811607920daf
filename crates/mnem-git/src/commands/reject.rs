//! reject: say why a branch is not merged.

use crate::error::Failure;
use crate::report::reject::Reject;

/// Say who rejects a branch and why, without touching the store
///
/// Nothing is opened or written: the line is for a log of yours. `mnem branch -d BRANCH` deletes
/// the branch.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The branch that is not merged
    #[arg(value_name = "BRANCH")]
    theirs: String,
    /// Who rejects it
    #[arg(long, value_name = "NAME")]
    reviewer: String,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: String,
}

#[allow(clippy::unnecessary_wraps)] // the shape of every command
pub fn run(args: Args) -> Result<Reject, Failure> {
    Ok(Reject { branch: args.theirs, reviewer: args.reviewer, reason: args.reason })
}
