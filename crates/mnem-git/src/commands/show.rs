//! show: memory, or what a commit changed.

use crate::context::Context;
use crate::error::Failure;
use crate::report::shapes::Node;
use crate::report::show::{Changed, Show};

/// Print the memory at a commit, or working memory
///
/// Working memory is what HEAD says with what is staged over it.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// A branch, a commit id or another revision [default: working memory; HEAD with --stat]
    #[arg(value_name = "REV")]
    revision: Option<String>,
    /// List what the commit changed instead of the memory
    #[arg(long)]
    stat: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Show, Failure> {
    let store = context.open()?;
    let revision = args.revision.as_deref();
    if args.stat {
        let commit = store.resolve_or_head(revision)?;
        let changes = store.changed_by(commit)?;
        let changes = changes.into_iter().map(|(id, kind)| Changed { id, kind }).collect();
        return Ok(Show { commit: Some(commit), nodes: None, changes: Some(changes) });
    }
    let commit = revision.map(|revision| store.resolve(revision)).transpose()?;
    let memory = match commit {
        Some(commit) => store.snapshot_at(&commit.to_string())?.memory("", None)?,
        None => store.working_memory("", None)?,
    };
    Ok(Show { commit, nodes: Some(memory.into_values().map(Node).collect()), changes: None })
}
