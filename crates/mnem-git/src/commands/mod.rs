//! What each command does: arguments in, report out.

pub mod add;
pub mod approve;
pub mod bisect;
pub mod blame;
pub mod branch;
pub mod checkout;
pub mod commit;
pub mod demo;
pub mod diff;
pub mod forget;
pub mod get;
pub mod import_chat;
pub mod init;
pub mod log;
pub mod merge;
pub mod reflog;
pub mod reject;
pub mod remember;
pub mod restore;
pub mod revert;
pub mod rm;
pub mod show;
pub mod status;
pub mod undo;
pub mod unstage;
pub mod verify;
