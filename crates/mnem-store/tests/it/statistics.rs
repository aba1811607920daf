//! How much a store holds.

use mnem_store::object::Kind;
use mnem_store::ops::statistics::Amount;
use mnem_store::ops::{Changes, Meta};
use mnem_store::{BranchName, InitOptions, Store};
use tempfile::TempDir;

use crate::support::{environment, id, in_memory, note, put, remove};

#[test]
fn an_empty_store_has_nothing() {
    let statistics = in_memory().statistics(|_| ()).unwrap();
    let none = Amount::default();
    let objects = [(Kind::Node, none), (Kind::State, none), (Kind::Commit, none)];
    assert_eq!(statistics.objects, objects.into());
    assert_eq!((statistics.nodes, statistics.branches, statistics.staged), (0, 0, 0));
    assert_eq!((statistics.records, statistics.tree, statistics.file), (0, None, None));
}

#[test]
fn everything_is_counted_once() {
    let store = in_memory();
    put(&store, "a", "1");
    put(&store, "b", "1");
    remove(&store, "a");
    store.create_branch(&BranchName::new("side").unwrap(), None, "t").unwrap();
    store.stage(note("draft", "x")).unwrap();
    let mut last = 0;
    let statistics = store.statistics(|read| last = read).unwrap();
    // {a}, {a, b}, {b}
    let counts: Vec<_> = statistics.objects.iter().map(|(kind, n)| (*kind, n.count)).collect();
    assert_eq!(counts, [(Kind::Node, 3), (Kind::State, 3), (Kind::Commit, 3)]);
    assert_eq!(last, 9);
    assert_eq!((statistics.nodes, statistics.branches, statistics.staged), (1, 2, 1));
    assert_eq!(statistics.records, 4);
    let tree = statistics.tree.unwrap();
    assert_eq!((tree.height, tree.amount.count), (0, 1));
    let state = store.snapshot().unwrap().state().unwrap().to_string();
    let bytes = store.find_object(&state).unwrap().0.bytes().len() as u64;
    assert_eq!(tree.amount.bytes, bytes);
}

#[test]
fn a_tree_has_a_height_and_a_file_a_size() {
    let directory = TempDir::new().unwrap();
    let store = Store::init(directory.path(), &InitOptions::default(), environment()).unwrap();
    let names = (0..40).map(|n| format!("n{n:02}"));
    let changes: Changes = names.map(|name| (id(&name), Some(note(&name, "x")))).collect();
    store.write(changes, &Meta::new("forty", "tester")).unwrap();
    let statistics = store.statistics(|_| ()).unwrap();
    // The root, and a leaf of ten for each first digit.
    let tree = statistics.tree.unwrap();
    assert_eq!((statistics.nodes, tree.height, tree.amount.count), (40, 1, 5));
    assert_eq!(tree.amount, statistics.objects[&Kind::State]);
    let file = statistics.file.unwrap();
    let path = directory.path().join(".mnem/store.redb");
    assert_eq!(file.bytes, std::fs::metadata(path).unwrap().len());
    assert!(file.allocated > 0);
}

#[test]
fn records_are_counted_past_one_page() {
    let store = in_memory();
    let names = ["one", "two"].map(|name| BranchName::new(name).unwrap());
    put(&store, "a", "1");
    for round in 0..1_024 {
        if round % 2 == 0 {
            store.create_branch(&names[0], None, "t").unwrap();
        } else {
            store.delete_branch(&names[0], "t").unwrap();
        }
    }
    assert_eq!(store.statistics(|_| ()).unwrap().records, 1_025);
}
