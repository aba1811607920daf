//! What ended processes leave is named, and removed where it is certain that nobody uses it. And
//! what is said where there is no room.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mnem_store::backend::watch::{self, Call, Watcher};
use mnem_store::ops::Finding;
use mnem_store::portable::import;
use mnem_store::{Environment, ErrorKind, Hint, InitOptions, Store};

use crate::damage::{Disk, bytes, drop_row, keys};
use crate::support::{environment, put};

const DIGITS: &str = "0123456789abcdef";

/// A store that was being made, with these files; its `lock` is open.
fn unfinished(root: &Path, name: &str, files: &[&str]) -> (PathBuf, Option<File>) {
    let path = root.join(format!(".mnem.new-{name}"));
    fs::create_dir(&path).unwrap();
    for file in files {
        fs::write(path.join(file), "half of it").unwrap();
    }
    let lock = File::options().write(true).open(path.join("lock")).ok();
    (path, lock)
}

fn damaged() -> Disk {
    let disk = Disk::filled(20);
    disk.edit(|t| keys(t, "where").iter().for_each(|key| drop_row(t, "where", key)));
    disk.edit(|t| drop_row(t, "refs", b"kept"));
    assert!(disk.findings().iter().any(Finding::is_repairable));
    disk
}

#[test]
fn what_nothing_uses_is_named_and_removed_and_nothing_else() {
    let disk = Disk::filled(0);
    let root = disk.root().canonicalize().unwrap();
    let inside = |name: &str| root.join(".mnem").join(name);
    let mut dead: Vec<_> = [
        &format!("HEAD.tmp-{DIGITS}"),
        &format!("carved-{DIGITS}.redb"),
        "config.new",
        &format!("copy-{DIGITS}.redb"),
        "store.2.redb.new",
    ]
    .map(inside)
    .into();
    let mine = [
        "HEAD.tmp-mine",
        &format!("HEAD.tmp-{DIGITS}0"),
        &format!("HEAD.tmp-g{}", &DIGITS[1..]),
        &format!("carved-{DIGITS}.txt"),
        &format!("copy-{DIGITS}"),
        "notes.new",
        "store.redb.old",
    ]
    .map(inside);
    for path in dead.iter().chain(&mine) {
        fs::write(path, "half of it").unwrap();
    }
    let outside = tempfile::tempdir().unwrap();
    let others = outside.path().join("others");
    fs::write(&others, "another's").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&others, inside(&format!("HEAD.tmp-{}", DIGITS.replace('0', "1"))))
        .unwrap();
    let all = ["config", "HEAD", "holder", "lock", "store.redb", "want"];
    dead.push(unfinished(&root, DIGITS, &all).0);
    dead.push(unfinished(&root, &DIGITS.replace('0', "1"), &["lock", "store.redb"]).0);
    // Its maker may be between two steps, or it holds what is no part of a store.
    let (early, _) = unfinished(&root, &DIGITS.replace('0', "2"), &["lock"]);
    let (old, _) = unfinished(&root, &DIGITS.replace('0', "3"), &["store.redb"]);
    let (more, _) = unfinished(&root, &DIGITS.replace('0', "4"), &["lock", "store.redb", "notes"]);
    // A process that lives.
    let (alive, lock) = unfinished(&root, &DIGITS.replace('0', "5"), &["lock", "store.redb"]);
    lock.as_ref().unwrap().lock().unwrap();
    let (named, _) = unfinished(&root, "mine", &["lock", "store.redb"]);

    let told = |disk: &Disk| -> Vec<PathBuf> {
        let found = Store::fsck_at(disk.root(), environment(), |_| ()).unwrap();
        assert!(found.is_sound());
        let path = |one: Finding| match one {
            Finding::Leftover(path) => path,
            other => panic!("{other}"),
        };
        found.findings.into_iter().map(path).collect()
    };
    let uncertain = [early, old, more];
    let mut expected = [dead.as_slice(), &uncertain].concat();
    expected.sort();
    assert_eq!(told(&disk), expected);
    let data = fs::read(disk.file("store.redb")).unwrap();
    let repaired = Store::repair(disk.root(), environment(), |_| ()).unwrap();
    assert_eq!(repaired.removed, dead);
    assert_eq!((repaired.data_file, repaired.losses), (None, vec![]));
    assert!(dead.iter().all(|path| !path.exists()));
    assert!(mine.iter().chain([&named, &alive]).all(|path| path.exists()));
    assert!(alive.join("store.redb").exists() && uncertain[2].join("notes").exists());
    assert_eq!(fs::read_to_string(others).unwrap(), "another's");
    assert!(fs::read(disk.file("store.redb")).unwrap() == data);
    assert_eq!(told(&disk), uncertain);
    drop(lock);
    let repaired = Store::repair(disk.root(), environment(), |_| ()).unwrap();
    assert_eq!(repaired.removed, [alive]);
    put(&disk.open(), "plan", "goes on");
}

#[test]
fn a_repair_removes_them_too_where_the_data_is_damaged() {
    for spoil in [None, Some(0xa5)] {
        let disk = damaged();
        if let Some(byte) = spoil {
            // Redb does not open it.
            let mut data = fs::read(disk.file("store.redb")).unwrap();
            data[..4096].fill(byte);
            fs::write(disk.file("store.redb"), data).unwrap();
        }
        fs::write(disk.file("store.2.redb.new"), "half of it").unwrap();
        fs::write(disk.file(&format!("carved-{DIGITS}.redb")), "half of it").unwrap();
        let repaired = Store::repair(disk.root(), environment(), |_| ()).unwrap();
        assert_eq!(repaired.data_file.unwrap().file_name().unwrap(), "store.2.redb");
        assert_eq!(repaired.removed.len(), 1, "the new file took the place of the other");
        assert_eq!(disk.findings(), []);
    }
}

#[test]
fn making_a_store_removes_those_that_were_never_finished() {
    let directory = tempfile::tempdir().unwrap();
    let dead = unfinished(directory.path(), DIGITS, &["lock", "store.redb", "HEAD"]).0;
    let (alive, lock) =
        unfinished(directory.path(), &DIGITS.replace('0', "1"), &["lock", "store.redb"]);
    lock.as_ref().unwrap().lock().unwrap();
    drop(Store::init(directory.path(), &InitOptions::default(), environment()).unwrap());
    assert!(!dead.exists() && alive.join("store.redb").exists());
    drop(lock);
}

#[test]
fn a_store_that_is_being_made_is_not_taken_for_one_that_was_never_finished() {
    let mut stream = Vec::new();
    Disk::filled(3).open().export(&mut stream, |_| ()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let beside = || -> Vec<_> {
        let names = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| !path.ends_with(".mnem")).collect()
    };
    let mut was_made = false;
    let error = import(&mut &*stream, root, environment(), |_| {
        if !was_made {
            was_made = true;
            let before = beside();
            assert!(before.len() == 1 && before[0].join("store.redb").exists());
            // Another makes one here meanwhile, and then looks at it.
            let other = environment();
            let _: [u8; 8] = other.random().unwrap(); // it draws another name
            drop(Store::init(root, &InitOptions::default(), other).unwrap());
            assert_eq!(beside(), before);
            let found = Store::fsck_at(root, environment(), |_| ()).unwrap();
            assert_eq!(found.findings, []);
            let repaired = Store::repair(root, environment(), |_| ()).unwrap();
            assert_eq!(repaired.removed, Vec::<PathBuf>::new());
            assert!(before[0].join("store.redb").exists());
        }
    })
    .unwrap_err();
    assert!(was_made);
    assert_eq!(error.kind(), ErrorKind::StoreExists);
    assert_eq!(beside(), Vec::<PathBuf>::new());
}

/// `config` may have come back from an older copy: then the newer file is the store.
#[test]
fn a_newer_data_file_is_named_and_never_written_over() {
    let disk = damaged();
    let newer = disk.file("store.2.redb").parent().unwrap().canonicalize().unwrap();
    let newer = newer.join("store.2.redb");
    fs::write(&newer, "all that there is").unwrap();
    let found = disk.findings();
    let unused = found.iter().find(|one| one.kind() == "unused").unwrap();
    assert_eq!(*unused, Finding::Unused(newer.clone()));
    assert!(unused.is_warning() && !unused.is_repairable());
    let repaired = Store::repair(disk.root(), environment(), |_| ()).unwrap();
    assert_eq!(repaired.data_file.unwrap().file_name().unwrap(), "store.3.redb");
    assert_eq!(fs::read_to_string(newer).unwrap(), "all that there is");
    assert_eq!(disk.findings(), []);
}

#[test]
fn without_room_for_a_copy_the_store_is_checked_where_it_lies_and_it_is_said() {
    let disk = Disk::filled(3);
    let sound = Store::fsck_at(disk.root(), environment(), |_| ()).unwrap();
    let with_free = |free_bytes| Environment { free_bytes, ..environment() };
    let check = |free_bytes| Store::fsck_at(disk.root(), with_free(free_bytes), |_| ()).unwrap();
    let before = bytes(disk.root());
    assert_eq!(check(|_| Some(u64::MAX)), sound);
    let mut found = check(|directory| {
        assert!(directory.ends_with(".mnem"));
        Some(1_000)
    });
    assert!(bytes(disk.root()) == before);
    assert!(found.is_sound());
    let path = disk.file("store.redb").canonicalize().unwrap();
    let wanted = fs::metadata(&path).unwrap().len();
    let said = Finding::NoRoom { path, wanted, free: 1_000 };
    assert_eq!((said.hint(), said.is_repairable()), (Hint::MakeRoom, false));
    assert_eq!(found.findings, [said]);
    found.findings.clear();
    assert_eq!(found, sound);
    // The bytes that it takes are there.
    let whole = |_: &Path| Some(1 << 40);
    assert_eq!(check(whole), sound);
}

/// Fails writes to files of this name as a full disk does.
#[derive(Debug)]
struct Full(&'static str);

impl Watcher for Full {
    fn before(&self, call: &Call<'_>) -> io::Result<()> {
        match call {
            Call::Write { path, .. } | Call::Length { path, .. }
                if path.file_name().unwrap().to_str().unwrap().starts_with(self.0) =>
            {
                Err(io::ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        }
    }

    fn after(&self, _: &Call<'_>) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_repair_without_room_says_how_much_it_takes_and_leaves_everything_as_it_was() {
    let disk = damaged();
    let before = bytes(disk.root());
    let refused = |environment, expected: &[&str]| {
        let error = Store::repair(disk.root(), environment, |_| ()).unwrap_err();
        let text = error.to_string();
        assert_eq!((error.kind(), error.hint_text()), (ErrorKind::Io, Some(Hint::MakeRoom.text())));
        assert!(expected.iter().all(|word| text.contains(word)), "{text}");
        assert!(bytes(disk.root()) == before);
    };
    // Told before anything is begun.
    let free_bytes = |_: &Path| Some(999);
    let begun = watch(Full("store.2.redb"));
    let small = Environment { free_bytes, ..environment() };
    refused(small, &["a new data file in ", "it takes about ", "and 999 are free"]);
    // Told where another took the room meanwhile.
    let free_bytes = |_: &Path| Some(1 << 40);
    let large = Environment { free_bytes, ..environment() };
    refused(large, &["store.2.redb: it takes about ", "and 1099511627776 are free"]);
    drop(begun);
    let mut data = fs::read(disk.file("store.redb")).unwrap();
    data[..4096].fill(0xa5);
    fs::write(disk.file("store.redb"), data).unwrap();
    let before = bytes(disk.root());
    let _full = watch(Full("carved-"));
    let error = Store::repair(disk.root(), environment(), |_| ()).unwrap_err();
    assert!(error.to_string().contains("there is no room for "), "{error}");
    assert!(bytes(disk.root()) == before);
}

/// Looks at the calls of this thread until it is dropped.
struct Watch;

fn watch(watcher: impl Watcher + 'static) -> Watch {
    watch::set(Some(Arc::new(watcher)));
    Watch
}

impl Drop for Watch {
    fn drop(&mut self) {
        watch::set(None);
    }
}
