//! A node of the tree as its parent describes it, and the checks of each descent.

use std::sync::Arc;

use super::Nodes;
use crate::error::Error;
use crate::id::{NodeId, NodeVersionId, StateId};
use crate::object::state::MAX_LEAF_ENTRIES;
use crate::object::{Branch, Child, StateNode};

/// The version of a node in a state; `None` when the state does not have it.
pub fn get(nodes: &dyn Nodes, root: StateId, id: &NodeId) -> Result<Option<NodeVersionId>, Error> {
    let mut node = nodes.state_node(root)?;
    loop {
        let branch = match &*node {
            StateNode::Leaf(leaf) => return Ok(leaf.nodes.get(id).copied()),
            StateNode::Branch(branch) => branch,
        };
        let Some(rest) = id.as_str().as_bytes().strip_prefix(&*branch.prefix) else {
            return Ok(None);
        };
        let Some(byte) = rest.first() else { return Ok(branch.here) };
        let Some(child) = branch.children.get(byte) else { return Ok(None) };
        let begins = id.as_str().as_bytes().get(..=branch.prefix.len()).unwrap_or_default();
        node = read(nodes, child.id, begins, child.count)?;
    }
}

/// Checks each child of a branch against what the branch says of it. A tree of whose branches
/// this finds nothing wrong is canonical.
pub fn check_children(
    nodes: &dyn Nodes,
    branch: &Branch,
) -> impl Iterator<Item = Result<(), Error>> {
    let children = branch.children.iter();
    children.map(|(byte, child)| Subtree::below(branch, *byte, child).read(nodes).map(drop))
}

/// How many entries a state has.
pub fn count(nodes: &dyn Nodes, root: StateId) -> Result<u64, Error> {
    let count = nodes.state_node(root)?.count();
    count.ok_or_else(|| corrupt(root, "has more entries than can be counted"))
}

/// A subtree below a branch, not read yet.
#[derive(Clone, Debug)]
pub(super) struct Subtree {
    /// What every id in it begins with: the prefix of the parent and one more byte. Its own
    /// prefix may be longer.
    pub(super) prefix: Vec<u8>,
    pub(super) id: StateId,
    /// How many entries the parent says it has.
    pub(super) count: u64,
}

impl Subtree {
    pub(super) fn below(branch: &Branch, byte: u8, child: &Child) -> Self {
        let mut prefix = Vec::with_capacity(branch.prefix.len() + 1);
        prefix.extend_from_slice(&branch.prefix);
        prefix.push(byte);
        Self { prefix, id: child.id, count: child.count }
    }

    /// Reads the node at its root and checks it against what the parent says.
    pub(super) fn read(&self, nodes: &dyn Nodes) -> Result<Arc<StateNode>, Error> {
        read(nodes, self.id, &self.prefix, self.count)
    }
}

/// Reads a state node and checks it against what its parent says: what every id in it begins with,
/// and how many there are.
fn read(
    nodes: &dyn Nodes,
    id: StateId,
    begins: &[u8],
    count: u64,
) -> Result<Arc<StateNode>, Error> {
    let node = nodes.state_node(id)?;
    let small = count <= MAX_LEAF_ENTRIES as u64;
    let (in_place, right_shape) = match &*node {
        StateNode::Leaf(leaf) => {
            // Ids are ordered by their bytes, so the ends stand for all between.
            let mut ends =
                leaf.nodes.first_key_value().into_iter().chain(leaf.nodes.last_key_value());
            let in_place = ends.all(|(id, _)| id.as_str().as_bytes().starts_with(begins));
            (in_place, small && !leaf.nodes.is_empty())
        }
        StateNode::Branch(branch) => (branch.prefix.starts_with(begins), !small),
    };
    if node.count() != Some(count) {
        return Err(corrupt(id, "has another size than its parent says"));
    }
    if !right_shape {
        return Err(corrupt(id, "has a shape that its size does not allow"));
    }
    if !in_place {
        return Err(corrupt(id, "has ids that do not belong where it stands"));
    }
    Ok(node)
}

/// An entry, or a subtree that is not read yet.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Entry(NodeId, NodeVersionId),
    Subtree(Subtree),
}

impl Item {
    /// The id of the entry, or what every id in the subtree begins with.
    pub(super) fn key(&self) -> &[u8] {
        match self {
            Self::Entry(id, _) => id.as_str().as_bytes(),
            Self::Subtree(subtree) => &subtree.prefix,
        }
    }

    /// How many entries it stands for.
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Entry(..) => 1,
            Self::Subtree(subtree) => subtree.count,
        }
    }
}

/// What is still ahead of a walk through a tree, in the order of ids.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The next item is the last.
    ahead: Vec<Item>,
}

impl Walk {
    pub(super) fn peek(&self) -> Option<&Item> {
        self.ahead.last()
    }

    pub(super) fn take(&mut self) -> Option<Item> {
        self.ahead.pop()
    }

    pub(super) fn clear(&mut self) {
        self.ahead.clear();
    }

    /// Puts what stands in a node before everything that is ahead.
    pub(super) fn expand(&mut self, node: &StateNode) {
        match node {
            StateNode::Leaf(leaf) => {
                let entries = leaf.nodes.iter().rev();
                self.ahead.extend(entries.map(|(id, version)| Item::Entry(id.clone(), *version)));
            }
            StateNode::Branch(branch) => {
                self.ahead.extend(
                    branch
                        .children
                        .iter()
                        .rev()
                        .map(|(byte, child)| Item::Subtree(Subtree::below(branch, *byte, child))),
                );
                // A branch with an entry of its own has a prefix in UTF-8: the decoder checks it.
                if let (Some(here), Ok(id)) = (branch.here, std::str::from_utf8(&branch.prefix)) {
                    self.ahead.push(Item::Entry(NodeId::from_stored(id), here));
                }
            }
        }
    }

    /// One step: takes the next item; an entry is returned, a subtree is replaced by what
    /// stands in its root.
    pub(super) fn step(
        &mut self,
        nodes: &dyn Nodes,
    ) -> Result<Option<(NodeId, NodeVersionId)>, Error> {
        match self.take() {
            Some(Item::Entry(id, version)) => Ok(Some((id, version))),
            Some(Item::Subtree(subtree)) => {
                self.expand(&*subtree.read(nodes)?);
                Ok(None)
            }
            None => Ok(None),
        }
    }
}

pub(super) fn corrupt(id: StateId, what: &str) -> Error {
    Error::corrupt(format!("the state object {id} {what}"))
}
