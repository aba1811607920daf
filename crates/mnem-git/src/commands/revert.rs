//! revert: take back what one commit changed.

use mnem_store::ops::{MergeOptions, RevertOutcome};

use super::merge::Answers;
use crate::context::{Author, Context};
use crate::error::Failure;
use crate::output::quoted;
use crate::report::take_back::{Revert, TakenBack};

/// Take back what one commit changed, with a new commit
///
/// History stays. What was changed again since is a conflict: ours is what the branch says now,
/// theirs what it said before that commit, base what the commit left.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The commit to take back: of a merge, what it brought; of the first commit, all it added
    commit: String,
    #[command(flatten)]
    answers: Answers,
    /// The new commit's message [default: "revert COMMIT: its message"]
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
    #[command(flatten)]
    author: Author,
}

pub fn run(context: &Context, args: Args) -> Result<Revert, Failure> {
    let options = MergeOptions {
        message: args.message,
        ..args.answers.options(args.author.name(), context.time)?
    };
    let store = context.open()?;
    let reverted = store.resolve(&args.commit)?;
    let taken = match store.revert(&args.commit, &options)? {
        RevertOutcome::Unchanged => TakenBack::unchanged(),
        RevertOutcome::Reverted(commit) => TakenBack::committed(&store, commit)?,
        RevertOutcome::Conflicts(conflicts) => TakenBack::conflicts(conflicts),
    };
    // A name that begins with a dash would be taken for an option.
    let named = if args.commit.starts_with('-') { reverted.short() } else { args.commit };
    let again = context.bound(format!("mnem revert {}", quoted(&named)));
    Ok(Revert { reverted, again, taken })
}
