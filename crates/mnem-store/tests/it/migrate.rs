//! A store of the original becomes one that is written: nothing lost, wherever it chosen.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use mnem_store::backend::counting::Counting;
use mnem_store::backend::original::OriginalWriter;
use mnem_store::backend::redb::{RedbBackend, Settings};
use mnem_store::backend::{Backend, Operation};
use mnem_store::index::position;
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Changes, Phase};
use mnem_store::store::FormatVersion;
use mnem_store::{CommitId, ErrorKind, InitOptions, Store};

use crate::original::{copy, files, main_branch, memory, sample, told};
use crate::support::{environment, id, meta, note, put};

fn migrate(place: &Path) -> mnem_store::ops::Migrated {
    Store::migrate(place, &environment(), false, |_, _| ()).unwrap()
}

fn names(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place.join(".mnem")).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn everything_is_as_it_was_and_can_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let (writer, commits) = sample(directory.path());
    let killed = tempfile::tempdir().unwrap();
    copy(directory.path(), killed.path());
    drop(writer);
    for place in [directory.path(), killed.path()] {
        let before = told(&Store::open(place, environment()).unwrap());
        let untouched = files(place);
        let trial = Store::migrate(place, &environment(), true, |_, _| ()).unwrap();
        assert_eq!(files(place), untouched);
        assert!(!trial.changed);
        let done = migrate(place);
        assert_eq!((done.from, done.changed), (FormatVersion::V1, true));
        assert_eq!((done.commits, done.states, done.nodes), (4, 3, 43));
        assert_eq!((done.branches, done.staged), (2, 2));
        assert!(done.trees > 0 && done.new_bytes <= trial.new_bytes, "{done:?} {trial:?}");
        assert_eq!(
            mnem_store::ops::Migrated { changed: true, new_bytes: done.new_bytes, ..trial },
            done
        );
        assert_eq!(names(place), ["HEAD", "config", "holder", "lock", "store.2.redb", "want"]);

        let store = Store::open(place, environment()).unwrap();
        assert_eq!(store.format_version().unwrap(), FormatVersion::V2);
        assert!(!store.was_killed().unwrap());
        assert_eq!(told(&store), before);
        assert!(store.reflog(None, None).unwrap().is_empty());
        assert!(store.verify(|_| ()).unwrap().problems.is_empty());
        // The drafts are still a person's, and a write leaves them alone.
        let tip = put(&store, "new", "1");
        assert_eq!(store.commit_object(tip).unwrap().parents, [commits[3]]);
        assert_eq!(store.staged().unwrap().ids().len(), 2);
        store.commit(&meta("the drafts")).unwrap();
        let memory = store.snapshot().unwrap().memory("", None).unwrap();
        assert!(memory.contains_key(&id("draft")) && !memory.contains_key(&id("fact-000007")));
        assert!(memory[&id("draft")].salt.is_none() && memory[&id("new")].salt.is_some());

        let again = migrate(place);
        assert_eq!((again.from, again.changed), (FormatVersion::V2, false));
    }
}

/// What a reader finds in the records is what it would find by walking.
#[test]
fn each_commit_has_the_record_that_a_write_would_have_made() {
    let directory = tempfile::tempdir().unwrap();
    drop(sample(directory.path()).0);
    let old = Store::open(directory.path(), environment()).unwrap();
    let wanted: Vec<_> = old.log(&LogOptions::default()).unwrap();
    let changes: Vec<_> = wanted.iter().map(|(id, _)| old.changed_by(*id).unwrap()).collect();
    drop(old);
    migrate(directory.path());
    let path = directory.path().join(".mnem/store.2.redb");
    let backend = Arc::new(RedbBackend::open(&path, Settings::default()).unwrap());
    let view = backend.view().unwrap();
    let objects = mnem_store::backend::cache::Objects::new(backend.clone(), 0);
    assert_eq!(wanted.len(), 4);
    for ((commit, object), changed) in wanted.iter().zip(&changes) {
        let (_, record) = view.record(commit).unwrap().unwrap();
        assert_eq!((&record.branch, record.old, record.new), (&None, None, Some(*commit)));
        assert_eq!((record.operation, record.time), (Operation::MIGRATE, object.time));
        let derived = record.derived.unwrap();
        let place = position(&objects, *commit).unwrap();
        assert_eq!((derived.generation, derived.height), (place.generation, place.height));
        let ids: Vec<_> = derived.changes.keys().collect();
        assert_eq!(ids, changed.keys().collect::<Vec<_>>());
    }
    assert_eq!(view.changes(&id("fact-000003"), None, 9).unwrap().len(), 3);
    assert_eq!(view.changes(&id("fact-000001"), None, 9).unwrap().len(), 1);
}

/// Stops at what is reported: what is left is exactly the old store or exactly the new one, and
/// another attempt goes through. `crash` stops it at each change of the disk.
#[test]
fn a_stop_anywhere_leaves_the_old_store_or_the_new_one() {
    let origin = tempfile::tempdir().unwrap();
    drop(sample(origin.path()).0);
    let before = told(&Store::open(origin.path(), environment()).unwrap());
    let mut steps = 0;
    Store::migrate(
        &{
            let counted = tempfile::tempdir().unwrap().keep();
            copy(origin.path(), &counted);
            counted
        },
        &environment(),
        false,
        |_, _| steps += 1,
    )
    .unwrap();
    assert!(steps > 50);
    let (mut old, mut new) = (0, 0);
    let mut check = |place: &Path, what: &str| {
        let store = Store::open(place, environment()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let version = store.format_version().unwrap();
        assert_eq!(told(&store), before, "{what}");
        assert!(store.verify(|_| ()).unwrap().problems.is_empty(), "{what}");
        drop(store);
        let left = names(place);
        let done = migrate(place);
        match version {
            FormatVersion::V1 => {
                old += 1;
                assert!(done.changed, "{what}");
            }
            FormatVersion::V2 => {
                new += 1;
                assert!(!done.changed, "{what}");
                assert_eq!(done.removed_old, left.contains(&"store.redb".into()), "{what}");
            }
        }
        assert!(!names(place).contains(&"store.redb".into()), "{what}");
        let store = Store::open(place, environment()).unwrap();
        assert_eq!(told(&store), before, "{what}");
        put(&store, "new", "1");
        version
    };

    // Every ninth report, so each phase many times, and the two around the switch.
    let chosen: Vec<usize> = (1..=steps).filter(|step| step % 9 == 0 || step + 2 > steps).collect();
    for &step in &chosen {
        let place = tempfile::tempdir().unwrap();
        copy(origin.path(), place.path());
        let mut seen = 0;
        let stopped = catch_unwind(AssertUnwindSafe(|| {
            Store::migrate(place.path(), &environment(), false, |_, _| {
                seen += 1;
                assert!(seen < step, "the machine chosen");
            })
        }));
        assert!(stopped.is_err());
        let version = check(place.path(), &format!("step {step} of {steps}"));
        // The last is told after the switch.
        assert_eq!(version == FormatVersion::V2, step == steps, "step {step} of {steps}");
    }

    assert_eq!((old, new), (chosen.len() - 1, 1));
}

/// Who read `config` before another process switched it, and got the lock after that was killed,
/// must not copy the old file over what has been written since.
#[test]
fn the_format_is_looked_at_again_with_the_lock() {
    let directory = tempfile::tempdir().unwrap();
    drop(sample(directory.path()).0);
    let data = directory.path().join(".mnem/store.redb");
    let holder = fs::File::open(&data).unwrap();
    holder.lock().unwrap();
    let waiters = [true, false].map(|is_reader| {
        let place = directory.path().to_owned();
        std::thread::spawn(move || {
            if is_reader {
                Store::open(&place, environment()).map(|store| store.format_version().unwrap())
            } else {
                Store::migrate(&place, &environment(), false, |_, _| ()).map(|done| done.from)
            }
        })
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    // What the other process did: a whole migration, but for the old file, which is still there.
    let other = tempfile::tempdir().unwrap();
    copy(directory.path(), other.path());
    migrate(other.path());
    put(&Store::open(other.path(), environment()).unwrap(), "since", "1");
    for name in ["store.2.redb", "config"] {
        let from = other.path().join(".mnem").join(name);
        fs::copy(from, directory.path().join(".mnem").join(name)).unwrap();
    }
    drop(holder);
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap().unwrap(), FormatVersion::V2);
    }
    let store = Store::open(directory.path(), environment()).unwrap();
    assert!(store.snapshot().unwrap().get(&id("since")).unwrap().is_some());
}

#[test]
fn a_damaged_store_stays_what_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let writer = OriginalWriter::create(directory.path()).unwrap();
    let lost = CommitId::from_bytes([7; 32]);
    writer.commit(&main_branch(), &[lost], &memory(3, 1), "m", 1).unwrap();
    drop(writer);
    let before = files(directory.path());
    for is_trial in [true, false] {
        let error =
            Store::migrate(directory.path(), &environment(), is_trial, |_, _| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptStore, "{error}");
        assert!(error.to_string().contains(&lost.to_string()), "{error}");
    }
    // The directory's time is another, since the copy was begun and removed.
    assert_eq!(files(directory.path())[1..], before[1..]);
}

#[test]
fn a_store_that_is_open_here_is_not_migrated() {
    let directory = tempfile::tempdir().unwrap();
    drop(sample(directory.path()).0);
    let before = files(directory.path());
    let store = Store::open(directory.path(), environment()).unwrap();
    let error = Store::migrate(directory.path(), &environment(), false, |_, _| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().contains("is open in this process"), "{error}");
    assert_eq!(files(directory.path()), before);
    drop(store);
    assert!(migrate(directory.path()).changed);
}

/// At 100,000 nodes, the size that section of the promises is about: the first write and those
/// after it are as small as in a store that was always ours.
#[test]
fn a_write_after_the_migration_of_100_000_nodes_is_at_most_eight_objects() {
    const NODES: usize = 100_000;
    let directory = tempfile::tempdir().unwrap();
    let writer = OriginalWriter::create(directory.path()).unwrap();
    let first = writer.commit(&main_branch(), &[], &memory(NODES, 1), "fill", 1).unwrap();
    let tip = writer.commit(&main_branch(), &[first], &memory(NODES, 2), "one more", 2).unwrap();
    drop(writer);
    let mut phases = std::collections::BTreeMap::new();
    let trial = Store::migrate(directory.path(), &environment(), true, |_, _| ()).unwrap();
    let done = Store::migrate(directory.path(), &environment(), false, |phase, done| {
        phases.insert(phase, done);
    })
    .unwrap();
    assert_eq!((done.nodes, done.commits), (NODES as u64 + 1, 2));
    assert_eq!(phases[&Phase::Objects], NODES as u64 + 1 + 2 + 2);
    assert_eq!(phases[&Phase::Verify], phases[&Phase::Objects] + done.trees);
    assert!(done.new_bytes <= trial.new_bytes, "{done:?} {trial:?}");

    let path = directory.path().join(".mnem/store.2.redb");
    let engine = RedbBackend::open(&path, Settings::default()).unwrap();
    let backend = Arc::new(Counting::new(engine));
    let store = Store::over_backend(backend.clone(), &InitOptions::default(), environment());
    assert_eq!(store.head_commit().unwrap(), Some(tip));
    backend.take();
    let mut objects = Vec::new();
    for write in 0..30 {
        let name = format!("fact-{:06}", write * 7_919 % NODES);
        store
            .write(Changes::from([(id(&name), Some(note(&name, "changed")))]), &meta("m"))
            .unwrap();
        objects.push(backend.take().objects_inserted);
    }
    assert!(objects[0] <= 8, "{objects:?}");
    objects.sort_unstable();
    assert!(objects[15] <= 8, "{objects:?}");
}
