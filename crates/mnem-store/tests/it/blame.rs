//! Blame: where a belief came from, through merges and after it is gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mnem_store::backend::{Backend, Batch, MemoryBackend};
use mnem_store::codec::Encoded;
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Changes, MergeOptions, MergeOutcome, NodeTest, Resolution};
use mnem_store::{
    BranchName, Commit, CommitId, Content, Environment, ErrorKind, InitOptions, Store,
};

use crate::histories::forgetful::Forgetful;
use crate::support::{environment, id, in_memory, meta, note, put, remove};

fn on(store: &Store, name: &str) -> Store {
    store.on(&BranchName::new(name).unwrap(), "tester").unwrap()
}

fn merge(store: &Store, theirs: &str) -> CommitId {
    match store.merge(theirs, &MergeOptions::default()).unwrap() {
        MergeOutcome::Merged(commit) => commit,
        outcome => panic!("{outcome:?}"),
    }
}

/// Commit, content and whether it is gone.
fn blame(store: &Store, name: &str) -> (CommitId, String, bool) {
    let blame = store.blame(&id(name), None).unwrap();
    (blame.commit, blame.node.content.as_text().unwrap().to_owned(), blame.removed)
}

#[test]
fn a_value_is_followed_to_the_side_that_wrote_it() {
    let store = in_memory();
    put(&store, "x", "a");
    let side = on(&store, "side");
    let wrote = put(&side, "x", "b");
    put(&side, "other", "o");
    put(&store, "main", "m");
    let first = merge(&store, "side");
    assert_eq!(blame(&store, "x"), (wrote, "b".into(), false));

    // Through a second merge, and past commits that say it again.
    put(&store, "x", "b");
    let late = on(&store, "late");
    put(&late, "y", "y");
    put(&store, "z", "z");
    merge(&store, "late");
    assert_eq!(blame(&store, "x"), (wrote, "b".into(), false));
    let at_first = store.blame(&id("x"), Some(&first.to_string())).unwrap();
    assert_eq!(at_first.commit, wrote);
}

#[test]
fn what_only_the_merge_said_is_the_merge() {
    let store = in_memory();
    put(&store, "x", "a");
    let side = on(&store, "side");
    put(&side, "x", "b");
    put(&store, "x", "c");
    let options = MergeOptions {
        resolutions: [(id("x"), Resolution::Set(Box::new(note("x", "d"))))].into(),
        ..MergeOptions::default()
    };
    let MergeOutcome::Merged(commit) = store.merge("side", &options).unwrap() else {
        panic!("no merge")
    };
    assert_eq!(blame(&store, "x"), (commit, "d".into(), false));
}

#[test]
fn twins_in_salt_are_one_value() {
    let store = in_memory();
    put(&store, "root", "r");
    let side = on(&store, "side");
    let names: Vec<_> = (0..10).map(|number| format!("x{number}")).collect();
    let theirs: Vec<_> = names.iter().map(|name| put(&side, name, "a")).collect();
    let ours: Vec<_> = names.iter().map(|name| put(&store, name, "a")).collect();
    let version = |store: &Store, name| store.snapshot().unwrap().version(&id(name)).unwrap();
    let before: Vec<_> = names.iter().map(|name| version(&store, name)).collect();
    merge(&store, "side");
    let after: Vec<_> = names.iter().map(|name| version(&store, name)).collect();
    assert!(before.iter().zip(&after).any(|(a, b)| a == b), "the merge took some of ours");
    assert!(before.iter().zip(&after).any(|(a, b)| a != b), "and some of theirs");
    for ((name, ours), theirs) in names.iter().zip(ours).zip(theirs) {
        assert_eq!(blame(&store, name), (ours, "a".into(), false), "the first parent says so");
        assert_eq!(blame(&side, name).0, theirs);
    }
}

#[test]
fn a_removed_node_names_its_remover_and_what_it_said() {
    let store = in_memory();
    put(&store, "x", "a");
    put(&store, "x", "b");
    let gone = remove(&store, "x");
    put(&store, "y", "y");
    assert_eq!(blame(&store, "x"), (gone, "b".into(), true));

    let mut late = note("x", "c");
    late.event_time = Some(7);
    store.write(Changes::from([(id("x"), Some(late))]), &meta("back")).unwrap();
    assert!(!blame(&store, "x").2);
    assert_eq!(store.blame(&id("x"), None).unwrap().time, 7, "when the belief was formed");
    let gone = remove(&store, "x");
    let blame = store.blame(&id("x"), None).unwrap();
    assert_eq!((blame.commit, blame.removed), (gone, true));
    assert_eq!(blame.time, store.commit_object(gone).unwrap().time, "when it was removed");
}

#[test]
fn a_removal_is_followed_through_merges() {
    let store = in_memory();
    put(&store, "x", "a");
    let side = on(&store, "side");
    let gone = remove(&side, "x");
    put(&store, "y", "y");
    merge(&store, "side");
    put(&store, "z", "z");
    assert_eq!(blame(&store, "x"), (gone, "a".into(), true));
}

#[test]
fn absence_follows_the_second_parent_where_the_first_never_had_it() {
    let store = in_memory();
    put(&store, "root", "r");
    let side = on(&store, "side");
    put(&side, "x", "a");
    let gone = remove(&side, "x");
    put(&store, "y", "y");
    merge(&store, "side");
    put(&store, "z", "z");
    assert_eq!(blame(&store, "x"), (gone, "a".into(), true));
}

#[test]
fn a_merge_that_decides_against_both_is_the_remover() {
    let store = in_memory();
    put(&store, "root", "r");
    let side = on(&store, "side");
    put(&side, "x", "theirs");
    put(&store, "x", "ours");
    let options = MergeOptions {
        resolutions: [(id("x"), Resolution::Delete)].into(),
        ..MergeOptions::default()
    };
    let MergeOutcome::Merged(merge) = store.merge("side", &options).unwrap() else {
        panic!("no merge")
    };
    put(&store, "y", "y");
    assert_eq!(blame(&store, "x"), (merge, "ours".into(), true), "what the first parent said");
}

#[test]
fn absence_does_not_follow_a_line_that_never_had_it() {
    let backend = Arc::new(MemoryBackend::new());
    let shared = Arc::clone(&backend) as Arc<dyn Backend>;
    let store = Store::over_backend(shared, &InitOptions::default(), environment());
    put(&store, "root", "r");
    let side = on(&store, "side");
    let theirs = put(&side, "x", "a");
    let ours = put(&store, "y", "y");
    // No verb makes it: ours never had x, theirs has it, and the merge has not.
    let (merge, object) = Encoded::commit(Commit {
        parents: vec![ours, theirs],
        state: store.snapshot().unwrap().state().unwrap(),
        message: "by hand".into(),
        author: "tester".into(),
        time: 0,
    });
    let mut batch = Batch::default();
    batch.object(object);
    backend.publish(&batch).unwrap();
    let found = store.blame(&id("x"), Some(&merge.to_string())).unwrap();
    assert_eq!((found.commit, found.removed), (merge, true));
    assert_eq!(found.node.content.as_text(), Some("a"));
}

#[test]
fn what_never_was_is_an_error() {
    let store = in_memory();
    let error = store.blame(&id("x"), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRef);
    assert_eq!(error.to_string(), "HEAD (ref: main) has no commit yet");
    let tip = put(&store, "y", "y");
    let side = on(&store, "side");
    put(&side, "z", "z");
    put(&store, "y", "z");
    merge(&store, "side");
    for at in [None, Some(tip.to_string())] {
        let error = store.blame(&id("x"), at.as_deref()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRef);
        assert!(error.to_string().starts_with("blame: \"x\" is not in memory at "), "{error}");
    }
}

/// Of three changes of a node, and others after each, the index has lost one.
#[test]
fn an_index_that_lost_a_change_is_not_believed() {
    for lost in 0..3 {
        let backend = Arc::new(Forgetful::new(0));
        let shared = Arc::clone(&backend) as Arc<dyn Backend>;
        let uncached = Environment { cache_bytes: 0, ..environment() };
        let store = Store::over_backend(shared, &InitOptions::default(), uncached);
        let commits = ["1", "2", "3"].map(|text| {
            let commit = put(&store, "plan", text);
            put(&store, "other", text);
            commit
        });
        let records = backend.view().unwrap().changes(&id("plan"), None, 3).unwrap();
        backend.lost.store(records[lost].0.0, Ordering::SeqCst);
        assert_eq!(store.blame(&id("plan"), None).unwrap().commit, commits[2], "{lost}");
        let events = store.node_log(&id("plan"), &LogOptions::default()).unwrap();
        assert_eq!(events.len(), 3, "{lost}");
        let test = NodeTest::Equals(Content::text("2"));
        let flips = store.flips(&id("plan"), &test, None, None).unwrap();
        let flips: Vec<_> = flips.iter().map(|flip| (flip.commit, flip.holds)).collect();
        assert_eq!(flips, [(commits[1], true), (commits[2], false)], "{lost}");
    }
}
