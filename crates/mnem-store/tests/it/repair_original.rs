//! A damaged store of the original becomes one of this format, as far as it can be read; its data
//! file stays as it is.

use std::collections::BTreeMap;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use mnem_store::backend::original::OriginalWriter;
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Finding, Repair};
use mnem_store::store::FormatVersion;
use mnem_store::{BranchName, CommitId, ErrorKind, Hint, NodeId, Store};

use crate::original::{copy, files, main_branch, memory, sample};
use crate::support::{environment, id, put};
use crate::sweep::said;

/// Branches, and memory by commit.
#[derive(Debug, Default, PartialEq)]
struct Says {
    branches: BTreeMap<BranchName, CommitId>,
    memory: BTreeMap<CommitId, BTreeMap<NodeId, String>>,
}

/// What can be read; a node that is lost is left out.
fn says(store: &Store) -> Says {
    let branches = store.branches().unwrap();
    let mut memory = BTreeMap::new();
    for tip in branches.values() {
        let from = LogOptions { start: vec![*tip], ..LogOptions::default() };
        for (commit, _) in store.readable_log(&from).unwrap().commits {
            let snapshot = store.snapshot_at(&commit.to_string()).unwrap();
            let read = (0..40).map(|n| id(&format!("fact-{n:06}"))).filter_map(|node| {
                let found = snapshot.get(&node).ok()??;
                Some((node, format!("{:?}", found.content)))
            });
            memory.insert(commit, read.collect());
        }
    }
    Says { branches, memory }
}

fn data(place: &Path) -> Vec<u8> {
    fs::read(place.join(".mnem/store.redb")).unwrap()
}

/// Repairs, and holds what is true of every repair.
fn repair(place: &Path) -> Repair {
    let before = data(place);
    let found = Store::fsck_at(place, environment(), |_| ()).unwrap();
    assert!(found.is_repairable(), "{found:?}");
    let repaired = Store::repair(place, environment(), |_| ()).unwrap();
    assert!(data(place) == before, "the old file was written");
    let mnem = place.canonicalize().unwrap().join(".mnem");
    assert_eq!(repaired.kept, Some(mnem.join("store.redb")));
    assert_eq!(repaired.data_file, Some(mnem.join("store.2.redb")));
    let names = fs::read_dir(mnem).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    let all = ["HEAD", "config", "holder", "lock", "store.2.redb", "store.redb", "want"];
    assert_eq!(names, all);
    // What is left is what is told as lost, and no repair helps.
    let left = Store::fsck_at(place, environment(), |_| ()).unwrap();
    assert!(left.findings.iter().all(|one| repaired.losses.contains(one)), "{left:?}");
    assert!(!left.is_repairable(), "{left:?}");
    let store = Store::open(place, environment()).unwrap();
    assert_eq!(store.format_version().unwrap(), FormatVersion::V2);
    put(&store.on(&main_branch(), "t").unwrap(), "after", "1");
    repaired
}

fn store() -> (tempfile::TempDir, Says, Vec<CommitId>) {
    let directory = tempfile::tempdir().unwrap();
    let (writer, commits) = sample(directory.path());
    drop(writer);
    let says = says(&Store::open(directory.path(), environment()).unwrap());
    assert_eq!((says.memory.len(), says.branches.len()), (4, 2));
    (directory, says, commits)
}

#[test]
fn without_a_header_everything_is_there_but_the_drafts() {
    let (directory, before, _) = store();
    let path = directory.path().join(".mnem/store.redb");
    for spoil in [
        (|bytes| bytes[..4096].fill(0xa5)) as fn(&mut Vec<u8>),
        |bytes| bytes[..1].fill(0),
        |bytes| {
            bytes[..4096].fill(0xa5);
            bytes.extend_from_within(..);
        },
    ] {
        let place = tempfile::tempdir().unwrap();
        copy(directory.path(), place.path());
        let mut bytes = fs::read(&path).unwrap();
        spoil(&mut bytes);
        fs::write(place.path().join(".mnem/store.redb"), bytes).unwrap();
        let repaired = repair(place.path());
        let losses: Vec<_> = repaired.losses.iter().map(Finding::kind).collect();
        assert_eq!(losses, ["row", "row"], "{:?}", repaired.losses);
        let store = Store::open(place.path(), environment()).unwrap();
        assert!(store.staged().unwrap().ids().is_empty());
        let tip = store.branches().unwrap()[&main_branch()];
        let mut after = says(&store);
        after.memory.remove(&tip); // it was written after the repair
        after.branches.insert(main_branch(), before.branches[&main_branch()]);
        assert_eq!(after, before);
        assert_eq!(store.resolve("main~1").unwrap(), before.branches[&main_branch()]);
    }
}

/// Repairs a damaged store, and says how many commits are whole.
fn kept_of(place: &Path, before: &Says) -> usize {
    let repaired = repair(place);
    assert!(!repaired.losses.is_empty());
    let after = says(&Store::open(place, environment()).unwrap());
    for (commit, memory) in &after.memory {
        let Some(was) = before.memory.get(commit) else { continue };
        assert!(memory.iter().all(|(node, text)| was.get(node) == Some(text)));
        // Where something of a commit is lost, it is named.
        let is_named = || repaired.losses.iter().any(|one| matches!(one, Finding::Lost(_)));
        assert!(memory == was || is_named(), "{:?}", repaired.losses);
    }
    before.memory.iter().filter(|(id, memory)| after.memory.get(id) == Some(memory)).count()
}

/// Every fifth page is lost once, and ruined once.
#[test]
fn whatever_page_is_lost_the_rest_is_there_and_nothing_is_made_up() {
    let (directory, before, commits) = store();
    let whole = data(directory.path());
    let (mut most, mut pages, mut unseen) = (0, 0, 0);
    let hook = std::panic::take_hook();
    // redb panics on damage, and is caught; backtraces say nothing.
    std::panic::set_hook(Box::new(|_| {}));
    let mut failed = None;
    for (number, page) in whole.chunks(4096).enumerate().step_by(5) {
        if number == 0 || page.iter().all(|byte| *byte == 0) {
            continue;
        }
        for byte in [0, 0xa5] {
            let place = tempfile::tempdir().unwrap();
            copy(directory.path(), place.path());
            let mut bytes = whole.clone();
            bytes[number * 4096..(number + 1) * 4096].fill(byte);
            fs::write(place.path().join(".mnem/store.redb"), bytes).unwrap();
            let tried = catch_unwind(|| {
                if Store::fsck_at(place.path(), environment(), |_| ()).unwrap().is_sound() {
                    return None; // a page that was given up
                }
                Some(kept_of(place.path(), &before))
            });
            match tried {
                Ok(None) => unseen += 1,
                Ok(Some(kept)) => (pages, most) = (pages + 1, most + kept),
                Err(reason) => failed = Some(format!("page {number}: {}", said(&*reason))),
            }
        }
    }
    std::panic::set_hook(hook);
    assert!(failed.is_none(), "{}", failed.unwrap());
    assert!(pages >= 6 && most * 2 > pages * commits.len(), "{most} of {pages} pages, {unseen}");
}

#[test]
fn what_redb_reads_but_lacks_an_object_becomes_a_store_that_can_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let writer = OriginalWriter::create(directory.path()).unwrap();
    let lost = CommitId::from_bytes([7; 32]);
    let tip = writer.commit(&main_branch(), &[lost], &memory(3, 1), "m", 1).unwrap();
    drop(writer);
    let repaired = repair(directory.path());
    let lost = format!("the object {lost} is missing");
    assert!(repaired.losses.contains(&Finding::Lost(lost)), "{:?}", repaired.losses);
    let store = Store::open(directory.path(), environment()).unwrap();
    assert_eq!(store.resolve("main~1").unwrap(), tip);
}

#[test]
fn drafts_and_branches_are_those_of_the_tables_where_they_can_be_read() {
    let (directory, before, _) = store();
    // A node's text: its object is lost, and its page no longer has its checksum.
    let path = directory.path().join(".mnem/store.redb");
    let mut bytes = fs::read(&path).unwrap();
    let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"11 0")).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] ^= 1;
    }
    fs::write(&path, bytes).unwrap();
    let repaired = repair(directory.path());
    let lost = |one: &Finding| matches!(one, Finding::Lost(what) if what.contains("fact-000011"));
    assert!(repaired.losses.iter().any(lost), "{:?}", repaired.losses);
    assert_eq!(repaired.moved, []);
    // 4 commits, 3 states and 43 nodes, but for one.
    assert_eq!(repaired.objects, 49, "what was altered is not taken for an object");
    let store = Store::open(directory.path(), environment()).unwrap();
    assert_eq!(store.staged().unwrap().ids().len(), 2);
    let mut after = says(&store);
    after.branches.insert(main_branch(), before.branches[&main_branch()]);
    assert_eq!(after.branches, before.branches);
}

#[test]
fn a_head_that_says_nothing_is_put_on_the_default_branch() {
    let (directory, ..) = store();
    fs::write(directory.path().join(".mnem/HEAD"), "junk\n").unwrap();
    let repaired = repair(directory.path());
    assert_eq!(repaired.head, Some(main_branch()));
    let store = Store::open(directory.path(), environment()).unwrap();
    assert_eq!(store.head().unwrap().render(), "ref: main");
    assert_eq!(store.staged().unwrap().ids().len(), 2);
}

#[test]
fn a_sound_one_an_open_one_and_one_without_anything_are_refused_and_stay_as_they_are() {
    let (directory, ..) = store();
    let place = directory.path();
    let refused = |kind, hint: Option<Hint>| {
        let before = files(place);
        let error = Store::repair(place, environment(), |_| ()).unwrap_err();
        assert_eq!((error.kind(), error.hint_text()), (kind, hint.map(Hint::text)), "{error}");
        // The directory's time is another where something was begun.
        assert_eq!(files(place)[1..], before[1..]);
    };
    refused(ErrorKind::FormatVersion, Some(Hint::Migrate));
    let open = Store::open(place, environment()).unwrap();
    refused(ErrorKind::Conflict, None);
    drop(open);
    for text in [b"".as_slice(), b"junk", &[1; 10_000]] {
        fs::write(place.join(".mnem/store.redb"), text).unwrap();
        let found = Store::fsck_at(place, environment(), |_| ()).unwrap();
        assert_eq!(found.findings[0].hint(), Hint::NothingToSave);
        refused(ErrorKind::CorruptStore, Some(Hint::NothingToSave));
    }
    fs::remove_file(place.join(".mnem/store.redb")).unwrap();
    refused(ErrorKind::CorruptStore, Some(Hint::NothingToSave));
}
