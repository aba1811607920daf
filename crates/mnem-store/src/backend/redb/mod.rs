//! A backend in one file, on redb.
//!
//! Objects and records are appended to one sequential table, `log`; the tables that find them by
//! id, by node and by branch are written out for many commits at once (`index`). A batch is one write
//! transaction with one fsync.

mod carve;
mod check;
mod copy_on_write;
mod file;
mod index;
mod moves;
mod publish;
mod rows;
mod storage;
mod view;

pub(crate) use carve::{Pages, carve, holds_rows};
pub use copy_on_write::{CopyOnWrite, ReadOnlyFile};
pub(crate) use file::is_open;
pub use file::{Access, CACHE_BYTES, Epoch, INDEX_COMMITS, OnRepair, RedbBackend, Settings};
use file::{Fault, read, write};
