//! Backends against the suite, against each other, and against a disk that fails them.

use std::collections::BTreeMap;
use std::sync::Arc;

use mnem_store::BranchName;
use mnem_store::backend::conformance::{self, Answer, Author, Place, Probe};
use mnem_store::backend::redb::Settings;
use mnem_store::backend::storage::CrashStorage;
use mnem_store::backend::{Backend, Batch, Expected, LocalTable, MemoryBackend, RedbBackend};
use mnem_store::codec::encoded::hash;
use proptest::prelude::*;

const EPOCH: [u8; 16] = *b"sixteen  letters";

fn every(commits: u64) -> Settings {
    Settings { index_commits: commits, cache_bytes: 1 << 20, ..Settings::default() }
}

fn create(disk: &CrashStorage, settings: Settings) -> RedbBackend {
    let disk = disk.clone();
    RedbBackend::create_on("disk", move || Ok(disk.clone()), EPOCH, settings).unwrap()
}

fn open(disk: &CrashStorage, settings: Settings) -> RedbBackend {
    let disk = disk.clone();
    RedbBackend::open_on("disk", move || Ok(disk.clone()), settings).unwrap()
}

#[test]
fn memory_conforms() {
    conformance::check(|| {
        let backend = Arc::new(MemoryBackend::new());
        Box::new(move || Box::new(Arc::clone(&backend)) as Box<dyn Backend>) as Place<'_>
    });
}

#[test]
fn redb_conforms_wherever_the_mark_stands() {
    for commits in [1, 3, 256] {
        conformance::check(|| {
            let disk = CrashStorage::default();
            drop(create(&disk, every(commits)));
            Box::new(move || Box::new(open(&disk, every(commits))) as Box<dyn Backend>) as Place<'_>
        });
    }
}

/// What is published next, in small numbers.
#[derive(Clone, Debug)]
enum Step {
    Write { branch: u8, nodes: Vec<(u8, u8)> },
    WriteMany { branch: u8, nodes: u16 },
    Point { branch: u8, at: u8 },
    Row { table: usize, key: u8, value: Option<u8> },
    Again,
    Stale,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let node = (0..6_u8, 0..4_u8);
    let step = prop_oneof![
        6 => (0..3_u8, prop::collection::vec(node, 1..4))
            .prop_map(|(branch, nodes)| Step::Write { branch, nodes }),
        1 => (0..3_u8, 90..140_u16).prop_map(|(branch, nodes)| Step::WriteMany { branch, nodes }),
        2 => (0..3_u8, 0..4_u8).prop_map(|(branch, at)| Step::Point { branch, at }),
        3 => (0..4_usize, 0..4_u8, prop::option::of(any::<u8>()))
            .prop_map(|(table, key, value)| Step::Row { table, key, value }),
        1 => Just(Step::Again),
        1 => Just(Step::Stale),
        2 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..14)
}

/// The batch of a step; `None` opens the store again.
fn batch_of(step: &Step, author: &mut Author, last: &Batch) -> Option<Batch> {
    let name = |n: &u8| format!("branch-{n}");
    Some(match step {
        Step::Write { branch, nodes } => {
            let nodes: BTreeMap<_, _> =
                nodes.iter().map(|(id, text)| (format!("n{id}"), text.to_string())).collect();
            let nodes: Vec<_> = nodes.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
            author.write(&name(branch), &nodes)
        }
        Step::WriteMany { branch, nodes } => {
            let ids: Vec<_> = (0..*nodes).map(|n| format!("n{n}")).collect();
            let nodes: Vec<_> = ids.iter().map(|id| (id.as_str(), "many")).collect();
            let mut batch = author.write(&name(branch), &nodes);
            // The change set is what matters; a hundred node objects only take time.
            batch.entries.drain(..batch.entries.len() - 3);
            batch
        }
        Step::Point { branch, at } => author.point(&name(branch), &name(at)),
        Step::Row { table, key, value } => {
            let mut batch = Batch::default();
            let key = [b'a' + key];
            batch.row(LocalTable::ALL[*table], key, value.map(|value| vec![value]));
            batch
        }
        Step::Again => Batch { refs: Vec::new(), ..last.clone() },
        Step::Stale => author.clone().write("branch-0", &[("stale", "stale")]),
        Step::Reopen => return None,
    })
}

/// The answers without the words of errors, which name the backend.
fn plain(answers: Vec<Answer>) -> Vec<(String, Option<String>)> {
    answers.into_iter().map(|(question, answer)| (question, answer.ok())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn deferring_is_not_seen(steps in steps()) {
        let model = MemoryBackend::new();
        let settings = [1, 3, 256].map(every);
        let disks = [(); 3].map(|()| CrashStorage::default());
        let mut stores: Vec<_> =
            disks.iter().zip(settings).map(|(disk, settings)| create(disk, settings)).collect();
        let mut author = Author::new();
        let mut probe = Probe::new();
        let mut last = Batch::default();
        for step in &steps {
            let Some(mut batch) = batch_of(step, &mut author, &last) else {
                for (store, (disk, settings)) in stores.iter_mut().zip(disks.iter().zip(settings)) {
                    // The old one must let go of the disk first.
                    *store = create(&CrashStorage::default(), settings);
                    *store = open(disk, settings);
                }
                continue;
            };
            if matches!(step, Step::Stale) {
                batch.reference(BranchName::from_stored("nothing"), Expected::At(hash(b"x").into()), None);
            }
            probe.learn(&batch);
            let expected = model.publish(&batch).map_err(|error| error.to_string());
            for store in &stores {
                prop_assert_eq!(&store.publish(&batch).map_err(|error| error.to_string()), &expected);
            }
            if expected.is_ok() {
                last = batch;
            }
        }
        let expected = plain(probe.ask(&model));
        for store in &stores {
            for (found, expected) in plain(probe.ask(store)).into_iter().zip(&expected) {
                prop_assert_eq!(&found, expected);
            }
        }
    }
}

/// Batches that touch every table, the last of which grows the file.
fn a_script() -> Vec<Batch> {
    let mut author = Author::new();
    let mut rows = Batch::default();
    for table in LocalTable::ALL {
        rows.row(table, "a", Some(b"1".to_vec()));
        rows.row(table, "b", Some(b"2".to_vec()));
    }
    let mut fewer = Batch::default();
    fewer.row(LocalTable::Staging, "a", None);
    let large = "x".repeat(700 << 10);
    vec![
        author.write("main", &[("a", "1"), ("b", "1")]),
        rows,
        author.write("main", &[("a", "2")]),
        author.point("side", "main"),
        fewer,
        author.write("side", &[("c", "3")]),
        author.write("main", &[("large", &large), ("a", "3")]),
    ]
}

fn probe_of(script: &[Batch]) -> Probe {
    let mut probe = Probe::new();
    script.iter().for_each(|batch| probe.learn(batch));
    probe
}

/// What the model answers after each number of batches.
fn states_of(script: &[Batch], probe: &Probe) -> Vec<Vec<(String, Option<String>)>> {
    let model = MemoryBackend::new();
    let mut states = vec![plain(probe.ask(&model))];
    for batch in script {
        model.publish(batch).unwrap();
        states.push(plain(probe.ask(&model)));
    }
    states
}

/// Which of the changes since the last sync a crash leaves behind.
const SURVIVORS: [fn(usize, usize) -> bool; 5] = [
    |_, _| false,
    |_, _| true,
    |place, _| place % 2 == 0,
    |place, count| place + 1 == count,
    |place, count| place + 1 != count,
];

#[test]
fn a_crash_at_any_sync_leaves_the_old_state_or_the_new() {
    let script = a_script();
    let probe = probe_of(&script);
    let states = states_of(&script, &probe);
    for commits in [1, 3, 256] {
        for sync in 1.. {
            let disk = CrashStorage::default();
            let store = create(&disk, every(commits));
            disk.stop_at_sync(disk.syncs() + sync);
            let landed = script.iter().take_while(|batch| store.publish(batch).is_ok()).count();
            if landed == script.len() {
                assert!(sync > script.len() as u64, "each batch is synced");
                break;
            }
            for survives in SURVIVORS {
                let after = disk.crash(survives);
                let found = plain(probe.ask(&open(&after.crash(|_, _| true), every(commits))));
                let place = states.iter().position(|state| *state == found);
                assert!(
                    place == Some(landed) || place == Some(landed + 1),
                    "sync {sync}: {landed} batches were acknowledged, found state {place:?}"
                );
                crash_while_recovering(&after, commits, &probe, &found);
            }
        }
    }
}

/// Stops again at each sync of the recovery: the state stays the one that was found.
fn crash_while_recovering(
    disk: &CrashStorage,
    commits: u64,
    probe: &Probe,
    expected: &[(String, Option<String>)],
) {
    for sync in 1.. {
        let again = disk.crash(|_, _| false);
        again.stop_at_sync(sync);
        let shared = again.clone();
        let opened = RedbBackend::open_on("disk", move || Ok(shared.clone()), every(commits));
        let stopped = opened.is_err();
        // Closing syncs too.
        drop(opened);
        let closed = again.syncs() < sync;
        for survives in SURVIVORS {
            let found = plain(probe.ask(&open(&again.crash(survives), every(commits))));
            assert_eq!(found, expected, "crash at sync {sync} of the recovery");
        }
        if closed && !stopped {
            break;
        }
    }
}

#[test]
fn a_failed_change_of_the_file_fails_one_batch_and_nothing_else() {
    let script = a_script();
    let probe = probe_of(&script);
    let states = states_of(&script, &probe);
    let changes = {
        let disk = CrashStorage::default();
        let store = create(&disk, every(3));
        let before = disk.changes();
        script.iter().for_each(|batch| store.publish(batch).unwrap());
        disk.changes() - before
    };
    for change in 1..=changes {
        let disk = CrashStorage::default();
        let store = create(&disk, every(3));
        disk.fail_at_change(disk.changes() + change);
        let mut failed = false;
        for (place, batch) in script.iter().enumerate() {
            if store.publish(batch).is_ok() {
                continue;
            }
            assert!(!failed, "change {change} fails once");
            failed = true;
            // Reads go on, at the old state or the new, and so do writes.
            let found = plain(probe.ask(&store));
            if found == states[place] {
                store.publish(batch).unwrap();
            } else {
                assert_eq!(found, states[place + 1], "change {change}");
            }
        }
        assert_eq!(plain(probe.ask(&store)), states[script.len()], "change {change}");
        assert!(failed, "change {change} of {changes}");
    }
}
