//! Whatever fails, a verb is done or it is not, and the store goes on.

use std::collections::BTreeMap;
use std::sync::Arc;

use mnem_store::backend::counting::Failing;
use mnem_store::backend::redb::Settings;
use mnem_store::backend::storage::CrashStorage;
use mnem_store::backend::{Backend, BackendError, MemoryBackend, RedbBackend};
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Changes, MergeOptions, MergeOutcome, Meta};
use mnem_store::store::local::LocalEdit;
use mnem_store::{BranchName, Error, ErrorKind, InitOptions, ObjectId, Store};

use crate::support::{environment, id, meta, note};

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

fn on(store: &Store, name: &str) -> Result<Store, Error> {
    store.on(&branch(name), "t")
}

fn set(store: &Store, name: &str, value: &str) -> Result<(), Error> {
    let changes = Changes::from([(id(name), Some(note(name, value)))]);
    let local = LocalEdit { owner: "o".into(), key: name.into(), value: Some(value.into()) };
    store.write(changes, &Meta { local: vec![local], ..meta("set") }).map(drop)
}

/// Everything a caller can see, without ids: they depend on salts and times.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    head: String,
    branches: BTreeMap<BranchName, (usize, BTreeMap<String, String>)>,
    working: BTreeMap<String, String>,
    staged: Vec<String>,
    local: usize,
}

fn texts(memory: mnem_store::store::snapshot::Memory) -> BTreeMap<String, String> {
    let text = |node: &mnem_store::MemoryNode| node.content.as_text().unwrap().to_owned();
    memory.iter().map(|(id, node)| (id.to_string(), text(node))).collect()
}

fn seen(store: &Store) -> Seen {
    let branches = store.branches().unwrap().into_iter().map(|(name, tip)| {
        let options = LogOptions { start: vec![tip], ..LogOptions::default() };
        let log = store.log(&options).unwrap().len();
        let memory = store.snapshot_at(&tip.to_string()).unwrap().memory("", None).unwrap();
        (name, (log, texts(memory)))
    });
    Seen {
        branches: branches.collect(),
        head: store.head().unwrap().render(),
        working: texts(store.working_memory("", None).unwrap()),
        staged: store.staged().unwrap().ids().into_iter().map(ToString::to_string).collect(),
        local: store.local_rows("o", b"").unwrap().len(),
    }
}

fn prepared(store: &Store) -> Result<(), Error> {
    set(store, "a", "1")?;
    store.create_branch(&branch("old"), None, "t")?;
    let side = on(store, "side")?;
    set(&side, "b", "1")?;
    set(store, "c", "1")
}

fn drafted(store: &Store) -> Result<(), Error> {
    prepared(store)?;
    store.stage(note("draft", "d"))?;
    store.remove(&id("a"))
}

fn merged(outcome: &MergeOutcome) {
    assert!(!matches!(outcome, MergeOutcome::Conflicts(_)), "{outcome:?}");
}

/// The same commit again, so that one that was built and did not land would be taken for it.
#[test]
fn what_a_failed_write_built_is_not_taken_for_stored() {
    let options = InitOptions { reproducible: true, ..InitOptions::default() };
    let mut failures = 0;
    for call in 1.. {
        let backend = Arc::new(Failing::new(MemoryBackend::new()));
        let shared = Arc::clone(&backend) as Arc<dyn Backend>;
        let store = Store::over_backend(shared, &options, environment());
        set(&store, "a", "1").unwrap();
        let again = Meta { time: Some(1), ..meta("again") };
        let write = || store.write(Changes::from([(id("a"), Some(note("a", "2")))]), &again);
        backend.fail_at(call);
        let failed = write().is_err();
        backend.fail_at(0);
        write().unwrap();
        assert_eq!(store.fsck(|_| ()).unwrap().findings, [], "call {call}");
        if !failed {
            break;
        }
        failures += 1;
    }
    assert!(failures > 1, "a question and a publish at least");
}

type Verb = fn(&Store) -> Result<(), Error>;

/// Where to start, and the verb.
const VERBS: &[(&str, Verb, Verb)] = &[
    ("first write", |_| Ok(()), |s| set(s, "a", "1")),
    ("first write of an agent", |_| Ok(()), |s| set(&on(s, "agent")?, "a", "1")),
    ("write", prepared, |s| set(s, "a", "2")),
    ("write of many", prepared, |s| {
        let change = |n: u8| (id(&format!("n{n}")), Some(note(&format!("n{n}"), "1")));
        s.write((0..40).map(change).collect(), &meta("many")).map(drop)
    }),
    ("update", prepared, |s| {
        let change = |now: &mnem_store::Snapshot| {
            let text = now.get(&id("a"))?.unwrap().content.as_text().unwrap().to_owned() + "+";
            Ok(Changes::from([(id("a"), Some(note("a", &text)))]))
        };
        s.update(&meta("update"), change).map(drop)
    }),
    ("stage", prepared, |s| s.stage(note("d", "1")).map(drop)),
    ("remove", prepared, |s| s.remove(&id("a"))),
    ("commit", drafted, |s| s.commit(&meta("commit")).map(drop)),
    ("merge", prepared, |s| {
        s.merge("side", &MergeOptions::default()).map(|outcome| merged(&outcome))
    }),
    ("fast-forward", prepared, |s| {
        on(s, "old")?.merge("main", &MergeOptions::default()).map(|outcome| merged(&outcome))
    }),
    ("branch", prepared, |s| s.create_branch(&branch("new"), None, "t").map(drop)),
    ("on", prepared, |s| on(s, "new").map(drop)),
    ("delete branch", prepared, |s| s.delete_branch(&branch("old"), "t").map(drop)),
    ("checkout", prepared, |s| s.checkout("side", false).map(drop)),
    ("checkout --discard", drafted, |s| s.checkout("side", true).map(drop)),
    ("checkout -b", prepared, |s| s.checkout_new(&branch("new"), None, false, "t").map(drop)),
    ("checkout -b --discard", drafted, |s| {
        s.checkout_new(&branch("new"), Some("side"), true, "t").map(drop)
    }),
];

#[test]
fn each_call_to_the_backend_may_fail() {
    for (name, prepare, verb) in VERBS {
        let fresh = || {
            let backend = Arc::new(Failing::new(MemoryBackend::new()));
            let shared = Arc::clone(&backend) as Arc<dyn Backend>;
            let store = Store::over_backend(shared, &InitOptions::default(), environment());
            prepare(&store).unwrap();
            (backend, store)
        };
        let objects = |backend: &Failing<MemoryBackend>| {
            backend.view().unwrap().ids(ObjectId::all(), usize::MAX).unwrap()
        };
        let (_, store) = fresh();
        let old = seen(&store);
        verb(&store).unwrap();
        let new = seen(&store);
        assert_ne!(old, new, "{name}");
        let mut call = 0;
        let calls = loop {
            call += 1;
            let (backend, store) = fresh();
            let stored = objects(&backend);
            backend.fail_at(call);
            let result = verb(&store);
            if backend.calls() < call {
                break call - 1; // There was no such call.
            }
            backend.fail_at(0);
            let now = seen(&store);
            match result {
                Ok(()) => assert_eq!(now, new, "{name}: call {call} failed unnoticed"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Io, "{name}: call {call}: {error}");
                    assert_eq!(now, old, "{name}: call {call}");
                    assert_eq!(objects(&backend), stored, "{name}: call {call}");
                    verb(&store).unwrap();
                    assert_eq!(seen(&store), new, "{name}: again, after call {call}");
                }
            }
            assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
        };
        assert!(calls >= 2, "{name}: {calls} calls");
    }
}

/// Steps on one store; each changes what is seen. HEAD stays: it is no matter of the disk here.
const SCRIPT: &[Verb] = &[
    |s| set(s, "a", "1"),
    |s| s.create_branch(&branch("side"), None, "t").map(drop),
    |s| set(&on(s, "side")?, "b", "1"),
    |s| s.stage(note("draft", "d")).map(drop),
    |s| s.remove(&id("a")),
    |s| s.commit(&meta("commit")).map(drop),
    |s| {
        let change = |n: u8| (id(&format!("n{n}")), Some(note(&format!("n{n}"), "1")));
        s.write((0..40).map(change).collect(), &meta("many")).map(drop)
    },
    |s| s.merge("side", &MergeOptions::default()).map(|outcome| merged(&outcome)),
    |s| on(s, "side")?.merge("main", &MergeOptions::default()).map(|outcome| merged(&outcome)),
    |s| set(s, "c", "1"),
    |s| s.delete_branch(&branch("side"), "t").map(drop),
    |s| on(s, "agent").map(drop),
    |s| set(&on(s, "agent")?, "c", "2"),
];

/// The index is written out every few commits, so that crashes fall into that too.
fn settings() -> Settings {
    Settings { index_commits: 3, cache_bytes: 1 << 20, ..Settings::default() }
}

fn over(backend: RedbBackend) -> Store {
    Store::over_backend(Arc::new(backend), &InitOptions::default(), environment())
}

fn create(disk: &CrashStorage) -> Result<Store, BackendError> {
    let disk = disk.clone();
    RedbBackend::create_on("disk", move || Ok(disk.clone()), [7; 16], settings()).map(over)
}

fn open(disk: &CrashStorage) -> Store {
    let disk = disk.clone();
    over(RedbBackend::open_on("disk", move || Ok(disk.clone()), settings()).unwrap())
}

/// What is seen before the script and after each of its steps; the disk at the end.
fn reference() -> (Vec<Seen>, CrashStorage, [u64; 2]) {
    let disk = CrashStorage::default();
    let store = create(&disk).unwrap();
    let start = [disk.syncs(), disk.changes()];
    let mut states = vec![seen(&store)];
    for step in SCRIPT {
        step(&store).unwrap();
        states.push(seen(&store));
    }
    for two in states.windows(2) {
        assert_ne!(two[0], two[1]);
    }
    (states, disk, start)
}

#[test]
fn a_crash_at_any_sync_loses_nothing_that_was_acknowledged() {
    let (states, whole, [start, _]) = reference();
    let mut kept = 0;
    for sync in start + 1..=whole.syncs() {
        let disk = CrashStorage::default();
        let store = create(&disk).unwrap();
        disk.stop_at_sync(sync);
        let done = SCRIPT.iter().take_while(|step| step(&store).is_ok()).count();
        drop(store);
        // Of what was written and not synced, nothing, all, or every other piece may survive.
        let survives: [&dyn Fn(usize, usize) -> bool; 4] =
            [&|_, _| false, &|_, _| true, &|place, _| place % 2 == 0, &|place, _| place % 2 == 1];
        for survives in survives {
            let disk = disk.crash(survives);
            let store = open(&disk);
            let now = seen(&store);
            let expected = [&states[done], &states[(done + 1).min(SCRIPT.len())]];
            assert!(expected.contains(&&now), "sync {sync}, after step {done}: {now:#?}");
            assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
            let at = if now == states[done] { done } else { done + 1 };
            kept += usize::from(at > done);
            // And it goes on from there, also when it is closed and opened once more.
            for step in &SCRIPT[at..] {
                step(&store).unwrap();
            }
            assert_eq!(&seen(&store), states.last().unwrap(), "sync {sync}");
            drop(store);
            assert_eq!(&seen(&open(&disk)), states.last().unwrap(), "sync {sync}");
        }
    }
    assert!(kept > 0, "a crash after the sync that counts was never met");
}

#[test]
fn a_full_disk_fails_a_verb_and_the_next_try_works() {
    let (states, whole, [_, start]) = reference();
    let mut failed = 0;
    for change in start + 1..=whole.changes() {
        let disk = CrashStorage::default();
        let store = create(&disk).unwrap();
        disk.fail_at_change(change);
        for (number, step) in SCRIPT.iter().enumerate() {
            if let Err(error) = step(&store) {
                failed += 1;
                assert_eq!(error.kind(), ErrorKind::Io, "change {change}: {error}");
                let now = seen(&store);
                if now == states[number] {
                    step(&store).unwrap();
                } else {
                    assert_eq!(now, states[number + 1], "change {change}: neither old nor new");
                }
            }
        }
        assert_eq!(&seen(&store), states.last().unwrap(), "change {change}");
        assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
    }
    assert!(failed > SCRIPT.len(), "{failed} failures");
}
