//! A state with some entries changed: the nodes that are new.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Nodes;
use super::node::{Item, Subtree, Walk, corrupt};
use crate::codec::Encoded;
use crate::error::Error;
use crate::id::{NodeId, NodeVersionId, StateId};
use crate::object::state::MAX_LEAF_ENTRIES;
use crate::object::{Branch, Child, Leaf, StateNode};

/// What to change: the version an entry is to have, or `None` to remove it.
pub type EntryEdits = BTreeMap<NodeId, Option<NodeVersionId>>;

/// An edited state.
#[derive(Clone, Debug)]
pub struct Edited {
    /// The state with the edits made.
    pub root: StateId,
    /// Its nodes, without those that were read: children before parents, the root last.
    pub objects: Vec<Encoded>,
    /// The same nodes, as they were before they were encoded.
    pub nodes: Vec<Arc<StateNode>>,
    /// The version that each edited entry had before, in the order of the edits.
    pub before: Vec<Option<NodeVersionId>>,
}

/// Applies edits to a state; `None` is the empty one. The result is always in canonical form,
/// also where `root` is an oversized leaf of version 1 or `edits` is empty.
///
/// Reads the nodes on the paths to the edited ids, and their siblings where removals leave so
/// few entries that they become one leaf.
pub fn edit(nodes: &dyn Nodes, root: Option<StateId>, edits: &EntryEdits) -> Result<Edited, Error> {
    edit_with(nodes, root, edits, |_| false)
}

/// The same, told which versions no store has yet: an object that names one is fresh too.
pub(crate) fn edit_with(
    nodes: &dyn Nodes,
    root: Option<StateId>,
    edits: &EntryEdits,
    is_fresh: impl Fn(NodeVersionId) -> bool,
) -> Result<Edited, Error> {
    let mut walk = Walk::default();
    let mut read = BTreeSet::new();
    if let Some(root) = root {
        walk.expand(&*nodes.state_node(root)?);
        read.insert(root);
    }
    let mut builder = Builder { nodes, last: None, open: Vec::new(), built: Vec::new() };
    let mut before = Vec::with_capacity(edits.len());
    let mut edits = edits.iter().peekable();
    loop {
        let order = match (walk.peek(), edits.peek()) {
            (None, None) => break,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(item), Some((id, _))) => {
                let id = id.as_str().as_bytes();
                match item {
                    Item::Subtree(subtree) if id.starts_with(&subtree.prefix) => {
                        read.insert(subtree.id);
                        walk.step(nodes)?;
                        continue;
                    }
                    _ => item.key().cmp(id),
                }
            }
        };
        let item = if order.is_le() { walk.take() } else { None };
        let edited = if order.is_ge() { edits.next() } else { None };
        if edited.is_some() {
            before.push(match &item {
                Some(Item::Entry(_, version)) => Some(*version),
                _ => None,
            });
        }
        match (item, edited) {
            (_, Some((id, Some(version)))) => {
                let is_fresh = is_fresh(*version);
                builder.push(Placed { item: Item::Entry(id.clone(), *version), is_fresh })?;
            }
            (_, Some((_, None))) | (None, None) => {}
            (Some(item), None) => builder.push(Placed { item, is_fresh: false })?,
        }
    }
    let (root, built) = builder.finish()?;
    let is_new = |object: &Encoded| !read.contains(&object.id().into());
    let (objects, nodes) = built.into_iter().filter(|(object, _)| is_new(object)).unzip();
    Ok(Edited { root, objects, nodes, before })
}

/// The id that a state has in canonical form: its own, unless it is an oversized leaf.
pub fn canonical_root(nodes: &dyn Nodes, root: StateId) -> Result<StateId, Error> {
    match &*nodes.state_node(root)? {
        StateNode::Leaf(leaf) if leaf.nodes.len() > MAX_LEAF_ENTRIES => {
            Ok(edit(nodes, Some(root), &EntryEdits::new())?.root)
        }
        _ => Ok(root),
    }
}

/// Builds the canonical tree over items that come in order. Subtrees among them are kept as
/// they are, unless they end in a set that is small enough for one leaf.
///
/// No key of a subtree is a beginning of another item's key.
struct Builder<'a> {
    nodes: &'a dyn Nodes,
    /// The item that came last; which group it is in depends on the next.
    last: Option<Placed>,
    /// Groups that may still grow, each within the one before it.
    open: Vec<Group>,
    built: Built,
}

/// Nodes, each encoded and as it was before.
type Built = Vec<(Encoded, Arc<StateNode>)>;

/// An item, and whether it is, or names, what no store has yet.
struct Placed {
    item: Item,
    is_fresh: bool,
}

/// Items whose keys have their first `depth` bytes in common, and no more than those.
struct Group {
    depth: usize,
    items: Vec<Placed>,
}

impl Builder<'_> {
    fn push(&mut self, placed: Placed) -> Result<(), Error> {
        if let Some(last) = self.last.take() {
            let keys = last.item.key().iter().zip(placed.item.key());
            let depth = keys.take_while(|(a, b)| a == b).count();
            // Most often no group ends here.
            if self.open.last().is_some_and(|group| group.depth > depth) {
                let closed = self.close(vec![last], Some(depth))?;
                self.add(depth, closed);
            } else {
                self.add(depth, [last]);
            }
        }
        self.last = Some(placed);
        Ok(())
    }

    /// Adds items to the innermost group, which is of this depth or is to be.
    fn add(&mut self, depth: usize, added: impl IntoIterator<Item = Placed>) {
        match self.open.last_mut() {
            Some(group) if group.depth == depth => group.items.extend(added),
            _ => {
                let mut items = Vec::with_capacity(MAX_LEAF_ENTRIES);
                items.extend(added);
                self.open.push(Group { depth, items });
            }
        }
    }

    fn finish(mut self) -> Result<(StateId, Built), Error> {
        let items = self.last.take().into_iter().collect();
        let items = self.close(items, None)?;
        let root = self.node(items)?.id;
        Ok((root, self.built))
    }

    /// Ends the groups that share more than `depth` bytes; `items` follow in the innermost.
    /// What is returned stands in the next group outward: one branch, or, when they are few
    /// enough for a leaf, the items themselves, since a leaf may take in more.
    fn close(
        &mut self,
        mut items: Vec<Placed>,
        depth: Option<usize>,
    ) -> Result<Vec<Placed>, Error> {
        let closes = |group: &mut Group| depth.is_none_or(|depth| group.depth > depth);
        while let Some(mut group) = self.open.pop_if(closes) {
            group.items.append(&mut items);
            let counts = group.items.iter().map(|placed| placed.item.count());
            let count = counts.fold(0, u64::saturating_add);
            items = if count > MAX_LEAF_ENTRIES as u64 {
                vec![self.branch(group, count)?]
            } else {
                group.items
            };
        }
        Ok(items)
    }

    fn branch(&mut self, group: Group, count: u64) -> Result<Placed, Error> {
        let Group { depth, items } = group;
        let first = items.first().map(|placed| placed.item.key()).unwrap_or_default();
        let prefix: Vec<u8> = first.iter().take(depth).copied().collect();
        let mut here = None;
        let mut children = BTreeMap::new();
        let is_fresh = items.iter().any(|placed| placed.is_fresh);
        let mut items = items.into_iter().peekable();
        // In the order of their keys, so those that begin alike stand together.
        while let Some(placed) = items.next() {
            let byte = placed.item.key().get(depth).copied();
            let is_beside = |next: &Placed| next.item.key().get(depth).copied() == byte;
            let child = match (byte, placed.item) {
                (None, Item::Entry(_, version)) => {
                    here = Some(version);
                    continue;
                }
                (None, Item::Subtree(subtree)) => {
                    return Err(corrupt(subtree.id, "has ids that do not belong where it stands"));
                }
                (Some(_), Item::Subtree(Subtree { id, count, .. }))
                    if !items.peek().is_some_and(is_beside) =>
                {
                    Child { id, count }
                }
                (Some(_), item) => {
                    let mut below = vec![Placed { item, is_fresh: placed.is_fresh }];
                    below.extend(std::iter::from_fn(|| items.next_if(is_beside)));
                    self.node(below)?
                }
            };
            children.extend(byte.map(|byte| (byte, child)));
        }
        let branch = Branch { prefix: prefix.clone(), here, children };
        let id = self.write(StateNode::Branch(branch), is_fresh);
        Ok(Placed { item: Item::Subtree(Subtree { prefix, id, count }), is_fresh })
    }

    /// The node of a closed group: the one subtree it is, or a leaf of all its entries.
    fn node(&mut self, items: Vec<Placed>) -> Result<Child, Error> {
        if let [Placed { item: Item::Subtree(Subtree { id, count, .. }), .. }] = *items.as_slice() {
            return Ok(Child { id, count });
        }
        let mut leaf = Leaf::default();
        let is_fresh = items.iter().any(|placed| placed.is_fresh);
        for placed in items {
            match placed.item {
                Item::Entry(id, version) => {
                    leaf.nodes.insert(id, version);
                }
                Item::Subtree(subtree) => match &*subtree.read(self.nodes)? {
                    StateNode::Leaf(part) => {
                        leaf.nodes.extend(part.nodes.iter().map(|(id, v)| (id.clone(), *v)));
                    }
                    StateNode::Branch(_) => {
                        return Err(corrupt(subtree.id, "is a branch within a leaf"));
                    }
                },
            }
        }
        let count = leaf.nodes.len() as u64;
        Ok(Child { id: self.write(StateNode::Leaf(leaf), is_fresh), count })
    }

    fn write(&mut self, node: StateNode, is_fresh: bool) -> StateId {
        let (id, encoded) = Encoded::state(&node);
        self.built.push((encoded.fresh(is_fresh), Arc::new(node)));
        id
    }
}
