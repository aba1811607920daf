//! get: one memory's content.

use mnem_store::{Error, Hint, NodeId};

use crate::context::Context;
use crate::error::Failure;
use crate::report::get::Get;
use crate::report::shapes::Node;

/// Print one memory's content as JSON
///
/// Reads committed memory, never what is staged.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The memory's id
    id: String,
    /// Read it as it was at a revision [default: HEAD]
    #[arg(long, value_name = "REV")]
    at: Option<String>,
    /// Print text as it is, to the byte, instead of as JSON
    #[arg(long, conflicts_with = "json")]
    raw: bool,
}

pub fn run(context: &Context, args: Args) -> Result<Get, Failure> {
    let id = NodeId::from_stored(args.id);
    let store = context.open()?;
    let commit = store.resolve_or_head(args.at.as_deref())?;
    let node = store.snapshot_at(&commit.to_string())?.get(&id)?.ok_or_else(|| {
        let at = if args.at.is_some() { format!(" at {}", commit.short()) } else { String::new() };
        Error::not_found(format!("no node {id:?} in memory{at}")).hint(Hint::ListNodes)
    })?;
    Ok(Get { commit, node: Node(node), raw: args.raw })
}
