//! Taking the lease, holding it and letting it go.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::backend::redb::{RedbBackend, Settings};
use crate::backend::{Backend, BackendError};
use crate::error::{Error, ErrorKind, Hint};
use crate::id::{BranchName, CommitId};
use crate::store::engine::LOCK_FILE;
use crate::store::files;

pub(crate) const WANT_FILE: &str = "want";
pub(crate) const HOLDER_FILE: &str = "holder";
/// How long that file is once somebody has held the store.
pub(crate) const HOLDER_BYTES: u64 = 128;

/// A data file up to this size has its pages checked at every open, which takes a few
/// milliseconds: damage to the notes redb keeps of free pages would end the process (ADR 0012).
const CHECKED_BYTES: u64 = 4 * 1024 * 1024;
/// How long to sleep between two tries while another process holds the store: from, to.
const RETRY: [Duration; 2] = [Duration::from_micros(200), Duration::from_millis(2)];
/// How often the watcher looks whether the store is wanted.
const WATCH: Duration = Duration::from_millis(10);
/// Who writes without a pause lets go after this long, if the store is wanted.
const TURN: Duration = Duration::from_millis(5);
/// Who handed the store over leaves it to the others until they have it, or for this long.
const STAY_OFF: Duration = Duration::from_millis(20);

/// The data file of a store, open while this process holds the lease.
pub(crate) struct Leased {
    // Closed before the locks are let go.
    backend: OnceLock<RedbBackend>,
    /// Kept open for the engine's life, also for the registry: it is what tells one store from
    /// another.
    lock: File,
    want: File,
    holder: File,
    options: Options,
    /// The process that opened this. A forked child must not touch it.
    process: u32,
    myself: Weak<Self>,
    state: Mutex<State>,
    changed: Condvar,
}

/// What a lease is given.
pub(crate) struct Options {
    /// The data file.
    pub(crate) data: PathBuf,
    /// The directory that messages name.
    pub(crate) root: PathBuf,
    /// The name of this machine.
    pub(crate) host: String,
    /// How long to wait for another process.
    pub(crate) busy_timeout: Duration,
    /// A store that is not written is let go after this long.
    pub(crate) idle: Duration,
    /// Only look at the data file: see [`Settings::examine`].
    pub(crate) examine: bool,
    /// Refuses when the store is no longer the one that was opened.
    pub(crate) check: Box<dyn Fn() -> Result<(), Error> + Send + Sync>,
}

pub(super) struct State {
    status: Status,
    /// Views, and the group, that the file must stay open for.
    uses: usize,
    is_group_open: bool,
    /// Whether the store is let go with its last use.
    is_leaving: bool,
    since: Instant,
    last_write: Instant,
    handed_over: Option<Instant>,
    pub(super) counter: u64,
    /// The branches when the store was let go.
    tips: Option<Tips>,
    has_watcher: bool,
    /// How many attempts to get the store failed, and why the last one did.
    failures: u64,
    failure: Option<Error>,
}

pub(super) type Tips = Arc<BTreeMap<BranchName, CommitId>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Free,
    Acquiring,
    Held,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    View,
    Group,
}

thread_local! {
    /// How many views this thread has open: it must get another, or it would wait for itself.
    pub(super) static VIEWS: Cell<usize> = const { Cell::new(0) };
}

impl Leased {
    /// Opens the files in a store's directory; takes nothing yet.
    pub(crate) fn new(directory: &Path, lock: File, options: Options) -> Result<Arc<Self>, Error> {
        let open = |name| open_file(&directory.join(name));
        let (want, holder) = (open(WANT_FILE)?, open(HOLDER_FILE)?);
        let now = Instant::now();
        let state = State {
            status: Status::Free,
            uses: 0,
            is_group_open: false,
            is_leaving: false,
            since: now,
            last_write: now,
            handed_over: None,
            counter: 0,
            tips: None,
            has_watcher: false,
            failures: 0,
            failure: None,
        };
        Ok(Arc::new_cyclic(|myself| Self {
            backend: OnceLock::new(),
            lock,
            want,
            holder,
            options,
            process: std::process::id(),
            myself: myself.clone(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }))
    }

    /// Refuses in a process that was forked from the one that opened the store: the locks and
    /// the open file are its parent's.
    pub(crate) fn check_process(&self) -> Result<(), Error> {
        if self.is_mine() {
            return Ok(());
        }
        let message = "this handle of the store was opened before the process was forked";
        Err(Error::new(ErrorKind::Io, message).hint(Hint::Reopen))
    }

    pub(super) fn is_mine(&self) -> bool {
        std::process::id() == self.process
    }

    /// Keeps the store for a group of writes.
    pub(crate) fn begin_group(&self) -> Result<(), Error> {
        self.hold(Purpose::Group)
    }

    /// Lets the store go after a group, if another process wants it, and nobody here waits to
    /// write or all have had their time.
    pub(crate) fn end_group(&self, is_idle: bool) {
        let mut state = self.state();
        state.is_group_open = false;
        state.last_write = Instant::now();
        if (is_idle || state.since.elapsed() >= TURN) && self.is_wanted() {
            state.is_leaving = true;
        }
        self.drop_use(&mut state);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hold(&self, purpose: Purpose) -> Result<(), Error> {
        self.check_process()?;
        let mut state = self.state();
        let mut failures = None;
        loop {
            let is_inside = purpose == Purpose::View && (state.is_group_open || VIEWS.get() > 0);
            match state.status {
                Status::Held if !state.is_leaving || is_inside => {
                    state.uses += 1;
                    state.is_group_open |= purpose == Purpose::Group;
                    return Ok(());
                }
                // Who waited for an attempt shares what came of it.
                Status::Free if failures.is_some_and(|before| before != state.failures) => {
                    let failure = state.failure.as_ref().map(Error::repeat);
                    return Err(failure.unwrap_or_else(|| Error::corrupt("no lease")));
                }
                Status::Free => {
                    state.status = Status::Acquiring;
                    let handed_over = state.handed_over.take();
                    drop(state);
                    let acquired = self.acquire(handed_over);
                    state = self.state();
                    self.changed.notify_all();
                    match acquired {
                        Ok(counter) => self.begin(&mut state, counter),
                        Err(error) => {
                            state.status = Status::Free;
                            state.failures += 1;
                            state.failure = Some(error.repeat());
                            return Err(error);
                        }
                    }
                }
                Status::Held | Status::Acquiring => {
                    failures.get_or_insert(state.failures);
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn begin(&self, state: &mut State, counter: u64) {
        let now = Instant::now();
        state.status = Status::Held;
        state.is_leaving = false;
        (state.since, state.last_write) = (now, now);
        (state.counter, state.tips) = (counter, None);
        if !state.has_watcher {
            let myself = self.myself.clone();
            let watcher = thread::Builder::new().name("mnem-lease".into());
            state.has_watcher = watcher.spawn(move || watch(&myself)).is_ok();
        }
    }

    pub(super) fn drop_use(&self, state: &mut State) {
        state.uses = state.uses.saturating_sub(1);
        if state.uses == 0 && state.is_leaving {
            self.release(state, true);
        }
    }

    /// Closes the file and lets the store go. Nothing uses it.
    fn release(&self, state: &mut State, is_wanted: bool) {
        if let Some(backend) = self.backend.get() {
            let tips = backend.view().and_then(|view| view.references());
            state.tips = tips.ok().map(Arc::new);
            backend.release();
        }
        // An unlock that fails leaves the lock to the end of the process; nothing else helps.
        let _ = self.lock.unlock();
        state.status = Status::Free;
        state.is_leaving = false;
        state.handed_over = is_wanted.then(Instant::now);
        self.changed.notify_all();
    }

    /// Whether another process waits for the store.
    fn is_wanted(&self) -> bool {
        match self.want.try_lock_shared() {
            Ok(()) => {
                let _ = self.want.unlock();
                false
            }
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
        }
    }

    /// Waits for the lock, opens the file and returns the new count.
    fn acquire(&self, handed_over: Option<Instant>) -> Result<u64, Error> {
        if let Some(moment) = handed_over {
            while moment.elapsed() < STAY_OFF && self.is_wanted() {
                thread::sleep(RETRY[0]);
            }
        }
        let mut wants = Wants { want: &self.want, has: false };
        let mut deadline = Instant::now() + self.options.busy_timeout;
        let mut pause = RETRY[0];
        loop {
            let is_foreign = match self.lock.try_lock() {
                Ok(()) => match self.opened(&mut wants) {
                    Err(error) => {
                        let _ = self.lock.unlock();
                        return Err(error);
                    }
                    Ok(Some(counter)) => return Ok(counter),
                    // A program that knows of no lease has the data file.
                    Ok(None) => {
                        let _ = self.lock.unlock();
                        true
                    }
                },
                Err(TryLockError::WouldBlock) => {
                    wants.ask();
                    false
                }
                Err(TryLockError::Error(error)) => {
                    return Err(Error::io(format!("cannot lock {LOCK_FILE}"), error));
                }
            };
            if Instant::now() >= deadline {
                return Err(self.busy(is_foreign));
            }
            thread::sleep(pause);
            if self.read_holder().is_some_and(|holder| holder.is_opening) {
                // After a kill the file is walked first, which may take long.
                deadline += pause;
            }
            pause = (pause * 2).min(RETRY[1]);
        }
    }

    /// With the lock: looks whether the store is still the one, and opens the file. None where
    /// another program has it open.
    fn opened(&self, wants: &mut Wants<'_>) -> Result<Option<u64>, Error> {
        wants.drop_it();
        (self.options.check)()?;
        let counter = self.read_holder().map_or(0, |holder| holder.counter).wrapping_add(1);
        self.write_holder(counter, true);
        let opened = match self.backend.get() {
            Some(backend) => backend.view().map(drop),
            None => RedbBackend::open(&self.options.data, self.settings())
                .map(|backend| _ = self.backend.set(backend)),
        };
        self.write_holder(counter, false);
        match opened {
            Ok(()) => Ok(Some(counter)),
            Err(BackendError::Locked) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn settings(&self) -> Settings {
        let small = fs::metadata(&self.options.data).is_ok_and(|file| file.len() <= CHECKED_BYTES);
        let examine = self.options.examine;
        Settings { check_pages: small || examine, examine, ..Settings::default() }
    }

    fn busy(&self, is_foreign: bool) -> Error {
        let who = match self.read_holder().filter(|_| !is_foreign) {
            Some(Holder { pid, host, .. }) => format!("process {pid} on {host}"),
            None => "another process".into(),
        };
        let message = format!(
            "{who} holds the store at {}; waited {:.1} s",
            self.options.root.display(),
            self.options.busy_timeout.as_secs_f64()
        );
        Error::new(ErrorKind::Busy, message).hint(Hint::WaitOrStop)
    }

    /// Written without a sync: it says what a process that lives does.
    pub(super) fn write_holder(&self, counter: u64, is_opening: bool) {
        let state = if is_opening { "opening" } else { "holding" };
        let host: String =
            self.options.host.chars().filter(char::is_ascii_graphic).take(64).collect();
        let line = format!("{counter:016x} {state} {} {host}", std::process::id());
        // What cannot be written here is missed by readers alone: they take the lease.
        let _ = files::write_at_start(&self.holder, format!("{line:<127}\n").as_bytes());
    }

    fn read_holder(&self) -> Option<Holder> {
        let mut bytes = [0; 128];
        let length = files::read_at_start(&self.holder, &mut bytes).ok()?;
        let text = str::from_utf8(bytes.get(..length)?).ok()?;
        let mut words = text.split_whitespace();
        Some(Holder {
            counter: u64::from_str_radix(words.next()?, 16).ok()?,
            is_opening: words.next()? == "opening",
            pid: words.next()?.parse().ok()?,
            host: words.next().unwrap_or("this machine").to_owned(),
        })
    }

    /// The branches, where this process has let the store go and none has taken it since.
    pub(super) fn known_tips(&self) -> Option<Tips> {
        let state = self.state();
        let tips = state.tips.as_ref().filter(|_| state.status == Status::Free)?;
        let is_current = self.read_holder()?.counter == state.counter;
        // A deleted store's files can still be read.
        (is_current && (self.options.check)().is_ok()).then(|| Arc::clone(tips))
    }

    pub(super) fn backend(&self) -> Result<&RedbBackend, BackendError> {
        self.backend
            .get()
            .ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotConnected).into())
    }
}

impl Drop for Leased {
    /// In a forked child the open file is leaked: closing it would write under the parent.
    fn drop(&mut self) {
        if !self.is_mine() {
            std::mem::forget(self.backend.take());
        }
    }
}

/// Lets the store go when it is wanted or idle, while this process has it.
fn watch(leased: &Weak<Leased>) {
    loop {
        thread::sleep(WATCH);
        let Some(leased) = leased.upgrade() else { return };
        let mut state = leased.state();
        if state.status == Status::Held {
            let is_wanted = leased.is_wanted();
            if state.uses == 0 && (is_wanted || state.last_write.elapsed() >= leased.options.idle) {
                leased.release(&mut state, is_wanted);
            } else if is_wanted && state.since.elapsed() >= TURN {
                state.is_leaving = true;
            }
        }
        if state.status == Status::Free {
            state.has_watcher = false;
            return;
        }
    }
}

/// What `holder` says.
struct Holder {
    pub(super) counter: u64,
    is_opening: bool,
    pid: u32,
    host: String,
}

/// The lock on `want`, while it is had.
struct Wants<'l> {
    want: &'l File,
    has: bool,
}

impl Wants<'_> {
    fn ask(&mut self) {
        self.has = self.has || self.want.try_lock().is_ok();
    }

    fn drop_it(&mut self) {
        if std::mem::take(&mut self.has) {
            let _ = self.want.unlock();
        }
    }
}

impl Drop for Wants<'_> {
    fn drop(&mut self) {
        self.drop_it();
    }
}

/// Opens one of the lock files, which old stores may lack.
pub(crate) fn open_file(path: &Path) -> Result<File, Error> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|error| Error::io(format!("cannot open {}", path.display()), error))
}

impl fmt::Debug for Leased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leased").field("data", &self.options.data).finish_non_exhaustive()
    }
}
