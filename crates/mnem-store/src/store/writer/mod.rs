//! The one writer of a store, and how a commit is put together for it.

mod commit;
mod group;

pub(crate) use commit::{Prepared, Signed};
pub(crate) use group::Writer;
