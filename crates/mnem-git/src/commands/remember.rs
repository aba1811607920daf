//! remember: write one memory at once.

use mnem_store::ops::Changes;

use crate::context::{Author, Context};
use crate::error::Failure;
use crate::input::{ContentArgs, ProvenanceArgs, new_id};
use crate::report::write::Remember;

/// Write one memory as a commit of its own
///
/// Nothing that is staged is touched. Where the memory already says exactly this, nothing is
/// written.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The memory's id; with --new there is none, and the content stands in its place
    #[arg(required_unless_present = "new")]
    id: Option<String>,
    #[command(flatten)]
    content: ContentArgs,
    /// Make an id that no other memory has, and print it first
    #[arg(long)]
    new: bool,
    /// The commit's message [default: "remember ID"]
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
    #[command(flatten)]
    author: Author,
    #[command(flatten)]
    provenance: ProvenanceArgs,
}

pub fn run(context: &Context, args: Args) -> Result<Remember, Failure> {
    let mut value = args.content;
    let id = match args.id {
        Some(id) if !args.new => new_id(id)?,
        said => {
            if let Some(said) = said {
                value.set_text(said)?;
            }
            context.environment().new_node_id()?
        }
    };
    let node = args.provenance.node(id.clone(), value.read()?);
    let (store, new_branch) = context.open_to_write(&args.author)?;
    let message = args.message.unwrap_or_else(|| format!("remember {id}"));
    let meta = context.meta(message.as_str(), &args.author);
    let mut before = None;
    let commit = store.update(&meta, |snapshot| {
        before = snapshot.commit();
        Ok(Changes::from([(id.clone(), Some(node))]))
    })?;
    Ok(Remember {
        id,
        commit,
        message,
        changed: before != Some(commit),
        new_branch,
        new_id: args.new,
    })
}
