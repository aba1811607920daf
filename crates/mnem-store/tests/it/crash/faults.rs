//! Any call of the system may fail: an error that says so, or nothing of it is noticed. What was
//! acknowledged stays, the same handle goes on, and so does whoever opens the store after it.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mnem_store::backend::watch::{Call, Watcher};
use mnem_store::{BranchName, ErrorKind, Store};

use super::disk::{self, Disk, Recorder, Tree, scratch, watched};
use super::report::Report;
use super::script::{Moves, SCRIPT, opening, seen, shape};
use super::ways::survivors;
use super::{RECORDING, sound, store_in};
use crate::seeds::Dice;
use crate::support::{id, put};
use crate::sweep::{asked, number};

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is not made.
    Refused,
    /// It is made, and said to have failed.
    Made,
    /// Of a write the first half is made.
    Half,
    /// Neither it nor any after it is made: the disk is gone.
    Gone,
}

impl Mode {
    const ALL: [Self; 4] = [Self::Refused, Self::Made, Self::Half, Self::Gone];

    pub fn number(self) -> usize {
        Self::ALL.iter().position(|mode| *mode == self).unwrap()
    }
}

/// Fails a call.
#[derive(Debug, Default)]
pub struct Faulty {
    calls: AtomicU64,
    /// The number of the call and how it fails; 0 for none.
    armed: AtomicU64,
    mode: AtomicU64,
}

impl Faulty {
    /// How many calls there were since this was made or armed.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Fails the n-th call from now on; 0 fails none.
    pub fn arm(&self, number: u64, mode: Mode) {
        self.calls.store(0, Ordering::SeqCst);
        self.mode.store(mode.number() as u64, Ordering::SeqCst);
        self.armed.store(number, Ordering::SeqCst);
    }

    fn mode(&self) -> Mode {
        Mode::ALL[usize::try_from(self.mode.load(Ordering::SeqCst)).unwrap()]
    }

    fn fails(&self, number: u64) -> bool {
        let armed = self.armed.load(Ordering::SeqCst);
        armed != 0 && (number == armed || (number > armed && self.mode() == Mode::Gone))
    }
}

fn failure() -> io::Error {
    io::Error::other("this call was made to fail")
}

impl Watcher for Faulty {
    fn before(&self, call: &Call<'_>) -> io::Result<()> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if !self.fails(number) || self.mode() == Mode::Made {
            return Ok(());
        }
        if let (Mode::Half, Call::Write { path, offset, bytes }) = (self.mode(), call) {
            use std::io::{Seek, SeekFrom, Write};
            let mut file = File::options().write(true).open(path)?;
            file.seek(SeekFrom::Start(*offset))?;
            file.write_all(&bytes[..bytes.len() / 2])?;
        }
        Err(failure())
    }

    fn after(&self, _: &Call<'_>) -> io::Result<()> {
        if self.mode() == Mode::Made && self.fails(self.calls()) { Err(failure()) } else { Ok(()) }
    }
}

/// Which calls fail, and how: some of so many, or all in every way, or the one that is asked for.
pub fn numbers(count: u64, some: usize) -> Vec<(u64, Mode)> {
    if let Some(text) = asked("MNEM_FAULT_CASE") {
        let (number, mode) = text.split_once('.').unwrap();
        return vec![(number.parse().unwrap(), Mode::ALL[mode.parse::<usize>().unwrap()])];
    }
    let some = number("MNEM_FAULT_CASES", some);
    let all = usize::try_from(count).unwrap();
    if some >= all {
        return (1..=count).flat_map(|n| Mode::ALL.map(|mode| (n, mode))).collect();
    }
    // The first and the last, and others in between, each in its turn of the modes.
    let mut draw = Dice(count);
    let mut numbers: Vec<_> = (0..some)
        .map(|n| match n {
            0 => 0,
            1 => all - 1,
            _ => draw.below(all),
        })
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    let turn = |n: usize| Mode::ALL[(n + all) % 4];
    numbers.into_iter().map(|n| (n as u64 + 1, turn(n))).collect()
}

#[test]
fn any_call_of_any_verb_may_fail() {
    let recording = &*RECORDING;
    let mut report = Report::new("faults", "crash::faults");
    let only = number("MNEM_FAULT_STEP", SCRIPT.len());
    let mut disk = Disk::of(&recording.root, &Tree::new());
    let (mut applied, mut calls) = (0, 0);
    for (number, step) in SCRIPT.iter().enumerate() {
        let end = recording.acknowledged[number];
        recording.events[applied..end].iter().for_each(|event| disk.apply(event));
        applied = end;
        if only != SCRIPT.len() && only != number {
            continue;
        }
        let start = disk.live();
        let shapes = &recording.shapes[number + 1];
        let recorder = Recorder::default();
        let open = || {
            let place = scratch();
            disk::write(&start, place.path());
            let faulty = Arc::new(Faulty::default());
            let store = watched(Arc::clone(&faulty) as _, || {
                let store = Store::open(&store_in(place.path()), opening(4)).unwrap();
                assert_eq!(&shape(&store).unwrap(), &shapes[0]);
                store
            });
            (place, faulty, store)
        };
        let (_place, faulty, store) = open();
        faulty.arm(0, Mode::Refused);
        watched(Arc::clone(&faulty) as _, || (step.run)(&store, &recorder).unwrap());
        let count = faulty.calls();
        drop(store);
        calls += count;
        let is_one = matches!(step.moves, Moves::Times(0 | 1));
        for (call, mode) in numbers(count, 3) {
            let variables =
                format!("MNEM_FAULT_STEP={number} MNEM_FAULT_CASE={call}.{}", mode.number());
            let what = format!("{}: call {call} of {count}, {mode:?}", step.name);
            report.case(&variables, &what, || {
                let (place, faulty, store) = open();
                let recorder = Recorder::default();
                faulty.arm(call, mode);
                let result = watched(Arc::clone(&faulty) as _, || (step.run)(&store, &recorder));
                faulty.arm(0, mode);
                let now = shape(&store).unwrap();
                if let Err(error) = &result {
                    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                    assert!(error.hint_text().is_some(), "{error}");
                }
                if step.moves == Moves::UpTo(8) {
                    let memory = store.snapshot().unwrap();
                    for event in recorder.events() {
                        let disk::Event::Told(node) = event else { continue };
                        assert!(memory.get(&id(&node)).unwrap().is_some(), "{node} is lost");
                    }
                } else {
                    let allowed =
                        if result.is_ok() { &shapes[shapes.len() - 1..] } else { &shapes[..] };
                    assert!(allowed.contains(&now), "{result:?}: {now:#?}");
                }
                sound(&store);
                drop(store);
                let store = Store::open(&store_in(place.path()), opening(5)).unwrap();
                assert_eq!(shape(&store).unwrap(), now, "the handle said something else");
                if now != shapes[shapes.len() - 1] {
                    let again = (step.run)(&store, &recorder);
                    match again {
                        // Half of it was done: the rest is the caller's, who reads why.
                        Err(error) if !is_one => assert_eq!(error.kind(), ErrorKind::InvalidRef),
                        again => {
                            again.unwrap();
                            let is_same = shape(&store).unwrap() == shapes[shapes.len() - 1];
                            assert!(is_same || step.moves == Moves::UpTo(8));
                        }
                    }
                }
                sound(&store);
            });
        }
    }
    report.finish(1, &format!("calls={calls}"));
}

/// A disk whose n-th sync fails and drops what it was to make durable, as systems do: the next one
/// says that all is well.
#[derive(Debug, Default)]
struct Dropping {
    recorder: Recorder,
    left: AtomicU64,
}

impl Watcher for Dropping {
    fn before(&self, call: &Call<'_>) -> io::Result<()> {
        let Call::Sync(path) = call else { return Ok(()) };
        let was = self.left.load(Ordering::SeqCst);
        self.left.store(was.saturating_sub(1), Ordering::SeqCst);
        if was != 1 {
            return Ok(());
        }
        self.recorder.add(disk::Event::Dropped(path.into()));
        Err(failure())
    }

    fn after(&self, call: &Call<'_>) -> io::Result<()> {
        self.recorder.after(call)
    }
}

/// What is acknowledged after a sync that failed is built on nothing that this sync dropped.
#[test]
fn what_a_failed_sync_dropped_is_written_again() {
    let recording = &*RECORDING;
    let mut report = Report::new("faults-dropped", "crash::faults::what_a_failed_sync_dropped");
    let every = if number("MNEM_FAULT_CASES", 3) > SCRIPT.len() { 1 } else { 6 };
    let mut disk = Disk::of(&recording.root, &Tree::new());
    let mut applied = 0;
    for (number, step) in SCRIPT.iter().enumerate() {
        let end = recording.acknowledged[number];
        recording.events[applied..end].iter().for_each(|event| disk.apply(event));
        applied = end;
        if number % every != 0 || step.moves != Moves::Times(1) {
            continue;
        }
        report.case("", step.name, || {
            let start = disk.live();
            let place = scratch();
            disk::write(&start, place.path());
            let dropping = Arc::new(Dropping::default());
            let (store, said) = watched(Arc::clone(&dropping) as _, || {
                let store = Store::open(&store_in(place.path()), opening(4)).unwrap();
                dropping.left.store(1, Ordering::SeqCst);
                let recorder = Recorder::default();
                let _ = (step.run)(&store, &recorder);
                let main = BranchName::new("main").unwrap();
                put(&store.on(&main, "t").unwrap(), "more", "1");
                let said = seen(&store).unwrap();
                (store, said)
            });
            let mut disk = Disk::of(place.path(), &start);
            dropping.recorder.events().iter().for_each(|event| disk.apply(event));
            drop(store);
            for way in 0..8 {
                let place = scratch();
                disk::write(&survivors(&disk, way), place.path());
                let store = Store::open(&store_in(place.path()), opening(5)).unwrap();
                assert_eq!(seen(&store).unwrap(), said, "way {way}");
                sound(&store);
            }
        });
    }
    report.finish(1, "");
}
