//! A store with a flipped bit answers with an error or with the right data, whatever is asked.

use std::fmt::Debug;
use std::fs;
use std::time::Instant;

use mnem_store::backend::local_key;
use mnem_store::ops::DiffTarget;
use mnem_store::ops::log::LogOptions;
use mnem_store::store::local::LocalEdit;
use mnem_store::{CommitId, Error, ErrorKind, Store};

use redb::{ReadableTable, WriteTransaction};

use crate::damage::{Definition, Disk, flips, keys};
use crate::support::{environment, id};
use crate::sweep::tell_held;

type Answer = Result<String, Error>;

fn answer<T: Debug>(answer: Result<T, Error>) -> Answer {
    answer.map(|value| format!("{value:?}"))
}

/// Every read, each by itself; the commits are those of the whole store.
fn answers(store: &Store, commits: &[CommitId]) -> Vec<(String, Answer)> {
    let all = LogOptions::default;
    let mut answers = vec![
        ("branches".to_owned(), answer(store.branches())),
        ("head".into(), answer(store.head_commit())),
        ("log".into(), answer(store.log(&all()))),
        ("reflog".into(), answer(store.reflog(None, None))),
        ("staged".into(), answer(store.staged())),
        ("working memory".into(), answer(store.working_memory("", None))),
        ("local rows".into(), answer(store.local_rows("vectors", b""))),
        ("diff".into(), answer(store.diff(DiffTarget::Nothing, DiffTarget::Working))),
        ("resolve".into(), answer(store.resolve("HEAD~7"))),
        ("then".into(), answer(store.resolve("main@{1767225600100}"))),
    ];
    for node in ["plan", "guess", "n7", "n1", "draft"] {
        let id = id(node);
        let now = store.snapshot().and_then(|now| now.get(&id));
        answers.push((node.to_owned(), answer(now)));
        answers.push((format!("blame of {node}"), answer(store.blame(&id, None))));
        answers.push((format!("log of {node}"), answer(store.node_log(&id, &all()))));
    }
    for commit in commits {
        let memory = store.snapshot_at(&commit.to_string()).and_then(|at| at.memory("", None));
        answers.push((format!("memory at {commit}"), answer(memory)));
        answers.push((format!("changes of {commit}"), answer(store.changed_by(*commit))));
    }
    answers
}

/// Each answer of a damaged store is right or an error; true when one was an error.
fn right_or_an_error(disk: &Disk, commits: &[CommitId], right: &[(String, Answer)]) -> bool {
    let store = match Store::open(disk.root(), environment()) {
        Ok(store) => store,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::CorruptStore, "open: {error}");
            return true;
        }
    };
    let mut is_seen = false;
    for ((question, found), (_, right)) in answers(&store, commits).iter().zip(right) {
        match found {
            Ok(found) => assert_eq!(Some(found), right.as_ref().ok(), "{question}"),
            Err(error) => {
                let is_right = right.is_err() || error.kind() == ErrorKind::CorruptStore;
                assert!(is_right, "{question}: {error}");
                is_seen |= right.is_ok();
            }
        }
    }
    is_seen
}

/// A store of some megabytes, some of its commits, and what it answers.
fn sample(step: usize) -> (Disk, Vec<CommitId>, Vec<(String, Answer)>) {
    let disk = Disk::filled(300);
    let store = disk.open();
    let log = store.log(&LogOptions::default()).unwrap();
    let commits: Vec<_> = log.iter().map(|(commit, _)| *commit).step_by(step).collect();
    let right = answers(&store, &commits);
    store.close();
    (disk, commits, right)
}

/// How many of so many flips made an answer fail.
fn read_after_flips(count: u64) -> u64 {
    let (disk, commits, right) = sample(23);
    assert!(fs::metadata(disk.file("store.redb")).unwrap().len() > 1 << 20);
    let mut failed = 0;
    flips(count, &[], |_, disk| failed += u64::from(right_or_an_error(disk, &commits, &right)));
    assert!(failed > 0, "no answer failed");
    failed
}

#[test]
fn what_is_read_after_a_flip_is_right_or_an_error() {
    read_after_flips(12);
}

/// What happens to a row.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// A bit of a byte of its value, at so many halves of it.
    Flip(usize),
    Gone,
}

fn damage(transaction: &WriteTransaction, table: &'static str, key: &[u8], damage: Damage) {
    let mut rows = transaction.open_table(Definition::new(table)).unwrap();
    let mut sealed = rows.get(key).unwrap().unwrap().value().to_vec();
    match damage {
        Damage::Flip(halves) => {
            // Before the checksum, where there is anything before it.
            let last = (sealed.len() - 8).saturating_sub(1);
            sealed[last * halves / 2] ^= 1;
            rows.insert(key, sealed.as_slice()).unwrap();
        }
        Damage::Gone => drop(rows.remove(key).unwrap()),
    }
}

/// Random flips seldom meet a small table: here each has its turn.
#[test]
fn what_is_read_after_a_flip_in_any_table_is_right_or_an_error() {
    const FLIPS: [Damage; 3] = [Damage::Flip(0), Damage::Flip(1), Damage::Flip(2)];
    const COUNTED: [Damage; 4] = [FLIPS[0], FLIPS[1], FLIPS[2], Damage::Gone];
    let (whole, commits, right) = sample(151);
    for (table, kinds, is_seen) in [
        ("log", &FLIPS[..], true),
        ("where", &FLIPS, true),
        // What these say is told by the log too.
        ("nodes", &FLIPS, false),
        ("moves", &FLIPS, false),
        ("reflogs", &COUNTED, false),
        ("refs", &COUNTED, true),
        ("meta", &FLIPS, true),
        ("staging", &COUNTED, true),
        ("staging_tombstones", &COUNTED, true),
        ("local", &FLIPS, true),
    ] {
        let mut all = Vec::new();
        whole.copy().edit(|t| all = keys(t, table));
        assert!(!all.is_empty(), "{table}");
        let rows = if table == "log" { 8 } else { 4 };
        let mut failed = 0;
        for key in all.iter().rev().step_by(all.len().div_ceil(rows)) {
            for kind in kinds {
                let disk = whole.copy();
                disk.edit(|t| damage(t, table, key, *kind));
                failed += usize::from(right_or_an_error(&disk, &commits, &right));
            }
        }
        assert_eq!(failed > 0, is_seen, "{table}: {failed}");
    }
}

/// A row that a flipped bit of its key took elsewhere stands beside the place where it is missed.
#[test]
fn a_row_whose_key_was_flipped_is_missed() {
    let whole = Disk::filled(20);
    let store = whole.open();
    let edits = [b"b", b"e", b"g"].map(|key| LocalEdit {
        owner: "flipped".into(),
        key: key.to_vec(),
        value: Some(b"said".to_vec()),
    });
    store.local_edit(&edits).unwrap();
    store.close();
    // To the row after the place, and to the one before it.
    for (key, other) in [(b"b", b"c"), (b"e", b"d")] {
        let disk = whole.copy();
        disk.edit(|transaction| {
            let mut rows = transaction.open_table(Definition::new("local")).unwrap();
            let [key, other] = [key, other].map(|key| local_key("flipped", key));
            let sealed = rows.remove(key.as_slice()).unwrap().unwrap().value().to_vec();
            rows.insert(other.as_slice(), sealed.as_slice()).unwrap();
        });
        let store = disk.open();
        let missed = store.local_get("flipped", key).unwrap_err();
        assert_eq!(missed.kind(), ErrorKind::CorruptStore);
        assert!(store.local_rows("flipped", key).is_err());
    }
}

/// Text is read as well when it says something else: only its hash or checksum tells.
#[test]
fn what_is_read_after_a_flip_in_a_text_is_right_or_an_error() {
    let (whole, commits, right) = sample(151);
    // Of a node, and of commits and records.
    for word in ["wants team", "tester"] {
        let disk = whole.copy();
        disk.spoil(word);
        assert!(right_or_an_error(&disk, &commits, &right), "{word}");
    }
}

#[test]
#[ignore = "minutes long; `make sweep` runs it"]
fn what_is_read_after_any_of_many_random_flips_is_right_or_an_error() {
    let started = Instant::now();
    let failed = read_after_flips(2_000);
    let note = format!("random flips of a store of 300 commits, then every read; {failed} seen");
    tell_held("flips-reads", 2_000, started, note);
}
