//! restore: one memory as it was.

use mnem_store::NodeId;

use crate::context::{Author, Context};
use crate::error::Failure;
use crate::report::take_back::Restore;

/// Bring one memory back as it was at a revision, with a commit of its own
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The memory's id
    id: String,
    /// The revision to take it from
    #[arg(value_name = "REV")]
    revision: String,
    /// The commit's message [default: "restore ID from REV"]
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
    #[command(flatten)]
    author: Author,
}

pub fn run(context: &Context, args: Args) -> Result<Restore, Failure> {
    let id = NodeId::from_stored(args.id);
    let message = args.message.unwrap_or_else(|| format!("restore {id} from {}", args.revision));
    let meta = context.meta(message.as_str(), &args.author);
    let done = context.open()?.restore(&id, &args.revision, &meta)?;
    Ok(Restore { id, commit: done.commit, message, changed: done.made })
}
