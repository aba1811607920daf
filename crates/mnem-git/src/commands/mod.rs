//! What each command does: arguments in, report out.

pub mod add;
pub mod bisect;
pub mod blame;
pub mod branch;
pub mod cat_object;
pub mod changelog;
pub mod checkout;
pub mod commit;
pub mod completions;
pub mod diff;
pub mod forget;
pub mod get;
pub mod import_chat;
pub mod inbox;
pub mod init;
pub mod log;
pub mod merge;
pub mod remember;
pub mod rm;
pub mod show;
pub mod stats;
pub mod status;
pub mod verify;
