//! The verbs through a whole store, the plain cases.

use mnem_store::ops::MergeOptions;
use mnem_store::ops::MergeOutcome;
use mnem_store::ops::log::LogOptions;
use mnem_store::{BranchName, InitOptions, Store};

use crate::support::{environment, id, in_memory, put};

#[test]
fn a_store_remembers_and_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::init(directory.path(), &InitOptions::default(), environment()).unwrap();
    let first = put(&store, "plan", "enterprise");
    put(&store, "owner", "ada");
    let third = put(&store, "plan", "pro");
    drop(store);

    let store = Store::open(&directory.path().join("below"), environment()).unwrap();
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
