//! Entries in the order of their ids.

use super::Nodes;
use super::node::{Item, Walk};
use crate::error::Error;
use crate::id::{NodeId, NodeVersionId, StateId};

/// The entries of a state whose ids begin with `prefix` and come after `after`, in the order
/// of their ids. Reads the nodes on the way to the first and then what it passes, nothing else.
pub fn entries<'a>(
    nodes: &'a dyn Nodes,
    root: StateId,
    prefix: &str,
    after: Option<&NodeId>,
) -> Cursor<'a> {
    Cursor {
        nodes,
        root: Some(root),
        walk: Walk::default(),
        prefix: prefix.to_owned(),
        after: after.cloned(),
    }
}

/// Checks the whole tree of a state: every rule of its shape that a node alone cannot show.
///
/// Whether the versions its entries name exist is not looked at.
pub fn verify(nodes: &dyn Nodes, root: StateId) -> Result<(), Error> {
    // The rules are checked on each descent, and a scan of everything makes every descent.
    entries(nodes, root, "", None).try_for_each(|entry| entry.map(|_| ()))
}

/// An ordered scan, made by [`entries`]. It ends after the first error.
pub struct Cursor<'a> {
    nodes: &'a dyn Nodes,
    /// The root, until it is read.
    root: Option<StateId>,
    walk: Walk,
    prefix: String,
    after: Option<NodeId>,
}

impl Cursor<'_> {
    fn step(&mut self) -> Result<Option<(NodeId, NodeVersionId)>, Error> {
        if let Some(root) = self.root.take() {
            self.walk.expand(&*self.nodes.state_node(root)?);
        }
        while let Some(item) = self.walk.peek() {
            let (key, prefix) = (item.key(), self.prefix.as_bytes());
            // A subtree is wanted when an id in it may be: its key is a beginning of such an
            // id, or such an id is a beginning of its key. An entry has only its own id.
            let is_entry = matches!(item, Item::Entry(..));
            let begins = key.starts_with(prefix) || (!is_entry && prefix.starts_with(key));
            let follows = self.after.as_ref().is_none_or(|after| {
                let after = after.as_str().as_bytes();
                key > after || (!is_entry && after.starts_with(key))
            });
            if !(begins && follows) {
                self.walk.take();
            } else if let Some(entry) = self.walk.step(self.nodes)? {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

impl Iterator for Cursor<'_> {
    type Item = Result<(NodeId, NodeVersionId), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.walk.clear();
        }
        step.transpose()
    }
}
