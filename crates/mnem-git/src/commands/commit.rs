//! commit: what is staged becomes a commit.

use mnem_store::{Error, Head, Hint};

use crate::context::{Author, Context};
use crate::error::Failure;
use crate::report::commit::Commit;
use crate::report::shapes;

/// Record what is staged as a commit
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The commit's message
    #[arg(short, long, allow_hyphen_values = true)]
    message: String,
    #[command(flatten)]
    author: Author,
}

pub fn run(context: &Context, args: Args) -> Result<Commit, Failure> {
    let store = context.open()?;
    let committed = store.commit(&context.meta(args.message, &args.author))?;
    let branch = match store.head()? {
        Head::Attached(branch) => branch.to_string(),
        Head::Detached(commit) => commit.to_string(),
    };
    if !committed.made {
        let error = Error::invalid(format!("nothing to commit on {branch}"));
        return Err(error.hint(Hint::StageSomething).into());
    }
    let commit = store.commit_object(committed.commit)?;
    Ok(Commit { branch, commit: shapes::Commit::new(committed.commit, &commit) })
}
