//! Objects and trees from bytes that anybody may have made.

use std::collections::BTreeMap;
use std::sync::Arc;

use mnem_store::codec::encoded::hash;
use mnem_store::codec::{Encoded, Refusal, decode, diagnostic};
use mnem_store::object::content::MAX_CONTENT_DEPTH;
use mnem_store::object::state::MAX_LEAF_ENTRIES;
use mnem_store::object::{Branch, Child, Leaf, Object, StateNode};
use mnem_store::portable::json;
use mnem_store::state::{EntryEdits, Nodes, count, edit, entries, get, verify};
use mnem_store::{Error, NodeId, NodeVersionId, StateId};

use super::Answer;

/// What is decoded is encoded to the same bytes, and nothing shorter or longer is an object.
pub fn decode_object(bytes: &[u8]) -> Answer {
    let object = match decode(bytes) {
        Ok(object) => object,
        Err(error) => {
            assert!(error.at <= bytes.len(), "{error}");
            assert!(!error.to_string().is_empty());
            return Answer::Refused;
        }
    };
    let encoded = Encoded::new(&object);
    assert_eq!(encoded.bytes(), bytes);
    assert_eq!((encoded.id(), encoded.kind()), (hash(bytes), object.kind()));
    assert!(decode(&bytes[..bytes.len() - 1]).is_err());
    let longer = decode(&[bytes, &[0]].concat());
    assert_eq!(longer.unwrap_err().refusal, Refusal::TrailingBytes);
    let text = diagnostic::render(&encoded).unwrap();
    assert!(text.contains(object.kind().as_str()), "{text}");
    if let Object::Node(node) = object
        && node.content.depth() <= MAX_CONTENT_DEPTH
    {
        assert_eq!(json::parse(&node.content.to_string()).unwrap(), node.content);
    }
    Answer::Accepted
}

/// A tree that was damaged is refused, or it is the tree of its entries: what no check of a node
/// and no descent finds wrong is canonical.
///
/// The lines of the input up to `--` are node ids; `*c` is short for `c` before 32 of them. What
/// follows damages the tree of these ids, four bytes for each wound.
pub fn decode_state_node(bytes: &[u8]) -> Answer {
    if let Ok(Object::State(_)) = decode(bytes) {
        return decode_object(bytes);
    }
    let (ids, wounds) = ids(bytes);
    let versions: BTreeMap<_, _> = ids.into_iter().zip(0..).collect();
    let map: BTreeMap<_, _> =
        versions.iter().map(|(id, number)| (NodeId::from_stored(id), version(*number))).collect();
    let sound = Tree::of(&versions.iter().map(|(id, n)| (id.as_bytes(), *n)).collect::<Vec<_>>());
    let mut memory = Memory::default();
    let root = memory.keep(&sound).unwrap();
    assert_eq!(root, canonical(&map));
    check_read(&memory, root, &map);

    let mut damaged = sound;
    for wound in wounds.chunks_exact(4) {
        damaged.wound(wound);
    }
    let Some(root) = memory.keep(&damaged) else { return Answer::Refused };
    let read: Result<BTreeMap<_, _>, _> = entries(&memory, root, "", None).collect();
    assert_eq!(read.is_ok(), verify(&memory, root).is_ok());
    let Ok(map) = read else { return Answer::Refused };
    // A leaf of any size may be a root, as version 1 wrote it.
    if !matches!(damaged, Tree::Leaf(_)) {
        assert_eq!(root, canonical(&map), "a tree that is not canonical was not refused");
    }
    check_read(&memory, root, &map);
    Answer::Accepted
}

fn check_read(memory: &Memory, root: StateId, map: &BTreeMap<NodeId, NodeVersionId>) {
    assert_eq!(count(memory, root).unwrap(), map.len() as u64);
    for (id, version) in map {
        assert_eq!(get(memory, root, id).unwrap(), Some(*version));
        let beyond = NodeId::from_stored(format!("{id}\u{0}"));
        assert_eq!(get(memory, root, &beyond).unwrap(), map.get(&beyond).copied());
    }
}

fn ids(bytes: &[u8]) -> (Vec<String>, &[u8]) {
    let (text, wounds) = bytes
        .windows(3)
        .position(|three| three == b"--\n")
        .map_or((bytes, &[][..]), |at| (&bytes[..at], &bytes[at + 3..]));
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
    let ids = lines.flat_map(|line| match line.strip_prefix('*') {
        Some(stem) => (0..32).map(|number| format!("{stem}{number:02}")).collect(),
        None => vec![line.to_owned()],
    });
    (ids.take(400).collect(), &wounds[..wounds.len().min(64)])
}

fn version(number: u32) -> NodeVersionId {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    NodeVersionId::from_bytes(bytes)
}

fn canonical(map: &BTreeMap<NodeId, NodeVersionId>) -> StateId {
    let edits: EntryEdits = map.iter().map(|(id, version)| (id.clone(), Some(*version))).collect();
    edit(&Memory::default(), None, &edits).unwrap().root
}

#[derive(Default)]
struct Memory(BTreeMap<StateId, Arc<StateNode>>);

impl Nodes for Memory {
    fn state_node(&self, id: StateId) -> Result<Arc<StateNode>, Error> {
        self.0.get(&id).cloned().ok_or_else(|| Error::not_found(id.to_string()))
    }
}

impl Memory {
    /// Keeps a tree as a store would: none when the decoder refuses a node of it.
    fn keep(&mut self, tree: &Tree) -> Option<StateId> {
        let node = match tree {
            Tree::Leaf(nodes) => {
                let nodes =
                    nodes.iter().map(|(id, n)| (NodeId::from_stored(id), version(*n))).collect();
                StateNode::Leaf(Leaf { nodes })
            }
            Tree::Branch { prefix, here, children } => {
                let mut kept = BTreeMap::new();
                for (byte, (tree, count)) in children {
                    kept.insert(*byte, Child { id: self.keep(tree)?, count: *count });
                }
                let here = here.map(version);
                StateNode::Branch(Branch { prefix: prefix.clone(), here, children: kept })
            }
        };
        let (id, encoded) = Encoded::state(node);
        let Ok(Object::State(node)) = decode(encoded.bytes()) else { return None };
        self.0.insert(id, Arc::new(node));
        Some(id)
    }
}

/// A tree before it is encoded, by the rule of the format, top down.
#[derive(Clone)]
enum Tree {
    Leaf(BTreeMap<String, u32>),
    Branch { prefix: Vec<u8>, here: Option<u32>, children: BTreeMap<u8, (Tree, u64)> },
}

impl Tree {
    fn of(entries: &[(&[u8], u32)]) -> Self {
        if entries.len() <= MAX_LEAF_ENTRIES {
            let text = |id: &[u8]| String::from_utf8(id.to_vec()).unwrap();
            return Self::Leaf(entries.iter().map(|(id, n)| (text(id), *n)).collect());
        }
        let (first, last) = (entries[0].0, entries[entries.len() - 1].0);
        let depth = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let here = (first.len() == depth).then_some(entries[0].1);
        let below = &entries[usize::from(here.is_some())..];
        let children = below
            .chunk_by(|(a, _), (b, _)| a[depth] == b[depth])
            .map(|group| (group[0].0[depth], (Self::of(group), group.len() as u64)))
            .collect();
        Self::Branch { prefix: first[..depth].to_vec(), here, children }
    }

    fn size(&self) -> u64 {
        match self {
            Self::Leaf(nodes) => nodes.len() as u64,
            Self::Branch { here, children, .. } => {
                let below = children.values().map(|(_, count)| *count);
                below.fold(u64::from(here.is_some()), u64::saturating_add)
            }
        }
    }

    /// Damages one node: which one, how, and twice with what. An odd kind of wound is told to the
    /// nodes above, whose counts follow; an even one is not.
    fn wound(&mut self, wound: &[u8]) {
        let [place, kind, a, b] = *wound else { return };
        self.descend(place, kind % 2 == 1, &mut |node| node.hurt(kind / 2, a, b));
    }

    fn descend(&mut self, place: u8, is_told: bool, work: &mut dyn FnMut(&mut Self)) {
        let Self::Branch { children, .. } = self else { return work(self) };
        let steps = children.len() + 1;
        let Some((child, count)) = children.values_mut().nth(usize::from(place) % steps) else {
            return work(self);
        };
        child.descend(place / u8::try_from(steps).unwrap_or(u8::MAX).max(2), is_told, work);
        if is_told {
            *count = child.size();
        }
    }

    fn hurt(&mut self, kind: u8, a: u8, b: u8) {
        match self {
            Self::Leaf(nodes) => {
                let id = nodes.keys().nth(usize::from(a) % nodes.len().max(1)).cloned();
                match (kind % 5, id) {
                    (0, Some(id)) => drop(nodes.remove(&id)),
                    (1, Some(id)) => {
                        let version = nodes.remove(&id).unwrap_or_default();
                        nodes.insert(format!("{}{id}", char::from(b)), version);
                    }
                    (2, Some(id)) => drop(nodes.insert(format!("{id}{}", char::from(b)), 7)),
                    (3, _) => *self = Self::of_leaf(nodes, vec![a % 128]),
                    _ => drop(nodes.insert(char::from(b).to_string(), 9)),
                }
            }
            Self::Branch { prefix, here, children } => {
                let byte = children.keys().nth(usize::from(a) % children.len().max(1)).copied();
                match (kind % 9, byte) {
                    (0, Some(byte)) => drop(children.remove(&byte)),
                    (1, Some(byte)) => {
                        let moved = children.remove(&byte);
                        children.extend(moved.map(|child| (b, child)));
                    }
                    (2, Some(byte)) => {
                        let again = children.get(&byte).cloned();
                        children.extend(again.map(|child| (b, child)));
                    }
                    (3, Some(byte)) => {
                        if let Some((_, count)) = children.get_mut(&byte) {
                            *count = count.wrapping_add(u64::from(b)).wrapping_sub(3);
                        }
                    }
                    (4, _) => *here = here.map_or(Some(u32::from(b)), |_| None),
                    (5, _) => prefix.push(b),
                    (6, _) => drop(prefix.pop()),
                    (7, _) => {
                        let whole = self.clone();
                        let size = whole.size();
                        let children = BTreeMap::from([(b, (whole, size))]);
                        *self = Self::Branch { prefix: vec![a], here: Some(1), children };
                    }
                    (_, Some(byte)) => {
                        if let Some((child, _)) = children.remove(&byte) {
                            *self = child;
                        }
                    }
                    (_, None) => {}
                }
            }
        }
    }

    /// A branch over what should be one leaf.
    fn of_leaf(nodes: &BTreeMap<String, u32>, prefix: Vec<u8>) -> Self {
        let mut children: BTreeMap<u8, (Self, u64)> = BTreeMap::new();
        for (id, version) in nodes {
            let Some(byte) = id.as_bytes().get(prefix.len()).copied() else { continue };
            let (leaf, count) =
                children.entry(byte).or_insert_with(|| (Self::Leaf(BTreeMap::new()), 0));
            if let Self::Leaf(leaf) = leaf {
                leaf.insert(id.clone(), *version);
                *count += 1;
            }
        }
        Self::Branch { prefix, here: None, children }
    }
}
