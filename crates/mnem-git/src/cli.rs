//! What may be typed. The documentation of each item here is its help.

use clap::{Parser, Subcommand};

use crate::commands;
use crate::context::Context;

/// Version control for an AI agent's memory
///
/// Exit codes: 0 done; 1 the answer is no (a conflict, something not found, an invalid revision,
/// nothing to do); 2 wrong usage; 3 anything else (the store, the disk, another process).
#[derive(Debug, Parser)]
#[command(name = "mnem", disable_version_flag = true, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Print the version of the software and of the store format
    #[arg(short = 'V', long)]
    pub version: bool,
    /// Where, when and in which form.
    #[command(flatten)]
    pub context: Context,
}

/// The commands, in the order in which one meets them. The help of each is the documentation of
/// its arguments.
#[allow(missing_docs)]
#[derive(Debug, Subcommand)]
pub enum Command {
    Init(commands::init::Args),
    Remember(commands::remember::Args),
    Forget(commands::forget::Args),
    Get(commands::get::Args),
    Add(commands::add::Args),
    Rm(commands::rm::Args),
    Unstage(commands::unstage::Args),
    Commit(commands::commit::Args),
    Status(commands::status::Args),
    Log(commands::log::Args),
    Show(commands::show::Args),
    Diff(commands::diff::Args),
    Changelog(commands::changelog::Args),
    Blame(commands::blame::Args),
    Bisect(commands::bisect::Args),
    Branch(commands::branch::Args),
    Inbox(commands::inbox::Args),
    Checkout(commands::checkout::Args),
    Merge(commands::merge::Args),
    Revert(commands::revert::Args),
    Restore(commands::restore::Args),
    Undo(commands::undo::Args),
    Reflog(commands::reflog::Args),
    Approve(commands::approve::Args),
    Reject(commands::reject::Args),
    Verify(commands::verify::Args),
    Fsck(commands::fsck::Args),
    Stats(commands::stats::Args),
    Migrate(commands::migrate::Args),
    CatObject(commands::cat_object::Args),
    Export(commands::export::Args),
    Import(commands::import::Args),
    ImportJson(commands::import_json::Args),
    ImportChat(commands::import_chat::Args),
    Completions(commands::completions::Args),
    Demo(commands::demo::Args),
}

impl Command {
    /// Why `--branch` says nothing to this command, when it does not.
    pub fn refuses_branch(&self) -> Option<&'static str> {
        match self {
            Self::Add(_) | Self::Rm(_) | Self::Unstage(_) | Self::Commit(_) => {
                Some("staging belongs to HEAD, and --branch leaves both alone")
            }
            Self::Checkout(_) => Some("checkout moves HEAD, and --branch leaves it alone"),
            Self::Branch(_) => Some("branch takes its names as arguments, not with --branch"),
            Self::Init(_) => Some("a new store begins on --default-branch, not on --branch"),
            Self::Migrate(_) => Some("migrate converts the whole store, not one --branch"),
            Self::Verify(_) => Some("verify checks the whole store, not one --branch"),
            Self::Fsck(_) => Some("fsck checks the whole store, not one --branch"),
            Self::Export(_) => Some("export takes the whole store, not one --branch"),
            Self::Import(_) => Some("import makes a store of its own, and takes no --branch"),
            Self::Reject(_) => Some("reject opens no store, so there is no --branch to be on"),
            Self::Demo(_) => Some("the demo has branches of its own, and takes no --branch"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_tree_is_sound() {
        super::Cli::command().debug_assert();
    }
}
