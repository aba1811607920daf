//! A process is killed while it repairs a damaged store, or opens one whose writer was killed.
//! The process is this test binary, run for `worker` alone.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mnem_store::{Environment, Error, Store, Waiting};

use super::disk::{self, scratch};
use super::report::Report;
use super::script::opening;
use super::sound;
use crate::damage::{self, drop_row, harm, keys};
use crate::seeds::Dice;
use crate::support::put;
use crate::sweep::number;

/// When a worker is killed.
#[derive(Clone, Copy, Debug)]
enum When {
    /// At its n-th step, where it waits for that.
    Step(usize),
    /// So long after its first step.
    After(Duration),
}

/// Runs a worker on a store and kills it. True when it was done by then.
fn killed(work: &str, root: &Path, when: When) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::kill::worker", "--exact", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (step, until) = match when {
        When::Step(step) => (step, "waiting\n"),
        When::After(_) => (0, "step\n"),
    };
    let told = format!("{work}|{step}|{}", root.display());
    child.stdin.take().unwrap().write_all(told.as_bytes()).unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line != until && line != "done\n" {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the worker ended");
    }
    if let When::After(pause) = when {
        thread::sleep(pause);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    line == "done\n" || std::io::read_to_string(out).unwrap().contains("done\n")
}

fn tell(word: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{word}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Counts steps, and at one of them waits to be killed.
#[derive(Debug)]
struct Steps {
    left: AtomicUsize,
}

impl Steps {
    fn step(&self) {
        tell("step");
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            tell("waiting");
            thread::sleep(Duration::from_secs(3_600));
        }
    }
}

impl Waiting for Steps {
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    fn repairing(&self, _: f64) {
        self.step();
    }
}

#[test]
#[ignore = "what the other tests run as a process of its own"]
fn worker() {
    let told = std::io::read_to_string(std::io::stdin()).unwrap();
    let [work, step, root] =
        <[&str; 3]>::try_from(told.splitn(3, '|').collect::<Vec<_>>()).unwrap();
    let steps = Arc::new(Steps { left: AtomicUsize::new(step.parse().unwrap()) });
    let root = Path::new(root);
    match work {
        "repair" => drop(Store::repair(root, opening(1), |_| steps.step()).unwrap()),
        "open" => {
            let environment = Environment { waiting: steps, ..opening(1) };
            drop(Store::open(root, environment).unwrap());
        }
        other => panic!("{other:?} is no work"),
    }
    tell("done");
}

fn stream(root: &Path) -> Vec<u8> {
    let mut stream = Vec::new();
    Store::open(root, opening(2)).unwrap().export(&mut stream, |_| ()).unwrap();
    stream
}

#[test]
fn a_repair_that_is_killed_leaves_the_store_before_or_after() {
    let mut report = Report::new("kill-repair", "crash::kill::a_repair_that_is_killed");
    let rounds = number("MNEM_KILL_ROUNDS", 10_u64);
    let damaged = damage::Disk::filled(60);
    let before = stream(damaged.root());
    damaged.edit(|t| {
        for key in keys(t, "where") {
            drop_row(t, "where", &key);
        }
    });
    damaged.edit(|t| drop_row(t, "refs", b"kept"));
    let kinds = |root: &Path| -> Vec<_> {
        let found = Store::fsck_at(root, opening(3), |_| ()).unwrap().findings;
        harm(found).iter().map(mnem_store::ops::Finding::kind).collect()
    };
    let findings = kinds(damaged.root());
    let start = disk::read(damaged.root());
    let mut steps = 0;
    let whole = damaged.copy();
    let _ = Store::repair(whole.root(), opening(1), |_| steps += 1).unwrap();
    let mut draw = Dice(1);
    let (mut stopped, mut done) = (0, 0);
    // One store for all, so that each finds what the killed ones left.
    let mut place = None;
    for round in 0..rounds {
        let root = place.get_or_insert_with(|| {
            let place = scratch();
            disk::write(&start, place.path());
            place
        });
        let root = root.path();
        let when = match round % 3 {
            0 => When::Step(1 + draw.below(steps)),
            1 => When::Step(steps),
            _ => When::After(Duration::from_micros(draw.below(100_000) as u64)),
        };
        let is_repaired = report.case("", &format!("round {round}"), || {
            killed("repair", root, when);
            let now = kinds(root);
            assert!(now.is_empty() || now == findings, "{now:?}");
            now.is_empty()
        });
        if is_repaired == Some(false) {
            stopped += 1;
            continue;
        }
        done += 1;
        report.case("", &format!("round {round}, repaired"), || assert!(stream(root) == before));
        place = None;
    }
    if let Some(place) = place {
        let _ = Store::repair(place.path(), opening(4), |_| ()).unwrap();
        assert!(stream(place.path()) == before);
        put(&Store::open(place.path(), opening(5)).unwrap(), "after", "1");
        assert_eq!(kinds(place.path()), Vec::<&str>::new());
    }
    assert!(stopped > 0 && done > 0, "{stopped} {done}");
    report.finish(rounds, &format!("stopped={stopped} done={done}"));
}

#[test]
fn a_process_that_is_killed_while_redb_repairs_a_file_harms_nothing() {
    let mut report = Report::new("kill-open", "crash::kill::a_process_that_is_killed");
    let rounds = number("MNEM_KILL_ROUNDS", 10_u64);
    let whole = damage::Disk::filled(120);
    let before = stream(whole.root());
    // A copy of an open store is what a killed writer leaves.
    let store = whole.open();
    put(&store, "n0", "and then it was killed");
    let start = disk::read(whole.root());
    drop(store);
    let place = scratch();
    disk::write(&start, place.path());
    let after = stream(whole.root());
    assert!(after != before);
    let mut draw = Dice(2);
    let mut stopped = 0;
    for round in 0..rounds {
        let when = match round % 2 {
            0 => When::Step(1 + draw.below(3)),
            _ => When::After(Duration::from_micros(draw.below(8_000) as u64)),
        };
        report.case("", &format!("round {round}"), || {
            if killed("open", place.path(), when) {
                // It closed the file in health.
                for (path, bytes) in &start {
                    if let Some(bytes) = bytes {
                        std::fs::write(place.path().join(path), bytes).unwrap();
                    }
                }
            } else {
                stopped += 1;
            }
        });
    }
    assert!(stream(place.path()) == after);
    sound(&Store::open(place.path(), opening(6)).unwrap());
    assert!(stopped > 0, "none was killed in the middle");
    report.finish(rounds, &format!("stopped={stopped}"));
}
