//! From arguments to an exit code.

use std::any::Any;
use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::commands;
use crate::error::{Failure, HINT_BRANCH};
use crate::output::{Output, clean};
use crate::report::{Report, version::Version};

/// Runs the command: prints what it has to say and returns the exit code.
///
/// `arguments` begins with the name of the program. 0 is done, 1 the answer is no, 2 wrong
/// usage, 3 anything else; a panic is caught and told in one sentence.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // Also a command line that does not parse is answered in the form it asks for.
    let asked = arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    let output = Output::new(asked);
    guarded(output, || match Cli::try_parse_from(&arguments) {
        Ok(cli) => dispatch(output, cli),
        // A refusal quotes words, and a script may have them from a memory.
        Err(error) => match Cli::try_parse_from(arguments.iter().map(shown)) {
            Ok(_) => output.usage(&error),
            Err(error) => output.usage(&error),
        },
    })
}

/// A word as it is shown.
fn shown(word: &OsString) -> OsString {
    clean(&word.to_string_lossy()).into()
}

/// Runs one command for a larger one.
pub fn within(output: Output, arguments: &[String]) -> u8 {
    match Cli::try_parse_from(arguments) {
        Ok(cli) => dispatch(output, cli),
        Err(error) => output.usage(&error),
    }
}

fn dispatch(output: Output, cli: Cli) -> u8 {
    let context = cli.context;
    if context.on_branch.is_some()
        && let Some(why) = cli.command.as_ref().and_then(Command::refuses_branch)
    {
        return output.failure(&Failure::usage(why).hint(HINT_BRANCH));
    }
    let output = output.in_utc(context.utc).at(context.directory.as_deref());
    match cli.command {
        None => show(output, Ok(Version::of(cli.version))),
        Some(Command::Init(args)) => show(output, commands::init::run(&context, args)),
        Some(Command::Remember(args)) => show(output, commands::remember::run(&context, args)),
        Some(Command::Forget(args)) => show(output, commands::forget::run(&context, args)),
        Some(Command::Get(args)) => show(output, commands::get::run(&context, args)),
        Some(Command::Add(args)) => show(output, commands::add::run(&context, args)),
        Some(Command::Rm(args)) => show(output, commands::rm::run(&context, args)),
        Some(Command::Unstage(args)) => show(output, commands::unstage::run(&context, args)),
        Some(Command::Commit(args)) => show(output, commands::commit::run(&context, args)),
        Some(Command::Status(args)) => show(output, commands::status::run(&context, &args)),
        Some(Command::Log(args)) => show(output, commands::log::run(&context, &args)),
        Some(Command::Show(args)) => show(output, commands::show::run(&context, &args)),
        Some(Command::Diff(args)) => show(output, commands::diff::run(&context, &args)),
        Some(Command::Changelog(args)) => show(output, commands::changelog::run(&context, &args)),
        Some(Command::Blame(args)) => show(output, commands::blame::run(&context, args)),
        Some(Command::Bisect(args)) => show(output, commands::bisect::run(&context, args)),
        Some(Command::Branch(args)) => show(output, commands::branch::run(&context, args)),
        Some(Command::Inbox(args)) => show(output, commands::inbox::run(&context, &args)),
        Some(Command::Checkout(args)) => show(output, commands::checkout::run(&context, args)),
        Some(Command::Merge(args)) => show(output, commands::merge::run(&context, args)),
        Some(Command::Revert(args)) => show(output, commands::revert::run(&context, args)),
        Some(Command::Restore(args)) => show(output, commands::restore::run(&context, args)),
        Some(Command::Undo(args)) => show(output, commands::undo::run(&context, args)),
        Some(Command::Reflog(args)) => show(output, commands::reflog::run(&context, &args)),
        Some(Command::Approve(args)) => show(output, commands::approve::run(&context, args)),
        Some(Command::Reject(args)) => show(output, commands::reject::run(args)),
        Some(Command::Verify(args)) => show(output, commands::verify::run(&context, &args)),
        Some(Command::Fsck(args)) => show(output, commands::fsck::run(&context, &args)),
        Some(Command::Stats(args)) => show(output, commands::stats::run(&context, &args)),
        Some(Command::Migrate(args)) => show(output, commands::migrate::run(&context, &args)),
        Some(Command::CatObject(args)) => show(output, commands::cat_object::run(&context, &args)),
        Some(Command::Export(args)) => show(output, commands::export::run(&context, args)),
        Some(Command::Import(args)) => show(output, commands::import::run(&context, args)),
        Some(Command::ImportJson(args)) => show(output, commands::import_json::run(&context, args)),
        Some(Command::ImportChat(args)) => show(output, commands::import_chat::run(&context, args)),
        Some(Command::Demo(args)) => show(output, commands::demo::run(&context, &args)),
        Some(Command::Completions(args)) => show(output, commands::completions::run(&args)),
    }
}

fn show<R: Report>(output: Output, result: Result<R, Failure>) -> u8 {
    match result {
        Ok(report) => output.report(&report),
        Err(failure) => output.failure(&failure),
    }
}

/// Runs `body`; a panic in it is told as a failure, without a backtrace.
fn guarded(output: Output, body: impl FnOnce() -> u8) -> u8 {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let result = panic::catch_unwind(AssertUnwindSafe(body));
    panic::set_hook(hook);
    result.unwrap_or_else(|payload| output.failure(&Failure::panicked(&reason(payload.as_ref()))))
}

fn reason(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_failure() {
        let code = guarded(Output::new(false), || panic!("out of {}", "luck"));
        assert_eq!(code, 3);
        assert_eq!(guarded(Output::new(false), || 1), 1);
        let payload: Box<dyn Any + Send> = Box::new(String::from("out of luck"));
        assert_eq!(reason(payload.as_ref()), "out of luck");
    }
}
