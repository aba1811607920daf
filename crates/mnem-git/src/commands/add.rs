//! add: stage a memory.

use crate::context::Context;
use crate::error::Failure;
use crate::input::{ContentArgs, ProvenanceArgs, new_id};
use crate::report::add::Add;

/// Stage a memory for the next commit
///
/// Staging an id again replaces what was staged under it.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The memory's id
    id: String,
    #[command(flatten)]
    content: ContentArgs,
    #[command(flatten)]
    provenance: ProvenanceArgs,
}

pub fn run(context: &Context, args: Args) -> Result<Add, Failure> {
    let id = new_id(args.id)?;
    let node = args.provenance.node(id.clone(), args.content.read()?);
    let object = context.open()?.stage(node)?;
    Ok(Add { id, object })
}
