//! Backends against the suite, against each other, and against a disk that fails them.
//!
//! Long: crashes, faults, flips and random scripts share the script, the probe
//! and the disk at its head.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use mnem_store::backend::conformance::{self, Answer, Author, Place, Probe};
use mnem_store::backend::counting::{Counting, Counts, Failing};
use mnem_store::backend::redb::Settings;
use mnem_store::backend::storage::{CountingStorage, CrashStorage, StorageCounts};
use mnem_store::backend::{
    Backend, BackendError, Batch, Entry, Expected, LocalTable, MemoryBackend, Outcome,
    PublishError, RedbBackend,
};
use mnem_store::codec::Encoded;
use mnem_store::codec::encoded::hash;
use mnem_store::object::StateNode;
use mnem_store::object::state::Leaf;
use mnem_store::{BranchName, NodeId, ObjectId};
use proptest::prelude::*;
use redb::ReadableTable;

use crate::damage::quiet;
use crate::support::config;
use crate::sweep::tell_held;

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
            let nodes: Vec<_> =
                nodes.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
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
    #![proptest_config(config(48))]

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
    for batch in script {
        probe.learn(batch);
    }
    probe
}

fn publish_all(store: &RedbBackend, script: &[Batch]) {
    for batch in script {
        store.publish(batch).unwrap();
    }
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
        for survives in [SURVIVORS[0], SURVIVORS[1], SURVIVORS[2]] {
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
        publish_all(&store, &script);
        disk.changes() - before
    };
    let mut failures = 0;
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
        failures += u64::from(failed);
    }
    // redb gets over a failure to grow the file as far as it would like to.
    assert!(failures >= changes - 2, "{failures} of {changes} changes failed a batch");
}

/// Where the pages are that hold something; the rest of the file is zero.
fn used(bytes: &[u8]) -> Vec<usize> {
    let pages = bytes.chunks(4096).enumerate();
    let used = pages.filter(|(_, page)| page.iter().any(|byte| *byte != 0));
    used.flat_map(|(page, bytes)| (0..bytes.len()).map(move |at| page * 4096 + at)).collect()
}

/// Flips one bit of each of these bytes in turn and asks everything.
/// How many they were.
fn flip(commits: u64, check_pages: bool, places: impl Fn(&[u8]) -> Vec<usize>) -> u64 {
    let mut script = a_script();
    // The last batch is large: most of its bytes say the same.
    script.pop();
    let disk = CrashStorage::default();
    let store = create(&disk, every(commits));
    publish_all(&store, &script);
    drop(store);
    let probe = probe_of(&script);
    let bytes = disk.bytes();
    let expected = plain(probe.ask(&open(&disk, every(commits))));
    let settings = Settings { check_pages, ..every(commits) };
    let mut errors = 0_u64;
    let mut wrong = Vec::new();
    let places = places(&bytes);
    for place in &places {
        let mut bytes = bytes.clone();
        bytes[*place] ^= 1 << (place % 8);
        let damaged = CrashStorage::new(bytes);
        let shared = damaged.clone();
        let asked = quiet(|| {
            RedbBackend::open_on("disk", move || Ok(shared.clone()), settings)
                .map(|store| plain(probe.ask(&store)))
        });
        let Ok(found) = asked else {
            errors += 1;
            continue;
        };
        if found.len() != expected.len() {
            // Not even a view was to be had.
            errors += 1;
            continue;
        }
        errors += u64::from(found.iter().any(|(_, answer)| answer.is_none()));
        for (found, expected) in found.iter().zip(&expected) {
            // Rows that nobody counts can be lost without a word where no page is checked.
            let uncounted = ["changes of ", "rows of local "];
            let is_lost = !check_pages
                && uncounted.iter().any(|question| found.0.starts_with(question))
                && found.1.as_deref() == Some("[]");
            if found.1.is_some() && found != expected && !is_lost {
                wrong.push(format!("byte {place}: {found:?}, not {expected:?}"));
                break;
            }
        }
    }
    assert!(errors > 0);
    assert!(
        wrong.is_empty(),
        "{} of {}: {:#?}",
        wrong.len(),
        places.len(),
        &wrong[..wrong.len().min(20)]
    );
    places.len() as u64
}

#[test]
fn a_flipped_bit_is_an_error_or_is_not_seen() {
    for commits in [1, 256] {
        flip(commits, false, |bytes| used(bytes).into_iter().step_by(101).collect());
    }
}

/// What redb notes of a table: a bit there can take all its rows away without a word.
#[test]
fn a_flipped_bit_in_the_list_of_tables_is_an_error_or_is_not_seen() {
    let list = |bytes: &[u8]| {
        let is_listed = |page: &[u8]| page.windows(18).any(|part| part == b"staging_tombstones");
        let lists = bytes.chunks(4096).map(is_listed).collect::<Vec<_>>();
        used(bytes)
            .into_iter()
            .filter(|place| place % 8 == 0 && lists[place / 4096] && place % 4096 < 1_200)
            .collect()
    };
    for commits in [1, 256] {
        flip(commits, true, list);
    }
}

/// With every page checked at open: without, some bits in redb's notes about free pages end the
/// process (see the backend's documentation).
#[test]
#[ignore = "minutes long; `make sweep` runs it"]
fn a_flipped_bit_in_any_byte_is_an_error_or_is_not_seen() {
    let started = Instant::now();
    let flips: u64 = [1, 256].map(|commits| flip(commits, true, used)).iter().sum();
    tell_held(
        "flips-bytes",
        flips,
        started,
        "a bit of every byte of two small stores, then every read",
    );
}

#[test]
fn what_is_no_store_is_refused_in_a_sentence_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.redb");
    let error = |path: &Path| match RedbBackend::open(path, Settings::default()) {
        Err(BackendError::Corrupt(sentence)) => sentence,
        other => panic!("{other:?}"),
    };
    let shown = path.display();
    assert_eq!(error(&path), format!("{shown}: the file is missing"));
    assert!(!path.exists());

    drop(RedbBackend::create(&path, EPOCH, Settings::default()).unwrap());
    let whole = fs::read(&path).unwrap();
    let not_redb = format!("{shown}: the file was not written by redb");
    for (bytes, sentence) in [
        (Vec::new(), Some(format!("{shown}: the file is empty"))),
        (b"a letter, and not a short one".to_vec(), Some(not_redb.clone())),
        (whole[..4].to_vec(), Some(not_redb)),
        (whole[..100].to_vec(), None),
        (whole[..4096].to_vec(), None),
        (whole[..whole.len() / 2].to_vec(), None),
    ] {
        fs::write(&path, &bytes).unwrap();
        let said = error(&path);
        assert!(said.starts_with(&format!("{shown}: ")), "{said}");
        assert!(sentence.is_none_or(|sentence| said == sentence), "{said}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "{said}");
    }
    // A database of somebody else.
    fs::remove_file(&path).unwrap();
    drop(redb::Database::create(&path).unwrap());
    assert!(error(&path).starts_with(&format!("{shown}: ")));
}

#[test]
fn a_file_is_made_once_and_held_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.redb");
    let store = RedbBackend::create(&path, EPOCH, Settings::default()).unwrap();
    let batch = Author::new().write("main", &[("a", "1")]);
    store.publish(&batch).unwrap();
    assert_eq!(store.epoch(), EPOCH);
    assert!(store.allocated_bytes().unwrap() > 0);
    let second = RedbBackend::open(&path, Settings::default());
    assert!(matches!(second, Err(BackendError::Locked)), "{second:?}");
    let again = RedbBackend::create(&path, EPOCH, Settings::default());
    assert!(matches!(again, Err(BackendError::Io(_))), "{again:?}");
    drop(store);
    let store = RedbBackend::open(&path, Settings::default()).unwrap();
    assert_eq!(store.epoch(), EPOCH);
    assert_eq!(store.view().unwrap().references().unwrap().len(), 1);
}

#[test]
fn counting_sees_each_call() {
    let store = Counting::new(MemoryBackend::new());
    let batch = Author::new().write("main", &[("a", "1")]);
    store.publish(&batch).unwrap();
    let bytes = batch.entries.iter().map(|entry| match entry {
        Entry::Object(object) => object.bytes().len() as u64,
        Entry::Record(_) => 0,
    });
    let mut expected = Counts {
        publishes: 1,
        objects_inserted: 3,
        object_bytes: bytes.sum(),
        records: 1,
        ..Counts::default()
    };
    assert_eq!(store.counts(), expected);
    let view = store.view().unwrap();
    view.object(&hash(b"nothing")).unwrap();
    view.references().unwrap();
    expected.views = 1;
    expected.object_reads = 1;
    expected.other_reads = 1;
    assert_eq!(store.take(), expected);
    store.publish(&Batch { refs: Vec::new(), ..batch }).unwrap();
    assert_eq!(store.counts(), Counts { publishes: 1, records: 1, ..Counts::default() });
}

#[test]
fn failing_fails_the_call_it_was_told_to() {
    let store = Failing::new(MemoryBackend::new());
    let batch = Author::new().write("main", &[("a", "1")]);
    let all = |store: &Failing<MemoryBackend>| -> Result<(), PublishError> {
        let view = store.view()?;
        view.references()?;
        view.object(&hash(b"nothing"))?;
        store.publish(&batch)
    };
    for call in 1..=4 {
        store.fail_at(call);
        assert!(all(&store).is_err(), "call {call}");
        assert_eq!(store.calls(), call);
        assert!(store.view().unwrap().references().unwrap().is_empty(), "call {call}");
    }
    store.fail_at(0);
    all(&store).unwrap();
}

#[test]
fn a_view_is_of_one_moment_while_others_write() {
    let disk = CrashStorage::default();
    let store = create(&disk, every(3));
    let branch = BranchName::from_stored("main");
    let mut author = Author::new();
    store.publish(&author.write("main", &[("a", "first")])).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 0..300 {
                store.publish(&author.write("main", &[("a", &n.to_string())])).unwrap();
            }
        });
        while !writer.is_finished() {
            let view = store.view().unwrap();
            let tip = view.reference(&branch).unwrap().unwrap();
            let newest = view.records(None, None, 1).unwrap().remove(0);
            assert_eq!(newest.1.new, Some(tip));
            assert_eq!(view.record(&tip).unwrap(), Some(newest.clone()));
            assert_eq!(view.changes(&NodeId::from_stored("a"), None, 1).unwrap(), [newest]);
        }
    });
}

/// The rows as the format describes them, written by hand.
#[test]
fn an_erased_object_is_told_from_a_missing_one() {
    type Definition<'t> = redb::TableDefinition<'t, &'static [u8], &'static [u8]>;
    let sealed = |table: &str, key: &[u8], value: &[u8]| {
        let mut covered = Vec::new();
        for part in [table.as_bytes(), key] {
            covered.extend((part.len() as u64).to_be_bytes());
            covered.extend(part);
        }
        covered.extend(value);
        [value, &blake3::hash(&covered).as_bytes()[..8]].concat()
    };
    let disk = CrashStorage::default();
    let store = create(&disk, every(1));
    let batch = Author::new().write("main", &[("a", "1")]);
    store.publish(&batch).unwrap();
    drop(store);
    let Entry::Object(object) = &batch.entries[0] else { panic!("a node comes first") };
    let (id, number) = (object.id(), 0_u64.to_be_bytes());

    let database = redb::Database::builder().create_with_backend(disk.clone()).unwrap();
    let transaction = database.begin_write().unwrap();
    for (table, key, old, new) in [
        ("log", &number[..], [&[0], object.bytes()].concat(), [&[3], &id.as_bytes()[..]].concat()),
        ("where", id.as_bytes(), [&[0], &number[..]].concat(), [&[3], &number[..]].concat()),
    ] {
        let mut rows = transaction.open_table(Definition::new(table)).unwrap();
        assert_eq!(rows.get(key).unwrap().unwrap().value(), sealed(table, key, &old), "{table}");
        rows.insert(key, sealed(table, key, &new).as_slice()).unwrap();
    }
    transaction.commit().unwrap();
    drop(database);

    let store = open(&disk, every(1));
    let view = store.view().unwrap();
    assert_eq!(view.object(&id).unwrap(), Outcome::Erased);
    assert_eq!(view.object(&hash(b"nothing")).unwrap(), Outcome::Absent);
    let ids = view.ids(ObjectId::all(), 9).unwrap();
    assert!(ids.len() == 2 && ids.iter().all(|(found, _)| *found != id), "{ids:?}");
}

#[test]
fn a_file_that_is_replaced_is_not_taken_for_the_store() {
    let [first, second] = [(); 2].map(|()| CrashStorage::default());
    let store = create(&first, Settings::default());
    let disks = Arc::new(Mutex::new(vec![second.clone(), first.clone()]));
    drop(store);
    drop(RedbBackend::create_on("other", move || Ok(second.clone()), [7; 16], every(1)).unwrap());
    let open = move || Ok(disks.lock().unwrap().pop().unwrap());
    let store = RedbBackend::open_on("disk", open, Settings::default()).unwrap();
    first.fail_at_change(first.changes() + 1);
    let batch = Author::new().write("main", &[("a", "1")]);
    assert!(store.publish(&batch).is_err());
    assert!(matches!(store.view().map(drop), Err(BackendError::Corrupt(_))));
}

/// What one write costs: a node, three state objects of about 600 bytes, a commit, its record
/// with one change, and the move of the branch.
#[test]
fn pages_are_checked_when_a_file_is_opened_and_not_when_it_comes_back() {
    let disk = CrashStorage::default();
    let settings = Settings { check_pages: true, ..every(256) };
    let store = create(&disk, settings);
    store.publish(&Author::new().write("main", &[("a", "1")])).unwrap();
    let syncs = |store: &RedbBackend| {
        let before = disk.syncs();
        drop(store.view().unwrap());
        disk.syncs() - before
    };
    for _ in 0..2 {
        store.release();
        assert_eq!(syncs(&store), 1, "what was checked is marked as open");
    }
    drop(store);
    let before = disk.syncs();
    drop(open(&disk, Settings { check_pages: false, ..settings }));
    let unchecked = disk.syncs() - before;
    drop(open(&disk, settings));
    assert!(disk.syncs() - before > 2 * unchecked, "a check ends in a commit");
}

#[test]
fn a_write_is_one_sync_and_flat_in_bytes() {
    let counts = Arc::new(Mutex::new(StorageCounts::default()));
    let (disk, shared) = (CrashStorage::default(), Arc::clone(&counts));
    let storage = move || Ok(CountingStorage::new(disk.clone(), Arc::clone(&shared)));
    let store = RedbBackend::create_on("disk", storage, EPOCH, Settings::default()).unwrap();
    let mut author = Author::new();
    let mut stored = 0_u64;
    for (objects, writes) in [(1_000_u64, 256_u64), (100_000, 256)] {
        while stored < objects {
            let mut batch = Batch::default();
            for n in stored..(stored + 2_000).min(objects) {
                batch.object(state_of_600_bytes(n));
            }
            stored += batch.entries.len() as u64;
            store.publish(&batch).unwrap();
        }
        let mut syncs = BTreeMap::new();
        let mut bytes = Vec::new();
        for n in 0..writes {
            let mut batch = author.write("main", &[("a", &format!("{objects} {n}"))]);
            for part in 0..3 {
                batch.entries.insert(
                    1,
                    Entry::Object(state_of_600_bytes(1 << 32 | objects << 12 | n << 2 | part)),
                );
            }
            batch.entries.remove(4);
            let before = *counts.lock().unwrap();
            store.publish(&batch).unwrap();
            let after = *counts.lock().unwrap();
            *syncs.entry(after.syncs - before.syncs).or_insert(0) += 1;
            bytes.push(after.bytes_written - before.bytes_written);
        }
        let mean = bytes.iter().sum::<u64>() / writes;
        bytes.sort_unstable();
        let (median, most) = (bytes[bytes.len() / 2], bytes[bytes.len() - 1]);
        // A file that grows is synced once more.
        assert!(syncs.get(&1).is_some_and(|once| *once >= writes - 3), "{syncs:?}");
        let allocated = store.allocated_bytes().unwrap();
        assert!(
            median < 48 << 10,
            "{objects} objects: bytes {median} median, {mean} mean, {most} most; {allocated} in use"
        );
    }
}

fn state_of_600_bytes(n: u64) -> Encoded {
    let id = |k: u64| NodeId::from_stored(format!("session-{k:04}/turn-{n:08}"));
    let version = |k: u64| hash(format!("{n} {k}").as_bytes()).into();
    Encoded::state(StateNode::Leaf(Leaf { nodes: (0..9).map(|k| (id(k), version(k))).collect() })).1
}
