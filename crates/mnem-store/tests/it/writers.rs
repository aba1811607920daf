//! Many threads write one store: their writes share publishes, and each stands or falls alone.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use mnem_store::backend::counting::Meanwhile;
use mnem_store::backend::redb::Settings;
use mnem_store::backend::storage::{CountingStorage, CrashStorage, StorageCounts};
use mnem_store::backend::{
    Backend, BackendError, Batch, Entry, Found, MemoryBackend, PublishError, RedbBackend, View,
};
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Changes, DiffTarget, MergeOptions, MergeOutcome, Meta};
use mnem_store::store::local::LocalEdit;
use mnem_store::{BranchName, CommitId, Error, ErrorKind, InitOptions, Store};

use crate::support::{environment, id, meta, note, put};

/// Notes how many records each publish brings, and fails those that it is told to.
#[derive(Debug, Default)]
struct Watched {
    inner: MemoryBackend,
    publishes: Mutex<Vec<usize>>,
    fails: AtomicBool,
    panics: AtomicBool,
}

impl Watched {
    fn take(&self) -> Vec<usize> {
        std::mem::take(&mut *self.publishes.lock().unwrap())
    }
}

impl Backend for Watched {
    fn name(&self) -> &'static str {
        "watched"
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        self.inner.view()
    }

    fn publish(&self, batch: &Batch) -> Result<(), PublishError> {
        assert!(!self.panics.load(Ordering::SeqCst), "made to panic");
        if self.fails.load(Ordering::SeqCst) {
            return Err(BackendError::from(std::io::Error::other("made to fail")).into());
        }
        let records = batch.entries.iter().filter(|entry| matches!(entry, Entry::Record(_)));
        self.publishes.lock().unwrap().push(records.count());
        self.inner.publish(batch)
    }

    fn damage(&self) -> Option<String> {
        None
    }

    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError> {
        self.inner.inspect(tell)
    }
}

fn watched() -> (Arc<Watched>, Store) {
    let backend = Arc::new(Watched::default());
    let shared = Arc::clone(&backend) as Arc<dyn Backend>;
    let options = InitOptions { reproducible: true, ..InitOptions::default() };
    (backend, Store::over_backend(shared, &options, environment()))
}

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

fn change(name: &str, content: &str) -> Changes {
    [(id(name), Some(note(name, content)))].into()
}

/// Writes in a turn that lasts until this many others wait for theirs.
fn hold(store: &Store, others: usize, meta: &Meta, changes: Changes) -> Result<CommitId, Error> {
    store.update(meta, |_| {
        while store.waiting_writers()? < others {
            thread::yield_now();
        }
        Ok(changes)
    })
}

/// Runs verbs so that all of them are built on the first write, in the order in which they come.
fn together<'s, T: Send>(
    store: &'s Store,
    first: &Meta,
    verbs: Vec<Box<dyn FnOnce() -> T + Send + 's>>,
) -> (Result<CommitId, Error>, Vec<T>) {
    thread::scope(|scope| {
        let count = verbs.len();
        let holder = scope.spawn(move || hold(store, count, first, change("first", "1")));
        let mut threads = Vec::new();
        for (number, verb) in verbs.into_iter().enumerate() {
            // The first has its turn before any other asks for one; the others come in order.
            while store.waiting_writers().unwrap() < number || !store_is_held(store) {
                thread::yield_now();
            }
            threads.push(scope.spawn(verb));
        }
        let results = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        (holder.join().unwrap(), results)
    })
}

fn store_is_held(store: &Store) -> bool {
    store.is_writing().unwrap()
}

fn parents(store: &Store, commit: CommitId) -> Vec<CommitId> {
    let options = LogOptions { start: vec![commit], limit: Some(1), ..LogOptions::default() };
    store.log(&options).unwrap()[0].1.parents.clone()
}

#[test]
fn who_waits_shares_one_publish() {
    let (backend, store) = watched();
    put(&store, "alone", "1");
    assert_eq!(backend.take(), [1]);
    let writes = (0..9).map(|number| {
        let store = &store;
        Box::new(move || put(store, &format!("n{number}"), "1")) as Box<dyn FnOnce() -> _ + Send>
    });
    let (first, commits) = together(&store, &meta("first"), writes.collect());
    assert_eq!(backend.take(), [10]);
    let mut tip = first.unwrap();
    for commit in commits {
        assert_eq!(parents(&store, commit), [tip]);
        tip = commit;
    }
    assert_eq!(store.head_commit().unwrap(), Some(tip));
    assert_eq!(store.snapshot().unwrap().count().unwrap(), 11);
    assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
    // What was read while it was not published yet has its place in the graph.
    for (commit, _) in store.log(&LogOptions::default()).unwrap() {
        let record = backend.view().unwrap().record(&commit).unwrap().unwrap().1;
        assert!(record.derived.is_some(), "{commit}");
    }
}

#[test]
fn a_group_ends_at_256_commits_and_at_8_mib() {
    let (backend, store) = watched();
    let writes = (0..300).map(|number| {
        let store = &store;
        Box::new(move || put(store, &format!("n{number}"), "1")) as Box<dyn FnOnce() -> _ + Send>
    });
    together(&store, &meta("first"), writes.collect()).0.unwrap();
    assert_eq!(backend.take()[0], 256);
    assert_eq!(store.snapshot().unwrap().count().unwrap(), 301);

    let large = "x".repeat(3 << 19); // it stands in the message too
    let writes = (0..6).map(|number| {
        let (store, large) = (&store, &large);
        Box::new(move || put(store, &format!("large{number}"), large))
            as Box<dyn FnOnce() -> _ + Send>
    });
    let again = Meta { allow_empty: true, ..meta("first") };
    together(&store, &again, writes.collect()).0.unwrap();
    assert_eq!(backend.take()[..2], [4, 3], "8 MiB are passed by the third");
}

type Answer = thread::Result<Result<CommitId, Error>>;

#[test]
fn a_bad_request_and_a_panicking_one_fail_alone() {
    let (backend, store) = watched();
    let start = put(&store, "a", "1");
    backend.take();
    let stale = Meta { base: Some(start), ..meta("stale") };
    let verbs: Vec<Box<dyn FnOnce() -> Answer + Send>> = vec![
        Box::new(|| Ok(store.write(change("a", "2"), &meta("good")))),
        Box::new(|| Ok(store.write(change("a", "3"), &stale))),
        Box::new(|| {
            let panics = |_: &mnem_store::Snapshot| panic!("on purpose");
            catch_unwind(AssertUnwindSafe(|| store.update(&meta("panics"), panics)))
        }),
        Box::new(|| Ok(store.write(change("b", "1"), &meta("good")))),
        // The last of a line publishes, also when it has failed itself.
        Box::new(|| {
            let panics = |_: &mnem_store::Snapshot| panic!("on purpose");
            catch_unwind(AssertUnwindSafe(|| store.update(&meta("panics"), panics)))
        }),
    ];
    let (first, answers) = together(&store, &meta("first"), verbs);
    assert_eq!(backend.take(), [3]);
    let [good, bad, panicked, other, last] = <[Answer; 5]>::try_from(answers).unwrap();
    assert_eq!(
        parents(&store, good.as_ref().unwrap().as_ref().copied().unwrap()),
        [first.unwrap()]
    );
    let error = bad.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(panicked.is_err() && last.is_err());
    assert_eq!(parents(&store, other.unwrap().unwrap()), [good.unwrap().unwrap()]);
    let texts = store.snapshot().unwrap().memory("", None).unwrap();
    let texts: Vec<_> = texts.values().map(|node| node.content.as_text().unwrap()).collect();
    assert_eq!(texts, ["2", "1", "1"]);
    put(&store, "after", "1");
}

#[test]
fn nobody_is_answered_before_the_group_is_durable() {
    for panics in [false, true] {
        let (backend, store) = watched();
        put(&store, "a", "1");
        let first = Meta { time: Some(5), ..meta("first") };
        let verbs = || -> Vec<Box<dyn FnOnce() -> Result<CommitId, Error> + Send + '_>> {
            vec![
                Box::new(|| store.write(change("b", "1"), &meta("b"))),
                // It changes nothing, but what it answers is not durable either.
                Box::new(|| store.write(change("b", "1"), &meta("b again"))),
                Box::new(|| store.write(change("a", "1"), &meta("as it was"))),
            ]
        };
        backend.take();
        let failing = if panics { &backend.panics } else { &backend.fails };
        failing.store(true, Ordering::SeqCst);
        let (written, answers) = together(&store, &first, verbs());
        failing.store(false, Ordering::SeqCst);
        let kind = if panics { ErrorKind::CorruptStore } else { ErrorKind::Io };
        for error in [written].into_iter().chain(answers).map(Result::unwrap_err) {
            assert_eq!(error.kind(), kind, "{error}");
        }
        assert_eq!(store.snapshot().unwrap().count().unwrap(), 1);
        assert_eq!(store.log(&LogOptions::default()).unwrap().len(), 1);

        // The same again makes the commits that were made then, and must not take them for stored.
        let (written, answers) = together(&store, &first, verbs());
        let [b, again, unchanged] = <[_; 3]>::try_from(answers).unwrap().map(Result::unwrap);
        assert_eq!((again, unchanged), (b, b));
        let written = written.unwrap();
        let record = backend.view().unwrap().record(&written).unwrap().unwrap().1;
        assert!(record.derived.is_some());
        assert_eq!(backend.take(), [2]);
        assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
    }
}

#[test]
fn verbs_of_every_kind_build_on_each_other_in_a_group() {
    let (backend, store) = watched();
    put(&store, "a", "1");
    put(&store, "gone", "1");
    store.create_branch(&branch("old"), None, "t").unwrap();
    store.stage(note("draft", "1")).unwrap();
    backend.take();
    let local = |value: &str| LocalEdit {
        owner: "o".into(),
        key: b"k".to_vec(),
        value: Some(value.into()),
    };
    let verbs: Vec<Box<dyn FnOnce() -> Result<(), Error> + Send>> = vec![
        Box::new(|| store.stage(note("second", "1")).map(drop)),
        Box::new(|| store.remove(&id("gone"))),
        Box::new(|| store.unstage(&id("draft")).map(|was| assert!(was))),
        Box::new(|| {
            let committed = store.commit(&meta("staged"))?;
            assert!(committed.made);
            Ok(())
        }),
        Box::new(|| store.local_edit(&[local("1")])),
        Box::new(|| store.local_edit(&[local("2")])),
        Box::new(|| store.create_branch(&branch("side"), None, "t").map(drop)),
        Box::new(|| store.delete_branch(&branch("side"), "t").map(|was| assert!(was))),
        Box::new(|| store.delete_branch(&branch("old"), "t").map(|was| assert!(was))),
        Box::new(|| store.delete_branch(&branch("old"), "t").map(|was| assert!(!was))),
        Box::new(|| {
            // It moves HEAD, so what comes before it is published first.
            store.checkout_new(&branch("other"), None, false, "t").map(drop)
        }),
        Box::new(|| store.write(change("b", "1"), &meta("on other")).map(drop)),
    ];
    let (first, answers) = together(&store, &meta("first"), verbs);
    first.unwrap();
    answers.into_iter().for_each(Result::unwrap);
    assert_eq!(backend.take().len(), 2);
    let ids = |revision: &str| -> Vec<String> {
        let memory = store.snapshot_at(revision).unwrap().memory("", None).unwrap();
        memory.keys().map(ToString::to_string).collect()
    };
    // The branches start where the handle was when they were asked for, before the group.
    assert_eq!(ids("main"), ["a", "first", "second"]);
    assert_eq!(ids("other"), ["a", "b", "gone"]);
    assert_eq!(store.branches().unwrap().len(), 2);
    assert!(store.staged().unwrap().is_empty());
    assert_eq!(store.local_get("o", b"k").unwrap(), Some(b"2".to_vec()));
    assert_eq!(store.head().unwrap().render(), "ref: other");
    assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
}

#[test]
fn merges_whose_tip_moved_while_they_waited_are_made_again() {
    let (_, store) = watched();
    put(&store, "base", "1");
    for name in ["one", "two"] {
        put(&store.on(&branch(name), "t").unwrap(), name, "1");
    }
    // Each is planned on the tip before the group, which the first write moves, and then the other.
    let merge = |name: &'static str| {
        let store = &store;
        Box::new(move || {
            let outcome = store.merge(name, &MergeOptions::default())?;
            assert!(matches!(outcome, MergeOutcome::Merged(_)), "{outcome:?}");
            Ok::<_, Error>(())
        }) as Box<dyn FnOnce() -> _ + Send>
    };
    let (first, merged) = together(&store, &meta("first"), vec![merge("one"), merge("two")]);
    let first = first.unwrap();
    merged.into_iter().for_each(Result::unwrap);
    assert_eq!(store.snapshot().unwrap().count().unwrap(), 4);
    let options = LogOptions { first_parent: true, ..LogOptions::default() };
    let line: Vec<_> = store.log(&options).unwrap().into_iter().map(|(commit, _)| commit).collect();
    assert_eq!(line.len(), 4);
    assert_eq!(line[2], first);
    assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
}

/// What is at hand in a turn is what the turn sees, which is not stored yet.
#[test]
fn nothing_older_than_the_turn_is_at_hand_in_it() {
    let disk = CrashStorage::default();
    let open = move || Ok(disk.clone());
    let backend = RedbBackend::create_on("disk", open, [7; 16], Settings::default()).unwrap();
    let store = Store::over_backend(Arc::new(backend), &InitOptions::default(), environment());
    let start = put(&store, "a", "1");
    assert_eq!(store.snapshot_at_hand().unwrap().commit(), Some(start));
    let look = || {
        store.update(&meta("look"), |now| {
            let at_hand = store.snapshot_at_hand();
            assert!(at_hand.is_none_or(|at_hand| at_hand.commit() == now.commit()));
            Ok::<_, Error>(Changes::new())
        })
    };
    let (first, looked) = together(&store, &meta("first"), vec![Box::new(look)]);
    assert_eq!(looked.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [first.unwrap()]);
}

#[test]
fn twenty_threads_need_fewer_syncs_than_commits() {
    let counts = Arc::new(Mutex::new(StorageCounts::default()));
    let disk = CrashStorage::default();
    let open = {
        let (disk, counts) = (disk.clone(), Arc::clone(&counts));
        move || Ok(CountingStorage::new(disk.clone(), Arc::clone(&counts)))
    };
    let backend = RedbBackend::create_on("disk", open, [7; 16], Settings::default()).unwrap();
    let store = Store::over_backend(Arc::new(backend), &InitOptions::default(), environment());
    let syncs = || counts.lock().unwrap().syncs;
    let before = syncs();
    thread::scope(|scope| {
        for thread in 0..20 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..20 {
                    put(store, &format!("t{thread}-{number}"), "1");
                }
            });
        }
    });
    let syncs = syncs() - before;
    assert!(syncs < 400, "{syncs}");
    let first_parent = LogOptions { first_parent: true, ..LogOptions::default() };
    assert_eq!(store.log(&first_parent).unwrap().len(), 400, "one line");
    assert_eq!(store.snapshot().unwrap().count().unwrap(), 400);
    assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
}

#[test]
fn drafts_of_one_branch_are_never_shown_over_another() {
    let backend = Arc::new(Meanwhile::new(MemoryBackend::new()));
    let shared = Arc::clone(&backend) as Arc<dyn Backend>;
    let store = Arc::new(Store::over_backend(shared, &InitOptions::default(), environment()));
    put(&store, "kept", "k");
    put(&store.on(&BranchName::new("side").unwrap(), "agent").unwrap(), "beside", "b");
    let reads: [fn(&Store) -> BTreeSet<String>; 3] = [
        |store| store.working_memory("", None).unwrap().keys().map(ToString::to_string).collect(),
        |store| {
            let names = ["draft", "kept", "beside"].into_iter();
            names
                .filter(|name| store.working_node(&id(name)).unwrap().is_some())
                .map(str::to_owned)
                .collect()
        },
        |store| {
            let changes = store.diff(DiffTarget::Nothing, DiffTarget::Working).unwrap();
            changes.into_iter().map(|change| change.id.to_string()).collect()
        },
    ];
    for read in reads {
        store.checkout("main", true).unwrap();
        store.stage(note("draft", "d")).unwrap();
        let mover = Arc::clone(&store);
        backend.after_rows(move || drop(mover.checkout("side", true).unwrap()));
        assert_eq!(read(&store), BTreeSet::from(["beside".to_owned(), "kept".to_owned()]));
    }
}
