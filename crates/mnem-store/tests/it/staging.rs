//! Staging is a person's; agents write past it, one commit for one call.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mnem_store::backend::counting::Counting;
use mnem_store::backend::{Backend, MemoryBackend};
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{ChangeKind, Changes, ConflictKind, MergeOptions, Meta};
use mnem_store::store::local::LocalEdit;
use mnem_store::{BranchName, CommitId, Error, ErrorKind, Head, InitOptions, Store};

use crate::support::{environment, id, in_memory, meta, note, put, remove};

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

fn commit(store: &Store) -> CommitId {
    let committed = store.commit(&meta("by hand")).unwrap();
    assert!(committed.made);
    committed.commit
}

fn ids(store: &Store) -> (Vec<String>, Vec<String>) {
    let staged = store.staged().unwrap();
    let text = |id: &mnem_store::NodeId| id.to_string();
    (staged.nodes.keys().map(text).collect(), staged.deletions.iter().map(text).collect())
}

fn texts<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).into()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, message: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRef, "{error}");
    assert!(error.to_string().contains(message), "{error}");
}

#[test]
fn removing_an_addition_takes_it_out_and_adding_lifts_a_removal() {
    let store = in_memory();
    put(&store, "kept", "k");
    store.stage(note("new", "n")).unwrap();
    store.remove(&id("new")).unwrap();
    assert_eq!(ids(&store), (vec![], vec![]));

    store.remove(&id("kept")).unwrap();
    store.remove(&id("kept")).unwrap();
    assert_eq!(ids(&store), (vec![], texts(["kept"])));
    assert!(store.working_node(&id("kept")).unwrap().is_none());
    store.stage(note("kept", "again")).unwrap();
    assert_eq!(ids(&store), (texts(["kept"]), vec![]));
    store.remove(&id("kept")).unwrap();
    assert_eq!(ids(&store), (vec![], texts(["kept"])), "an edit staged over HEAD");
    assert!(store.unstage(&id("kept")).unwrap());
    assert!(!store.unstage(&id("kept")).unwrap());
    assert!(store.working_node(&id("kept")).unwrap().is_some());
    refused(store.remove(&id("nope")), "no node \"nope\" in memory");
}

#[test]
fn nothing_staged_is_served_and_a_commit_of_removals_alone_is_valid() {
    let store = in_memory();
    put(&store, "a", "1");
    put(&store, "b", "1");
    store.stage(note("c", "1")).unwrap();
    store.remove(&id("a")).unwrap();
    let served = store.snapshot().unwrap();
    assert!(served.get(&id("a")).unwrap().is_some());
    assert!(served.get(&id("c")).unwrap().is_none());
    let working = store.working_memory("", None).unwrap();
    assert_eq!(working.keys().map(ToString::to_string).collect::<Vec<_>>(), texts(["b", "c"]));
    let first = store.working_memory("", Some(1)).unwrap();
    assert_eq!(first.keys().map(ToString::to_string).collect::<Vec<_>>(), texts(["b"]));
    store.unstage(&id("c")).unwrap();
    let made = commit(&store);
    let changed = store.changed_by(made).unwrap();
    assert_eq!(changed, [(id("a"), ChangeKind::Removed)].into());
    assert!(store.staged().unwrap().is_empty());
}

#[test]
fn what_says_what_is_there_makes_no_commit() {
    let store = in_memory();
    refused(store.commit(&meta("none")), "nothing to commit on main, which has no commit yet");
    refused(store.write(Changes::new(), &meta("none")), "nothing to commit on main");
    let tip = put(&store, "a", "1");
    assert_eq!(put(&store, "a", "1"), tip);
    assert_eq!(store.write(Changes::from([(id("nope"), None)]), &meta("none")).unwrap(), tip);
    store.stage(note("a", "1")).unwrap();
    let nothing = store.commit(&meta("none")).unwrap();
    assert_eq!((nothing.commit, nothing.made), (tip, false));
    assert!(store.staged().unwrap().is_empty());

    let empty = Meta { allow_empty: true, ..meta("empty") };
    let forced = store.write(Changes::new(), &empty).unwrap();
    assert_eq!(store.commit_object(forced).unwrap().parents, [tip]);
    let again = store.commit(&empty).unwrap();
    assert!(again.made);
    assert_eq!(store.commit_object(again.commit).unwrap().parents, [forced]);
    assert_eq!(store.changed_by(again.commit).unwrap(), [].into());
}

#[test]
fn another_source_is_a_change() {
    let store = in_memory();
    let tip = put(&store, "a", "1");
    let mut node = note("a", "1");
    node.provenance.source = Some("elsewhere".into());
    assert_ne!(store.write(Changes::from([(id("a"), Some(node))]), &meta("a")).unwrap(), tip);
}

#[test]
fn checkout_and_merge_refuse_over_drafts() {
    let store = in_memory();
    let tip = put(&store, "a", "1");
    store.create_branch(&branch("side"), None, "t").unwrap();
    let side = store.on(&branch("side"), "t").unwrap();
    put(&side, "b", "1");
    store.stage(note("draft", "d")).unwrap();
    store.remove(&id("a")).unwrap();
    let over = "over staged changes (a, draft)";
    refused(store.checkout("side", false), over);
    refused(store.checkout(&tip.to_string(), false), over);
    refused(store.checkout_new(&branch("new"), None, false, "t"), over);
    assert!(!store.branches().unwrap().contains_key(&branch("new")), "refused before it is made");
    refused(store.merge("side", &MergeOptions::default()), over);
    for number in 0..6 {
        store.stage(note(&format!("n{number}"), "d")).unwrap();
    }
    refused(store.checkout("side", false), "(a, draft, n0, n1, n2, and 3 more)");

    assert_eq!(store.checkout("main", false).unwrap().render(), "ref: main");
    assert_eq!(store.checkout("HEAD", false).unwrap().render(), "ref: main");
    assert_eq!(store.checkout("main", true).unwrap().render(), "ref: main");
    assert_eq!(ids(&store).0.len(), 7, "a checkout of where one is does nothing");

    store.checkout("side", true).unwrap();
    assert!(store.staged().unwrap().is_empty());
    assert_eq!(store.head().unwrap(), Head::Attached(branch("side")));
    store.checkout(&tip.to_string(), false).unwrap();
    store.stage(note("draft", "d")).unwrap();
    assert_eq!(store.checkout(&tip.to_string(), false).unwrap(), Head::Detached(tip));
    store.checkout_new(&branch("new"), Some("side"), true, "t").unwrap();
    assert!(store.staged().unwrap().is_empty());
    assert_eq!(store.head().unwrap(), Head::Attached(branch("new")));
}

/// On a detached HEAD nothing can be committed, so drafts could only be dropped.
#[test]
fn a_branch_that_starts_at_a_detached_head_takes_drafts_along() {
    let store = in_memory();
    let tip = put(&store, "a", "1");
    put(&store, "a", "2");
    store.checkout(&tip.to_string(), false).unwrap();
    store.stage(note("draft", "d")).unwrap();
    let over = "over staged changes (draft)";
    refused(store.checkout("main", false), over);
    refused(store.checkout_new(&branch("new"), Some("main"), false, "t"), over);
    assert!(!store.branches().unwrap().contains_key(&branch("new")));
    store.checkout_new(&branch("new"), None, false, "t").unwrap();
    assert_eq!(store.head().unwrap(), Head::Attached(branch("new")));
    store.commit(&meta("kept")).unwrap();
    assert_eq!(store.resolve("new~1").unwrap(), tip);
    assert!(store.snapshot().unwrap().get(&id("draft")).unwrap().is_some());

    store.checkout(&tip.to_string(), false).unwrap();
    store.stage(note("other", "d")).unwrap();
    store.checkout_new(&branch("dropped"), None, true, "t").unwrap();
    assert!(store.staged().unwrap().is_empty(), "unless they are to be dropped");
    store.stage(note("other", "d")).unwrap();
    refused(store.checkout_new(&branch("third"), None, false, "t"), "over staged changes (other)");
}

#[test]
fn a_new_branch_of_an_existing_name_is_refused_everywhere() {
    let store = in_memory();
    let taken = "the branch main already exists";
    let agent = store.on(&branch("agent"), "t").unwrap();
    store.checkout_new(&branch("unborn"), None, false, "t").unwrap();
    put(&agent, "a", "1");
    // HEAD is on a branch without a commit, main is not.
    refused(store.checkout_new(&branch("main"), None, false, "t"), taken);
    refused(store.checkout_new(&branch("main"), Some("agent"), false, "t"), taken);
    refused(store.create_branch(&branch("main"), Some("agent"), "t"), taken);
    refused(store.create_branch(&branch("x"), None, "t"), "no commit to start it at");
    assert_eq!(store.head().unwrap(), Head::Attached(branch("unborn")));
    // What HEAD's branch is missing is not taken from main: a write begins it.
    let first = put(&store, "b", "1");
    assert_eq!(store.commit_object(first).unwrap().parents, []);
}

#[test]
fn deleting_branches() {
    let store = in_memory();
    let tip = put(&store, "a", "1");
    refused(store.delete_branch(&branch("main"), "t"), "it is the current branch");
    assert!(!store.delete_branch(&branch("nope"), "t").unwrap());
    store.checkout(&tip.to_string(), false).unwrap();
    refused(store.delete_branch(&branch("main"), "t"), "it is the last branch");
    store.create_branch(&branch("side"), None, "t").unwrap();
    assert!(store.delete_branch(&branch("main"), "t").unwrap());
    assert_eq!(store.resolve("HEAD").unwrap(), tip, "its commits stay");
}

#[test]
fn a_bound_handle_has_no_staging_and_no_head() {
    let store = in_memory();
    put(&store, "a", "1");
    store.stage(note("draft", "d")).unwrap();
    let agent = store.on(&branch("agent"), "t").unwrap();
    let bound = "on a handle that is bound to the branch agent";
    refused(agent.stage(note("x", "1")), bound);
    refused(agent.unstage(&id("draft")), bound);
    refused(agent.remove(&id("a")), bound);
    refused(agent.commit(&meta("x")), bound);
    refused(agent.checkout("main", false), bound);
    refused(agent.checkout_new(&branch("new"), None, false, "t"), bound);
    assert!(agent.staged().unwrap().is_empty(), "the drafts are the person's");
    assert!(agent.working_node(&id("draft")).unwrap().is_none());
    put(&agent, "b", "1");
    put(&store, "c", "1");
    let merged = agent.merge("main", &MergeOptions::default());
    assert!(merged.is_ok(), "drafts do not stand in its way: {merged:?}");
    assert_eq!(store.head().unwrap(), Head::Attached(branch("main")));
    assert_eq!(ids(&store).0, texts(["draft"]));
    assert!(store.snapshot().unwrap().get(&id("b")).unwrap().is_none());
}

#[test]
fn agents_that_come_first_share_a_root() {
    let store = in_memory();
    let left = store.on(&branch("left"), "t").unwrap();
    let right = store.on(&branch("right"), "t").unwrap();
    assert!(store.branches().unwrap().is_empty());
    assert_eq!(left.head_commit().unwrap(), None);
    let first = put(&left, "a", "1");
    let root = store.resolve("main").unwrap();
    assert_eq!(right.head_commit().unwrap(), Some(root), "where its branch will be made");
    let second = put(&right, "b", "1");
    for commit in [first, second] {
        assert_eq!(store.commit_object(commit).unwrap().parents, [root]);
    }
    assert_eq!(store.commit_object(root).unwrap().parents, []);
    assert_eq!(store.snapshot().unwrap().count().unwrap(), 0);
    assert!(left.merge("right", &MergeOptions::default()).is_ok());
    assert_eq!(
        store.resolve("left@{9999999999999}").unwrap(),
        left.head_commit().unwrap().unwrap()
    );
    assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_write_leaves_drafts_alone() {
    let store = in_memory();
    store.stage(note("draft", "d")).unwrap();
    let wrote = put(&store, "a", "1");
    assert_eq!(store.changed_by(wrote).unwrap(), [(id("a"), ChangeKind::Added)].into());
    assert_eq!(ids(&store).0, texts(["draft"]));
}

#[test]
fn on_a_detached_head_a_write_is_refused_before_anything_is_written() {
    let backend = Arc::new(Counting::new(MemoryBackend::new()));
    let shared = Arc::clone(&backend) as Arc<dyn Backend>;
    let store = Store::over_backend(shared, &InitOptions::default(), environment());
    let tip = put(&store, "a", "1");
    store.checkout(&tip.to_string(), false).unwrap();
    backend.take();
    let detached = "from a detached HEAD (at ";
    let change = || Changes::from([(id("b"), Some(note("b", "1")))]);
    refused(store.write(change(), &meta("b")), detached);
    refused(store.update(&meta("b"), |_| Ok(change())), detached);
    refused(store.merge("main", &MergeOptions::default()), detached);
    refused(store.commit(&meta("b")), detached);
    assert_eq!(backend.counts().publishes, 0);
    assert_eq!(backend.counts().objects_inserted, 0);
    assert!(store.snapshot().unwrap().get(&id("b")).unwrap().is_none());
    assert_eq!(store.checkout("main", false).unwrap().render(), "ref: main");
    // A failed write leaves nothing either, also where its first node is good.
    let long = "x".repeat(1_025);
    let bad = mnem_store::NodeId::from_stored(long.as_str());
    let mut both = change();
    both.insert(bad.clone(), Some(mnem_store::MemoryNode::note(bad, mnem_store::Content::Null)));
    refused(store.write(both, &meta("both")), "has 1025 bytes, more than 1024");
    assert_eq!(backend.counts().publishes, 0);
}

#[test]
fn a_base_that_no_longer_holds_is_a_conflict() {
    let store = in_memory();
    let base = put(&store, "a", "1");
    let from = |base| Meta { base: Some(base), ..meta("based") };
    let change = |name: &str, value: &str| Changes::from([(id(name), Some(note(name, value)))]);
    put(&store, "b", "1");
    store.write(change("a", "2"), &from(base)).unwrap();
    let error = store.write(change("a", "3"), &from(base)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.to_string(), format!("\"a\" has changed since {}", base.short()));
    let error = store.write(change("b", "2"), &from(base)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "it was not there");
    store.write(change("c", "1"), &from(base)).unwrap();
    // Removed and written again as it was: it says the same.
    put(&store, "a", "1");
    remove(&store, "a");
    put(&store, "a", "1");
    let tip = store.write(change("a", "4"), &from(base)).unwrap();
    let unknown = CommitId::from_bytes([9; 32]);
    let error = store.write(change("a", "5"), &from(unknown)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    store.stage(note("a", "6")).unwrap();
    assert_eq!(store.commit(&from(base)).unwrap_err().kind(), ErrorKind::Conflict);
    assert!(store.commit(&from(tip)).unwrap().made);
}

#[test]
fn what_a_stale_base_would_overwrite_is_told() {
    let store = in_memory();
    for name in ["edited", "gone", "kept", "dropped", "removed"] {
        put(&store, name, "1");
    }
    let base = store.head_commit().unwrap().unwrap();
    put(&store, "edited", "2");
    put(&store, "dropped", "2");
    put(&store, "new", "2");
    remove(&store, "gone");
    remove(&store, "removed");
    let tip = store.head_commit().unwrap();
    let set = |name: &str| (id(name), Some(note(name, "3")));
    let none = |name: &str| (id(name), None);
    let changes = Changes::from([
        set("edited"),
        set("gone"),
        set("kept"),
        none("dropped"),
        set("new"),
        none("removed"),
    ]);
    let based = Meta { base: Some(base), ..meta("based") };
    let error = store.write(changes.clone(), &based).unwrap_err();
    put(&store, "edited", "4");
    let stale = error.stale().unwrap();
    assert_eq!((stale.base, stale.tip), (base, tip));
    let names = ["dropped", "edited", "gone", "new", "removed"];
    assert_eq!(stale.nodes, names.map(id));
    let conflicts = store.stale_conflicts(&error, &changes).unwrap();
    let told: Vec<_> = conflicts
        .iter()
        .map(|it| {
            let says = |node: &Option<std::sync::Arc<mnem_store::MemoryNode>>| {
                node.as_ref().map(|node| node.content.as_text().unwrap().to_owned())
            };
            (it.id.as_str(), it.kind, says(&it.base), says(&it.ours), says(&it.theirs))
        })
        .collect();
    let text = |text: &str| Some(text.to_owned());
    let expected = [
        ("dropped", ConflictKind::EditDelete, text("1"), text("2"), None),
        ("edited", ConflictKind::EditEdit, text("1"), text("2"), text("3")),
        ("gone", ConflictKind::DeleteEdit, text("1"), None, text("3")),
        ("new", ConflictKind::AddAdd, None, text("2"), text("3")),
    ];
    assert_eq!(told, expected);
    let other = store.resolve("nowhere").unwrap_err();
    assert_eq!(store.stale_conflicts(&other, &changes).unwrap(), []);
}

#[test]
fn an_update_cannot_write_to_its_own_store() {
    let store = in_memory();
    put(&store, "a", "1");
    store.create_branch(&branch("side"), None, "t").unwrap();
    let inside: [&dyn Fn() -> Result<(), Error>; 7] = [
        &|| store.write(Changes::from([(id("b"), Some(note("b", "1")))]), &meta("b")).map(drop),
        &|| store.update(&meta("b"), |_| Ok(Changes::new())).map(drop),
        &|| store.stage(note("b", "1")).map(drop),
        &|| store.commit(&meta("b")).map(drop),
        &|| store.checkout("side", false).map(drop),
        &|| store.delete_branch(&branch("side"), "t").map(drop),
        &|| store.local_edit(&[LocalEdit { owner: "o".into(), key: vec![1], value: None }]),
    ];
    for (number, inside) in inside.iter().enumerate() {
        let tip = store.head_commit().unwrap();
        let error = store.update(&meta("u"), |_| inside().map(|()| Changes::new())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{number}");
        assert_eq!(
            error.to_string(),
            "the store cannot be written from inside its own update",
            "{number}"
        );
        assert_eq!(store.head_commit().unwrap(), tip);
    }
    // Reading is fine, also through a handle of another branch; and the store still works.
    let change = |now: &mnem_store::Snapshot| {
        assert_eq!(now.commit(), store.head_commit()?);
        let side = store.on(&branch("side"), "t")?;
        assert_eq!(side.snapshot()?.count()?, 1);
        Ok(Changes::from([(id("b"), Some(note("b", "1")))]))
    };
    store.update(&meta("b"), change).unwrap();
    put(&store, "c", "1");
    assert_eq!(store.snapshot().unwrap().count().unwrap(), 3);
}

#[test]
fn a_panic_in_an_update_leaves_the_store_usable() {
    let store = in_memory();
    let tip = put(&store, "a", "1");
    let update =
        || store.update(&meta("b"), |_| -> Result<Changes, Error> { panic!("on purpose") });
    assert!(catch_unwind(AssertUnwindSafe(update)).is_err());
    assert_eq!(store.head_commit().unwrap(), Some(tip));
    put(&store, "b", "1");
    assert_eq!(store.snapshot().unwrap().count().unwrap(), 2);
}

#[test]
fn local_rows_land_with_the_write_and_with_the_commit() {
    let store = in_memory();
    let edit = |value: u8| LocalEdit { owner: "o".into(), key: vec![1], value: Some(vec![value]) };
    let with = |value| Meta { local: vec![edit(value)], ..meta("local") };
    let get = || store.local_get("o", &[1]).unwrap();
    let change = || Changes::from([(id("a"), Some(note("a", "1")))]);
    store.write(change(), &with(1)).unwrap();
    assert_eq!(get(), Some(vec![1]));
    store.write(change(), &with(2)).unwrap();
    assert_eq!(get(), Some(vec![2]), "also where nothing changes");
    let stale = Meta { base: Some(CommitId::from_bytes([1; 32])), ..with(3) };
    assert!(store.write(change(), &stale).is_err());
    assert_eq!(get(), Some(vec![2]));
    store.stage(note("b", "1")).unwrap();
    store.commit(&with(4)).unwrap();
    assert_eq!(get(), Some(vec![4]));
}

#[test]
fn eight_threads_on_one_handle_each_commit_their_own_change() {
    let store = in_memory();
    put(&store, "counter", "0");
    let made: Vec<Vec<(String, CommitId)>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let store = &store;
                scope.spawn(move || {
                    (0..200)
                        .map(|number| {
                            let name = format!("t{thread}-{number}");
                            let commit = put(store, &name, "1");
                            (name, commit)
                        })
                        .collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut seen = BTreeSet::new();
    for (name, commit) in made.into_iter().flatten() {
        assert_eq!(store.changed_by(commit).unwrap(), [(id(&name), ChangeKind::Added)].into());
        assert!(seen.insert(commit));
    }
    assert_eq!(store.snapshot().unwrap().count().unwrap(), 1_601);
    let first_parent = LogOptions { first_parent: true, ..LogOptions::default() };
    assert_eq!(store.log(&first_parent).unwrap().len(), 1_601, "one line");
}

#[test]
fn eight_threads_count_without_losing_one() {
    let store = in_memory();
    put(&store, "counter", "0");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let count = |now: &mnem_store::Snapshot| {
                        let node = now.get(&id("counter"))?.unwrap();
                        let next = node.content.as_text().unwrap().parse::<u32>().unwrap() + 1;
                        let node = note("counter", &next.to_string());
                        Ok::<_, Error>(Changes::from([(id("counter"), Some(node))]))
                    };
                    store.update(&meta("one more"), count).unwrap();
                }
            });
        }
    });
    let node = store.snapshot().unwrap().get(&id("counter")).unwrap().unwrap();
    assert_eq!(node.content.as_text(), Some("160"));
}
