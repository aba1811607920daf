//! undo: take back the last move of this branch.

use mnem_store::ops::{MergeOptions, UndoOutcome};

use super::merge::Answers;
use crate::context::Context;
use crate::error::Failure;
use crate::output::option;
use crate::report::reflog::Move;
use crate::report::take_back::{TakenBack, Undo};
use crate::system;

/// Take back the last move of this branch; once more takes the undo back
///
/// The branch is moved back when nothing came since; otherwise, and always with --author, what
/// the move changed is taken back by a new commit. History stays, and `mnem reflog` lists it.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Take back the last move that NAME made, with a new commit
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    #[command(flatten)]
    answers: Answers,
    /// The message, where a commit is made [default: "undo VERB COMMIT by NAME"]
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
}

pub fn run(context: &Context, args: Args) -> Result<Undo, Failure> {
    let options = MergeOptions {
        message: args.message,
        ..args.answers.options(system::author(None), context.time)?
    };
    let store = context.open()?;
    let done = store.undo(args.author.as_deref(), &options)?;
    let branch = done.undone.branch.as_ref().map(ToString::to_string).unwrap_or_default();
    let (moved_to, taken) = match done.outcome {
        UndoOutcome::MovedBack(to) => (to, TakenBack::moved()),
        UndoOutcome::Reverted(commit) => (Some(commit), TakenBack::committed(&store, commit)?),
        UndoOutcome::Conflicts(conflicts) => (None, TakenBack::conflicts(conflicts)),
    };
    let undone = Move::from(done.undone);
    let by = args.author.map(|by| format!(" {}", option("--author", &by)));
    let again = context.bound(format!("mnem undo{}", by.unwrap_or_default()));
    Ok(Undo { branch, tip: moved_to, again, undone, taken })
}
