//! Taking the lease, holding it and letting it go.
//!
//! Long: one state, and all that changes it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, TryLockError};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::{Holder, HolderState, LOOK, LeaseFiles, VIEWS, Wait};
use crate::backend::descriptor::Descriptor;
use crate::backend::redb::{Access, OnRepair, RedbBackend, Settings, is_open};
use crate::backend::{Backend, BackendError};
use crate::error::{Error, ErrorKind, Hint};
use crate::id::{BranchName, CommitId};
use crate::store::engine::LOCK_FILE;
use crate::store::environment::Waiting;

/// A data file up to this size has its pages checked at every open, which takes a few
/// milliseconds: damage to the notes redb keeps of free pages would end the process (ADR 0012).
const CHECKED_BYTES: u64 = 4 * 1024 * 1024;
/// How long to sleep between two tries while another process holds the store: from, to.
const RETRY: [Duration; 2] = [Duration::from_micros(200), Duration::from_millis(1)];
/// How often the watcher looks whether the store is wanted.
const WATCH: Duration = Duration::from_millis(10);
/// Who writes without a pause lets go after this long, if the store is wanted: long against what
/// a hand-over costs, which is five syncs or so.
const TURN: Duration = Duration::from_millis(20);
/// Who does not write for this long lets go, if the store is wanted. Threads that were answered
/// together come back within it.
const PAUSE: Duration = Duration::from_millis(1);
/// Who handed the store over leaves it to the others until they have it, or for this long.
const STAY_OFF: Duration = Duration::from_millis(20);

/// The data file of a store, open while this process holds the lease.
pub(crate) struct Leased {
    // Closed before the locks are let go.
    backend: OnceLock<RedbBackend>,
    /// Kept open for the engine's life, also for the registry: it is what tells one store from
    /// another.
    files: Descriptor<LeaseFiles>,
    is_read_only: bool,
    options: Options,
    /// See [`Leased::killed`].
    killed: OnceLock<Option<Holder>>,
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
    /// How long to wait for another process, where no handle says.
    pub(crate) busy_timeout: Duration,
    /// Told of whoever waits.
    pub(crate) waiting: Arc<dyn Waiting>,
    /// A store that is not written is let go after this long.
    pub(crate) idle: Duration,
    /// Only look at the data file: see [`Settings::examine`].
    pub(crate) examine: bool,
    /// How many commits wait for the index.
    pub(crate) index_commits: u64,
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
    /// The thread that lets the store go, while there is one.
    watcher: Option<Thread>,
    /// How often this process got the store.
    acquired: u64,
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

impl Leased {
    /// Takes nothing yet.
    pub(crate) fn new(files: Descriptor<LeaseFiles>, options: Options) -> Arc<Self> {
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
            watcher: None,
            acquired: 0,
        };
        let is_read_only = files.with(|files| files.is_read_only).unwrap_or(true);
        Arc::new_cyclic(|myself| Self {
            backend: OnceLock::new(),
            files,
            is_read_only,
            options,
            killed: OnceLock::new(),
            process: std::process::id(),
            myself: myself.clone(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    /// Refuses in a process that was forked from the one that opened the store: the locks and
    /// the open file are its parent's.
    pub(crate) fn check_process(&self) -> Result<(), Error> {
        if self.is_mine() {
            return Ok(());
        }
        let message = "the process was forked inside this call; it goes on in the parent alone";
        Err(Error::new(ErrorKind::Io, message).hint(Hint::Reopen))
    }

    pub(crate) fn is_mine(&self) -> bool {
        std::process::id() == self.process
    }

    /// Refuses where the store can only be read.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        if !self.is_read_only {
            return Ok(());
        }
        let root = self.options.root.display();
        let message = format!("the store at {root} can only be read: its files cannot be written");
        Err(Error::new(ErrorKind::Io, message).hint(Hint::CheckPermissions))
    }

    /// A call that may have to wait begins.
    pub(crate) fn wait(&self) -> Wait {
        Wait::begin(self.options.busy_timeout)
    }

    /// Refuses to wait on for a thread that waits for another process, when the caller's time is
    /// over or it is told to stop. No lock is held: who is asked may need Python's.
    pub(crate) fn wait_on(&self, wait: &mut Wait) -> Result<(), Error> {
        if wait.is_time_to_look() {
            self.options.waiting.check()?;
        }
        let is_repairing = self.is_repairing();
        let state = self.state();
        let is_acquiring = state.status == Status::Acquiring;
        wait.count_from(state.acquired);
        drop(state);
        if wait.is_over(is_acquiring && !is_repairing) && is_acquiring {
            return Err(self.busy(wait, false));
        }
        Ok(())
    }

    /// Keeps the store for a group of writes.
    pub(crate) fn begin_group(&self) -> Result<(), Error> {
        self.hold(Purpose::Group)
    }

    /// Lets the store go after a group, if another process wants it and those here have had their
    /// time; else the watcher does once they pause.
    pub(crate) fn end_group(&self) {
        let mut state = self.state();
        state.is_group_open = false;
        state.last_write = Instant::now();
        if self.is_wanted() {
            match &state.watcher {
                Some(watcher) if state.since.elapsed() < TURN => watcher.unpark(),
                _ => state.is_leaving = true,
            }
        }
        self.drop_use(&mut state);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hold(&self, purpose: Purpose) -> Result<(), Error> {
        self.check_process()?;
        let mut wait = None;
        let mut state = self.state();
        loop {
            let is_inside = purpose == Purpose::View && (state.is_group_open || VIEWS.get() > 0);
            match state.status {
                Status::Held if !state.is_leaving || is_inside => {
                    state.uses += 1;
                    state.is_group_open |= purpose == Purpose::Group;
                    return Ok(());
                }
                Status::Free => {
                    state.status = Status::Acquiring;
                    let handed_over = state.handed_over.take();
                    drop(state);
                    let wait = wait.get_or_insert_with(|| self.wait());
                    let acquired = self.acquire(handed_over, wait);
                    state = self.state();
                    // Should this have failed, the others try by themselves, for as long as each
                    // has time.
                    self.changed.notify_all();
                    match acquired {
                        Ok(counter) => self.begin(&mut state, counter),
                        Err(error) => {
                            state.status = Status::Free;
                            return Err(error);
                        }
                    }
                }
                Status::Held | Status::Acquiring => {
                    let wait = wait.get_or_insert_with(|| self.wait());
                    let changed = self.changed.wait_timeout(state, LOOK);
                    drop(changed.unwrap_or_else(PoisonError::into_inner));
                    self.wait_on(wait)?;
                    state = self.state();
                }
            }
        }
    }

    fn begin(&self, state: &mut State, counter: u64) {
        let now = Instant::now();
        state.status = Status::Held;
        state.acquired += 1;
        state.is_leaving = false;
        (state.since, state.last_write) = (now, now);
        (state.counter, state.tips) = (counter, None);
        if state.watcher.is_none() {
            let myself = self.myself.clone();
            let watcher = thread::Builder::new().name("mnem-lease".into());
            let watcher = watcher.spawn(move || watch(&myself)).ok();
            state.watcher = watcher.map(|watcher| watcher.thread().clone());
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
        self.write_holder(state.counter, HolderState::Free);
        self.files.with(LeaseFiles::unlock);
        state.status = Status::Free;
        state.is_leaving = false;
        state.handed_over = is_wanted.then(Instant::now);
        self.changed.notify_all();
    }

    /// Closes the file and lets the store go, if this process has it: nobody will use this again.
    /// The thread that lets it go may be about to, and may be the last to know of this.
    pub(crate) fn end(&self) {
        if self.is_mine() {
            let mut state = self.state();
            if state.status == Status::Held && state.uses == 0 {
                self.release(&mut state, false);
            }
        }
    }

    fn is_wanted(&self) -> bool {
        self.files.with(LeaseFiles::is_wanted).unwrap_or(false)
    }

    /// Of a store that is examined, the process that had it last and did not close it. An open to
    /// write puts the file in order, and the trace is gone.
    pub(crate) fn killed(&self) -> Option<String> {
        Some(match self.killed.get()? {
            Some(Holder { pid, host, .. }) => format!("process {pid} on {host}"),
            None => "a process".into(),
        })
    }

    fn is_repairing(&self) -> bool {
        self.read_holder().is_some_and(|holder| holder.state == HolderState::Repairing)
    }

    /// Waits for the lock, opens the file and returns the new count.
    fn acquire(&self, handed_over: Option<Instant>, wait: &mut Wait) -> Result<u64, Error> {
        if let Some(moment) = handed_over {
            while moment.elapsed() < STAY_OFF && self.is_wanted() {
                thread::sleep(RETRY[0]);
            }
        }
        let mut wants = Wants { files: &self.files, has: false };
        let mut pause = RETRY[0];
        loop {
            let locked = self.files.with(LeaseFiles::try_lock);
            let is_foreign = match locked.unwrap_or(Err(TryLockError::WouldBlock)) {
                Ok(()) => match self.opened(&mut wants) {
                    Ok(Some(counter)) => return Ok(counter),
                    // A program that knows of no lease has the data file.
                    Ok(None) => {
                        self.files.with(LeaseFiles::unlock);
                        true
                    }
                    Err(error) => {
                        self.files.with(LeaseFiles::unlock);
                        return Err(error);
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
            if wait.is_over(!self.is_repairing()) {
                return Err(self.busy(wait, is_foreign));
            }
            if wait.is_time_to_look() {
                self.options.waiting.check()?;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(RETRY[1]);
        }
    }

    /// With the lock: looks whether the store is still the one, and opens the file. None where
    /// another program has it open.
    fn opened(&self, wants: &mut Wants<'_>) -> Result<Option<u64>, Error> {
        wants.drop_it();
        (self.options.check)()?;
        let last = self.read_holder();
        let mut counter = last.as_ref().map_or(0, |holder| holder.counter);
        if self.options.examine
            && last.as_ref().is_none_or(|holder| holder.state != HolderState::Free)
            && is_open(&self.options.data)
        {
            let _ = self.killed.set(last);
        }
        if !self.is_read_only {
            counter = counter.wrapping_add(1);
        }
        self.write_holder(counter, HolderState::Holding);
        let opened = match self.backend.get() {
            Some(backend) => backend.view().map(drop),
            None => self.open_file().map(|backend| _ = self.backend.set(backend)),
        };
        match opened {
            Ok(()) => Ok(Some(counter)),
            Err(error) => {
                self.write_holder(counter, HolderState::Free);
                match error {
                    BackendError::Locked => Ok(None),
                    error => Err(error.into()),
                }
            }
        }
    }

    fn open_file(&self) -> Result<RedbBackend, BackendError> {
        let access = if self.is_read_only { Access::Read } else { Access::Write };
        let on_repair: OnRepair = {
            let myself = self.myself.clone();
            Arc::new(move |done| {
                let Some(leased) = myself.upgrade() else { return };
                let is_over = done >= 1.0;
                if let Some(holder) = leased.read_holder() {
                    let state = if is_over { HolderState::Holding } else { HolderState::Repairing };
                    leased.write_holder(holder.counter, state);
                }
                leased.options.waiting.repairing(done);
            })
        };
        RedbBackend::open_as(&self.options.data, access, self.settings(), Some(on_repair))
    }

    fn settings(&self) -> Settings {
        let small = fs::metadata(&self.options.data).is_ok_and(|file| file.len() <= CHECKED_BYTES);
        let examine = self.options.examine;
        let index_commits = self.options.index_commits;
        let check_pages = small || examine;
        Settings { check_pages, examine, index_commits, ..Settings::default() }
    }

    fn busy(&self, wait: &Wait, is_foreign: bool) -> Error {
        let holder = self.read_holder();
        let who = match holder.filter(|holder| !is_foreign && holder.state != HolderState::Free) {
            Some(Holder { pid, host, .. }) => format!("process {pid} on {host}"),
            None => "another process".into(),
        };
        let message = format!(
            "{who} holds the store at {}; waited {:.1} s",
            self.options.root.display(),
            wait.patience().as_secs_f64()
        );
        Error::new(ErrorKind::Busy, message).hint(Hint::WaitOrStop)
    }

    pub(super) fn write_holder(&self, counter: u64, state: HolderState) {
        if !self.is_read_only {
            let (pid, host) = (self.process, self.options.host.clone());
            let holder = match self.killed.get() {
                // Whoever looks next is to find its word too.
                Some(Some(killed)) if state == HolderState::Free => {
                    let (pid, host) = (killed.pid, killed.host.clone());
                    Holder { counter, state: HolderState::Holding, pid, host }
                }
                _ => Holder { counter, state, pid, host },
            };
            self.files.with(|files| holder.write(&files.holder, &files.holder_path()));
        }
    }

    fn read_holder(&self) -> Option<Holder> {
        self.files.with(|files| Holder::read(&files.holder)).flatten()
    }

    /// Whether this process has the store; none where that may be changing.
    pub(super) fn is_held(&self) -> Option<bool> {
        let state = self.state.try_lock().ok()?;
        match state.status {
            Status::Held => (!state.is_leaving).then_some(true),
            Status::Free => Some(false),
            Status::Acquiring => None,
        }
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
            return;
        }
        let (status, counter) = {
            let state = self.state();
            (state.status, state.counter)
        };
        if status == Status::Held {
            // The lock goes with its file, last of all.
            self.write_holder(counter, HolderState::Free);
        }
    }
}

/// Lets the store go when it is wanted or idle, while this process has it.
fn watch(leased: &Weak<Leased>) {
    let mut pause = WATCH;
    loop {
        // Whoever ends a group while the store is wanted wakes this.
        thread::park_timeout(pause);
        let Some(leased) = leased.upgrade() else { return };
        let mut state = leased.state();
        if state.status == Status::Held {
            let (is_wanted, quiet) = (leased.is_wanted(), state.last_write.elapsed());
            let limit = if is_wanted { PAUSE } else { leased.options.idle };
            if state.uses == 0 && quiet >= limit {
                leased.release(&mut state, is_wanted);
            } else if is_wanted && state.since.elapsed() >= TURN {
                state.is_leaving = true;
            }
            pause = if is_wanted { PAUSE } else { WATCH };
        }
        if state.status == Status::Free {
            state.watcher = None;
            return;
        }
    }
}

/// The lock on `want`, while it is had.
struct Wants<'l> {
    files: &'l Descriptor<LeaseFiles>,
    has: bool,
}

impl Wants<'_> {
    fn ask(&mut self) {
        self.has = self.has || self.files.with(LeaseFiles::want).unwrap_or(false);
    }

    fn drop_it(&mut self) {
        if std::mem::take(&mut self.has) {
            self.files.with(LeaseFiles::want_no_more);
        }
    }
}

impl Drop for Wants<'_> {
    fn drop(&mut self) {
        self.drop_it();
    }
}

impl fmt::Debug for Leased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leased").field("data", &self.options.data).finish_non_exhaustive()
    }
}
