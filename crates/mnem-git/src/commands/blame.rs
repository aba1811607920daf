//! blame: where a belief came from.

use mnem_store::NodeId;

use crate::context::Context;
use crate::error::Failure;
use crate::output::Progress;
use crate::report::blame::Blame;
use crate::report::shapes::Origin;

/// Trace a belief to the commit and the source that set it
///
/// Of a memory that is gone, the commit that removed it.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The memory's id
    node_id: String,
    /// Trace what it said at a revision [default: HEAD]
    #[arg(value_name = "REV")]
    revision: Option<String>,
}

pub fn run(context: &Context, args: Args) -> Result<Blame, Failure> {
    let store = context.open()?;
    let busy = Progress::busy("searching the history");
    let blame = store.blame(&NodeId::from_stored(args.node_id), args.revision.as_deref())?;
    drop(busy);
    let commit = store.commit_object(blame.commit)?;
    Ok(Blame(Origin::new(blame, &commit)))
}
