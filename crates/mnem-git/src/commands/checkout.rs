//! checkout: move HEAD.

use mnem_store::{BranchName, Head};

use crate::context::Context;
use crate::error::Failure;
use crate::report::checkout::Checkout;
use crate::system;

/// Switch to a branch or a commit
///
/// At a commit HEAD is detached: memory can be read there, and a branch started.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The branch or commit; with -b, where the new branch starts [default: HEAD]
    #[arg(value_name = "REV", required_unless_present = "create")]
    revision: Option<String>,
    /// Create a branch and switch to it
    #[arg(short = 'b', long, value_name = "NAME")]
    create: Option<String>,
    /// Drop what is staged; where HEAD is already, it stays
    #[arg(long)]
    discard: bool,
}

pub fn run(context: &Context, args: Args) -> Result<Checkout, Failure> {
    let Args { revision, create, discard } = args;
    let name = create.map(BranchName::new).transpose().map_err(|e| Failure::argument(&e))?;
    let store = context.open()?;
    let before = store.head()?;
    let head = match (&name, &revision) {
        (Some(name), start) => {
            store.checkout_new(name, start.as_deref(), discard, &system::author(None))?
        }
        (None, Some(revision)) => store.checkout(revision, discard)?,
        (None, None) => return Err(Failure::usage("nothing to check out was given")),
    };
    let stayed = head == before;
    let branch = match head {
        Head::Attached(branch) => Some(branch.to_string()),
        Head::Detached(_) => None,
    };
    Ok(Checkout { branch, commit: store.head_commit()?, created: name.is_some(), stayed })
}
