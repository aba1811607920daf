//! diff: what changed between two memories.

use mnem_store::ops::DiffTarget;

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
    #[arg(long, conflicts_with = "stat")]
    name_only: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Diff, Failure> {
    let store = context.open()?;
    let from = match &args.from {
        Some(revision) => Some(store.resolve(revision)?),
        None => store.head_commit()?,
    };
    let to = args.to.as_ref().map(|revision| store.resolve(revision)).transpose()?;
    let changes = store.diff(
        from.map_or(DiffTarget::Nothing, DiffTarget::Commit),
        to.map_or(DiffTarget::Working, DiffTarget::Commit),
    )?;
    let detail = match (args.stat, args.name_only) {
        (_, true) => Detail::Name,
        (true, _) => Detail::Stat,
        _ => Detail::Content,
    };
    Ok(Diff { from, to, changes: changes.into_iter().map(Into::into).collect(), detail })
}
