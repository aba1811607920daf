//! Several processes write one store: nothing is lost, and nobody is held up by one that is
//! killed or stopped. Each process is this test binary, run for `worker` alone.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use mnem_store::ops::Changes;
use mnem_store::ops::log::LogOptions;
use mnem_store::{Environment, Error, ErrorKind, InitOptions, Store};

use crate::support::{environment, id, meta, note, put};

struct Worker {
    child: Child,
    out: BufReader<ChildStdout>,
}

/// Whether every thread of a process is stopped; yes where nobody tells.
fn is_stopped(pid: &str) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    threads.flatten().all(|thread| {
        let told = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        told.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('T'))
    })
}

impl Worker {
    fn start(root: &Path, name: &str, threads: usize, writes: usize) -> Self {
        let work = format!("{}|{name}|{threads}|{writes}", root.display());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["lease::worker", "--exact", "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(work.as_bytes()).unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    /// The next node that was written and acknowledged.
    fn next(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.out.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // A line that a kill cut short tells nothing.
            let told = line.strip_prefix("ack ").and_then(|line| line.strip_suffix('\n'));
            if let Some(name) = told {
                return Some(name.to_owned());
            }
        }
    }

    fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next()).collect()
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        // Until each of its threads has seen it, one may go on.
        while signal == "-STOP" && !is_stopped(&pid) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn finish(mut self) -> Vec<String> {
        let acknowledged = self.rest();
        assert!(self.child.wait().unwrap().success());
        acknowledged
    }

    fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.rest()
    }
}

#[test]
#[ignore = "what the other tests run as a process of its own"]
fn worker() {
    // The store, its name, threads, and writes of each.
    let work = std::io::read_to_string(std::io::stdin()).unwrap();
    let [root, name, threads, writes] =
        <[&str; 4]>::try_from(work.split('|').collect::<Vec<_>>()).unwrap();
    let (threads, writes): (usize, usize) = (threads.parse().unwrap(), writes.parse().unwrap());
    let store = Store::open(Path::new(root), environment()).unwrap();
    thread::scope(|scope| {
        for thread in 0..threads {
            let store = &store;
            scope.spawn(move || {
                for number in 0..writes {
                    let node = format!("{name}-{thread}-{number}");
                    put(store, &node, "1");
                    let mut out = std::io::stdout().lock();
                    out.write_all(format!("ack {node}\n").as_bytes()).unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

fn store() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let environment = Environment { idle: Duration::from_millis(500), ..environment() };
    let store = Store::init(directory.path(), &InitOptions::default(), environment).unwrap();
    put(&store, "start", "1");
    (directory, store)
}

fn check(root: &Path, acknowledged: &BTreeSet<String>, at_most: usize) {
    let store = Store::open(root, environment()).unwrap();
    let memory = store.snapshot().unwrap().memory("", None).unwrap();
    for name in acknowledged {
        assert!(memory.contains_key(&id(name)), "{name} was acknowledged and is lost");
    }
    let first_parent = LogOptions { first_parent: true, ..LogOptions::default() };
    let line = store.log(&first_parent).unwrap();
    assert_eq!(line.len(), memory.len(), "one commit a node, in one line");
    assert_eq!(store.log(&LogOptions::default()).unwrap().len(), line.len());
    assert!((acknowledged.len()..=at_most).contains(&(memory.len() - 1)), "{}", memory.len());
    assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
    assert_eq!(store.fsck(|_| ()).unwrap().findings, []);
}

#[test]
fn four_processes_of_twenty_threads_lose_nothing() {
    let (directory, store) = store();
    drop(store);
    let workers: Vec<_> =
        (0..4).map(|n| Worker::start(directory.path(), &format!("p{n}"), 20, 50)).collect();
    let acknowledged: BTreeSet<_> = workers.into_iter().flat_map(Worker::finish).collect();
    assert_eq!(acknowledged.len(), 4_000);
    check(directory.path(), &acknowledged, 4_000);
}

#[test]
fn nothing_is_lost_while_a_process_is_killed_twenty_times() {
    let (directory, store) = store();
    drop(store);
    let workers: Vec<_> =
        (0..2).map(|n| Worker::start(directory.path(), &format!("p{n}"), 4, 100)).collect();
    let mut acknowledged = BTreeSet::new();
    for round in 0..20 {
        let mut killed = Worker::start(directory.path(), &format!("k{round}"), 4, 100);
        // In the middle of its work, at another place each time.
        acknowledged.extend((0..=round % 5).filter_map(|_| killed.next()));
        acknowledged.extend(killed.kill());
    }
    assert!(acknowledged.len() < 20 * 400, "the killed ones had not finished");
    acknowledged.extend(workers.into_iter().flat_map(Worker::finish));
    // What a killed process wrote and could not tell may be there.
    check(directory.path(), &acknowledged, 2 * 400 + 20 * 400);
}

/// Whether a process waits for the store.
fn is_wanted(root: &Path) -> bool {
    let want = File::open(root.join(".mnem/want")).unwrap();
    want.try_lock_shared().is_err()
}

#[test]
fn a_stopped_waiter_holds_nobody_up() {
    let (directory, store) = store();
    let mut waiter = None;
    let wait = |_: &mnem_store::Snapshot| {
        let worker = Worker::start(directory.path(), "waiter", 1, 3);
        while !is_wanted(directory.path()) {
            thread::yield_now();
        }
        worker.signal("-STOP");
        waiter = Some(worker);
        Ok::<_, Error>(Changes::from([(id("held"), Some(note("held", "1")))]))
    };
    store.update(&meta("held"), wait).unwrap();
    // Its lock on `want` stays; the others go on, this process and one more.
    assert!(is_wanted(directory.path()));
    let other = Worker::start(directory.path(), "other", 2, 20);
    for number in 0..20 {
        put(&store, &format!("mine-{number}"), "1");
    }
    assert_eq!(other.finish().len(), 40);
    let waiter = waiter.unwrap();
    waiter.signal("-CONT");
    assert_eq!(waiter.finish().len(), 3);
    check(directory.path(), &BTreeSet::new(), 64);
}

#[test]
fn a_stopped_holder_is_named_and_goes_on_later() {
    let (directory, store) = store();
    drop(store);
    let mut holder = Worker::start(directory.path(), "holder", 1, 1_000_000);
    holder.next().unwrap();
    holder.signal("-STOP");
    let short = Environment { busy_timeout: Duration::from_millis(100), ..environment() };
    let error = Store::open(directory.path(), short).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    let named = format!("process {} on this-machine holds the store at", holder.child.id());
    assert!(error.to_string().starts_with(&named), "{error}");
    holder.signal("-CONT");
    let store = Store::open(directory.path(), environment()).unwrap();
    put(&store, "mine", "1");
    assert!(store.snapshot().unwrap().version(&id("mine")).unwrap().is_some());
    // It writes without a pause and would never have let go by itself.
    assert!(holder.child.try_wait().unwrap().is_none());
    let acknowledged = holder.kill();
    check(directory.path(), &acknowledged.into_iter().collect(), 1_000_001);
}

/// Waits until a store is let go, as it is once nobody writes.
fn let_go(root: &Path) -> File {
    let lock = File::open(root.join(".mnem/lock")).unwrap();
    while lock.try_lock_shared().is_err() {
        thread::sleep(Duration::from_millis(10));
    }
    lock
}

fn counter(root: &Path) -> String {
    let line = std::fs::read_to_string(root.join(".mnem/holder")).unwrap();
    line.split(' ').next().unwrap().to_owned()
}

#[test]
fn a_reader_answers_without_the_lease_until_another_writes() {
    let (directory, store) = store();
    let get = |name: &str| store.snapshot().unwrap().get(&id(name)).unwrap();
    assert!(get("start").is_some());
    let lock = let_go(directory.path());
    let before = counter(directory.path());
    assert!(get("start").is_some());
    assert!(store.branches().unwrap().len() == 1);
    assert_eq!(counter(directory.path()), before, "a cached answer takes no lease");
    drop(lock);
    assert_eq!(Worker::start(directory.path(), "other", 1, 1).finish(), ["other-0-0"]);
    assert!(get("other-0-0").is_some());
    assert_ne!(counter(directory.path()), before);
    put(&store, "mine", "1");
}

#[test]
fn a_store_that_is_made_anew_is_not_the_one_that_was_open() {
    let (directory, store) = store();
    // What is known from before is all that is left.
    drop(let_go(directory.path()));
    std::fs::remove_dir_all(directory.path().join(".mnem")).unwrap();
    for other in [None, Some(())] {
        let _other = other.map(|()| {
            Store::init(directory.path(), &InitOptions::default(), environment()).unwrap()
        });
        let changes = Changes::from([(id("b"), Some(note("b", "1")))]);
        let errors = [
            store.write(changes, &meta("lost")).unwrap_err(),
            store.snapshot().unwrap_err(),
            store.branches().unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::NoStore, "{error}");
        }
    }
    let made = Store::open(directory.path(), environment()).unwrap();
    assert!(made.branches().unwrap().is_empty());
}
