//! The same while a store is made, opened after a kill, migrated, imported or repaired: a stop, or
//! a call that fails, leaves what was there before or what is to be there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use mnem_store::portable::import;
use mnem_store::store::FormatVersion;
use mnem_store::{Error, ErrorKind, InitOptions, Store};

use super::disk::{self, Recorder, Tree, scratch, watched};
use super::faults::{Faulty, Mode, numbers};
use super::report::Report;
use super::script::{SCRIPT, opening, shape};
use super::ways::each_stop;
use super::{RECORDING, only, sound, store_in};
use crate::damage::{self, drop_row, harm, keys, set};
use crate::original::{sample, told};
use crate::support::{id, meta, note, put};
use crate::sweep::{asked, number};

type Run = Box<dyn Fn(&Path) -> Result<(), Error>>;
type Check = Box<dyn Fn(&Path, bool)>;

/// Something that is done to what is in a directory.
struct Work {
    /// What is there before.
    start: Tree,
    run: Run,
    /// Looks at what is there after a stop, and whether it was done by then; goes on from there.
    check: Check,
}

fn filled() -> damage::Disk {
    damage::Disk::filled(20)
}

fn stream(store: &Store) -> Vec<u8> {
    let mut stream = Vec::new();
    store.export(&mut stream, |_| ()).unwrap();
    stream
}

fn first(store: &Store) -> Result<(), Error> {
    let changes = [(id("first"), Some(note("first", "1")))].into();
    store.write(changes, &meta("first")).map(drop)
}

fn goes_on(root: &Path) {
    let store = Store::open(root, opening(8)).unwrap();
    let branch = store.branches().unwrap().into_keys().next().unwrap();
    put(&store.on(&branch, "t").unwrap(), "after", "1");
    sound(&store);
}

fn init() -> Work {
    let run = |place: &Path| {
        let store = Store::init(&store_in(place), &InitOptions::default(), opening(1))?;
        first(&store)
    };
    let check = |place: &Path, is_done: bool| {
        let root = store_in(place);
        let store = match Store::open(&root, opening(2)) {
            Err(error) if error.kind() == ErrorKind::NoStore && !is_done => {
                Store::init(&root, &InitOptions::default(), opening(2)).unwrap()
            }
            opened => opened.unwrap(),
        };
        assert!(!is_done || store.snapshot().unwrap().get(&id("first")).unwrap().is_some());
        first(&store).unwrap();
        drop(store);
        goes_on(&root);
    };
    Work { start: Tree::new(), run: Box::new(run), check: Box::new(check) }
}

/// The store as it was in the middle of the script, its data file not closed.
fn open() -> Work {
    let recording = &*RECORDING;
    let end = recording.acknowledged[SCRIPT.len() / 2];
    let mut disk = disk::Disk::of(&recording.root, &Tree::new());
    recording.events[..end].iter().for_each(|event| disk.apply(event));
    let run = |place: &Path| {
        let store = Store::open(&store_in(place), opening(1))?;
        first(&store)
    };
    let before = recording.shapes[SCRIPT.len() / 2].last().unwrap().clone();
    let check = move |place: &Path, is_done: bool| {
        let store = Store::open(&store_in(place), opening(2)).unwrap();
        let is_there = store.snapshot().unwrap().get(&id("first")).unwrap().is_some();
        assert!(is_there || !is_done, "it was acknowledged");
        assert_eq!(shape(&store).unwrap() == before, !is_there);
        sound(&store);
        drop(store);
        goes_on(&store_in(place));
    };
    Work { start: disk.live(), run: Box::new(run), check: Box::new(check) }
}

fn migrate(was_killed: bool) -> Work {
    let origin = scratch();
    let (writer, _) = sample(origin.path());
    let killed = disk::read(origin.path());
    drop(writer);
    let start = if was_killed { killed } else { disk::read(origin.path()) };
    let before = told(&Store::open(origin.path(), opening(0)).unwrap());
    let run = |place: &Path| Store::migrate(place, &opening(1), false, |_, _| ()).map(drop);
    let check = move |place: &Path, is_done: bool| {
        let store = Store::open(place, opening(2)).unwrap();
        let version = store.format_version().unwrap();
        assert_eq!(told(&store), before);
        assert!(version == FormatVersion::V2 || !is_done);
        assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
        drop(store);
        let again = Store::migrate(place, &opening(3), false, |_, _| ()).unwrap();
        assert_eq!(again.changed, version == FormatVersion::V1);
        assert!(!place.join(".mnem/store.redb").exists());
        let store = Store::open(place, opening(4)).unwrap();
        assert_eq!(told(&store), before);
        sound(&store);
        drop(store);
        goes_on(place);
    };
    Work { start, run: Box::new(run), check: Box::new(check) }
}

fn imported() -> Work {
    let text = stream(&filled().open());
    let bytes = text.clone();
    let run =
        move |place: &Path| import(&mut &*bytes, &store_in(place), opening(1), |_| ()).map(drop);
    let check = move |place: &Path, is_done: bool| {
        let root = store_in(place);
        let store = match Store::open(&root, opening(2)) {
            Err(error) if error.kind() == ErrorKind::NoStore && !is_done => {
                import(&mut &*text, &root, opening(2), |_| ()).unwrap().0
            }
            opened => opened.unwrap(),
        };
        assert!(stream(&store) == text, "it is not what was exported");
        sound(&store);
        drop(store);
        goes_on(&root);
    };
    Work { start: Tree::new(), run: Box::new(run), check: Box::new(check) }
}

/// A store whose rows are damaged, or whose file redb does not open.
fn repair(damage: impl Fn(&damage::Disk)) -> Work {
    let disk = filled();
    let before = stream(&disk.open());
    damage(&disk);
    let damaged = disk.findings();
    assert!(!damaged.is_empty());
    let start = disk::read(disk.root());
    let file = start[Path::new(".mnem/store.redb")].clone().unwrap();
    let run = |place: &Path| Store::repair(place, opening(1), |_| ()).map(drop);
    let check = move |place: &Path, is_done: bool| {
        let findings = harm(Store::fsck_at(place, opening(2), |_| ()).unwrap().findings);
        // A finding names the place of the file.
        let kinds = |findings: &[mnem_store::ops::Finding]| -> Vec<_> {
            findings.iter().map(mnem_store::ops::Finding::kind).collect()
        };
        assert!(findings.is_empty() || !is_done, "{findings:?}");
        assert!(findings.is_empty() || kinds(&findings) == kinds(&damaged), "{findings:?}");
        Store::repair(place, opening(3), |_| ()).unwrap();
        let store = Store::open(place, opening(4)).unwrap();
        assert!(stream(&store) == before, "it is not what it was");
        sound(&store);
        drop(store);
        assert!(
            fs::read(place.join(".mnem/store.redb")).unwrap() == file,
            "the old file was written"
        );
        goes_on(place);
    };
    Work { start, run: Box::new(run), check: Box::new(check) }
}

fn damaged_rows(disk: &damage::Disk) {
    disk.edit(|t| {
        for key in keys(t, "where") {
            drop_row(t, "where", &key);
        }
        set(t, "where", &[9; 32], &[0; 9]);
    });
    disk.edit(|t| drop_row(t, "refs", b"kept"));
}

fn no_header(disk: &damage::Disk) {
    let mut bytes = fs::read(disk.file("store.redb")).unwrap();
    bytes[..4096].fill(0xa5);
    fs::write(disk.file("store.redb"), bytes).unwrap();
}

fn works() -> BTreeMap<&'static str, Work> {
    BTreeMap::from([
        ("init", init()),
        ("open", open()),
        ("migrate", migrate(false)),
        ("migrate-killed", migrate(true)),
        ("import", imported()),
        ("repair", repair(damaged_rows)),
        ("repair-pages", repair(no_header)),
    ])
}

/// Whether this work is to be done: all, or the one that is asked for.
fn is_asked(name: &str) -> bool {
    asked("MNEM_CRASH_WORK").is_none_or(|asked| asked == name)
}

#[test]
fn a_stop_leaves_what_was_or_what_is_to_be() {
    let cases = number("MNEM_CRASH_CASES", 4);
    let mut report = Report::new("crash-moved", "crash::moved::a_stop");
    let mut syncs = 0;
    for (name, Work { start, run, check }) in works() {
        if !is_asked(name) {
            continue;
        }
        let place = scratch();
        disk::write(&start, place.path());
        let recorder = Arc::new(Recorder::default());
        watched(Arc::clone(&recorder) as _, || run(place.path()).unwrap());
        let events = recorder.events();
        let done = events.len();
        syncs += events.iter().filter(|event| event.is_sync()).count();
        each_stop(
            place.path(),
            &start,
            &events,
            cases,
            only(),
            |point| point >= done,
            |stop, tree| {
                let variables = format!("MNEM_CRASH_WORK={name} MNEM_CRASH_CASE={stop}");
                report.case(&variables, &format!("{name}, stop {stop}"), || {
                    let place = scratch();
                    disk::write(&tree, place.path());
                    check(place.path(), stop.point >= done);
                });
            },
        );
    }
    report.finish(if only().is_some() { 1 } else { syncs as u64 }, &format!("syncs={syncs}"));
}

#[test]
fn a_call_that_fails_leaves_what_was_or_what_is_to_be() {
    let mut report = Report::new("faults-moved", "crash::moved::a_call_that_fails");
    let mut calls = 0;
    for (name, Work { start, run, check }) in works() {
        if !is_asked(name) {
            continue;
        }
        let count = {
            let place = scratch();
            disk::write(&start, place.path());
            let faulty = Arc::new(Faulty::default());
            watched(Arc::clone(&faulty) as _, || run(place.path()).unwrap());
            faulty.calls()
        };
        calls += count;
        for (number, mode) in numbers(count, 8) {
            let variables =
                format!("MNEM_CRASH_WORK={name} MNEM_FAULT_CASE={number}.{}", mode.number());
            report.case(&variables, &format!("{name}, call {number} of {count}, {mode:?}"), || {
                let place = scratch();
                disk::write(&start, place.path());
                let faulty = Arc::new(Faulty::default());
                faulty.arm(number, mode);
                let result = watched(Arc::clone(&faulty) as _, || run(place.path()));
                if let Err(error) = &result {
                    // A rename that was made and is said to have failed leaves a store.
                    let is_there = error.kind() == ErrorKind::StoreExists && mode == Mode::Made;
                    assert!(error.kind() == ErrorKind::Io || is_there, "{error}");
                    assert!(error.hint_text().is_some(), "{error}");
                }
                check(place.path(), result.is_ok());
            });
        }
    }
    report.finish(1, &format!("calls={calls}"));
}
