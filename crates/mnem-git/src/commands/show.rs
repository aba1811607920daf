//! show: memory, or what a commit changed.

use mnem_store::{CommitId, NodeId, Store};

use crate::context::Context;
use crate::error::{Failure, HINT_GET};
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
    let commit = match revision {
        Some(revision) => Some(resolve(&store, revision)?),
        None => None,
    };
    let memory = match commit {
        Some(commit) => store.snapshot_at(&commit.to_string())?.memory("", None)?,
        None => store.working_memory("", None)?,
    };
    Ok(Show { commit, nodes: Some(memory.into_values().map(Node).collect()), changes: None })
}

/// The commit that a revision names. A node's id is an easy slip here.
fn resolve(store: &Store, revision: &str) -> Result<CommitId, Failure> {
    store.resolve(revision).map_err(|error| {
        let node = store.working_node(&NodeId::from_stored(revision));
        let failure = Failure::from(error);
        if matches!(node, Ok(Some(_))) { failure.hint(HINT_GET) } else { failure }
    })
}
