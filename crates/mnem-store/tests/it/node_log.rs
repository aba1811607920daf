//! The history of one node, and the branches that wait to be merged.

use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{ChangeKind, MergeOptions, MergeOutcome, Resolution, Strategy};
use mnem_store::{BranchName, CommitId, ErrorKind, Store};

use crate::support::{id, in_memory, put, remove};

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

fn history(store: &Store, name: &str, options: &LogOptions) -> Vec<(CommitId, ChangeKind)> {
    let events = store.node_log(&id(name), options).unwrap();
    for event in &events {
        assert_eq!(event.change.id, id(name));
        assert_eq!(*event.commit, *store.commit_object(event.id).unwrap());
    }
    events.iter().map(|event| (event.id, event.change.kind)).collect()
}

fn merged(store: &Store, theirs: &str, options: &MergeOptions) -> CommitId {
    match store.merge(theirs, options).unwrap() {
        MergeOutcome::Merged(commit) => commit,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_change_once_removals_too() {
    let store = in_memory();
    put(&store, "other", "1");
    let added = put(&store, "plan", "pro");
    put(&store, "other", "2");
    let changed = put(&store, "plan", "team");
    let removed = remove(&store, "plan");
    put(&store, "other", "3");
    let again = put(&store, "plan", "team");
    let all = LogOptions::default();
    let expected = [
        (again, ChangeKind::Added),
        (removed, ChangeKind::Removed),
        (changed, ChangeKind::Modified),
        (added, ChangeKind::Added),
    ];
    assert_eq!(history(&store, "plan", &all), expected);
    let two = LogOptions { limit: Some(2), ..all.clone() };
    assert_eq!(history(&store, "plan", &two), expected[..2]);
    let earlier = LogOptions { start: vec![changed], ..all.clone() };
    assert_eq!(history(&store, "plan", &earlier), expected[2..]);
    assert_eq!(history(&store, "nobody", &all), []);
    let unknown = LogOptions { start: vec![CommitId::from_bytes([7; 32])], ..all };
    assert_eq!(store.node_log(&id("plan"), &unknown).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn nothing_on_a_branch_without_a_commit() {
    assert_eq!(history(&in_memory(), "plan", &LogOptions::default()), []);
}

#[test]
fn a_merge_counts_only_for_a_value_of_its_own() {
    let all = LogOptions::default();
    let first_parent = LogOptions { first_parent: true, ..LogOptions::default() };

    // One side changed it: the change stands where it was made, and on the first parents where
    // it came in.
    let store = in_memory();
    let root = put(&store, "plan", "pro");
    let side = store.on(&branch("side"), "t").unwrap();
    let theirs = put(&side, "plan", "team");
    put(&store, "other", "1");
    let merge = merged(&store, "side", &MergeOptions::default());
    let (added, modified) = (ChangeKind::Added, ChangeKind::Modified);
    assert_eq!(history(&store, "plan", &all), [(theirs, modified), (root, added)]);
    assert_eq!(history(&store, "plan", &first_parent), [(merge, modified), (root, added)]);

    // Both changed it and one won.
    let theirs_again = put(&side, "plan", "solo");
    let ours = put(&store, "plan", "max");
    let strategy = Some(Strategy::Theirs);
    merged(&store, "side", &MergeOptions { strategy, ..MergeOptions::default() });
    let mut last = [theirs_again, ours];
    last.sort();
    let ids: Vec<_> = history(&store, "plan", &all).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), 4);
    assert!(last.iter().all(|id| ids.contains(id)), "{ids:?}");

    // Both changed it and the merge removed it: a value that no parent has.
    put(&side, "plan", "five");
    put(&store, "plan", "six");
    let resolutions = [(id("plan"), Resolution::Delete)].into();
    let gone = merged(&store, "side", &MergeOptions { resolutions, ..MergeOptions::default() });
    assert_eq!(history(&store, "plan", &all)[0], (gone, ChangeKind::Removed));
}

#[test]
fn a_removal_that_a_merge_took_over_stands_where_it_was_made() {
    let store = in_memory();
    put(&store, "plan", "pro");
    let side = store.on(&branch("side"), "t").unwrap();
    let removed = remove(&side, "plan");
    put(&store, "other", "1");
    merged(&store, "side", &MergeOptions::default());
    assert_eq!(history(&store, "plan", &LogOptions::default())[0], (removed, ChangeKind::Removed));
}

fn unmerged(store: &Store) -> Vec<String> {
    store.unmerged().unwrap().into_keys().map(|name| name.to_string()).collect()
}

#[test]
fn branches_wait_until_the_default_branch_has_them() {
    let store = in_memory();
    assert_eq!(unmerged(&store), [""; 0]);
    put(&store, "a", "1");
    for name in ["one", "two", "same"] {
        store.create_branch(&branch(name), None, "t").unwrap();
    }
    assert_eq!(unmerged(&store), [""; 0]);
    put(&store.on(&branch("one"), "t").unwrap(), "b", "1");
    put(&store.on(&branch("two"), "t").unwrap(), "c", "1");
    assert_eq!(unmerged(&store), ["one", "two"]);
    put(&store, "a", "2");
    merged(&store, "one", &MergeOptions::default());
    assert_eq!(unmerged(&store), ["two"]);
    merged(&store, "two", &MergeOptions::default());
    // Two tips as far from the root as each other, none nearer: the walk sees both.
    store.delete_branch(&branch("same"), "t").unwrap();
    assert_eq!(unmerged(&store), [""; 0]);
    put(&store.on(&branch("two"), "t").unwrap(), "c", "2");
    // Whatever branch one is on.
    store.checkout("two", false).unwrap();
    assert_eq!(unmerged(&store), ["two"]);
}

#[test]
fn every_branch_waits_for_a_default_branch_without_a_commit() {
    let store = in_memory();
    let other = store.on(&branch("other"), "t").unwrap();
    put(&other, "a", "1");
    assert_eq!(unmerged(&store), ["other"]);
}
