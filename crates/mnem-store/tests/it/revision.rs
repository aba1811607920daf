//! Every way to name a commit, and what is said of what names none.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mnem_store::backend::{Backend, Batch, MemoryBackend};
use mnem_store::codec::Encoded;
use mnem_store::ops::{Changes, MergeOptions, MergeOutcome, Meta};
use mnem_store::store::revision::parse_time;
use mnem_store::{
    BranchName, Clock, Commit, CommitId, Environment, ErrorKind, InitOptions, StateId, Store,
};

use crate::support::{environment, id, in_memory, meta, note, put, remove};

/// A clock that is set by hand.
#[derive(Clone, Debug)]
struct ByHand(Arc<AtomicI64>);

impl ByHand {
    fn set(&self, time: i64) {
        self.0.store(time, Ordering::Relaxed);
    }
}

impl Clock for ByHand {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn by_hand() -> (Store, ByHand) {
    let clock = ByHand(Arc::default());
    let environment = Environment { clock: Arc::new(clock.clone()), ..environment() };
    (Store::in_memory(&InitOptions::default(), environment).unwrap(), clock)
}

#[track_caller]
fn refused(store: &Store, revision: &str, message: &str) {
    let error = store.resolve(revision).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRef, "{revision}: {error}");
    assert!(error.to_string().contains(message), "{revision}: {error}");
}

/// main: root, second, merge (of side: other), tip.
fn history() -> (Store, [CommitId; 5]) {
    let store = in_memory();
    let root = put(&store, "a", "1");
    let side = store.on(&BranchName::new("side").unwrap(), "t").unwrap();
    let other = put(&side, "b", "1");
    let second = put(&store, "a", "2");
    let MergeOutcome::Merged(merge) = store.merge("side", &MergeOptions::default()).unwrap() else {
        panic!("no merge")
    };
    let tip = put(&store, "a", "3");
    (store, [root, second, other, merge, tip])
}

#[test]
fn steps_back_and_aside() {
    let (store, [root, second, other, merge, tip]) = history();
    for (revision, expected) in [
        ("HEAD", tip),
        ("main", tip),
        ("side", other),
        ("HEAD~0", tip),
        ("HEAD~", merge),
        ("HEAD~1", merge),
        ("HEAD~~", second),
        ("HEAD~3", root),
        ("HEAD^", merge),
        ("HEAD^0", tip),
        ("HEAD^1", merge),
        ("HEAD~1^2", other),
        ("HEAD~^2~1", root),
        ("HEAD^^2", other),
        ("side~1", root),
    ] {
        assert_eq!(store.resolve(revision).unwrap(), expected, "{revision}");
    }
    let full = tip.to_string();
    assert_eq!(store.resolve(&full).unwrap(), tip);
    assert_eq!(store.resolve(&format!("{full}~3")).unwrap(), root);
    for digits in [4, 5, 7, 12, 63] {
        assert_eq!(store.resolve(&full[..digits]).unwrap(), tip, "{digits} digits");
    }
}

#[test]
fn what_names_no_commit() {
    let (store, [root, ..]) = history();
    let node = store.snapshot().unwrap().version(&id("a")).unwrap().unwrap().to_string();
    let upper = root.to_string().to_uppercase();
    let nothing = "no branch named";
    for (revision, message) in [
        ("", nothing),
        ("nope", nothing),
        ("abc", nothing),
        ("HEA", nothing),
        ("~1", nothing),
        ("@", nothing),
        (&upper[..], nothing),
        ("nope~1", "no branch named \"nope\" in \"nope~1\""),
        ("0000", "no commit matching \"0000\""),
        (&node[..], "no commit matching"),
        (&node[..9], "no commit matching"),
        ("HEAD~4", "\"HEAD~4\" goes back beyond the first commit"),
        ("HEAD~3^", "has no parent number 1"),
        ("HEAD~3^2", "has no parent number 2"),
        ("HEAD^2", "has no parent number 2"),
        ("HEAD~1^3", "has no parent number 3"),
        ("HEAD~99999999999999999999999", "is not a revision"),
        ("HEAD~-1", "is not a revision"),
        ("HEAD~x", "is not a revision"),
        ("HEAD~é", "is not a revision"),
        ("HEAD^1é", "is not a revision"),
        ("HEAD~1@{5}", "is not a revision"),
        ("HEAD@", "is not a revision"),
        ("main@{5", "is not a revision"),
        ("main@{2757000000000}x", "is not a revision"),
        ("main@{2757000000000}é", "is not a revision"),
        ("main@{yesterday}", "\"yesterday\" in \"main@{yesterday}\" is no ISO 8601 time"),
        ("main@{}", "is no ISO 8601 time"),
        ("nope@{5}", "no branch named \"nope\" in \"nope@{5}\""),
    ] {
        refused(&store, revision, message);
    }
    refused(&in_memory(), "HEAD", "HEAD (ref: main) has no commit yet");
    refused(&in_memory(), "HEAD~1", "has no commit yet");
    refused(&in_memory(), "@{5}", "no branch named");
}

#[test]
fn an_ambiguous_prefix_lists_up_to_ten() {
    let backend = Arc::new(MemoryBackend::new());
    let store = Store::over_backend(
        Arc::clone(&backend) as Arc<dyn Backend>,
        &InitOptions::default(),
        environment(),
    );
    put(&store, "x", "a");
    let state = store.snapshot().unwrap().state().unwrap();
    let commit = |number: u32| {
        let message = number.to_string();
        Encoded::commit(Commit { parents: vec![], state, message, author: "t".into(), time: 0 })
    };
    // Twelve commits whose ids begin alike, and one object of another kind.
    let mut alike: Vec<_> = (0..1_000_000)
        .map(commit)
        .filter(|(id, _)| id.as_bytes()[..2] == [0xab, 0xcd])
        .take(12)
        .collect();
    assert_eq!(alike.len(), 12);
    alike.sort_by_key(|(id, _)| *id);
    for (count, more) in [(2, false), (10, false), (11, true), (12, true)] {
        let mut batch = Batch::default();
        alike[..count].iter().for_each(|(_, object)| batch.object(object.clone()));
        backend.publish(&batch).unwrap();
        let error = store.resolve("abcd").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRef);
        let mut names: Vec<_> = alike[..count.min(10)].iter().map(|(id, _)| id.short()).collect();
        names.extend(more.then(|| "more".into()));
        assert_eq!(error.to_string(), format!("\"abcd\" is ambiguous: {}", names.join(", ")));
        // Objects of any kind are listed alike, each with its kind.
        let mut kinds: Vec<_> =
            alike[..count.min(10)].iter().map(|(id, _)| id.short() + " (commit)").collect();
        kinds.extend(more.then(|| "more".into()));
        let error = store.find_object("abcd").unwrap_err();
        assert_eq!(error.to_string(), format!("\"abcd\" is ambiguous: {}", kinds.join(", ")));
    }
    // An odd number of digits is a range too.
    let (first, second) = (alike[0].0.to_string(), alike[1].0.to_string());
    let common = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    assert_eq!(store.resolve(&first[..=common]).unwrap(), alike[0].0);
    assert_eq!(store.resolve(&first[..common + 2]).unwrap(), alike[0].0);
}

#[test]
fn a_full_id_comes_before_a_branch_and_a_branch_before_a_prefix() {
    let (store, [root, second, ..]) = history();
    let prefix = &second.to_string()[..6];
    let name = BranchName::new(prefix).unwrap();
    store.create_branch(&name, Some(&root.to_string()), "t").unwrap();
    assert_eq!(store.resolve(prefix).unwrap(), root);
    assert_eq!(store.resolve(&second.to_string()[..7]).unwrap(), second);
    // Such a branch cannot be made any more; an older store may have one.
    let error = store.create_branch(
        &BranchName::from_stored(second.to_string()),
        Some(&root.to_string()),
        "t",
    );
    assert!(error.unwrap_err().to_string().ends_with("must not look like a commit id"));
    assert_eq!(store.resolve(&second.to_string()).unwrap(), second);
}

#[test]
fn where_a_branch_was() {
    let (store, clock) = by_hand();
    let write = |at: i64, commit_time: i64, value: &str| {
        clock.set(at);
        let meta = Meta { time: Some(commit_time), ..Meta::new(value, "t") };
        store.write(Changes::from([(id("x"), Some(note("x", value)))]), &meta).unwrap()
    };
    // The first two commits say that they are older than their records.
    let first = write(1_000, 100, "1");
    let second = write(2_000, 150, "2");
    let third = write(1_500, 3_000, "3"); // the clock went back: still 2,000
    let fourth = write(4_000, 4_000, "4");
    for (time, expected) in [
        (100, first), // before its first record: the chain by commit time
        (999, first),
        (1_000, first),
        (1_999, first),
        (2_000, third),
        (3_999, third),
        (4_000, fourth),
        (i64::MAX, fourth),
    ] {
        assert_eq!(store.resolve(&format!("main@{{{time}}}")).unwrap(), expected, "{time}");
        assert_eq!(store.resolve(&format!("@{{{time}}}")).unwrap(), expected, "{time}");
        assert_eq!(store.resolve(&format!("HEAD@{{{time}}}")).unwrap(), expected, "{time}");
    }
    assert_eq!(store.resolve("main@{2000}~1").unwrap(), second);
    assert_eq!(store.resolve("main@{1970-01-01T00:00:02Z}").unwrap(), third);
    assert_eq!(store.resolve("main@{1970-01-01T01:00:01.5+01:00}").unwrap(), first);
    assert_eq!(store.resolve("main@{1970-01-02}").unwrap(), fourth);
    let error = store.resolve("main@{99}").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.to_string(), "\"main@{99}\": the branch main pointed at nothing then");

    // A branch that moved without a new commit, and one that was deleted and made again.
    clock.set(5_000);
    let side = BranchName::new("side").unwrap();
    store.create_branch(&side, Some(&second.to_string()), "t").unwrap();
    clock.set(6_000);
    store.delete_branch(&side, "t").unwrap();
    assert_eq!(store.resolve("side@{5500}").unwrap(), second);
    assert_eq!(store.resolve("side@{6000}").unwrap_err().kind(), ErrorKind::NotFound);
    clock.set(7_000);
    store.create_branch(&side, Some(&first.to_string()), "t").unwrap();
    assert_eq!(store.resolve("side@{6500}").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.resolve("side@{7000}").unwrap(), first);
    assert_eq!(store.resolve("side@{150}").unwrap(), second, "before its first record");

    // A bound handle is on its branch; a detached HEAD is on none.
    let bound = store.on(&side, "t").unwrap();
    assert_eq!(bound.resolve("@{8000}").unwrap(), first);
    assert_eq!(bound.resolve("HEAD").unwrap(), first);
    store.checkout(&second.to_string(), false).unwrap();
    refused(&store, "@{8000}", "\"@{8000}\" needs a branch: HEAD is detached");
    refused(&store, "HEAD@{8000}", "\"HEAD@{8000}\" needs a branch: HEAD is detached");
    assert_eq!(store.resolve("main@{8000}").unwrap(), fourth);
    assert_eq!(store.resolve("HEAD").unwrap(), second);
}

#[test]
fn history_that_came_without_records_is_asked_by_commit_time() {
    let backend = Arc::new(MemoryBackend::new());
    let (state, object) = Encoded::state(mnem_store::object::StateNode::empty());
    let commit = |parents: Vec<CommitId>, state: StateId, time: i64| {
        Encoded::commit(Commit { parents, state, message: String::new(), author: "t".into(), time })
    };
    let (first, first_object) = commit(vec![], state, 10);
    let (second, second_object) = commit(vec![first], state, 20);
    let mut batch = Batch::default();
    for object in [object, first_object, second_object] {
        batch.object(object);
    }
    let main = BranchName::new("main").unwrap();
    batch.reference(main, mnem_store::backend::Expected::Absent, Some(second));
    backend.publish(&batch).unwrap();
    let clock = ByHand(Arc::new(AtomicI64::new(1_000)));
    let environment = Environment { clock: Arc::new(clock), ..environment() };
    let store = Store::over_backend(backend, &InitOptions::default(), environment);
    assert_eq!(store.resolve("main@{19}").unwrap(), first);
    assert_eq!(store.resolve("main@{20}").unwrap(), second);
    assert_eq!(store.resolve("main@{9}").unwrap_err().kind(), ErrorKind::NotFound);
    // The first record moves on from there; its own backdated commit was not there before it.
    let meta = Meta { time: Some(15), ..meta("late") };
    let third = store.write(Changes::from([(id("x"), Some(note("x", "a")))]), &meta).unwrap();
    assert_eq!(store.resolve("main@{25}").unwrap(), second);
    assert_eq!(store.resolve("main@{1000}").unwrap(), third);
    remove(&store, "x");
    assert_eq!(store.resolve("HEAD~3").unwrap(), first);
}

#[test]
fn times() {
    for (text, expected) in [
        ("0", Some(0)),
        ("-5", Some(-5)),
        ("1970-01-01", Some(0)),
        ("1970-01-01T00:00:01", Some(1_000)),
        ("1970-01-01 00:00:01", Some(1_000)),
        ("1970-01-01T00:00:01.250Z", Some(1_250)),
        ("1970-01-01T00:00:01+01:00", Some(-3_599_000)),
        ("1970-01-01T00:00:01+01:00[Europe/Berlin]", Some(-3_599_000)),
        // A zone is no offset: at the end of summer time it has two.
        ("1970-01-01T00:00:01[Europe/Berlin]", None),
        ("1970-01-01[Europe/Berlin]", None),
        ("1970-01-01T00:00:01[Nowhere]", None),
        ("", None),
        ("1970-13-01", None),
        ("noon", None),
        ("99999999999999999999", None),
    ] {
        assert_eq!(parse_time(text), expected, "{text}");
    }
}
