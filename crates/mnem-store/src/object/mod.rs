//! 1. What is stored: memory nodes, states and commits.

use std::sync::Arc;

pub mod commit;
pub mod content;
pub mod node;
pub mod state;

pub use commit::Commit;
pub use content::{Content, ContentError, ContentProblem};
pub use node::{ContentKind, Lineage, MemoryNode, Provenance};
pub use state::{Branch, Child, Leaf, StateNode};

/// An object of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// One version of one memory.
    Node(MemoryNode),
    /// A state, or a part of one.
    State(StateNode),
    /// A point in history.
    Commit(Commit),
}

/// An object that is kept decoded.
#[derive(Clone, Debug)]
pub(crate) enum Shared {
    Node(Arc<MemoryNode>),
    State(Arc<StateNode>),
    Commit(Arc<Commit>),
}

/// The kind of an object, as its `kind` field spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `memory_node`
    Node,
    /// `state`
    State,
    /// `commit`
    Commit,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Node, Self::State, Self::Commit];

    /// The kind as the format spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Node => "memory_node",
            Self::State => "state",
            Self::Commit => "commit",
        }
    }
}

impl From<Object> for Shared {
    fn from(object: Object) -> Self {
        match object {
            Object::Node(node) => Self::Node(node.into()),
            Object::State(state) => Self::State(state.into()),
            Object::Commit(commit) => Self::Commit(commit.into()),
        }
    }
}

impl Shared {
    /// The kind of the object.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Node(_) => Kind::Node,
            Self::State(_) => Kind::State,
            Self::Commit(_) => Kind::Commit,
        }
    }
}

impl Object {
    /// The kind of the object.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Node(_) => Kind::Node,
            Self::State(_) => Kind::State,
            Self::Commit(_) => Kind::Commit,
        }
    }
}
