//! The two shapes of a state object: a leaf, which is the whole state of version 1, and a branch.

use std::collections::BTreeMap;

use crate::id::{NodeId, NodeVersionId, StateId};

/// The most entries a leaf may have when it is written. Fixed: it decides the ids of states.
pub const MAX_LEAF_ENTRIES: usize = 16;

/// One object of the tree that a state is stored as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateNode {
    /// The entries themselves.
    Leaf(Leaf),
    /// Children by the byte that follows a common prefix.
    Branch(Branch),
}

/// Entries of a state: node id to the version that is current.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leaf {
    /// In the order of the ids' bytes.
    pub nodes: BTreeMap<NodeId, NodeVersionId>,
}

/// A set of more than [`MAX_LEAF_ENTRIES`] entries, by the byte that follows their prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The longest common prefix of all ids below, from the start of the id.
    pub prefix: Vec<u8>,
    /// The entry whose id is the prefix itself.
    pub here: Option<NodeVersionId>,
    /// The entries whose id goes on, by the next byte.
    pub children: BTreeMap<u8, Child>,
}

/// A subtree and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// The state object at its root.
    pub id: StateId,
    /// How many entries it has.
    pub count: u64,
}

impl StateNode {
    /// The state without an entry.
    pub fn empty() -> Self {
        Self::Leaf(Leaf::default())
    }

    /// How many entries the subtree has; `None` when the counts of a damaged branch overflow.
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::Leaf(leaf) => Some(leaf.nodes.len() as u64),
            Self::Branch(branch) => {
                branch.children.values().try_fold(u64::from(branch.here.is_some()), |sum, child| {
                    sum.checked_add(child.count)
                })
            }
        }
    }
}
