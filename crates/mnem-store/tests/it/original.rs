//! Stores of the original: read where they lie, not one byte changed, and never written.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mnem_store::backend::counting::Counting;
use mnem_store::backend::original::OriginalWriter;
use mnem_store::backend::{Backend, Batch, MemoryBackend, Outcome};
use mnem_store::codec::Encoded;
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Changes, DiffTarget, MergeOptions};
use mnem_store::portable::import;
use mnem_store::store::{FormatVersion, Waiting};
use mnem_store::{
    BranchName, CommitId, Environment, Error, ErrorKind, InitOptions, MemoryNode, ObjectId, Store,
};

use crate::support::{environment, id, meta, note, put};

pub fn main_branch() -> BranchName {
    BranchName::new("main").unwrap()
}

fn side_branch() -> BranchName {
    BranchName::new("side").unwrap()
}

/// Memory of this many nodes; node 3 says which version it is of.
pub fn memory(nodes: usize, version: usize) -> Vec<MemoryNode> {
    (0..nodes)
        .map(|n| {
            note(&format!("fact-{n:06}"), &format!("{n} {}", if n == 3 { version } else { 0 }))
        })
        .collect()
}

/// Two branches that were merged, staged changes, forty nodes; the writer is open still.
pub fn sample(directory: &Path) -> (OriginalWriter, Vec<CommitId>) {
    let writer = OriginalWriter::create(directory).unwrap();
    let commit = |branch: &BranchName, parents: &[CommitId], version, time| {
        writer.commit(branch, parents, &memory(40, version), &format!("v{version}"), time).unwrap()
    };
    let first = commit(&main_branch(), &[], 1, 1_000);
    let side = commit(&side_branch(), &[first], 2, 2_000);
    let second = commit(&main_branch(), &[first], 3, 2_000);
    let merge = commit(&main_branch(), &[second, side], 3, 1_500);
    writer.stage(&note("draft", "not yet")).unwrap();
    writer.stage_removal(&id("fact-000007")).unwrap();
    (writer, vec![first, side, second, merge])
}

/// Every file with its bytes and the time of its last change.
pub fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>, SystemTime)> {
    let place = directory.join(".mnem");
    let changed = fs::metadata(&place).unwrap().modified().unwrap();
    let mut files = vec![(place.clone(), Vec::new(), changed)];
    for entry in fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        let changed = fs::metadata(&path).unwrap().modified().unwrap();
        files.push((path.clone(), fs::read(&path).unwrap(), changed));
    }
    files.sort();
    files
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join(".mnem")).unwrap();
    for (path, bytes, _) in &files(from)[1..] {
        fs::write(to.join(".mnem").join(path.file_name().unwrap()), bytes).unwrap();
    }
}

/// What a store says of all that does not depend on its format.
pub fn told(store: &Store) -> String {
    let mut told = vec![format!("{:?} {:?}", store.head(), store.branches().unwrap())];
    told.push(format!("{:?}", store.staged().unwrap()));
    told.push(format!("{:?}", store.working_memory("", None).unwrap()));
    for branch in store.branches().unwrap().into_values() {
        let options = LogOptions { start: vec![branch], ..LogOptions::default() };
        for (commit, object) in store.log(&options).unwrap() {
            told.push(format!("{commit} {object:?}"));
            told.push(format!(
                "{:?}",
                store.snapshot_at(&commit.to_string()).unwrap().memory("", None).unwrap()
            ));
            told.push(format!("{:?}", store.changed_by(commit).unwrap()));
        }
    }
    told.push(format!("{:?}", store.diff(DiffTarget::Nothing, DiffTarget::Working).unwrap()));
    for node in ["fact-000003", "fact-000000"] {
        told.push(format!("{:?}", store.blame(&id(node), None).ok()));
    }
    told.push(format!("{:?}", store.resolve("main~1").ok()));
    told.push(format!("{:?}", store.resolve("main@{1700}").ok()));
    told.join("\n")
}

#[test]
fn reading_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (writer, commits) = sample(directory.path());
    let killed = tempfile::tempdir().unwrap();
    copy(directory.path(), killed.path());
    drop(writer);
    for (place, was_killed) in [(directory.path(), false), (killed.path(), true)] {
        let before = files(place);
        let store = Store::open(place, environment()).unwrap();
        assert_eq!(store.format_version().unwrap(), FormatVersion::V1);
        assert_eq!(store.was_killed().unwrap(), was_killed);
        assert_eq!(store.head_commit().unwrap(), Some(commits[3]));
        assert_eq!(store.staged().unwrap().ids().len(), 2);
        assert_eq!(store.working_memory("", None).unwrap().len(), 40);
        // A child before its parents, whatever the times say.
        let log = store.log(&LogOptions::default()).unwrap();
        assert_eq!(log.iter().map(|(id, _)| *id).next(), Some(commits[3]));
        assert_eq!(log.last().map(|(id, _)| *id), Some(commits[0]));
        assert_eq!(store.blame(&id("fact-000003"), None).unwrap().commit, commits[2]);
        assert_eq!(store.resolve("main@{1700}").unwrap(), commits[3]);
        assert!(store.reflog(None, None).unwrap().is_empty());
        assert!(store.verify(|_| ()).unwrap().problems.is_empty());
        assert!(store.statistics(|_| ()).unwrap().file.is_some());
        let side = store.on(&side_branch(), "t").unwrap();
        assert_eq!(side.head_commit().unwrap(), Some(commits[1]));
        // Every open in a process is one engine.
        assert!(Store::open(&place.join(".mnem"), environment()).is_ok());
        let prefix = &commits[0].to_string()[..9];
        assert_eq!(store.find_object(prefix).unwrap().0.id(), commits[0].into());
        drop((store, side));
        assert_eq!(files(place), before);
    }
}

#[test]
fn a_writer_that_lives_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let (writer, _) = sample(directory.path());
    let before = files(directory.path());
    let quick = Environment { busy_timeout: Duration::from_millis(1), ..environment() };
    let error = Store::open(directory.path(), quick.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().starts_with("another process holds the store at "), "{error}");
    let error = Store::migrate(directory.path(), &quick, false, |_, _| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert_eq!(files(directory.path()), before);
    let place = directory.path().to_owned();
    let waiting = std::thread::spawn(move || Store::open(&place, environment()).map(drop));
    drop(writer);
    waiting.join().unwrap().unwrap();
    // Who reads keeps writers of the original off, and lets go with the last handle.
    let store = Store::open(directory.path(), environment()).unwrap();
    let data = File::open(directory.path().join(".mnem/store.redb")).unwrap();
    assert!(data.try_lock().is_err());
    assert!(data.try_lock_shared().is_ok());
    data.unlock().unwrap();
    drop(store);
    data.try_lock().unwrap();
}

#[derive(Debug)]
struct Stopped;

impl Waiting for Stopped {
    fn check(&self) -> Result<(), Error> {
        Err(Error::invalid("told to stop"))
    }

    fn repairing(&self, _: f64) {}
}

#[test]
fn a_wait_for_a_writer_that_lives_can_be_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let (_writer, _) = sample(directory.path());
    let patient = Environment {
        busy_timeout: Duration::from_secs(20),
        waiting: Arc::new(Stopped),
        ..environment()
    };
    let error = Store::open(directory.path(), patient.clone()).unwrap_err();
    assert_eq!(error.to_string(), "told to stop");
    let error = Store::migrate(directory.path(), &patient, false, |_, _| ()).unwrap_err();
    assert_eq!(error.to_string(), "told to stop");
}

#[test]
fn on_the_network_it_is_read_and_migrated_when_that_is_allowed() {
    let directory = tempfile::tempdir().unwrap();
    drop(sample(directory.path()).0);
    let before = files(directory.path());
    let remote = Environment { file_system: |_| Some("nfs4".into()), ..environment() };
    let opened = Store::open(directory.path(), remote.clone()).map(drop);
    let migrated = Store::migrate(directory.path(), &remote, false, |_, _| ()).map(drop);
    for refused in [opened, migrated] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().contains("network (nfs4)"), "{error}");
    }
    assert_eq!(files(directory.path()), before);
    let allowed = Environment { allow_network: true, ..remote };
    drop(Store::open(directory.path(), allowed.clone()).unwrap());
    assert!(Store::migrate(directory.path(), &allowed, false, |_, _| ()).unwrap().changed);
}

/// Each line of an export but the header, which names the format, and the end, which seals it.
fn exported(store: &Store) -> (Vec<u8>, Vec<String>) {
    let mut stream = Vec::new();
    store.export(&mut stream, |_| ()).unwrap();
    let lines: Vec<_> = str::from_utf8(&stream).unwrap().lines().map(str::to_owned).collect();
    let body = lines[1..lines.len() - 1].to_vec();
    (stream, body)
}

#[test]
fn an_export_makes_the_same_store_as_a_migration() {
    let directory = tempfile::tempdir().unwrap();
    let (writer, commits) = sample(directory.path());
    let killed = tempfile::tempdir().unwrap();
    copy(directory.path(), killed.path());
    drop(writer);
    for place in [directory.path(), killed.path()] {
        let before = files(place);
        let store = Store::open(place, environment()).unwrap();
        let log = store.log(&LogOptions::default()).unwrap();
        let (stream, body) = exported(&store);
        drop(store);
        assert_eq!(files(place), before);

        let other = tempfile::tempdir().unwrap();
        let (copy, carried) = import(&mut &*stream, other.path(), environment(), |_| ()).unwrap();
        // What is staged stays behind.
        assert_eq!((carried.commits, carried.states, carried.nodes), (4, 3, 42));
        assert_eq!(copy.head_commit().unwrap(), Some(commits[3]));
        assert_eq!(copy.log(&LogOptions::default()).unwrap(), log);
        assert_eq!(exported(&copy).1, body);
        assert_eq!(copy.fsck(|_| ()).unwrap().findings, []);
        Store::migrate(place, &environment(), false, |_, _| ()).unwrap();
        let migrated = Store::open(place, environment()).unwrap();
        assert_eq!(exported(&migrated).1, body);
        // New nodes are salted in both.
        for store in [copy, migrated] {
            put(&store, "new", "1");
            let node = store.snapshot().unwrap().get(&id("new")).unwrap().unwrap();
            assert!(node.salt.is_some());
        }
    }
}

#[test]
fn fsck_reads_all_of_it_and_a_repair_of_a_sound_one_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (writer, _) = sample(directory.path());
    let killed = tempfile::tempdir().unwrap();
    copy(directory.path(), killed.path());
    let lost = CommitId::from_bytes([7; 32]);
    let damaged = tempfile::tempdir().unwrap();
    let other = OriginalWriter::create(damaged.path()).unwrap();
    other.commit(&main_branch(), &[lost], &memory(3, 1), "m", 1).unwrap();
    drop((writer, other));
    for place in [directory.path(), killed.path(), damaged.path()] {
        let before = files(place);
        let found = Store::fsck_at(place, environment(), |_| ()).unwrap();
        if place == damaged.path() {
            let [finding] = &*found.findings else { panic!("{:?}", found.findings) };
            assert!(finding.to_string().contains(&lost.to_string()), "{finding}");
            assert!(finding.is_repairable());
            assert_eq!(files(place), before);
            continue;
        }
        assert_eq!(found.findings, []);
        assert_eq!((found.commits, found.states, found.nodes), (4, 3, 43));
        assert_eq!((found.records, found.branches), (0, 2));
        let error = Store::repair(place, environment(), |_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FormatVersion, "{error}");
        assert!(error.hint_text().unwrap().starts_with("`mnem migrate`"));
        assert_eq!(files(place), before);
    }
}

#[test]
fn every_write_is_refused_and_says_what_to_run() {
    let directory = tempfile::tempdir().unwrap();
    let (writer, commits) = sample(directory.path());
    drop(writer);
    let before = files(directory.path());
    let store = Store::open(directory.path(), environment()).unwrap();
    let side = side_branch();
    let all: Vec<(&str, Result<(), Error>)> = vec![
        ("write", store.write(Changes::from([(id("a"), None)]), &meta("m")).map(drop)),
        ("update", store.update(&meta("m"), |_| panic!("asked")).map(drop)),
        ("stage", store.stage(note("a", "1")).map(drop)),
        ("unstage", store.unstage(&id("draft")).map(drop)),
        ("remove", store.remove(&id("fact-000001")).map(drop)),
        ("commit", store.commit(&meta("m")).map(drop)),
        ("checkout", store.checkout("side", true).map(drop)),
        (
            "checkout new",
            store.checkout_new(&BranchName::new("new").unwrap(), None, true, "t").map(drop),
        ),
        ("branch", store.create_branch(&BranchName::new("new").unwrap(), None, "t").map(drop)),
        ("delete", store.delete_branch(&side, "t").map(drop)),
        ("on", store.on(&BranchName::new("new").unwrap(), "t").map(drop)),
        (
            "restore",
            store
                .on(&side, "t")
                .unwrap()
                .restore(&id("fact-000003"), &commits[0].to_string(), &meta("m"))
                .map(drop),
        ),
        (
            "revert",
            store
                .on(&side, "t")
                .unwrap()
                .revert(&commits[1].to_string(), &MergeOptions::default())
                .map(drop),
        ),
        ("undo", store.undo(None, &MergeOptions::default()).map(drop)),
        ("merge", store.on(&side, "t").unwrap().merge("main", &MergeOptions::default()).map(drop)),
    ];
    for (verb, result) in all {
        let error = result.expect_err(verb);
        assert_eq!(error.kind(), ErrorKind::FormatVersion, "{verb}: {error}");
        assert!(error.to_string().contains("has format version 1"), "{verb}: {error}");
        assert!(error.hint_text().unwrap().starts_with("`mnem migrate`"), "{verb}");
    }
    drop(store);
    assert_eq!(files(directory.path()), before);
}

/// The file cut off at each page, and bytes flipped all over it: an error, or what was written.
#[test]
fn a_damaged_file_is_an_error_or_is_not_seen() {
    let directory = tempfile::tempdir().unwrap();
    let (writer, _) = sample(directory.path());
    let killed = tempfile::tempdir().unwrap();
    copy(directory.path(), killed.path());
    drop(writer);
    for (place, was_killed) in [(directory.path(), false), (killed.path(), true)] {
        let good = told(&Store::open(place, environment()).unwrap());
        let data = place.join(".mnem/store.redb");
        let bytes = fs::read(&data).unwrap();
        let try_it = |damaged: &[u8], what: &str| {
            fs::write(&data, damaged).unwrap();
            let read = Store::open(place, environment()).and_then(|store| {
                let verified = store.verify(|_| ())?;
                Ok((store, verified))
            });
            let is_sound = Store::fsck_at(place, environment(), |_| ()).unwrap().is_sound();
            let is_good = read.as_ref().is_ok_and(|(_, verified)| verified.problems.is_empty());
            assert_eq!(is_sound, is_good, "{what}");
            match read {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::CorruptStore, "{what}: {error}");
                    false
                }
                Ok((_, verified)) if !verified.problems.is_empty() => false,
                Ok((store, _)) => {
                    assert!(told(&store) == good, "{what}");
                    true
                }
            }
        };
        for length in (0..bytes.len()).step_by(bytes.len() / 24) {
            assert!(!try_it(&bytes[..length], &format!("cut at {length}")));
        }
        // In redb's header, and beside every few ids of nodes; the rest is redb's notes of pages.
        let ids = bytes.windows(8).enumerate().filter(|(_, text)| *text == b"fact-000");
        let mut places: Vec<usize> = ids.map(|(at, _)| at).step_by(11).collect();
        // Where a killed writer's last commit is noted, damage is what a commit looks like that was
        // under way: the one before it counts.
        places.extend((0..if was_killed { 64 } else { 320 }).step_by(9));
        let seen = places.iter().filter(|at| {
            let mut damaged = bytes.clone();
            damaged[**at] ^= 0x10;
            !try_it(&damaged, &format!("byte {at}"))
        });
        let seen = seen.count();
        assert!(seen * 3 > places.len(), "{seen} of {}", places.len());
        fs::remove_file(&data).unwrap();
        let error = Store::open(place, environment()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptStore, "{error}");
        assert!(error.to_string().ends_with("store.redb is missing"), "{error}");
        assert!(!data.exists());
    }
}

/// A history without records is walked once, not once for each commit of it.
#[test]
fn a_log_without_records_reads_each_commit_a_few_times() {
    const COMMITS: u64 = 300;
    let full = Arc::new(MemoryBackend::new());
    let shared = Arc::clone(&full) as Arc<dyn Backend>;
    let store = Store::over_backend(shared, &InitOptions::default(), environment());
    for n in 0..COMMITS {
        put(&store, "n", &n.to_string());
    }
    let mut batch = Batch::default();
    let view = full.view().unwrap();
    for (id, _) in view.ids(ObjectId::all(), usize::MAX).unwrap() {
        let Outcome::Present(bytes) = view.object(&id).unwrap() else { panic!("{id}") };
        batch.object(Encoded::decode(&bytes).unwrap().0);
    }
    let tip = view.reference(&main_branch()).unwrap();
    batch.reference(main_branch(), mnem_store::backend::Expected::Absent, tip);
    let bare = Counting::new(MemoryBackend::new());
    bare.publish(&batch).unwrap();
    let bare = Arc::new(bare);
    let environment = Environment { cache_bytes: 60_000, ..environment() };
    let shared = Arc::clone(&bare) as Arc<dyn Backend>;
    let store = Store::over_backend(shared, &InitOptions::default(), environment);
    bare.take();
    assert_eq!(store.log(&LogOptions::default()).unwrap().len(), 300);
    let counts = bare.take();
    assert!(counts.object_reads <= 6 * COMMITS, "{counts:?}");
    assert!(counts.other_reads <= 6 * COMMITS, "{counts:?}");
}
