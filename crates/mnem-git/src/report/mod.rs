//! What each command answers: the same struct as JSON and in words.

pub mod add;
pub mod approve;
pub mod bisect;
pub mod blame;
pub mod branch;
pub mod checkout;
pub mod commit;
pub mod demo;
pub mod diff;
pub mod get;
pub mod import_chat;
pub mod init;
pub mod log;
pub mod merge;
pub mod merge_page;
pub mod reflog;
pub mod reject;
pub mod rm;
pub mod shapes;
pub mod show;
pub mod status;
pub mod take_back;
pub mod unstage;
pub mod verify;
pub mod version;
pub mod write;

use serde::Serialize;

use crate::error::Failure;
use crate::output::Page;

/// The answer of a command.
pub trait Report: Serialize {
    /// The command, as the schema names it.
    const COMMAND: &'static str;
    /// The version of the schema: raised when a field changes its meaning or goes.
    const VERSION: u32 = 1;

    /// The answer in words.
    fn human(&self, page: &mut Page);

    /// Why the answer is no, when it is.
    fn refusal(&self) -> Option<Failure> {
        None
    }
}
