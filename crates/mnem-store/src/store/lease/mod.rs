//! The lease: which process has a store's data file open.
//!
//! Whoever holds the lock on `lock` may open the file. Who waits for it locks `want`, a hint
//! that the holder looks at; it closes the file and lets go as soon as it can. The locks end
//! with their process, so a killed holder holds nothing, and a stopped waiter stops nobody.
//! `holder` says who holds the store, and counts: a reader that finds the count it last saw
//! knows that no branch has moved. Those who cannot write the files share `lock` and only read.

mod files;
mod holder;
mod leased;
mod view;
mod wait;

pub(crate) use files::{HOLDER_FILE, LeaseFiles, WANT_FILE};
pub(crate) use holder::HOLDER_BYTES;
use holder::{Holder, HolderState};
pub(crate) use leased::{Leased, Options};
use leased::{Purpose, Tips};
use view::VIEWS;
pub(crate) use view::forget_views;
pub(crate) use wait::{LOOK, Wait, be_patient, patience};
