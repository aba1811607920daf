//! 4. A state as an ordered map, stored as a tree; a flat state is a tree of height zero.

use std::sync::Arc;

use crate::error::Error;
use crate::id::StateId;
use crate::object::StateNode;

/// Where tree nodes are read from: verified and decoded, usually cached.
pub trait Nodes {
    /// The state object with this id.
    fn state_node(&self, id: StateId) -> Result<Arc<StateNode>, Error>;
}
