//! 7. An open store: where it is, which branch a handle is on, what is staged, who may write.

pub mod branches;
pub mod config;
pub(crate) mod copied;
pub(crate) mod engine;
pub mod environment;
pub(crate) mod files;
pub mod fork;
pub mod format;
pub mod handle;
pub mod head;
pub(crate) mod lease;
pub(crate) mod leftovers;
pub mod local;
pub(crate) mod network;
pub mod objects;
pub mod open;
pub(crate) mod original;
pub(crate) mod registry;
pub mod revision;
pub mod snapshot;
pub mod staging;
pub(crate) mod switch;
pub(crate) mod writer;

pub use engine::{DataFile, STORE_DIRECTORY};
pub use environment::{Clock, Entropy, Environment, Waiting};
pub use format::FormatVersion;
pub use handle::Store;
pub use head::Head;
pub use open::InitOptions;
pub use snapshot::Snapshot;
