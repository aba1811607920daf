//! forget: remove one memory at once.

use mnem_store::ops::Changes;
use mnem_store::{Error, Hint, NodeId};

use crate::context::{Author, Context};
use crate::error::Failure;
use crate::report::write::Forget;

/// Remove one memory with a commit of its own; its history stays
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The memory's id
    id: String,
    /// The commit's message [default: "forget ID"]
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
    #[command(flatten)]
    author: Author,
}

pub fn run(context: &Context, args: Args) -> Result<Forget, Failure> {
    let id = NodeId::from_stored(args.id);
    let store = context.open()?;
    let message = args.message.unwrap_or_else(|| format!("forget {id}"));
    let meta = context.meta(message.as_str(), &args.author);
    let commit = store.update(&meta, |snapshot| {
        if snapshot.version(&id)?.is_none() {
            return Err(Error::not_found(format!("no node {id:?} in memory")).hint(Hint::ListNodes));
        }
        Ok(Changes::from([(id.clone(), None)]))
    })?;
    Ok(Forget { id, commit, message })
}
