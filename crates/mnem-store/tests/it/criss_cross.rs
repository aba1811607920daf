//! Merges of lines that last agreed in several places.

use std::sync::Arc;

use mnem_store::backend::counting::Counting;
use mnem_store::backend::{Backend, MemoryBackend};
use mnem_store::ops::{ConflictKind, MergeOptions, MergeOutcome, Resolution, Strategy};
use mnem_store::{BranchName, CommitId, ErrorKind, InitOptions, StateId, Store};

use crate::support::{environment, id, in_memory, put};

fn on(store: &Store, name: &str) -> Store {
    store.on(&BranchName::new(name).unwrap(), "t").unwrap()
}

fn text(store: &Store, name: &str) -> Option<String> {
    let node = store.snapshot().unwrap().get(&id(name)).unwrap()?;
    Some(node.content.as_text().unwrap().to_owned())
}

fn state(store: &Store, commit: CommitId) -> StateId {
    store.commit_object(commit).unwrap().state
}

fn tip(store: &Store) -> CommitId {
    store.head_commit().unwrap().unwrap()
}

/// Merges a commit; what is in conflict goes to ours, or to theirs.
fn take(store: &Store, theirs: CommitId, strategy: Strategy) -> CommitId {
    let options = MergeOptions { strategy: Some(strategy), ..MergeOptions::default() };
    match store.merge(&theirs.to_string(), &options).unwrap() {
        MergeOutcome::Merged(commit) => commit,
        outcome => panic!("{outcome:?}"),
    }
}

/// Two branches over `x` = 0 that set it to `left` and `right`, then merge each other: the
/// left takes `answers[0]`, the right `answers[1]`.
fn crossed(left: &str, right: &str, answers: [Strategy; 2]) -> (Store, Store, Store) {
    let store = in_memory();
    put(&store, "x", "0");
    put(&store, "y", "0");
    let (a, b) = (on(&store, "a"), on(&store, "b"));
    put(&a, "x", left);
    put(&a, "a", "1");
    put(&b, "x", right);
    put(&b, "b", "1");
    let (left, right) = (tip(&a), tip(&b));
    take(&a, right, answers[0]);
    take(&b, left, answers[1]);
    (store, a, b)
}

/// Merges both ways, which must come to one state.
fn converged(a: &Store, b: &Store) -> Option<String> {
    let (left, right) = (tip(a), tip(b));
    let merge = |store: &Store, theirs: CommitId| match store
        .merge(&theirs.to_string(), &MergeOptions::default())
        .unwrap()
    {
        MergeOutcome::Merged(commit) => commit,
        outcome => panic!("{outcome:?}"),
    };
    let (one, other) = (merge(a, right), merge(b, left));
    assert_eq!(state(a, one), state(b, other));
    text(a, "x")
}

#[test]
fn where_the_bases_agree_they_are_the_base() {
    // One side changes what both bases say alike.
    let (_store, a, b) = crossed("1", "1", [Strategy::Ours, Strategy::Ours]);
    put(&a, "x", "2");
    put(&b, "y", "3");
    assert_eq!(converged(&a, &b).unwrap(), "2");
    assert_eq!(text(&b, "y").unwrap(), "3");
}

#[test]
fn where_one_base_moved_on_the_other_is_behind_it() {
    // Of the bases, the left one changed x and the right one did not: their own merge says 1.
    let (_store, a, b) = crossed("1", "0", [Strategy::Ours, Strategy::Ours]);
    assert_eq!((text(&a, "x").unwrap(), text(&b, "x").unwrap()), ("1".into(), "1".into()));
    put(&a, "x", "2");
    assert_eq!(converged(&a, &b).unwrap(), "2");
    // And a return to what was there before is a change, not the base.
    let (_store, a, b) = crossed("1", "0", [Strategy::Ours, Strategy::Ours]);
    put(&b, "x", "0");
    assert_eq!(converged(&a, &b).unwrap(), "0");
}

#[test]
fn where_the_bases_disagree_there_is_no_base() {
    // Each side kept its own: any of the bases would let one side win unasked.
    let (_store, a, b) = crossed("1", "2", [Strategy::Ours, Strategy::Ours]);
    for (store, other) in [(&a, &b), (&b, &a)] {
        let theirs = tip(other).to_string();
        let outcome = store.merge(&theirs, &MergeOptions::default()).unwrap();
        let MergeOutcome::Conflicts(found) = outcome else { panic!("{outcome:?}") };
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kind, &found[0].base), (ConflictKind::EditEdit, &None));
        let options = MergeOptions {
            resolutions: [(id("x"), Resolution::Base)].into(),
            ..MergeOptions::default()
        };
        let error = store.merge(&theirs, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRef);
        assert_eq!(
            error.to_string(),
            "\"x\" has no base to go back to: the sides last agreed in several places, and those disagree"
        );
    }
    // Sides that say the same need none.
    let (_store, a, b) = crossed("1", "2", [Strategy::Ours, Strategy::Theirs]);
    put(&a, "a", "2");
    put(&b, "b", "2");
    assert_eq!(converged(&a, &b).unwrap(), "1");
}

#[test]
fn a_disagreement_further_back_equals_nothing() {
    // The bases of the bases disagree on x, and each base kept its own.
    let (_store, a, b) = crossed("1", "2", [Strategy::Ours, Strategy::Ours]);
    put(&a, "a", "2");
    put(&b, "b", "2");
    let (left, right) = (tip(&a), tip(&b));
    take(&a, right, Strategy::Ours);
    take(&b, left, Strategy::Theirs);
    // Both say 1 now. Where one changes it, the virtual base must not be taken for 1 or 2.
    put(&b, "x", "2");
    let theirs = tip(&b).to_string();
    let outcome = a.merge(&theirs, &MergeOptions::default()).unwrap();
    let MergeOutcome::Conflicts(found) = outcome else { panic!("{outcome:?}") };
    assert_eq!(found[0].base, None);
}

#[test]
fn a_removal_in_dispute_is_a_conflict_of_its_kind() {
    let (_store, a, b) = crossed("1", "2", [Strategy::Ours, Strategy::Ours]);
    crate::support::remove(&a, "x");
    let conflicts = |store: &Store, theirs: &Store| {
        let theirs = tip(theirs).to_string();
        match store.merge(&theirs, &MergeOptions::default()).unwrap() {
            MergeOutcome::Conflicts(found) => found,
            outcome => panic!("{outcome:?}"),
        }
    };
    assert_eq!(conflicts(&a, &b)[0].kind, ConflictKind::DeleteEdit);
    assert_eq!(conflicts(&b, &a)[0].kind, ConflictKind::EditDelete);
}

/// Two agents of one store who each write and then merge what the other had before its merge,
/// again and again: every merge has two bases, whose bases are two, and so on to the first.
#[test]
fn agents_who_merge_each_other_after_every_step_pay_for_the_step() {
    let disk = Arc::new(Counting::new(MemoryBackend::new()));
    // Without a cache of objects every read is counted.
    let environment = mnem_store::Environment { cache_bytes: 0, ..environment() };
    let shared = Arc::clone(&disk) as Arc<dyn Backend>;
    let store = Store::over_backend(shared, &InitOptions::default(), environment);
    for number in 0..40 {
        put(&store, &format!("n{number:02}"), "0");
    }
    let (a, b) = (on(&store, "a"), on(&store, "b"));
    let mut reads = Vec::new();
    for step in 1..=500 {
        // One node that the left changes in every step, and others by both.
        put(&a, "shared", &step.to_string());
        put(&a, &format!("n{:02}", step % 20), &step.to_string());
        put(&b, &format!("n{:02}", 20 + step % 20), &step.to_string());
        let (left, right) = (tip(&a), tip(&b));
        disk.take();
        let mut merge = |store: &Store, theirs: CommitId| {
            let outcome = store.merge(&theirs.to_string(), &MergeOptions::default()).unwrap();
            let MergeOutcome::Merged(commit) = outcome else { panic!("{step}: {outcome:?}") };
            let counts = disk.take();
            reads.push(counts.object_reads + counts.other_reads);
            state(store, commit)
        };
        let states = [merge(&a, right), merge(&b, left)];
        disk.take();
        assert_eq!(states[0], states[1], "step {step}");
    }
    let most = |part: &[u64]| part.iter().copied().max().unwrap();
    let (early, late) = (most(&reads[20..120]), most(&reads[reads.len() - 100..]));
    assert!(late <= early + 5, "a merge after 480 steps reads {late}, after 20 {early}");
    assert!(late <= 300, "{late}");
    assert_eq!(text(&b, "shared").unwrap(), "500");
}
