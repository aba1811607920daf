//! unstage: take a memory out of staging.

use mnem_store::{Error, Hint, NodeId};

use crate::context::Context;
use crate::error::Failure;
use crate::report::unstage::Unstage;

/// Take a memory out of staging, be it staged to be written or removed
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The memory's id
    id: String,
}

pub fn run(context: &Context, args: Args) -> Result<Unstage, Failure> {
    let id = NodeId::from_stored(args.id);
    if !context.open()?.unstage(&id)? {
        let error = Error::invalid(format!("nothing is staged under {id:?}"));
        return Err(error.hint(Hint::ListStaged).into());
    }
    Ok(Unstage { id })
}
