//! The verbs through a whole store, the plain cases.

use std::sync::Arc;

use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Changes, DiffTarget, MergeOptions, MergeOutcome};
use mnem_store::{BranchName, Clock, Environment, ErrorKind, InitOptions, Store};

use crate::support::{environment, id, in_memory, meta, note, put, remove};

#[test]
fn a_store_remembers_and_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::init(directory.path(), &InitOptions::default(), environment()).unwrap();
    let first = put(&store, "plan", "enterprise");
    put(&store, "owner", "ada");
    let third = put(&store, "plan", "pro");
    drop(store);

    let store = Store::open(&directory.path().join(".mnem"), environment()).unwrap();
    let blame = store.blame(&id("plan"), None).unwrap();
    assert_eq!((blame.commit, blame.removed), (third, false));
    assert_eq!(store.blame(&id("plan"), Some("HEAD~1")).unwrap().commit, first);
    let log = store.log(&LogOptions::default()).unwrap();
    assert_eq!(log.first().unwrap().0, third);
    assert_eq!(log.len(), 3);
    assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
}

#[test]
fn two_lines_merge_and_meet() {
    let store = in_memory();
    put(&store, "plan", "enterprise");
    let side = store.on(&BranchName::new("side").unwrap(), "tester").unwrap();
    put(&side, "contact", "phone");
    put(&store, "owner", "ada");
    let outcome = store.merge("side", &MergeOptions::default()).unwrap();
    let MergeOutcome::Merged(commit) = outcome else { panic!("{outcome:?}") };
    assert_eq!(store.commit_object(commit).unwrap().parents.len(), 2);
    assert_eq!(store.snapshot().unwrap().count().unwrap(), 3);

    put(&side, "plan", "pro");
    put(&store, "plan", "team");
    let outcome = store.merge("side", &MergeOptions::default()).unwrap();
    let MergeOutcome::Conflicts(conflicts) = outcome else { panic!("{outcome:?}") };
    assert_eq!(conflicts[0].to_string(), "plan (edit/edit)");
}

/// A clock by which every file has long settled.
#[derive(Debug)]
struct MuchLater;

impl Clock for MuchLater {
    fn now(&self) -> i64 {
        i64::MAX / 2
    }
}

#[test]
fn head_is_read_again_when_its_file_changed() {
    let directory = tempfile::tempdir().unwrap();
    let later = Environment { clock: Arc::new(MuchLater), ..environment() };
    let store = Store::init(directory.path(), &InitOptions::default(), later).unwrap();
    put(&store, "plan", "pro");
    store.create_branch(&BranchName::new("aside").unwrap(), None, "t").unwrap();
    for branch in ["main", "aside", "main"] {
        std::fs::write(directory.path().join(".mnem/HEAD"), format!("ref: {branch}\n")).unwrap();
        for _ in 0..2 {
            assert_eq!(store.head().unwrap().render(), format!("ref: {branch}"));
        }
    }
    std::fs::remove_dir_all(directory.path().join(".mnem")).unwrap();
    assert_eq!(store.head().unwrap_err().kind(), ErrorKind::NoStore);
}

#[test]
fn a_node_at_hand_is_the_one_that_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let later = Environment { clock: Arc::new(MuchLater), ..environment() };
    let store = Store::init(directory.path(), &InitOptions::default(), later).unwrap();
    let there = |name: &str| store.snapshot().unwrap().get(&id(name)).unwrap();
    let at_hand = |name: &str| store.snapshot_at_hand()?.get_at_hand(&id(name));
    assert_eq!(at_hand("plan"), None, "there is no commit yet");
    for text in ["pro", "team"] {
        put(&store, "plan", text);
        let found = there("plan");
        assert!(found.is_some());
        assert_eq!(at_hand("plan"), Some(found));
        assert_eq!(at_hand("owner"), Some(None));
    }
    remove(&store, "plan");
    assert_eq!(there("plan"), None);
    assert_eq!(at_hand("plan"), Some(None));
    let bound = store.on(&BranchName::new("main").unwrap(), "t").unwrap();
    assert!(bound.snapshot_at_hand().is_some());
    store.close();
    assert_eq!(at_hand("plan"), None, "the handle is closed");
    std::fs::remove_dir_all(directory.path().join(".mnem")).unwrap();
    assert!(bound.snapshot_at_hand().is_none(), "the store is gone");
}

#[test]
fn a_scan_over_damage_names_the_object() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::init(directory.path(), &InitOptions::default(), environment()).unwrap();
    // So many that they are indexed, and read in more than one piece.
    let names = (0..4_200).map(|number| format!("n{number:04}"));
    let nodes = names.map(|name| (id(&name), Some(note(&name, &format!("says {name}")))));
    store.write(nodes.collect::<Changes>(), &meta("many")).unwrap();
    let version = store.snapshot().unwrap().version(&id("n0017")).unwrap().unwrap();
    drop(store);

    let file = directory.path().join(".mnem/store.redb");
    let mut bytes = std::fs::read(&file).unwrap();
    let text = b"says n0017";
    let places = 0..bytes.len() - text.len();
    let found: Vec<_> = places.filter(|at| bytes[*at..].starts_with(text)).collect();
    assert!(!found.is_empty());
    for at in found {
        bytes[at] ^= 1;
    }
    std::fs::write(&file, bytes).unwrap();

    let store = Store::open(directory.path(), environment()).unwrap();
    let errors = [
        store.working_memory("", None).unwrap_err(),
        store.snapshot().unwrap().memory("n001", None).unwrap_err(),
        store.snapshot().unwrap().get(&id("n0017")).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::CorruptStore);
        assert_eq!(error.to_string(), format!("the object {version} was altered"));
    }
    assert_eq!(store.working_memory("n002", None).unwrap().len(), 10);
}

#[test]
fn what_two_commits_differ_in_is_told_whatever_head_says() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::init(directory.path(), &InitOptions::default(), environment()).unwrap();
    let [first, second] = ["1", "2"].map(|text| put(&store, "a", text));
    store.close();
    std::fs::write(directory.path().join(".mnem/HEAD"), "junk\n").unwrap();
    let store = Store::open(directory.path(), environment()).unwrap();
    let changes = store.diff(DiffTarget::Commit(first), DiffTarget::Commit(second)).unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(store.changed_by(second).unwrap().len(), 1);
    let error = store.diff(DiffTarget::Commit(first), DiffTarget::Working).unwrap_err();
    assert!(error.to_string().contains("HEAD holds"), "{error}");
}
