//! What records hold of a commit's place is what the graph says, and the graph alone will do.

use std::sync::Arc;

use mnem_store::backend::cache::Objects;
use mnem_store::backend::{Backend, Batch, MemoryBackend, View};
use mnem_store::codec::Encoded;
use mnem_store::index::{Position, position};
use mnem_store::object::StateNode;
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{MergeOptions, MergeOutcome};
use mnem_store::{BranchName, Commit, CommitId, InitOptions, ObjectId, Store};

use crate::support::{environment, put};

/// The objects of a backend without its records.
fn bare(from: &dyn Backend) -> Arc<MemoryBackend> {
    let view = from.view().unwrap();
    let mut batch = Batch::default();
    for (id, _) in view.ids(ObjectId::all(), usize::MAX).unwrap() {
        let mnem_store::backend::Outcome::Present(bytes) = view.object(&id).unwrap() else {
            panic!("listed and not there")
        };
        batch.object(Encoded::decode(&bytes).unwrap().0);
    }
    let bare = Arc::new(MemoryBackend::new());
    bare.publish(&batch).unwrap();
    bare
}

fn recorded(view: &dyn View, commit: CommitId) -> Position {
    let (_, record) = view.record(&commit).unwrap().unwrap();
    let derived = record.derived.unwrap();
    Position { generation: derived.generation, height: derived.height, skip: derived.skip }
}

#[test]
fn with_and_without_records() {
    let backend = Arc::new(MemoryBackend::new());
    let shared = Arc::clone(&backend) as Arc<dyn Backend>;
    let store = Store::over_backend(shared, &InitOptions::default(), environment());
    let agent = BranchName::new("agent").unwrap();
    let first = put(&store.on(&agent, "t").unwrap(), "first", "1"); // with the root of all
    for round in 0..9 {
        let side = store.on(&BranchName::new(format!("side-{round}")).unwrap(), "t").unwrap();
        for number in 0..round {
            put(&side, &format!("s{round}"), &number.to_string());
        }
        put(&store, &format!("m{round}"), "1");
        let outcome = store.merge(&format!("side-{round}"), &MergeOptions::default()).unwrap();
        assert_eq!(matches!(outcome, MergeOutcome::Merged(_)), round > 0);
    }
    let bare = Objects::new(bare(&*backend), 0);
    let mut log = store.log(&LogOptions::default()).unwrap();
    assert!(log.len() > 50);
    log.push((first, store.commit_object(first).unwrap()));
    let view = backend.view().unwrap();
    for (id, commit) in log {
        let found = position(&bare, id).unwrap();
        assert_eq!(found, recorded(&*view, id));
        let of = |parent: &CommitId| recorded(&*view, *parent);
        let generation = commit.parents.iter().map(|parent| of(parent).generation + 1).max();
        assert_eq!(found.generation, generation.unwrap_or(0));
        assert_eq!(found.height, commit.parents.first().map_or(0, |parent| of(parent).height + 1));
        // A skip goes to a first-parent ancestor, and says how high that stands.
        if let Some(skip) = found.skip {
            let back = usize::try_from(found.height - skip.height).unwrap();
            assert_eq!(store.resolve(&format!("{id}~{back}")).unwrap(), skip.commit);
        } else {
            assert!(commit.parents.is_empty());
        }
    }
}

#[test]
fn a_long_line_without_records() {
    let backend = Arc::new(MemoryBackend::new());
    let (state, object) = Encoded::state(StateNode::empty());
    let mut batch = Batch::default();
    batch.object(object);
    let mut tip = None;
    for time in 0..20_000 {
        let (message, author) = (String::new(), String::new());
        let parents = tip.into_iter().collect();
        let (id, object) = Encoded::commit(Commit { parents, state, message, author, time });
        batch.object(object);
        tip = Some(id);
    }
    backend.publish(&batch).unwrap();
    let objects = Objects::new(backend, 32 << 20);
    let found = position(&objects, tip.unwrap()).unwrap();
    assert_eq!((found.generation, found.height), (19_999, 19_999));
    assert!(found.skip.is_some());
}
