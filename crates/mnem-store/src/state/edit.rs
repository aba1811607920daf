//! A state with some entries changed: the nodes that are new.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

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
}

/// Applies edits to a state; `None` is the empty one. The result is always in canonical form,
/// also where `root` is an oversized leaf of version 1 or `edits` is empty.
///
/// Reads the nodes on the paths to the edited ids, and their siblings where removals leave so
/// few entries that they become one leaf.
pub fn edit(nodes: &dyn Nodes, root: Option<StateId>, edits: &EntryEdits) -> Result<Edited, Error> {
    let mut walk = Walk::default();
    let mut read = BTreeSet::new();
    if let Some(root) = root {
        walk.expand(&*nodes.state_node(root)?);
        read.insert(root);
    }
    let mut builder = Builder { nodes, last: None, open: Vec::new(), objects: Vec::new() };
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
        match (item, edited) {
            (_, Some((id, Some(version)))) => builder.push(Item::Entry(id.clone(), *version))?,
            (_, Some((_, None))) | (None, None) => {}
            (Some(item), None) => builder.push(item)?,
        }
    }
    let (root, mut objects) = builder.finish()?;
    objects.retain(|object| !read.contains(&object.id().into()));
    Ok(Edited { root, objects })
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
    last: Option<Item>,
    /// Groups that may still grow, each within the one before it.
    open: Vec<Group>,
    objects: Vec<Encoded>,
}

/// Items whose keys have their first `depth` bytes in common, and no more than those.
struct Group {
    depth: usize,
    items: Vec<Item>,
}

impl Builder<'_> {
    fn push(&mut self, item: Item) -> Result<(), Error> {
        if let Some(last) = self.last.take() {
            let depth = last.key().iter().zip(item.key()).take_while(|(a, b)| a == b).count();
            let closed = self.close(vec![last], Some(depth))?;
            match self.open.last_mut() {
                Some(group) if group.depth == depth => group.items.extend(closed),
                _ => self.open.push(Group { depth, items: closed }),
            }
        }
        self.last = Some(item);
        Ok(())
    }

    fn finish(mut self) -> Result<(StateId, Vec<Encoded>), Error> {
        let items = self.last.take().into_iter().collect();
        let items = self.close(items, None)?;
        let root = self.node(items)?.id;
        Ok((root, self.objects))
    }

    /// Ends the groups that share more than `depth` bytes; `items` follow in the innermost.
    /// What is returned stands in the next group outward: one branch, or, when they are few
    /// enough for a leaf, the items themselves, since a leaf may take in more.
    fn close(&mut self, mut items: Vec<Item>, depth: Option<usize>) -> Result<Vec<Item>, Error> {
        let closes = |group: &mut Group| depth.is_none_or(|depth| group.depth > depth);
        while let Some(mut group) = self.open.pop_if(closes) {
            group.items.append(&mut items);
            let count =
                group.items.iter().fold(0, |sum: u64, item| sum.saturating_add(item.count()));
            items = if count > MAX_LEAF_ENTRIES as u64 {
                vec![Item::Subtree(self.branch(group, count)?)]
            } else {
                group.items
            };
        }
        Ok(items)
    }

    fn branch(&mut self, group: Group, count: u64) -> Result<Subtree, Error> {
        let Group { depth, items } = group;
        let first = items.first().map(Item::key).unwrap_or_default();
        let prefix: Vec<u8> = first.iter().take(depth).copied().collect();
        let mut here = None;
        let mut below: BTreeMap<u8, Vec<Item>> = BTreeMap::new();
        for item in items {
            match (item.key().get(depth).copied(), item) {
                (Some(byte), item) => below.entry(byte).or_default().push(item),
                (None, Item::Entry(_, version)) => here = Some(version),
                (None, Item::Subtree(subtree)) => {
                    return Err(corrupt(subtree.id, "has ids that do not belong where it stands"));
                }
            }
        }
        let mut children = BTreeMap::new();
        for (byte, items) in below {
            children.insert(byte, self.node(items)?);
        }
        let branch = Branch { prefix: prefix.clone(), here, children };
        let id = self.write(StateNode::Branch(branch));
        Ok(Subtree { prefix, id, count })
    }

    /// The node of a closed group: the one subtree it is, or a leaf of all its entries.
    fn node(&mut self, items: Vec<Item>) -> Result<Child, Error> {
        if let [Item::Subtree(Subtree { id, count, .. })] = *items.as_slice() {
            return Ok(Child { id, count });
        }
        let mut leaf = Leaf::default();
        for item in items {
            match item {
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
        Ok(Child { id: self.write(StateNode::Leaf(leaf)), count })
    }

    fn write(&mut self, node: StateNode) -> StateId {
        let (id, encoded) = Encoded::state(node);
        self.objects.push(encoded);
        id
    }
}
