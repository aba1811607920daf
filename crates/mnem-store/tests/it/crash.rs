//! A machine that stops at any moment loses nothing that was acknowledged, and leaves no half of
//! anything.
//!
//! A script that uses every verb runs once, and what it does to the disk is written down. Then
//! each disk that a stop could have left is made of that, and looked at: it opens, it says what
//! was acknowledged or what was being done, nothing is damaged, and it can be written. Only then
//! is a commit safe that somebody was told of. `MNEM_CRASH_CASES` is how many ways are tried at
//! each sync, and a failure names the one to run again.
#![cfg(unix)] // elsewhere a directory cannot be synced

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use mnem_store::{CommitId, ErrorKind, InitOptions, Store};

use self::disk::{Disk, Event, Recorder, Tree, scratch, watched};
use self::report::Report;
use self::script::{Moves, SCRIPT, Seen, Shape, Texts, opening, seen, shape, texts};
use self::ways::{Stop, each_stop};
use crate::damage::harm;
use crate::support::{id, put};
use crate::sweep::{asked, number};

mod disk;
mod faults;
mod kill;
mod moved;
mod operations;
mod report;
mod script;
mod ways;

/// Where the script makes its store: below directories that are not there yet.
fn store_in(place: &Path) -> PathBuf {
    place.join("deep/store")
}

/// What is seen, and its shape.
type State = (Seen, Shape);

fn state(store: &Store) -> State {
    (seen(store).unwrap(), shape(store).unwrap())
}

/// What a run of the script did to the disk, and what the store said meanwhile.
struct Recording {
    root: PathBuf,
    events: Vec<Event>,
    /// How many events there were when each step was acknowledged; the first makes the store, and
    /// the last closes it.
    acknowledged: Vec<usize>,
    /// What may be seen while a step is taken: from what was there before it to what is after it.
    /// None is no store.
    legal: Vec<Vec<Option<Seen>>>,
    /// The same in another form, which does not differ from run to run.
    shapes: Vec<Vec<Shape>>,
    memories: BTreeMap<CommitId, Texts>,
    exported: Vec<u8>,
}

static RECORDING: LazyLock<Recording> = LazyLock::new(Recording::make);

impl Recording {
    fn make() -> Self {
        let place = scratch();
        let recorder = Arc::new(Recorder::default());
        let root = store_in(place.path());
        let shared = Arc::clone(&recorder);
        let (mut acknowledged, mut states, memories): (_, Vec<State>, _) = watched(shared, || {
            let store = Store::init(&root, &InitOptions::default(), opening(0)).unwrap();
            let mut acknowledged = vec![recorder.len()];
            let mut states = vec![state(&store)];
            for step in SCRIPT {
                (step.run)(&store, &recorder).unwrap_or_else(|e| panic!("{}: {e}", step.name));
                acknowledged.push(recorder.len());
                states.push(state(&store));
            }
            let moves = &states.last().unwrap().0.reflog;
            let commits = moves.iter().filter_map(|record| record.new);
            let memories = commits.map(|commit| (commit, texts(&store, commit).unwrap())).collect();
            (acknowledged, states, memories)
        });
        acknowledged.push(recorder.len());
        states.push(states.last().unwrap().clone());
        let mut recording = Self {
            root: place.path().to_owned(),
            events: recorder.events(),
            legal: vec![vec![None, Some(states[0].0.clone())]],
            exported: std::fs::read(root.join("export")).unwrap(),
            shapes: vec![vec![states[0].1.clone()]],
            acknowledged,
            memories,
        };
        for (number, two) in states.windows(2).enumerate() {
            let step = SCRIPT.get(number).map_or(Moves::Times(0), |step| step.moves);
            let between = match step {
                Moves::Times(0 | 1) => two.to_vec(),
                Moves::Times(_) | Moves::UpTo(_) => recording.between(number + 1, &two[0]),
            };
            let (legal, mut shapes): (Vec<_>, Vec<_>) = between.into_iter().unzip();
            let mut legal: Vec<_> = legal.into_iter().map(Some).collect();
            legal.dedup();
            shapes.dedup();
            let name = SCRIPT.get(number).map_or("close", |step| step.name);
            assert_eq!(legal.last().unwrap().as_ref(), Some(&two[1].0), "{name}");
            match step {
                Moves::Times(times) => assert_eq!(legal.len(), times + 1, "{name}: {legal:#?}"),
                Moves::UpTo(times) => assert!((2..=times + 1).contains(&legal.len()), "{name}"),
            }
            recording.legal.push(legal);
            recording.shapes.push(shapes);
        }
        recording
    }

    /// What is seen after each sync of a step.
    fn between(&self, step: usize, before: &State) -> Vec<State> {
        let mut disk = Disk::of(&self.root, &Tree::new());
        let mut states = vec![before.clone()];
        for (number, event) in self.events[..self.acknowledged[step]].iter().enumerate() {
            disk.apply(event);
            if number >= self.acknowledged[step - 1] && event.is_sync() {
                let place = scratch();
                disk::write(&disk.live(), place.path());
                let store = Store::open(&store_in(place.path()), opening(1)).unwrap();
                states.push(state(&store));
            }
        }
        states
    }

    /// The step that is taken at a point.
    fn step(&self, point: usize) -> usize {
        self.acknowledged.iter().take_while(|end| **end <= point).count().min(self.legal.len() - 1)
    }

    /// What may be seen after a stop at a point.
    fn legal(&self, point: usize) -> &[Option<Seen>] {
        let step = self.step(point);
        if point < self.acknowledged[step] {
            &self.legal[step]
        } else {
            &self.legal[step][self.legal[step].len() - 1..]
        }
    }

    /// The nodes of which somebody was told by then.
    fn told(&self, point: usize) -> impl Iterator<Item = &str> {
        self.events[..point].iter().filter_map(|event| match event {
            Event::Told(node) => Some(node.as_str()),
            _ => None,
        })
    }
}

/// Looks at what a stop has left, and writes to it. What it says, and says then; none where there
/// is no store.
fn look(place: &Path, stop: Stop, legal: &[Option<Seen>]) -> Option<(Seen, Seen)> {
    let recording = &*RECORDING;
    let root = store_in(place);
    let store = match Store::open(&root, opening(2)) {
        Err(error) if error.kind() == ErrorKind::NoStore && legal.contains(&None) => {
            // What is left of the attempt stands in nobody's way.
            let store = Store::init(&root, &InitOptions::default(), opening(2)).unwrap();
            put(&store, "after", "1");
            return None;
        }
        opened => opened.unwrap(),
    };
    let now = seen(&store).unwrap();
    assert!(legal.contains(&Some(now.clone())), "{now:#?}\nis none of\n{legal:#?}");
    for tip in now.branches.values() {
        assert_eq!(&texts(&store, *tip).unwrap(), &recording.memories[tip]);
    }
    // Also those that only the record of a move leads to.
    for commit in now.reflog.iter().filter_map(|record| record.new) {
        store.commit_object(commit).unwrap();
    }
    for node in recording.told(stop.point) {
        let tip = now.branches.iter().find(|(name, _)| name.as_str() == "main").unwrap().1;
        assert!(recording.memories[tip].contains_key(node), "{node} was told of and is lost");
    }
    sound(&store);
    let exported = std::fs::read(root.join("export"));
    let export = SCRIPT.iter().position(|step| step.name == "export").unwrap() + 1;
    match exported {
        Ok(bytes) => assert!(bytes == recording.exported, "half an export"),
        Err(_) => assert!(stop.point < recording.acknowledged[export], "the export is lost"),
    }
    let main = mnem_store::BranchName::new("main").unwrap();
    put(&store.on(&main, "t").unwrap(), "after", "1");
    let after = seen(&store).unwrap();
    assert_ne!(after, now);
    Some((now, after))
}

/// What was written after a stop is there when the store is opened once more.
fn look_again(place: &Path, after: &Seen) {
    let store = Store::open(&store_in(place), opening(3)).unwrap();
    assert_eq!(&seen(&store).unwrap(), after);
    assert!(store.snapshot_at("main").unwrap().get(&id("after")).unwrap().is_some());
    sound(&store);
}

fn sound(store: &Store) {
    assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
    assert_eq!(harm(store.fsck(|_| ()).unwrap().findings), []);
}

fn only() -> Option<Stop> {
    asked("MNEM_CRASH_CASE").map(|text| text.parse().unwrap())
}

/// A stop of the script, whatever survives it.
#[test]
fn every_verb() {
    let recording = &*RECORDING;
    let mut report = Report::new("crash", "crash::every_verb");
    let cases = number("MNEM_CRASH_CASES", 3);
    let none = Tree::new();
    let step = |point| recording.step(point);
    each_stop(&recording.root, &none, &recording.events, cases, only(), step, |stop, tree| {
        let variables = format!("MNEM_CRASH_CASE={stop}");
        let what = format!("stop {stop}, after step {}", recording.step(stop.point));
        report.case(&variables, &what, || {
            let place = scratch();
            disk::write(&tree, place.path());
            if let Some((_, after)) = look(place.path(), stop, recording.legal(stop.point)) {
                look_again(place.path(), &after);
            }
        });
    });
    let syncs = recording.events.iter().filter(|event| event.is_sync()).count();
    report.finish(if only().is_some() { 1 } else { syncs as u64 }, &format!("syncs={syncs}"));
}

/// A stop while what an earlier one left is opened, repaired and first written.
#[test]
fn again_while_it_is_opened() {
    let recording = &*RECORDING;
    let mut report = Report::new("crash-again", "crash::again_while_it_is_opened");
    let cases = number("MNEM_CRASH_CASES", 3);
    // The second stop of a case that is run again.
    let second: Option<Stop> = asked("MNEM_CRASH_THEN").map(|text| text.parse().unwrap());
    let mut number = 0;
    let none = Tree::new();
    // A few of them: each takes as many stops as its opening has syncs.
    let (cases, every) = if cases < 10 { (2, 20) } else { (4, 2) };
    let step = |point| recording.step(point);
    each_stop(&recording.root, &none, &recording.events, cases, only(), step, |first, tree| {
        number += 1;
        if number % every != 0 && only().is_none() {
            return;
        }
        let place = scratch();
        disk::write(&tree, place.path());
        let recorder = Arc::new(Recorder::default());
        let mut opened = 0;
        let legal = recording.legal(first.point);
        let variables = format!("MNEM_CRASH_CASE={first}");
        let looked = report.case(&variables, &format!("stop {first}"), || {
            watched(Arc::clone(&recorder) as _, || {
                let looked = look(place.path(), first, legal);
                opened = recorder.len();
                looked
            })
        });
        let Some(Some((now, after))) = looked else { return };
        let states = [Some(now), Some(after)];
        let events = recorder.events();
        each_stop(
            place.path(),
            &tree,
            &events,
            3,
            second,
            |point| point < opened,
            |then, tree| {
                let variables = format!("{variables} MNEM_CRASH_THEN={then}");
                report.case(&variables, &format!("stop {first}, then {then}"), || {
                    let place = scratch();
                    disk::write(&tree, place.path());
                    let legal = &states[usize::from(then.point >= opened)..];
                    let store = Store::open(&store_in(place.path()), opening(3)).unwrap();
                    let now = Some(seen(&store).unwrap());
                    assert!(legal.contains(&now), "{now:#?}\nis none of\n{legal:#?}");
                    sound(&store);
                    put(
                        &store.on(&mnem_store::BranchName::new("main").unwrap(), "t").unwrap(),
                        "more",
                        "1",
                    );
                    sound(&store);
                });
            },
        );
    });
    report.finish(if only().is_some() { 1 } else { 20 }, "");
}
