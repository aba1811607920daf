//! The commit: a state, where it came from, who made it and why.

use crate::id::{CommitId, StateId};

/// A point in history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// None for a root; a merge has two, ours first.
    pub parents: Vec<CommitId>,
    /// The memory at this point.
    pub state: StateId,
    /// Why it was made.
    pub message: String,
    /// Who made it.
    pub author: String,
    /// When, in Unix milliseconds, as its maker said.
    pub time: i64,
}
