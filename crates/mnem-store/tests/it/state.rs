//! A state as an ordered map, against plain maps and a tree that is built from scratch.
//!
//! Long: every proof obligation of the tree, over one set of generators.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mnem_store::codec::Encoded;
use mnem_store::object::state::MAX_LEAF_ENTRIES;
use mnem_store::object::{Branch, Child, Leaf, Object, StateNode};
use mnem_store::state::{
    EntryChange, EntryEdits, Merged, Nodes, canonical_root, count, diff, edit, entries, get, merge,
    verify,
};
use mnem_store::{Error, ErrorKind, NodeId, NodeVersionId, ObjectId, StateId};
use proptest::prelude::*;

use crate::support::config;

type Map = BTreeMap<NodeId, NodeVersionId>;

/// Tree nodes in memory; counts what is read.
#[derive(Default)]
struct Memory {
    nodes: RefCell<BTreeMap<StateId, Arc<StateNode>>>,
    reads: Cell<usize>,
}

impl Nodes for Memory {
    fn state_node(&self, id: StateId) -> Result<Arc<StateNode>, Error> {
        self.reads.set(self.reads.get() + 1);
        let node = self.nodes.borrow().get(&id).cloned();
        node.ok_or_else(|| Error::not_found(format!("the state object {id} is not there")))
    }
}

impl Memory {
    /// Keeps objects as a store would: only what the strict decoder accepts.
    fn keep(&self, objects: &[Encoded]) {
        for object in objects {
            let (decoded, object) = Encoded::decode(object.bytes()).unwrap();
            let Object::State(node) = object else { panic!("not a state") };
            self.nodes.borrow_mut().insert(decoded.id().into(), Arc::new(node));
        }
    }

    /// Keeps a node that the decoder may well refuse.
    fn plant(&self, node: StateNode) -> StateId {
        let (id, _) = Encoded::state(node.clone());
        self.nodes.borrow_mut().insert(id, Arc::new(node));
        id
    }

    fn edit(&self, root: Option<StateId>, edits: &EntryEdits) -> StateId {
        let edited = edit(self, root, edits).unwrap();
        self.keep(&edited.objects);
        edited.root
    }

    fn tree(&self, map: &Map) -> StateId {
        self.edit(None, &map.iter().map(|(id, version)| (id.clone(), Some(*version))).collect())
    }

    /// A state as version 1 wrote it.
    fn flat(&self, map: &Map) -> StateId {
        self.plant(StateNode::Leaf(Leaf { nodes: map.clone() }))
    }

    fn reads(&self, work: impl FnOnce()) -> usize {
        let before = self.reads.get();
        work();
        self.reads.get() - before
    }
}

/// The root of the canonical tree, from the rule of the format, top down.
fn from_scratch(entries: &[(&NodeId, &NodeVersionId)]) -> StateId {
    let bytes = |at: usize| entries[at].0.as_str().as_bytes();
    if entries.len() <= MAX_LEAF_ENTRIES {
        let nodes = entries.iter().map(|(id, version)| ((*id).clone(), **version)).collect();
        return Encoded::state(StateNode::Leaf(Leaf { nodes })).0;
    }
    let (first, last) = (bytes(0), bytes(entries.len() - 1));
    let depth = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let here = (first.len() == depth).then(|| *entries[0].1);
    let mut children = BTreeMap::new();
    let mut start = usize::from(here.is_some());
    while start < entries.len() {
        let byte = bytes(start)[depth];
        let end = start
            + entries[start..].partition_point(|(id, _)| id.as_str().as_bytes()[depth] == byte);
        let id = from_scratch(&entries[start..end]);
        children.insert(byte, Child { id, count: (end - start) as u64 });
        start = end;
    }
    Encoded::state(StateNode::Branch(Branch { prefix: first[..depth].to_vec(), here, children })).0
}

fn root_of(map: &Map) -> StateId {
    from_scratch(&map.iter().collect::<Vec<_>>())
}

fn id(text: impl Into<String>) -> NodeId {
    NodeId::from_stored(text)
}

fn version(number: u32) -> NodeVersionId {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    NodeVersionId::from_bytes(bytes)
}

fn sessions(range: std::ops::Range<u32>) -> Map {
    range.map(|n| (id(session(n)), version(n))).collect()
}

fn session(n: u32) -> String {
    format!("session:{n:010}")
}

fn uuid(n: u32) -> String {
    let hash = blake3_hex(n);
    format!("{}-{}-{}-{}-{}", &hash[..8], &hash[8..12], &hash[12..16], &hash[16..20], &hash[20..32])
}

fn blake3_hex(n: u32) -> String {
    mnem_store::codec::encoded::hash(&n.to_be_bytes()).to_string()
}

fn chain(length: usize) -> Map {
    (0..=length).map(|n| (id("a".repeat(n)), version(7))).collect()
}

// Ids by family: each is dense enough that edits meet ids that are there.

fn an_id(family: usize) -> BoxedStrategy<NodeId> {
    match family {
        0 => (0..150_u32).prop_map(|n| id(session(n))).boxed(),
        1 => (0..150_u32).prop_map(|n| id(uuid(n))).boxed(),
        2 => (0..4_u32, 0..40_u32)
            .prop_map(|(kind, n)| {
                id(match kind {
                    0 => format!("user/{}/{n}", n % 5),
                    1 => session(n),
                    2 => uuid(n),
                    _ => format!("user/{}", n % 7),
                })
            })
            .boxed(),
        3 => (0..80_usize).prop_map(|n| id("a".repeat(n))).boxed(),
        // Characters that share their first bytes: branches in the middle of a character.
        4 => proptest::collection::vec(
            prop::sample::select(vec!["é", "è", "日", "旦", "𝄞", "𝄢", "e"]),
            0..4,
        )
        .prop_map(|parts| id(parts.concat()))
        .boxed(),
        // Everything is a beginning of something else; the empty id too.
        _ => "[ab\0]{0,6}".prop_map(id).boxed(),
    }
}

const FAMILIES: usize = 6;

fn some_id() -> BoxedStrategy<NodeId> {
    (0..FAMILIES).prop_flat_map(an_id).boxed()
}

/// Ids of one family, or of all together.
fn ids() -> impl Strategy<Value = BoxedStrategy<NodeId>> {
    (0..=FAMILIES).prop_map(|family| if family == FAMILIES { some_id() } else { an_id(family) })
}

fn a_map(ids: BoxedStrategy<NodeId>) -> impl Strategy<Value = Map> {
    proptest::collection::btree_map(ids, (0..4_u32).prop_map(version), 0..120)
}

fn some_edits(ids: BoxedStrategy<NodeId>) -> impl Strategy<Value = EntryEdits> {
    let value = prop_oneof![2 => (0..4_u32).prop_map(|n| Some(version(n))), 3 => Just(None)];
    proptest::collection::btree_map(ids, value, 0..60)
}

fn apply(map: &mut Map, edits: &EntryEdits) {
    for (id, value) in edits {
        match value {
            Some(version) => map.insert(id.clone(), *version),
            None => map.remove(id),
        };
    }
}

/// A map and what a few edits make of it.
fn two_maps() -> impl Strategy<Value = (Map, Map)> {
    ids().prop_flat_map(|ids| (a_map(ids.clone()), some_edits(ids))).prop_map(|(from, edits)| {
        let mut to = from.clone();
        apply(&mut to, &edits);
        (from, to)
    })
}

proptest! {
    #![proptest_config(config(128))]

    #[test]
    fn edits_make_what_building_from_scratch_makes(
        (start, steps) in ids().prop_flat_map(|ids| {
            (a_map(ids.clone()), proptest::collection::vec(some_edits(ids), 1..6))
        }),
        flat in any::<bool>(),
    ) {
        let memory = Memory::default();
        let mut map = start;
        let mut root = if flat { memory.flat(&map) } else { memory.tree(&map) };
        prop_assert_eq!(canonical_root(&memory, root).unwrap(), root_of(&map));
        for edits in steps {
            let edited = edit(&memory, Some(root), &edits).unwrap();
            apply(&mut map, &edits);
            prop_assert_eq!(edited.root, root_of(&map));
            if edited.root == root {
                prop_assert!(edited.objects.is_empty(), "nothing changed, something is written");
            } else if let Some(last) = edited.objects.last() {
                prop_assert_eq!(last.id(), edited.root.into());
            }
            let written: BTreeSet<_> = edited.objects.iter().map(Encoded::id).collect();
            prop_assert_eq!(written.len(), edited.objects.len());
            memory.keep(&edited.objects);
            root = edited.root;
            verify(&memory, root).unwrap();
            prop_assert_eq!(count(&memory, root).unwrap(), map.len() as u64);
            for id in edits.keys().chain(map.keys()) {
                prop_assert_eq!(get(&memory, root, id).unwrap(), map.get(id).copied());
            }
            let listed: Vec<_> = entries(&memory, root, "", None).map(Result::unwrap).collect();
            prop_assert_eq!(listed, map.clone().into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn scans_are_ranges_of_a_map(
        (map, prefix, after) in ids().prop_flat_map(|ids| (a_map(ids.clone()), ids.clone(), proptest::option::of(ids))),
        cut in 0..12_usize,
        flat in any::<bool>(),
    ) {
        let memory = Memory::default();
        let root = if flat { memory.flat(&map) } else { memory.tree(&map) };
        let prefix: String = prefix.as_str().chars().take(cut).collect();
        let expected: Vec<_> = map
            .into_iter()
            .filter(|(id, _)| id.as_str().starts_with(&prefix) && after.as_ref().is_none_or(|after| id > after))
            .collect();
        let listed: Vec<_> = entries(&memory, root, &prefix, after.as_ref()).map(Result::unwrap).collect();
        prop_assert_eq!(listed, expected);
    }

    #[test]
    fn a_diff_is_the_diff_of_maps((from, to) in two_maps(), flat in any::<[bool; 2]>()) {
        let memory = Memory::default();
        let root = |map, flat| Some(if flat { memory.flat(map) } else { memory.tree(map) });
        let changes: Vec<_> =
            diff(&memory, root(&from, flat[0]), root(&to, flat[1])).map(Result::unwrap).collect();
        let all: BTreeSet<_> = from.keys().chain(to.keys()).collect();
        let expected: Vec<_> = all
            .into_iter()
            .map(|id| EntryChange { id: id.clone(), old: from.get(id).copied(), new: to.get(id).copied() })
            .filter(|change| change.old != change.new)
            .collect();
        prop_assert_eq!(changes, expected);
    }

    #[test]
    fn a_subtree_is_a_function_of_its_entries((from, to) in two_maps()) {
        let memory = Memory::default();
        for map in [from, to] {
            let mut left = vec![memory.tree(&map)];
            while let Some(root) = left.pop() {
                let below: Map = entries(&memory, root, "", None).map(Result::unwrap).collect();
                prop_assert_eq!(root, root_of(&below));
                let node = memory.state_node(root).unwrap();
                if let StateNode::Branch(branch) = &*node {
                    for (byte, child) in &branch.children {
                        let prefix = [branch.prefix.as_slice(), &[*byte]].concat();
                        let inside: Map = map.clone().into_iter()
                            .filter(|(id, _)| id.as_str().as_bytes().starts_with(&prefix))
                            .collect();
                        prop_assert_eq!(child.id, root_of(&inside));
                        left.push(child.id);
                    }
                }
            }
        }
    }

    #[test]
    fn a_merge_of_trees_is_the_merge_of_maps(
        (base, ours, theirs) in ids().prop_flat_map(|ids| {
            (a_map(ids.clone()), some_edits(ids.clone()), some_edits(ids))
        }),
        flat in any::<[bool; 3]>(),
    ) {
        // Versions 0 and 1 are the same memory, and so are 2 and 3.
        let class = |version: NodeVersionId| version.as_bytes()[3] / 2;
        let same = |a: NodeVersionId, b: NodeVersionId| Ok(class(a) == class(b));
        let (mut our_map, mut their_map) = (base.clone(), base.clone());
        apply(&mut our_map, &ours);
        apply(&mut their_map, &theirs);
        let memory = Memory::default();
        let root = |map, flat| Some(if flat { memory.flat(map) } else { memory.tree(map) });
        let roots = [root(&base, flat[0]), root(&our_map, flat[1]), root(&their_map, flat[2])];
        let merged: Vec<_> =
            merge(&memory, roots[0], roots[1], roots[2], &same).map(Result::unwrap).collect();

        let mut expected = Vec::new();
        let all: BTreeSet<_> = base.keys().chain(our_map.keys()).chain(their_map.keys()).collect();
        for id in all {
            let [b, o, t] = [&base, &our_map, &their_map].map(|map| map.get(id).copied());
            let [bc, oc, tc] = [b, o, t].map(|version| version.map(class));
            let value = match (oc == tc, oc == bc, tc == bc) {
                (true, ..) => [b].into_iter().find(|b| *b == o || *b == t).unwrap_or(o.min(t)),
                (_, true, _) => t,
                (_, _, true) => o,
                _ => {
                    expected.push(Merged::Conflict { id: id.clone(), base: b, ours: o, theirs: t });
                    continue;
                }
            };
            if value != o {
                expected.push(Merged::Take { id: id.clone(), value });
            }
        }
        prop_assert_eq!(&merged, &expected);

        // Where nothing conflicts, both directions make one state.
        let takes = |merged: Vec<Merged>| -> Option<EntryEdits> {
            merged.into_iter().map(|merged| match merged {
                Merged::Take { id, value } => Some((id, value)),
                Merged::Conflict { .. } => None,
            }).collect()
        };
        if let Some(edits) = takes(merged) {
            let back = merge(&memory, roots[0], roots[2], roots[1], &same).map(Result::unwrap).collect();
            let back = takes(back).expect("conflicts are symmetric");
            prop_assert_eq!(memory.edit(roots[1], &edits), memory.edit(roots[2], &back));
        }
    }
}

#[test]
fn every_case_of_the_merge_table() {
    let values = [None, Some(version(1)), Some(version(2)), Some(version(3))];
    let mut cases = Vec::new();
    for base in values {
        for ours in values {
            for theirs in values {
                cases.push((id(format!("case:{:02}", cases.len())), [base, ours, theirs]));
            }
        }
    }
    assert_eq!(cases.len(), 64);
    let memory = Memory::default();
    let [base, ours, theirs] = [0, 1, 2].map(|side| {
        let map = cases.iter().filter_map(|(id, case)| Some((id.clone(), case[side]?))).collect();
        Some(memory.tree(&map))
    });
    let never = |_, _| Ok(false);
    let mut merged: BTreeMap<NodeId, Merged> = merge(&memory, base, ours, theirs, &never)
        .map(Result::unwrap)
        .map(|merged| match &merged {
            Merged::Take { id, .. } | Merged::Conflict { id, .. } => (id.clone(), merged),
        })
        .collect();
    let mut conflicts = 0;
    for (id, [base, ours, theirs]) in cases {
        // The values that the sides moved to: none keeps the base, one wins, two conflict.
        let moved: BTreeSet<_> = [ours, theirs].into_iter().filter(|side| *side != base).collect();
        let outcome = merged.remove(&id);
        if moved.len() == 2 {
            conflicts += 1;
            assert_eq!(outcome, Some(Merged::Conflict { id, base, ours, theirs }));
        } else {
            let value = moved.into_iter().next().unwrap_or(base);
            let take = (value != ours).then_some(Merged::Take { id, value });
            assert_eq!(outcome, take, "{base:?} {ours:?} {theirs:?}");
        }
    }
    // Two sides at two of the three values that are not the base's, in either order.
    assert_eq!(conflicts, 4 * 6);
    assert!(merged.is_empty());
}

#[test]
fn an_error_of_the_caller_ends_a_merge() {
    let memory = Memory::default();
    let sides = [0, 1, 2].map(|n| {
        Some(memory.tree(&BTreeMap::from([(id("x"), version(n)), (id("y"), version(n))])))
    });
    let fails = |_, _| Err(Error::not_found("the node is not there"));
    let mut merged = merge(&memory, sides[0], sides[1], sides[2], &fails);
    assert_eq!(merged.next().unwrap().unwrap_err().kind(), ErrorKind::NotFound);
    assert!(merged.next().is_none());
}

#[test]
fn small_states_are_the_leaves_of_version_1() {
    let memory = Memory::default();
    assert_eq!(memory.edit(None, &EntryEdits::new()), Encoded::state(StateNode::empty()).0);
    for size in [0, 1, 15, 16] {
        let map = sessions(0..size);
        assert_eq!(memory.tree(&map), memory.flat(&map), "{size}");
    }
    assert_ne!(memory.tree(&sessions(0..17)), memory.flat(&sessions(0..17)));
}

#[test]
fn the_shape_of_a_large_state_is_pinned() {
    // What decides the shape decides the ids of every state: a change here is a new format.
    let mut map = sessions(0..1_000);
    map.extend((0..100).map(|n| (id(uuid(n)), version(n))));
    map.extend(chain(40));
    assert_eq!(
        Memory::default().tree(&map).to_string(),
        "f11e3fe694d0ee734521b2da0fc288063cb879d0a1138b9426f1587b5a46a664"
    );
}

#[test]
fn removing_collapses_up_to_the_empty_state() {
    let memory = Memory::default();
    let mut map = sessions(0..400);
    let mut root = memory.tree(&map);
    for n in 0..400 {
        let gone = id(session(n * 7 % 400));
        map.remove(&gone);
        root = memory.edit(Some(root), &BTreeMap::from([(gone, None)]));
        assert_eq!(root, root_of(&map));
    }
    assert_eq!(root, Encoded::state(StateNode::empty()).0);
}

#[test]
fn the_empty_id_has_a_place() {
    let memory = Memory::default();
    let mut map = sessions(0..40);
    map.insert(id(""), version(9));
    let root = memory.tree(&map);
    assert_eq!(root, root_of(&map));
    let StateNode::Branch(branch) = (*memory.state_node(root).unwrap()).clone() else { panic!() };
    assert_eq!((branch.prefix.len(), branch.here), (0, Some(version(9))));
    assert_eq!(get(&memory, root, &id("")).unwrap(), Some(version(9)));
    let second = entries(&memory, root, "", Some(&id(""))).next().unwrap().unwrap();
    assert_eq!(second.0, id(session(0)));
}

#[test]
fn a_long_chain_of_nested_ids_needs_no_stack() {
    let work = || {
        let memory = Memory::default();
        let map = chain(3_000);
        let root = memory.tree(&map);
        let end = id("a".repeat(3_000));
        let shorter = memory.edit(Some(root), &BTreeMap::from([(end.clone(), None)]));
        verify(&memory, shorter).unwrap();
        assert_eq!(get(&memory, root, &end).unwrap(), Some(version(7)));
        let changes: Vec<_> =
            diff(&memory, Some(root), Some(shorter)).map(Result::unwrap).collect();
        assert_eq!(changes, [EntryChange { id: end.clone(), old: Some(version(7)), new: None }]);
        let never = |_, _| Ok(false);
        let merged: Vec<_> = merge(&memory, Some(root), Some(root), Some(shorter), &never)
            .map(Result::unwrap)
            .collect();
        assert_eq!(merged, [Merged::Take { id: end, value: None }]);
        let flat = memory.flat(&map);
        assert_eq!(canonical_root(&memory, flat).unwrap(), root);
    };
    let thread = std::thread::Builder::new().stack_size(256 * 1024).spawn(work).unwrap();
    thread.join().unwrap();
}

#[test]
fn a_chain_of_nested_ids_costs_only_those_who_edit_it() {
    let memory = Memory::default();
    let mut map = chain(1_024);
    map.extend(sessions(0..1_000));
    let root = memory.tree(&map);
    assert_eq!(root, root_of(&map));
    let written = |text: &str| {
        let edits = BTreeMap::from([(id(text), Some(version(1)))]);
        edit(&memory, Some(root), &edits).unwrap().objects.len()
    };
    // A branch per id from the empty one to 1,008 letters, and a leaf of the last 16.
    assert_eq!(written(&"a".repeat(1_024)), 1_010);
    assert_eq!(written(&session(500)), 4);

    let mut root = root;
    for length in [1_024, 0, 1, 1_023, 512, 1_008, 1_009, 300, 1_000] {
        let gone = id("a".repeat(length));
        map.remove(&gone);
        root = memory.edit(Some(root), &BTreeMap::from([(gone, None)]));
        assert_eq!(root, root_of(&map), "without {length} letters");
    }
}

#[test]
fn reads_and_writes_follow_the_change_and_not_the_size() {
    for (name, text) in [("session", session as fn(u32) -> String), ("uuid", uuid)] {
        let memory = Memory::default();
        let map: Map = (0..10_000).map(|n| (id(text(n)), version(n))).collect();
        let root = memory.tree(&map);
        assert_eq!(root, root_of(&map));
        let (mut most_read, mut most_written) = (0, 0);
        for n in (0..10_000).step_by(97) {
            let edits = BTreeMap::from([(id(text(n)), Some(version(99_999)))]);
            let before = memory.reads.get();
            let edited = edit(&memory, Some(root), &edits).unwrap();
            assert_eq!(memory.reads.get() - before, edited.objects.len(), "{name}");
            memory.keep(&edited.objects);
            most_written = most_written.max(edited.objects.len());
            most_read = most_read.max(memory.reads(|| {
                let changes: Vec<_> =
                    diff(&memory, Some(root), Some(edited.root)).map(Result::unwrap).collect();
                assert_eq!(changes.len(), 1);
            }));
        }
        assert!(most_written <= 5, "{name}: {most_written} objects written");
        assert_eq!(most_read, 2 * most_written, "{name}");
        let point =
            memory.reads(|| assert!(get(&memory, root, &id(text(5_000))).unwrap().is_some()));
        assert!(point <= most_written, "{name}: {point} reads of one entry");
        assert_eq!(
            memory.reads(|| assert!(diff(&memory, Some(root), Some(root)).next().is_none())),
            0
        );
    }
}

#[test]
fn a_flat_state_is_compared_to_a_tree_by_subtrees() {
    let memory = Memory::default();
    let (map, changed) = (sessions(0..10_000), id(session(5_000)));
    let (flat, tree) = (memory.flat(&map), memory.tree(&map));
    let other = memory.edit(Some(tree), &BTreeMap::from([(changed, None)]));
    for (from, to) in [(flat, other), (other, flat)] {
        let reads = memory.reads(|| assert_eq!(diff(&memory, Some(from), Some(to)).count(), 1));
        assert!(reads <= 7, "{reads} nodes read");
    }
    let reads = memory.reads(|| assert_eq!(diff(&memory, Some(flat), Some(tree)).count(), 0));
    assert!(reads <= 3, "{reads} nodes read");
}

#[test]
fn a_prefix_scan_reads_its_subtree_alone() {
    let memory = Memory::default();
    let root = memory.tree(&sessions(0..10_000));
    let whole = memory.reads(|| verify(&memory, root).unwrap());
    let mut found = 0;
    let some = memory.reads(|| found = entries(&memory, root, "session:000000123", None).count());
    assert_eq!(found, 10);
    assert!(some <= 4, "{some} of {whole} nodes read");
    let start = id(session(5_555));
    let first = memory.reads(|| {
        assert!(entries(&memory, root, "", Some(&start)).next().is_some());
    });
    assert!(first <= 5, "{first} of {whole} nodes read to continue a scan");
}

#[test]
fn a_changed_place_of_an_equal_subtree_is_found_by_its_id() {
    // One id more moves a thousand one level down; they are read twice at most.
    let memory = Memory::default();
    let map = sessions(0..1_000);
    let (old, more) = (memory.tree(&map), EntryEdits::from([(id("sess"), Some(version(1)))]));
    let new = memory.edit(Some(old), &more);
    let reads = memory.reads(|| assert_eq!(diff(&memory, Some(old), Some(new)).count(), 1));
    assert!(reads <= 4, "{reads} nodes read");
}

/// Every question there is about a state.
fn questions(memory: &Memory, root: StateId) -> Vec<(&'static str, Option<Error>)> {
    let small = Some(memory.tree(&sessions(0..1)));
    let never = |_, _| Ok(false);
    let everything: EntryEdits = sessions(0..200).into_keys().map(|id| (id, None)).collect();
    vec![
        ("verify", verify(memory, root).err()),
        ("entries", entries(memory, root, "", None).find_map(Result::err)),
        ("diff", diff(memory, small, Some(root)).find_map(Result::err)),
        ("merge", merge(memory, small, small, Some(root), &never).find_map(Result::err)),
        ("get", sessions(0..200).keys().find_map(|id| get(memory, root, id).err())),
        ("edit", edit(memory, Some(root), &everything).err()),
    ]
}

#[test]
fn a_damaged_tree_is_an_error_that_names_the_node() {
    let memory = Memory::default();
    let map = sessions(0..200);
    let StateNode::Branch(good) = (*memory.state_node(memory.tree(&map)).unwrap()).clone() else {
        panic!()
    };
    let leaf = |map: Map| StateNode::Leaf(Leaf { nodes: map });
    let (byte, child) = good.children.iter().map(|(b, c)| (*b, *c)).next().unwrap();
    assert_eq!((byte, child.count), (b'0', 100));
    let other = good.children[&b'1'];

    let mut rootless = good.clone();
    rootless.children.insert(byte, Child { id: child.id, count: u64::MAX });
    let overflow = memory.plant(StateNode::Branch(rootless));
    for (question, error) in questions(&memory, overflow) {
        assert_eq!(error.expect(question).kind(), ErrorKind::CorruptStore);
    }
    assert_eq!(count(&memory, overflow).unwrap_err().kind(), ErrorKind::CorruptStore);

    let StateNode::Branch(deep) = (*memory.state_node(child.id).unwrap()).clone() else { panic!() };
    let mut moved = deep.clone();
    moved.prefix[0] = b'S';
    let mut shallow = deep.clone();
    shallow.prefix.truncate(3);
    let few = sessions(0..10);
    let mut stray = few.clone();
    stray.insert(id("t"), version(1));
    let mut early = few.clone();
    early.insert(id("a"), version(1));
    let mut small_branch = deep;
    small_branch.children.retain(|byte, _| *byte == b'0');
    small_branch.here = Some(version(1));
    let damages = [
        ("a count too high", child.id, child.count + 1),
        ("a count too low", child.id, child.count - 1),
        ("the place of another child", other.id, other.count),
        ("another prefix", memory.plant(StateNode::Branch(moved)), 100),
        ("a prefix that does not reach", memory.plant(StateNode::Branch(shallow)), 100),
        ("a leaf that is too big", memory.flat(&sessions(0..100)), 100),
        ("an empty child", memory.plant(StateNode::empty()), 0),
        ("a wrong size of a leaf", memory.plant(leaf(few)), 9),
        ("a stray last id", memory.plant(leaf(stray)), 11),
        ("a stray first id", memory.plant(leaf(early)), 11),
        ("a branch that should be a leaf", memory.plant(StateNode::Branch(small_branch)), 11),
    ];
    for (damage, planted, count) in damages {
        let mut bad = good.clone();
        bad.children.insert(byte, Child { id: planted, count });
        let bad = memory.plant(StateNode::Branch(bad));
        for (question, error) in questions(&memory, bad) {
            let error = error.unwrap_or_else(|| panic!("{question} does not see {damage}"));
            assert_eq!(error.kind(), ErrorKind::CorruptStore, "{question}: {damage}");
            assert!(error.to_string().contains(&planted.to_string()), "{question}: {error}");
        }
    }
}

#[test]
fn a_missing_node_is_an_error_everywhere() {
    let memory = Memory::default();
    let root = memory.tree(&sessions(0..200));
    let StateNode::Branch(branch) = (*memory.state_node(root).unwrap()).clone() else { panic!() };
    memory.nodes.borrow_mut().remove(&branch.children[&b'0'].id);
    for (question, error) in questions(&memory, root) {
        assert_eq!(error.expect(question).kind(), ErrorKind::NotFound, "{question}");
    }
    let mut scan = entries(&memory, root, "", None);
    assert!(scan.next().unwrap().is_err());
    assert!(scan.next().is_none(), "a scan ends after its first error");
    let small = Some(memory.tree(&sessions(0..1)));
    let mut changes = diff(&memory, small, Some(root));
    assert!(changes.by_ref().any(|change| change.is_err()));
    assert!(changes.next().is_none(), "a diff ends after its first error");
}

#[test]
fn the_decoder_refuses_other_shapes() {
    let memory = Memory::default();
    let root = memory.tree(&sessions(0..200));
    let StateNode::Branch(good) = (*memory.state_node(root).unwrap()).clone() else { panic!() };
    let refused = |change: &dyn Fn(&mut Branch)| {
        let mut branch = good.clone();
        change(&mut branch);
        let (_, encoded) = Encoded::state(StateNode::Branch(branch));
        Encoded::decode(encoded.bytes()).is_err()
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|branch| branch.children.retain(|byte, _| *byte == b'0')));
    assert!(refused(&|branch| branch.children.values_mut().for_each(|child| child.count = 8)));
    assert!(refused(&|branch| branch
        .children
        .values_mut()
        .for_each(|child| child.count = u64::MAX)));
    assert!(refused(&|branch| {
        branch.prefix.push(0xc3);
        branch.here = Some(version(1));
    }));
    assert!(refused(&|branch| {
        branch.children.insert(b'9', Child { id: ObjectId::from_bytes([0; 32]).into(), count: 0 });
    }));
}
