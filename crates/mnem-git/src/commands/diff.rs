//! diff: what changed between two memories.

use mnem_store::ops::{DiffTarget, NodeChange};
use mnem_store::{CommitId, Store};

use crate::context::Context;
use crate::error::Failure;
use crate::report::diff::{Detail, Diff};

/// Show what changed between two memories
///
/// `+` is added, `-` removed, `~` changed.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The revision before [default: HEAD]
    from: Option<String>,
    /// The revision after [default: working memory]
    to: Option<String>,
    /// Leave out the contents
    #[arg(long)]
    stat: bool,
    /// Print the ids alone
    #[arg(long)]
    name_only: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Diff, Failure> {
    let Comparison { from, to, changes } =
        compare(&context.open()?, args.from.as_deref(), args.to.as_deref())?;
    let detail = match (args.stat, args.name_only) {
        (_, true) => Detail::Name,
        (true, _) => Detail::Stat,
        _ => Detail::Content,
    };
    Ok(Diff { from, to, changes: changes.into_iter().map(Into::into).collect(), detail })
}

/// What is between two memories.
pub struct Comparison {
    /// The commit before; none for the empty memory before the first commit.
    pub from: Option<CommitId>,
    /// The commit after; none for working memory.
    pub to: Option<CommitId>,
    /// The changes, in the order of the ids.
    pub changes: Vec<NodeChange>,
}

/// Compares two revisions; left out, HEAD and working memory.
pub fn compare(store: &Store, from: Option<&str>, to: Option<&str>) -> Result<Comparison, Failure> {
    let from = match from {
        Some(revision) => Some(store.resolve(revision)?),
        None => store.head_commit()?,
    };
    let to = to.map(|revision| store.resolve(revision)).transpose()?;
    let changes = store.diff(
        from.map_or(DiffTarget::Nothing, DiffTarget::Commit),
        to.map_or(DiffTarget::Working, DiffTarget::Commit),
    )?;
    Ok(Comparison { from, to, changes })
}
