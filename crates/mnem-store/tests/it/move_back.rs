//! revert, restore, undo and reflog: mistakes taken back, on top of a history that stays.

use mnem_store::backend::Operation;
use mnem_store::ops::{
    ConflictKind, MergeOptions, MergeOutcome, Meta, Resolution, RevertOutcome, Strategy,
    UndoOutcome,
};
use mnem_store::{BranchName, CommitId, Error, ErrorKind, Store};

use crate::support::{id, in_memory, meta, note, put, remove};

fn text(store: &Store, name: &str) -> Option<String> {
    let node = store.snapshot().unwrap().get(&id(name)).unwrap()?;
    Some(node.content.as_text().unwrap().to_owned())
}

fn tip(store: &Store) -> CommitId {
    store.head_commit().unwrap().unwrap()
}

fn parents(store: &Store, commit: CommitId) -> Vec<CommitId> {
    store.commit_object(commit).unwrap().parents.clone()
}

fn state(store: &Store, commit: CommitId) -> mnem_store::StateId {
    store.commit_object(commit).unwrap().state
}

fn by(author: &str) -> MergeOptions {
    MergeOptions { author: author.into(), ..MergeOptions::default() }
}

fn answer(name: &str, resolution: Resolution) -> MergeOptions {
    MergeOptions { resolutions: [(id(name), resolution)].into(), ..by("t") }
}

#[track_caller]
fn reverted(outcome: Result<RevertOutcome, Error>) -> CommitId {
    match outcome.unwrap() {
        RevertOutcome::Reverted(commit) => commit,
        outcome => panic!("{outcome:?}"),
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, sentence: &str) {
    let error = result.unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::InvalidRef, sentence));
}

fn side(store: &Store, name: &str) -> Store {
    store.on(&BranchName::new(name).unwrap(), "t").unwrap()
}

fn author_put(store: &Store, author: &str, name: &str, content: &str) -> CommitId {
    let changes = [(id(name), Some(note(name, content)))].into();
    store.write(changes, &Meta::new("m", author)).unwrap()
}

/// Author and verb of each move of the handle's branch, newest first.
fn moves(store: &Store) -> Vec<(String, String)> {
    let records = store.reflog(None, None).unwrap();
    records.iter().map(|r| (r.author.clone(), r.operation.as_str().to_owned())).collect()
}

#[test]
fn a_revert_takes_back_one_commit_and_nothing_else() {
    let store = in_memory();
    put(&store, "x", "1");
    let wrong = put(&store, "x", "2");
    let later = put(&store, "y", "1");
    let commit = reverted(store.revert(&wrong.to_string(), &by("ada")));
    assert_eq!((text(&store, "x").unwrap(), text(&store, "y").unwrap()), ("1".into(), "1".into()));
    assert_eq!(parents(&store, commit), [later]);
    let made = store.commit_object(commit).unwrap();
    assert_eq!(made.message, format!("revert {}: x is 2", wrong.short()));
    assert_eq!(made.author, "ada");
    assert_eq!(moves(&store)[0], ("ada".into(), "revert".into()));
    // The object that was there comes back, not a copy of it.
    let version =
        |revision: &str| store.snapshot_at(revision).unwrap().version(&id("x")).unwrap().unwrap();
    assert_eq!(version("HEAD"), version("HEAD~3"));

    // Nothing is left to take back.
    let outcome = store.revert(&wrong.to_string(), &by("ada")).unwrap();
    assert_eq!((outcome, tip(&store)), (RevertOutcome::Unchanged, commit));
    // A revert is a commit like others.
    reverted(store.revert("HEAD", &MergeOptions { message: Some("again".into()), ..by("t") }));
    assert_eq!(text(&store, "x").unwrap(), "2");
    assert_eq!(store.commit_object(tip(&store)).unwrap().message, "again");
}

#[test]
fn a_revert_of_what_changed_since_is_a_conflict_with_every_answer() {
    let base = || {
        let store = in_memory();
        put(&store, "x", "1");
        let wrong = put(&store, "x", "2").to_string();
        put(&store, "x", "3");
        (store, wrong)
    };
    let (store, wrong) = base();
    let before = tip(&store);
    let RevertOutcome::Conflicts(found) = store.revert(&wrong, &by("t")).unwrap() else {
        panic!("x changed since")
    };
    let says = |node: &Option<std::sync::Arc<mnem_store::MemoryNode>>| {
        node.as_ref().unwrap().content.as_text().unwrap().to_owned()
    };
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, ConflictKind::EditEdit);
    assert_eq!(
        [says(&found[0].base), says(&found[0].ours), says(&found[0].theirs)],
        ["2", "3", "1"]
    );
    assert_eq!(tip(&store), before);
    refused(
        store.revert(&wrong, &answer("y", Resolution::Ours)),
        "resolution given for \"y\", which is not a conflict",
    );
    assert_eq!(
        store.revert(&wrong, &answer("x", Resolution::Ours)).unwrap(),
        RevertOutcome::Unchanged
    );
    for (resolution, expected) in [
        (Resolution::Theirs, Some("1")),
        (Resolution::Base, Some("2")),
        (Resolution::Delete, None),
        (Resolution::Set(Box::new(note("x", "4"))), Some("4")),
    ] {
        let (store, wrong) = base();
        reverted(store.revert(&wrong, &answer("x", resolution)));
        assert_eq!(text(&store, "x").as_deref(), expected);
    }
    let options = MergeOptions { strategy: Some(Strategy::Theirs), ..by("t") };
    reverted(store.revert(&wrong, &options));
    assert_eq!(text(&store, "x").unwrap(), "1");
}

#[test]
fn a_merge_is_reverted_against_its_first_parent_and_a_root_against_nothing() {
    let store = in_memory();
    let root = put(&store, "x", "1");
    let other = side(&store, "side");
    put(&other, "y", "theirs");
    let ours = put(&store, "z", "ours");
    let MergeOutcome::Merged(merge) = store.merge("side", &by("t")).unwrap() else { panic!() };
    let commit = reverted(store.revert(&merge.to_string(), &by("t")));
    assert_eq!(state(&store, commit), state(&store, ours));
    assert_eq!(parents(&store, commit), [merge]);

    let commit = reverted(store.revert(&root.to_string(), &by("t")));
    assert_eq!((text(&store, "x"), text(&store, "z").unwrap()), (None, "ours".into()));
    assert_eq!(parents(&store, commit).len(), 1);
}

#[test]
fn a_revert_needs_a_branch_with_a_commit_and_no_drafts() {
    let store = in_memory();
    let first = put(&store, "x", "1").to_string();
    store.checkout_new(&BranchName::new("empty").unwrap(), None, false, "t").unwrap();
    put(&store, "y", "1");
    store.stage(note("draft", "d")).unwrap();
    for verb in [store.revert(&first, &by("t")).map(drop), store.undo(None, &by("t")).map(drop)] {
        let error = verb.unwrap_err().to_string();
        assert!(error.ends_with("over staged changes (draft)"), "{error}");
    }
    // A bound handle has no drafts, and leaves the person's alone.
    reverted(side(&store, "agent").revert(&first, &by("t")));
    assert_eq!(store.staged().unwrap().nodes.len(), 1);
    assert!(store.restore(&id("x"), &first, &meta("m")).is_ok_and(|done| !done.made));
    store.unstage(&id("draft")).unwrap();
    store.checkout(&first, false).unwrap();
    let sentence = |verb: &str| {
        let short = &first[..12];
        format!("cannot {verb} from a detached HEAD (at {short}); check out a branch first")
    };
    refused(store.revert(&first, &by("t")), &sentence("revert"));
    refused(store.undo(None, &by("t")), &sentence("undo"));
    refused(store.restore(&id("x"), &first, &meta("m")), &sentence("restore"));
    assert!(store.revert("nowhere", &by("t")).is_err());

    let unborn = in_memory();
    assert_eq!(unborn.reflog(None, None).unwrap(), []);
    refused(unborn.undo(None, &by("t")), "nothing to undo on main, which has no commit yet");
}

#[test]
fn a_restore_brings_one_node_back_with_its_object() {
    let store = in_memory();
    let first = put(&store, "x", "1");
    let version = store.snapshot().unwrap().version(&id("x")).unwrap();
    put(&store, "y", "1");
    remove(&store, "x");
    let done = store.restore(&id("x"), &first.to_string(), &meta("back")).unwrap();
    assert!(done.made);
    assert_eq!(store.snapshot().unwrap().version(&id("x")).unwrap(), version);
    assert_eq!(text(&store, "y").unwrap(), "1");
    assert_eq!(moves(&store)[0], ("tester".into(), "restore".into()));

    let again = store.restore(&id("x"), "HEAD", &meta("back")).unwrap();
    assert_eq!((again.made, again.commit), (false, done.commit));
    let empty = Meta { allow_empty: true, ..meta("forced") };
    assert!(store.restore(&id("x"), "HEAD", &empty).unwrap().made);
    let error = store.restore(&id("y"), &first.to_string(), &meta("m")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.to_string(), format!("\"y\" was not there at {first}"));
    put(&store, "x", "2");
    let stale = Meta { base: Some(first), ..meta("m") };
    let error = store.restore(&id("x"), &first.to_string(), &stale).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);

    // On the branch of a handle, HEAD's left alone.
    let agent = side(&store, "agent");
    let here = tip(&store);
    assert!(agent.restore(&id("x"), &first.to_string(), &meta("m")).unwrap().made);
    assert_eq!((text(&agent, "x").unwrap(), tip(&store)), ("1".into(), here));
}

#[test]
fn an_undo_moves_back_and_the_next_one_moves_forward_again() {
    let store = in_memory();
    let first = put(&store, "x", "1");
    let second = put(&store, "x", "2");
    let count = store.verify(|_| ()).unwrap();
    for _ in 0..2 {
        let done = store.undo(None, &by("ada")).unwrap();
        assert_eq!(done.outcome, UndoOutcome::MovedBack(Some(first)));
        let done = store.undo(None, &by("ada")).unwrap();
        assert_eq!(done.outcome, UndoOutcome::MovedBack(Some(second)));
        assert_eq!(done.undone.operation, Operation::UNDO);
    }
    // Not an object more.
    assert_eq!(store.verify(|_| ()).unwrap(), count);
    let ada = |verb: &str| ("ada".to_owned(), verb.to_owned());
    let tester = |verb: &str| ("tester".to_owned(), verb.to_owned());
    assert_eq!(
        moves(&store),
        [ada("undo"), ada("undo"), ada("undo"), ada("undo"), tester("write"), tester("write")]
    );
    // After it, one goes on as ever, and what was undone stays to be found.
    let _ = store.undo(None, &by("ada")).unwrap();
    put(&store, "y", "1");
    assert_eq!(text(&store, "x").unwrap(), "1");
    let records = store.reflog(None, Some(2)).unwrap();
    assert_eq!((records.len(), records[1].old), (2, Some(second)));
    assert_eq!(store.resolve(&second.to_string()).unwrap(), second);
}

#[test]
fn an_undo_of_a_merge_a_fast_forward_and_a_root() {
    let store = in_memory();
    let first = put(&store, "x", "1");
    let other = side(&store, "side");
    put(&other, "a", "1");
    let theirs = put(&other, "b", "1");
    assert_eq!(store.merge("side", &by("t")).unwrap(), MergeOutcome::FastForwarded(theirs));
    let done = store.undo(None, &by("t")).unwrap();
    assert_eq!(done.outcome, UndoOutcome::MovedBack(Some(first)));
    assert_eq!(done.undone.operation, Operation::FAST_FORWARD);
    let ours = put(&store, "c", "1");
    let MergeOutcome::Merged(merge) = store.merge("side", &by("t")).unwrap() else { panic!() };
    let done = store.undo(None, &by("t")).unwrap();
    assert_eq!(done.outcome, UndoOutcome::MovedBack(Some(ours)));
    assert_eq!(store.undo(None, &by("t")).unwrap().outcome, UndoOutcome::MovedBack(Some(merge)));

    let store = in_memory();
    let root = put(&store, "x", "1");
    let done = store.undo(None, &by("t")).unwrap();
    assert_eq!(done.outcome, UndoOutcome::MovedBack(None));
    assert_eq!(store.head_commit().unwrap(), None);
    assert_eq!(store.snapshot().unwrap().count().unwrap(), 0);
    let done = store.undo(None, &by("t")).unwrap();
    assert_eq!(done.outcome, UndoOutcome::MovedBack(Some(root)));
    assert_eq!(text(&store, "x").unwrap(), "1");
}

#[test]
fn an_undo_by_author_is_a_commit_that_takes_back_their_last_move() {
    let store = in_memory();
    author_put(&store, "ada", "a", "1");
    author_put(&store, "bob", "b", "1");
    let wrong = author_put(&store, "bob", "b", "2");
    let last = author_put(&store, "ada", "a", "2");
    let undo = |author: &str| store.undo(Some(author), &by("eve")).unwrap();
    let UndoOutcome::Reverted(commit) = undo("bob").outcome else { panic!() };
    assert_eq!(parents(&store, commit), [last]);
    assert_eq!((text(&store, "a").unwrap(), text(&store, "b").unwrap()), ("2".into(), "1".into()));
    assert_eq!(moves(&store)[0], ("eve".into(), "undo".into()));
    let made = store.commit_object(commit).unwrap();
    assert_eq!(made.message, format!("undo write {} by bob", wrong.short()));
    refused(
        store.undo(Some("bob"), &by("eve")),
        &format!("nothing to undo: nothing is left of the write {} by bob", wrong.short()),
    );
    refused(
        store.undo(Some("joe"), &by("eve")),
        "nothing to undo: no move of main was made by \"joe\"",
    );
    // Of the undoer, the last move is the undo.
    let UndoOutcome::Reverted(_) = undo("eve").outcome else { panic!() };
    assert_eq!(text(&store, "b").unwrap(), "2");
    // Also when it is what the tip stands on.
    author_put(&store, "bob", "c", "1");
    let before = tip(&store);
    let UndoOutcome::Reverted(commit) = undo("bob").outcome else { panic!() };
    assert_eq!(parents(&store, commit), [before]);
    // Many moves by others in between are no hindrance.
    for number in 0..150 {
        author_put(&store, "ada", "a", &format!("n{number}"));
    }
    let UndoOutcome::Reverted(_) = undo("eve").outcome else { panic!() };
    assert_eq!(text(&store, "c").unwrap(), "1");
}

#[test]
fn an_undo_by_author_over_a_later_change_is_a_conflict() {
    let store = in_memory();
    author_put(&store, "bob", "x", "1");
    let wrong = author_put(&store, "bob", "x", "2");
    author_put(&store, "ada", "x", "3");
    let before = tip(&store);
    let done = store.undo(Some("bob"), &by("eve")).unwrap();
    let UndoOutcome::Conflicts(found) = done.outcome else { panic!() };
    assert_eq!((found[0].to_string().as_str(), tip(&store)), ("x (edit/edit)", before));
    refused(
        store.undo(Some("bob"), &answer("x", Resolution::Ours)),
        &format!("nothing to undo: nothing is left of the write {} by bob", wrong.short()),
    );
    let done = store.undo(Some("bob"), &answer("x", Resolution::Theirs)).unwrap();
    assert!(matches!(done.outcome, UndoOutcome::Reverted(_)));
    assert_eq!(text(&store, "x").unwrap(), "1");
}

#[test]
fn a_branch_that_was_just_made_has_nothing_to_undo() {
    let store = in_memory();
    put(&store, "x", "1");
    store.checkout_new(&BranchName::new("new").unwrap(), None, false, "t").unwrap();
    refused(store.undo(None, &by("t")), "nothing to undo: the last move of new made it");
    // What was done to an earlier branch of that name is not this one's.
    author_put(&store, "bob", "y", "1");
    store.checkout("main", false).unwrap();
    store.delete_branch(&BranchName::new("new").unwrap(), "t").unwrap();
    store.checkout_new(&BranchName::new("new").unwrap(), None, false, "t").unwrap();
    refused(
        store.undo(Some("bob"), &by("t")),
        "nothing to undo: no move of new was made by \"bob\"",
    );
}

#[test]
fn an_undo_on_a_bound_handle_leaves_head_and_drafts_alone() {
    let store = in_memory();
    let first = put(&store, "x", "1");
    let agent = side(&store, "agent");
    let made = put(&agent, "y", "1");
    store.stage(note("draft", "d")).unwrap();
    assert_eq!(agent.undo(None, &by("t")).unwrap().outcome, UndoOutcome::MovedBack(Some(first)));
    assert_eq!(agent.undo(None, &by("t")).unwrap().outcome, UndoOutcome::MovedBack(Some(made)));
    assert_eq!((tip(&store), tip(&agent)), (first, made));
    assert_eq!(store.staged().unwrap().nodes.len(), 1);
}

#[test]
fn a_reflog_is_of_a_branch_also_of_a_deleted_one() {
    let store = in_memory();
    let first = put(&store, "x", "1");
    let name = BranchName::new("side").unwrap();
    put(&side(&store, "side"), "y", "1");
    store.delete_branch(&name, "ada").unwrap();
    let records = store.reflog(Some(&name), None).unwrap();
    let verbs: Vec<_> = records.iter().map(|record| record.operation.as_str()).collect();
    assert_eq!(verbs, ["delete", "write", "branch"]);
    assert_eq!(store.reflog(Some(&name), Some(1)).unwrap()[0].author, "ada");
    let unknown = BranchName::new("unknown").unwrap();
    refused(store.reflog(Some(&unknown), None), "no branch named \"unknown\"");
    store.checkout(&first.to_string(), false).unwrap();
    let sentence = format!("a reflog is of a branch, and HEAD is detached (at {})", first.short());
    refused(store.reflog(None, None), &sentence);
}

/// A clock that once lets something happen between the look at a branch and the write.
#[derive(Clone, Debug, Default)]
struct Meanwhile(std::sync::Arc<std::sync::Mutex<Option<Store>>>);

impl mnem_store::Clock for Meanwhile {
    fn now(&self) -> i64 {
        let store = self.0.lock().unwrap().take();
        if let Some(store) = store {
            author_put(&store, "ada", "meanwhile", "1");
        }
        7
    }
}

#[test]
fn an_undo_that_comes_late_is_a_commit_on_what_came_between() {
    let clock = Meanwhile::default();
    let environment = mnem_store::Environment {
        clock: std::sync::Arc::new(clock.clone()),
        ..crate::support::environment()
    };
    let store = Store::in_memory(&mnem_store::InitOptions::default(), environment).unwrap();
    put(&store, "x", "1");
    let wrong = put(&store, "x", "2");
    let other = side(&store, "main");
    *clock.0.lock().unwrap() = Some(other);
    let done = store.undo(None, &by("t")).unwrap();
    // The move that was meant, and not the one that came between.
    assert_eq!(done.undone.new, Some(wrong));
    assert!(matches!(done.outcome, UndoOutcome::Reverted(_)), "{:?}", done.outcome);
    assert_eq!(text(&store, "x").unwrap(), "1");
    assert_eq!(text(&store, "meanwhile").unwrap(), "1");

    // A revert is made anew on what came between.
    remove(&store, "meanwhile");
    put(&store, "x", "3");
    *clock.0.lock().unwrap() = Some(side(&store, "main"));
    reverted(store.revert("HEAD", &by("t")));
    assert_eq!(
        (text(&store, "x").unwrap(), text(&store, "meanwhile").unwrap()),
        ("1".into(), "1".into())
    );
}
