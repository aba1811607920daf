//! What differs between two states.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Nodes;
use super::edit::{EntryEdits, edit};
use super::node::{Item, Walk};
use crate::codec::Encoded;
use crate::error::Error;
use crate::id::{NodeId, NodeVersionId, StateId};
use crate::object::state::MAX_LEAF_ENTRIES;
use crate::object::{Object, StateNode};

/// An entry that differs between two states; one side at least has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryChange {
    /// The node.
    pub id: NodeId,
    /// Its version before; `None` when it was not there.
    pub old: Option<NodeVersionId>,
    /// Its version after; `None` when it is not there.
    pub new: Option<NodeVersionId>,
}

/// The entries that differ between two states, in the order of their ids; `None` is the empty
/// state. Subtrees that are equal are not read.
pub fn diff(nodes: &dyn Nodes, from: Option<StateId>, to: Option<StateId>) -> Diff<'_> {
    Diff { from: Side::new(nodes), to: Side::new(nodes), roots: Some((from, to)) }
}

/// A running comparison, made by [`diff`]. It ends after the first error.
pub struct Diff<'a> {
    from: Side<'a>,
    to: Side<'a>,
    /// The roots, until they are read.
    roots: Option<(Option<StateId>, Option<StateId>)>,
}

/// One state of the two: what is ahead in it, and where its nodes are.
struct Side<'a> {
    nodes: Expanded<'a>,
    walk: Walk,
}

/// Stored nodes, and those of a tree that is built in memory only.
struct Expanded<'a> {
    stored: &'a dyn Nodes,
    built: BTreeMap<StateId, Arc<StateNode>>,
}

impl Nodes for Expanded<'_> {
    fn state_node(&self, id: StateId) -> Result<Arc<StateNode>, Error> {
        self.built.get(&id).map_or_else(|| self.stored.state_node(id), |node| Ok(Arc::clone(node)))
    }
}

impl<'a> Side<'a> {
    fn new(nodes: &'a dyn Nodes) -> Self {
        Self { nodes: Expanded { stored: nodes, built: BTreeMap::new() }, walk: Walk::default() }
    }

    /// Builds the canonical tree of an oversized leaf, so that its subtrees can be compared.
    fn expand(&mut self, root: StateId) -> Result<Arc<StateNode>, Error> {
        let tree = edit(self.nodes.stored, Some(root), &EntryEdits::new())?;
        for object in &tree.objects {
            if let Ok((_, Object::State(node))) = Encoded::decode(object.bytes()) {
                self.nodes.built.insert(object.id().into(), Arc::new(node));
            }
        }
        self.nodes.state_node(tree.root)
    }

    fn step(&mut self) -> Result<Option<(NodeId, NodeVersionId)>, Error> {
        self.walk.step(&self.nodes)
    }
}

impl Diff<'_> {
    fn start(&mut self, from: Option<StateId>, to: Option<StateId>) -> Result<(), Error> {
        if from == to {
            return Ok(());
        }
        let read =
            |root: Option<StateId>| root.map(|root| self.from.nodes.state_node(root)).transpose();
        let (mut old, mut new) = (read(from)?, read(to)?);
        // Two leaves are compared entry by entry, whatever their size.
        if let (Some(from), true) =
            (from, is_oversized(old.as_deref()) && is_branch(new.as_deref()))
        {
            old = Some(self.from.expand(from)?);
        } else if let (Some(to), true) =
            (to, is_oversized(new.as_deref()) && is_branch(old.as_deref()))
        {
            new = Some(self.to.expand(to)?);
        }
        for (side, node) in [(&mut self.from, old), (&mut self.to, new)] {
            if let Some(node) = node {
                side.walk.expand(&node);
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Option<EntryChange>, Error> {
        if let Some((from, to)) = self.roots.take() {
            self.start(from, to)?;
        }
        loop {
            let order = match (self.from.walk.peek(), self.to.walk.peek()) {
                (None, None) => return Ok(None),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(Item::Subtree(old)), Some(Item::Subtree(new)))
                    if old.prefix.starts_with(&new.prefix)
                        || new.prefix.starts_with(&old.prefix) =>
                {
                    if (old.id, old.count) == (new.id, new.count) {
                        self.from.walk.take();
                        self.to.walk.take();
                        continue;
                    }
                    // The larger may hold the smaller; the smaller cannot hold the larger.
                    new.count.cmp(&old.count).then(Ordering::Less)
                }
                (Some(old), Some(new)) => old.key().cmp(new.key()).then(match (old, new) {
                    // Ids in a subtree begin with its key, so it is opened before an entry of
                    // that id is passed.
                    (Item::Subtree(_), _) => Ordering::Less,
                    (_, Item::Subtree(_)) => Ordering::Greater,
                    _ => Ordering::Equal,
                }),
            };
            let old = if order.is_le() { self.from.step()? } else { None };
            let new = if order.is_ge() { self.to.step()? } else { None };
            match (old, new) {
                (Some((id, old)), Some((_, new))) if old != new => {
                    return Ok(Some(EntryChange { id, old: Some(old), new: Some(new) }));
                }
                (Some((id, old)), None) => {
                    return Ok(Some(EntryChange { id, old: Some(old), new: None }));
                }
                (None, Some((id, new))) => {
                    return Ok(Some(EntryChange { id, old: None, new: Some(new) }));
                }
                // Equal entries, or a subtree was opened.
                (Some(_), Some(_)) | (None, None) => {}
            }
        }
    }
}

impl Iterator for Diff<'_> {
    type Item = Result<EntryChange, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.from.walk.clear();
            self.to.walk.clear();
        }
        step.transpose()
    }
}

fn is_oversized(node: Option<&StateNode>) -> bool {
    matches!(node, Some(StateNode::Leaf(leaf)) if leaf.nodes.len() > MAX_LEAF_ENTRIES)
}

fn is_branch(node: Option<&StateNode>) -> bool {
    matches!(node, Some(StateNode::Branch(_)))
}
