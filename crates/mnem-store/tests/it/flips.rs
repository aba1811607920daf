//! A store with a flipped bit answers with an error or with the right data, whatever is asked.

use std::fmt::Debug;
use std::fs;
use std::time::Instant;

use mnem_store::ops::DiffTarget;
use mnem_store::ops::log::LogOptions;
use mnem_store::{CommitId, Error, ErrorKind, Store};

use crate::damage::{Disk, flips};
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
    for node in ["plan", "n7", "n1", "draft"] {
        let id = id(node);
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

/// How many of so many flips made an answer fail.
fn read_after_flips(count: u64) -> u64 {
    let disk = Disk::filled(300);
    let store = disk.open();
    let log = store.log(&LogOptions::default()).unwrap();
    let commits: Vec<_> = log.iter().map(|(commit, _)| *commit).step_by(23).collect();
    let right = answers(&store, &commits);
    store.close();
    assert!(fs::metadata(disk.file("store.redb")).unwrap().len() > 1 << 20);
    let mut failed = 0;
    flips(count, &[], |_, disk| {
        let store = match Store::open(disk.root(), environment()) {
            Ok(store) => store,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::CorruptStore, "open: {error}");
                failed += 1;
                return;
            }
        };
        let mut is_seen = false;
        for ((question, found), (_, right)) in answers(&store, &commits).iter().zip(&right) {
            match found {
                Ok(found) => assert_eq!(Some(found), right.as_ref().ok(), "{question}"),
                Err(error) => {
                    let is_right = right.is_err() || error.kind() == ErrorKind::CorruptStore;
                    assert!(is_right, "{question}: {error}");
                    is_seen |= right.is_ok();
                }
            }
        }
        failed += u64::from(is_seen);
    });
    assert!(failed > 0, "no answer failed");
    failed
}

#[test]
fn what_is_read_after_a_flip_is_right_or_an_error() {
    read_after_flips(12);
}

#[test]
#[ignore = "minutes long; `make sweep` runs it"]
fn what_is_read_after_any_of_many_random_flips_is_right_or_an_error() {
    let started = Instant::now();
    let failed = read_after_flips(2_000);
    let note = format!("random flips of a store of 300 commits, then every read; {failed} seen");
    tell_held("flips-reads", 2_000, started, note);
}
