//! A backend in one file, on redb.
//!
//! Objects and records are appended to one sequential table, `log`; the tables that find them by
//! id and by node are written out for many commits at once (`index`). A batch is one write
//! transaction with one fsync.

mod carve;
mod check;
mod copied;
mod file;
mod index;
mod publish;
mod rows;
mod storage;
mod view;

pub(crate) use carve::carve;
pub use file::{CACHE_BYTES, Epoch, RedbBackend, Settings};
use file::{Fault, read, write};
