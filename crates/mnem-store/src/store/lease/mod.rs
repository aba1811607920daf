//! The lease: which process has a store's data file open.
//!
//! Whoever holds the lock on `lock` may open the file. Who waits for it locks `want`, a hint
//! that the holder looks at; it closes the file and lets go as soon as it can. The locks end
//! with their process, so a killed holder holds nothing, and a stopped waiter stops nobody.
//! `holder` says who holds the store, and counts: a reader that finds the count it last saw
//! knows that no branch has moved.

mod leased;
mod view;

pub(crate) use leased::{HOLDER_BYTES, HOLDER_FILE, Leased, Options, WANT_FILE, open_file};
use leased::{Purpose, Tips, VIEWS};
