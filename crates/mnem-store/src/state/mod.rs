//! 4. A state as an ordered map, stored as a tree; a flat state is a tree of height zero.
//!
//! The shape of a tree is a function of its entries alone (`docs/format/`, "The tree"), so
//! equal state ids mean equal states and an equal subtree is an equal subset. The one
//! exception is a leaf of more than [`MAX_LEAF_ENTRIES`](crate::object::state::MAX_LEAF_ENTRIES)
//! entries: version 1 wrote such states, they are legal as roots, every function here reads
//! them, and none returns one. [`canonical_root`] is what such a state is compared by.
//!
//! Nothing here recurses: older stores have ids of any length, and the tree is as deep as the
//! longest chain of ids that are prefixes of one another. What such a chain costs, about a node
//! for each of its ids in every write to its end, is paid by writes within it alone.

use std::sync::Arc;

use crate::backend::cache::{Objects, Reading, Scanning};
use crate::error::Error;
use crate::id::StateId;
use crate::object::StateNode;

mod cursor;
mod diff;
mod edit;
mod merge;
mod node;

pub use cursor::{Cursor, entries, verify};
pub use diff::{Diff, EntryChange, diff};
pub(crate) use edit::edit_with;
pub use edit::{Edited, EntryEdits, canonical_root, edit};
pub use merge::{Agreed, Merge, Merged, Same, merge, three_way};
pub use node::{check_children, count, get};

/// Where tree nodes are read from: verified and decoded, usually cached.
pub trait Nodes {
    /// The state object with this id.
    fn state_node(&self, id: StateId) -> Result<Arc<StateNode>, Error>;
}

impl Nodes for Objects {
    fn state_node(&self, id: StateId) -> Result<Arc<StateNode>, Error> {
        self.state(id)
    }
}

impl Nodes for Reading<'_> {
    fn state_node(&self, id: StateId) -> Result<Arc<StateNode>, Error> {
        self.state(id)
    }
}

impl Nodes for Scanning<'_> {
    fn state_node(&self, id: StateId) -> Result<Arc<StateNode>, Error> {
        self.state(id)
    }
}
