//! Verify finds each kind of damage that objects can have, and reads each object once.

use std::sync::Arc;

use mnem_store::backend::counting::Counting;
use mnem_store::backend::{Backend, Batch, Expected, MemoryBackend};
use mnem_store::codec::Encoded;
use mnem_store::object::{Branch, Child, Leaf, StateNode};
use mnem_store::ops::{Changes, Verified};
use mnem_store::{
    BranchName, Commit, CommitId, Environment, InitOptions, NodeId, NodeVersionId, StateId, Store,
};

use crate::support::{environment, id, meta, note, put};

type Disk = Arc<Counting<MemoryBackend>>;

fn store(environment: Environment) -> (Disk, Store) {
    let backend = Arc::new(Counting::new(MemoryBackend::new()));
    let shared = Arc::clone(&backend) as Arc<dyn Backend>;
    (backend, Store::over_backend(shared, &InitOptions::default(), environment))
}

fn add(backend: &Disk, object: Encoded) {
    let mut batch = Batch::default();
    batch.object(object);
    backend.publish(&batch).unwrap();
}

fn leaf(entries: impl IntoIterator<Item = (String, NodeVersionId)>) -> (StateId, Encoded) {
    let nodes = entries.into_iter().map(|(id, version)| (NodeId::from_stored(id), version));
    Encoded::state(StateNode::Leaf(Leaf { nodes: nodes.collect() }))
}

fn branch(prefix: &str, children: [(u8, StateId, u64); 2]) -> (StateId, Encoded) {
    let children = children.map(|(byte, id, count)| (byte, Child { id, count })).into();
    let branch = Branch { prefix: prefix.into(), here: None, children };
    Encoded::state(StateNode::Branch(branch))
}

fn problems(store: &Store) -> Vec<String> {
    store.verify(|_| ()).unwrap().problems
}

/// Sixteen nodes below a letter, stored, as one leaf of a tree.
fn many(backend: &Disk, letter: char) -> StateId {
    let entries: Vec<_> = (0..16)
        .map(|number| {
            let name = format!("{letter}{number:02}");
            let (version, object) = Encoded::node(note(&name, "1"));
            add(backend, object);
            (name, version)
        })
        .collect();
    let (id, object) = leaf(entries);
    add(backend, object);
    id
}

#[test]
fn a_sound_store_is_counted() {
    let (_, store) = store(environment());
    assert_eq!(store.verify(|_| ()).unwrap(), Verified::default());
    put(&store, "a", "1");
    put(&store, "b", "1");
    put(&store, "a", "2");
    store.create_branch(&BranchName::new("side").unwrap(), None, "t").unwrap();
    let mut progress = Vec::new();
    let verified = store.verify(|read| progress.push(read)).unwrap();
    let expected = Verified { nodes: 3, states: 3, commits: 3, branches: 2, problems: vec![] };
    assert_eq!(verified, expected);
    assert_eq!(progress, (1..=9).collect::<Vec<_>>());
}

#[test]
fn what_a_state_says_of_nodes() {
    let (backend, store) = store(environment());
    let (version, object) = Encoded::node(note("a", "1"));
    add(&backend, object);
    assert_eq!(problems(&store), Vec::<String>::new());
    let (_, object) = leaf([("b".into(), version)]);
    add(&backend, object);
    let lost = |id: &str, why: String| format!("the node {id:?} cannot be read: {why}");
    let why = format!("a state files the node \"a\" ({version}) under \"b\"");
    assert_eq!(problems(&store), [lost("b", why)]);

    let (backend, store) = self::store(environment());
    let absent = NodeVersionId::from_bytes([1; 32]);
    let (state, object) = leaf([("a".into(), absent)]);
    add(&backend, object);
    assert_eq!(problems(&store), [lost("a", format!("the object {absent} is missing"))]);
    let (_, object) = leaf([("a".into(), NodeVersionId::from_bytes(*state.as_bytes()))]);
    add(&backend, object);
    let expected = [
        lost("a", format!("the object {absent} is missing")),
        lost("a", format!("the object {state} is not a memory node")),
    ];
    let mut expected = Vec::from(expected);
    expected.sort();
    assert_eq!(problems(&store), expected);

    // The entry that stands at a branch itself.
    let (backend, store) = self::store(environment());
    let (a, b) = (many(&backend, 'a'), many(&backend, 'b'));
    let children = [(b'a', a), (b'b', b)].map(|(byte, id)| (byte, Child { id, count: 16 }));
    let object = Branch { prefix: vec![], here: Some(absent), children: children.into() };
    add(&backend, Encoded::state(StateNode::Branch(object)).1);
    assert_eq!(problems(&store), [lost("", format!("the object {absent} is missing"))]);
}

#[test]
fn what_a_branch_says_of_its_children() {
    let missing = StateId::from_bytes([1; 32]);
    for (bytes, counts, is_there, message) in [
        ([b'a', b'b'], [16, 16], true, None),
        ([b'a', b'c'], [16, 16], true, Some("has ids that do not belong where it stands")),
        ([b'a', b'b'], [16, 15], true, Some("has another size than its parent says")),
        ([b'a', b'b'], [16, 17], true, Some("has another size than its parent says")),
        ([b'a', b'b'], [16, 16], false, Some("is missing")),
    ] {
        let (backend, store) = store(environment());
        let a = many(&backend, 'a');
        let b = if is_there { many(&backend, 'b') } else { missing };
        let (_, object) = branch("", [(bytes[0], a, counts[0]), (bytes[1], b, counts[1])]);
        add(&backend, object);
        let found = problems(&store);
        match message {
            None => assert_eq!(found, Vec::<String>::new()),
            Some(message) => {
                assert_eq!(found.len(), 1, "{found:?}");
                assert!(found[0].contains(&b.to_string()), "{found:?}");
                assert!(found[0].ends_with(message), "{found:?}");
            }
        }
    }
    // A branch below the wrong byte, deep in a tree whose root is sound in itself.
    let (backend, store) = store(environment());
    let (a, b) = (many(&backend, 'a'), many(&backend, 'b'));
    let (below, object) = branch("", [(b'a', a, 16), (b'b', b, 16)]);
    add(&backend, object);
    let (_, object) = branch("", [(b'a', a, 16), (b'x', below, 32)]);
    add(&backend, object);
    assert_eq!(problems(&store).len(), 1);
}

#[test]
fn what_a_commit_and_a_reference_say() {
    let (backend, store) = store(environment());
    put(&store, "a", "1");
    let state = store.snapshot().unwrap().state().unwrap();
    let commit = |parents: Vec<CommitId>, state: StateId| {
        let (message, author) = (String::new(), String::new());
        Encoded::commit(Commit { parents, state, message, author, time: 0 })
    };
    let absent = [1; 32];
    let (sound, object) = commit(vec![], state);
    add(&backend, object);
    assert_eq!(problems(&store), Vec::<String>::new());
    let (_, object) = commit(vec![], StateId::from_bytes(absent));
    add(&backend, object);
    let missing = format!("the object {} is missing", StateId::from_bytes(absent));
    assert_eq!(problems(&store), std::slice::from_ref(&missing));
    let (_, object) = commit(vec![sound, CommitId::from_bytes(absent)], state);
    add(&backend, object);
    assert_eq!(problems(&store), std::slice::from_ref(&missing), "each sentence once");
    let (_, object) = commit(vec![], StateId::from_bytes(*sound.as_bytes()));
    add(&backend, object);
    let not_a_state = format!("the object {sound} is not a state");
    let (_, object) = commit(vec![CommitId::from_bytes(*state.as_bytes())], state);
    add(&backend, object);
    let not_a_commit = format!("the object {state} is not a commit");
    let mut expected = vec![missing.clone(), not_a_state, not_a_commit];
    expected.sort();
    assert_eq!(problems(&store), expected);

    let (backend, store) = self::store(environment());
    let mut batch = Batch::default();
    let name = BranchName::new("lost").unwrap();
    batch.reference(name, Expected::Absent, Some(CommitId::from_bytes(absent)));
    backend.publish(&batch).unwrap();
    assert_eq!(problems(&store), [missing]);
}

#[test]
fn the_cost_is_of_objects_and_not_of_commits_times_nodes() {
    // Without a cache, what is read again counts again.
    let (backend, store) = store(Environment { cache_bytes: 0, ..environment() });
    let change = |n: u32| (id(&format!("n{n:04}")), Some(note(&format!("n{n:04}"), "1")));
    store.write((0..2_000).map(change).collect::<Changes>(), &meta("many")).unwrap();
    let commits = 300;
    for number in 0..commits {
        put(&store, &format!("n{:04}", number * 5), "2");
    }
    let objects = backend.view().unwrap().ids(mnem_store::ObjectId::all(), usize::MAX).unwrap();
    backend.take();
    assert_eq!(problems(&store), Vec::<String>::new());
    let reads = backend.counts().object_reads;
    // A state object has at most some ten others below it here; every tree of every commit
    // would be 600,000 entries.
    assert!(reads < 12 * objects.len() as u64, "{reads} reads for {} objects", objects.len());
}
