//! Stores of the original (`mnem-agents` 0.0.7, format version 1), read and never written.
//!
//! Their data file is of redb 2, which repairs a file when its writer was killed. Here those
//! writes are kept in memory, so that reading leaves every byte as it was.

mod carve;
mod file;
mod storage;
#[cfg(feature = "test-support")]
mod writer;

pub(crate) use carve::{carve, holds_objects};
pub use file::OriginalBackend;
#[cfg(feature = "test-support")]
pub use writer::OriginalWriter;
