//! reflog: the moves of a branch.

use mnem_store::{BranchName, Head};

use crate::context::Context;
use crate::error::Failure;
use crate::report::reflog::Reflog;

/// List the moves of a branch, newest first
///
/// Each with where it points since, when, the verb that moved it and who did.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The branch, also a deleted one [default: this branch]
    branch: Option<String>,
    /// Show at most N moves
    #[arg(short = 'n', long, value_name = "N", alias = "max-count")]
    limit: Option<usize>,
}

pub fn run(context: &Context, args: &Args) -> Result<Reflog, Failure> {
    let store = context.open()?;
    let named = args.branch.as_deref().map(BranchName::from_stored);
    let moves = store.reflog(named.as_ref(), args.limit)?;
    let branch = match (named, store.head()?) {
        (Some(branch), _) | (None, Head::Attached(branch)) => branch.to_string(),
        (None, Head::Detached(_)) => String::new(),
    };
    let none_asked = args.limit == Some(0);
    Ok(Reflog { branch, moves: moves.into_iter().map(Into::into).collect(), none_asked })
}
