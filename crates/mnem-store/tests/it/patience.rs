//! How long a call waits for another process: as long as its handle says, unless it is told to
//! stop, and no shorter for a repair.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mnem_store::{Environment, Error, ErrorKind, InitOptions, Store, Waiting};

use crate::support::{environment, id, meta, note, put};

const SHORT: Duration = Duration::from_millis(100);
/// Long enough that a test which waits for it is seen to hang.
const LONG: Duration = Duration::from_secs(120);

/// What waits is told to stop, and what was said of a repair is kept.
#[derive(Debug, Default)]
struct Watch {
    is_stopped: AtomicBool,
    /// Whether that is said only once, as an interrupt is.
    is_once: AtomicBool,
    asked: AtomicBool,
    repaired: Mutex<Vec<(f64, String)>>,
    holder: Mutex<Option<std::path::PathBuf>>,
}

impl Waiting for Watch {
    fn check(&self) -> Result<(), Error> {
        self.asked.store(true, Ordering::SeqCst);
        if self.is_stopped.load(Ordering::SeqCst) && thread::current().name() == Some("stopped") {
            self.is_stopped.store(!self.is_once.load(Ordering::SeqCst), Ordering::SeqCst);
            return Err(Error::new(ErrorKind::NotFound, "told to stop"));
        }
        Ok(())
    }

    fn repairing(&self, done: f64) {
        let holder = self.holder.lock().unwrap();
        let said =
            holder.as_ref().map_or(String::new(), |path| std::fs::read_to_string(path).unwrap());
        self.repaired.lock().unwrap().push((done, said.split(' ').nth(1).unwrap_or("").into()));
    }
}

fn patient(patience: Duration, watch: &Arc<Watch>) -> Environment {
    let waiting = Arc::clone(watch) as Arc<dyn Waiting>;
    let idle = Duration::from_millis(1);
    Environment { busy_timeout: patience, idle, waiting, ..environment() }
}

/// A store that this process has let go, and what another process would hold.
fn store(patience: Duration) -> (tempfile::TempDir, Store, File, Arc<Watch>) {
    let directory = tempfile::tempdir().unwrap();
    let watch = Arc::default();
    let options = InitOptions::default();
    let store = Store::init(directory.path(), &options, patient(patience, &watch)).unwrap();
    put(&store, "start", "1");
    let lock = File::open(directory.path().join(".mnem/lock")).unwrap();
    while lock.try_lock().is_err() {
        thread::sleep(Duration::from_millis(1));
    }
    let holder = std::fs::read_to_string(directory.path().join(".mnem/holder")).unwrap();
    assert_eq!(holder.split(' ').nth(1), Some("free"));
    (directory, store, lock, watch)
}

fn write(store: &Store, name: &str) -> Result<(), Error> {
    store.write([(id(name), Some(note(name, "1")))].into(), &meta(name)).map(drop)
}

#[test]
fn each_handle_waits_for_as_long_as_it_says() {
    let (directory, long, lock, watch) = store(LONG);
    // It takes the engine that is there, and brings its own patience.
    let quick = Environment { busy_timeout: SHORT, ..environment() };
    lock.unlock().unwrap();
    let short = Store::open(directory.path(), quick).unwrap();
    while lock.try_lock().is_err() {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(write(&short, "lost").unwrap_err().kind(), ErrorKind::Busy, "nobody else waits");
    let bound = short.on(&mnem_store::BranchName::new("main").unwrap(), "t");
    thread::scope(|scope| {
        let waiter = scope.spawn(|| write(&long, "kept"));
        while !watch.asked.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        // Behind the one that waits, in its line and for its lease.
        let errors = [
            write(&short, "lost").unwrap_err(),
            short.working_memory("", None).unwrap_err(),
            write(&bound.unwrap(), "lost").unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Busy);
            assert!(error.to_string().ends_with("waited 0.1 s"), "{error}");
        }
        assert!(!waiter.is_finished());
        lock.unlock().unwrap();
        waiter.join().unwrap().unwrap();
    });
    write(&short, "now").unwrap();
    assert_eq!(short.snapshot().unwrap().count().unwrap(), 3, "who gave up wrote nothing");
}

/// A long scan is read on by another thread while one makes something of what was read.
#[test]
fn a_scan_waits_on_another_thread_for_as_long_as_its_handle_says() {
    let (directory, long, lock, watch) = store(LONG);
    lock.unlock().unwrap();
    drop(long);
    let _long = Store::open(directory.path(), patient(LONG, &watch)).unwrap();
    let quick = Environment { busy_timeout: SHORT, ..environment() };
    let short = Store::open(directory.path(), quick).unwrap();
    let mut scan = short.snapshot().unwrap().scan("", None, None).unwrap();
    while lock.try_lock().is_err() {
        thread::sleep(Duration::from_millis(1));
    }
    let read = thread::scope(|scope| scope.spawn(|| scan.next()).join().unwrap()).unwrap();
    let error = read.unwrap_err();
    assert!(error.to_string().ends_with("waited 0.1 s"), "{error}");
}

#[test]
fn a_wait_that_is_told_to_stop_stops() {
    let (_directory, store, lock, watch) = store(LONG);
    watch.is_stopped.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let told = |call: fn(&Store) -> Result<(), Error>| {
            let stopped = thread::Builder::new().name("stopped".into());
            let store = &store;
            let call = stopped.spawn_scoped(scope, move || call(store)).unwrap();
            assert_eq!(call.join().unwrap().unwrap_err().to_string(), "told to stop");
        };
        // It waits for the other process itself.
        told(|store| write(store, "lost"));
        told(|store| store.working_memory("", None).map(drop));
        watch.asked.store(false, Ordering::SeqCst);
        let waiter = scope.spawn(|| write(&store, "kept"));
        while !watch.asked.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        // It waits behind one that does, and that one waits on.
        told(|store| write(store, "lost"));
        told(|store| store.working_memory("", None).map(drop));
        assert!(!waiter.is_finished());
        lock.unlock().unwrap();
        waiter.join().unwrap().unwrap();
    });
    assert_eq!(store.snapshot().unwrap().count().unwrap(), 2);
}

/// It would copy the file, and without a copy look at the file itself.
#[test]
fn a_check_that_is_told_to_stop_begins_no_other_wait() {
    let (_directory, store, _lock, watch) = store(LONG);
    watch.is_once.store(true, Ordering::SeqCst);
    watch.is_stopped.store(true, Ordering::SeqCst);
    let stopped = thread::scope(|scope| {
        let thread = thread::Builder::new().name("stopped".into());
        thread.spawn_scoped(scope, || store.fsck(|_| ())).unwrap().join().unwrap()
    });
    assert_eq!(stopped.unwrap_err().to_string(), "told to stop");
}

/// Writes the line of a holder as another process would.
fn hold_as(root: &Path, state: &str) {
    let line = format!("{:016x} {state} 1 elsewhere", 99);
    std::fs::write(root.join(".mnem/holder"), format!("{line:<127}\n")).unwrap();
}

#[test]
fn the_time_of_a_repair_does_not_count() {
    let (directory, store, lock, _watch) = store(SHORT);
    hold_as(directory.path(), "repairing");
    thread::scope(|scope| {
        let waiter = scope.spawn(|| write(&store, "kept"));
        thread::sleep(SHORT * 8);
        assert!(!waiter.is_finished(), "it waits on");
        hold_as(directory.path(), "holding");
        let error = waiter.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        assert!(error.to_string().starts_with("process 1 on elsewhere holds"), "{error}");
    });
    // Nobody is named who has let go.
    hold_as(directory.path(), "free");
    let error = write(&store, "lost").unwrap_err();
    assert!(error.to_string().starts_with("another process holds"), "{error}");
    lock.unlock().unwrap();
    write(&store, "kept").unwrap();
}

#[test]
fn a_repair_is_told_to_its_caller_and_to_who_waits() {
    let live = tempfile::tempdir().unwrap();
    let store = Store::init(live.path(), &InitOptions::default(), environment()).unwrap();
    put(&store, "a", "1");
    let copy = tempfile::tempdir().unwrap();
    std::fs::create_dir(copy.path().join(".mnem")).unwrap();
    for file in std::fs::read_dir(live.path().join(".mnem")).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), copy.path().join(".mnem").join(file.file_name())).unwrap();
    }
    let watch = Arc::new(Watch::default());
    let holder = copy.path().join(".mnem/holder");
    *watch.holder.lock().unwrap() = Some(holder.clone());
    let opened = Store::open(copy.path(), patient(LONG, &watch)).unwrap();
    let told = watch.repaired.lock().unwrap().clone();
    let (last, before) = told.split_last().unwrap();
    assert_eq!(*last, (1.0, "holding".into()));
    assert!(!before.is_empty());
    assert!(before.iter().all(|(done, said)| *done < 1.0 && said == "repairing"), "{before:?}");
    assert!(opened.snapshot().unwrap().get(&id("a")).unwrap().is_some());
    opened.close();
    assert_eq!(std::fs::read_to_string(&holder).unwrap().split(' ').nth(1), Some("free"));
}

/// A thread of the store's own may be about to let it go when the last handle is closed.
#[test]
fn a_store_that_is_closed_is_let_go() {
    let directory = tempfile::tempdir().unwrap();
    let options = InitOptions::default();
    Store::init(directory.path(), &options, environment()).unwrap().close();
    let lock = File::open(directory.path().join(".mnem/lock")).unwrap();
    for round in 0..200 {
        let idle = Duration::from_millis(2);
        let store = Store::open(directory.path(), Environment { idle, ..environment() }).unwrap();
        put(&store, "round", &round.to_string());
        thread::sleep(Duration::from_micros(round * 100));
        store.close();
        assert!(lock.try_lock().is_ok(), "in round {round}");
        lock.unlock().unwrap();
    }
}
