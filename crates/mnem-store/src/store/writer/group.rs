//! Group commit: who writes takes turns, and those who wait for one share a sync.
//!
//! A verb runs on its caller's own thread, so it may hold what it likes (Python's lock, for one).
//! In its turn it sees what the turns before it left, published or not. At its end, while others
//! wait, it hands the turn on; the last of the line, or the one that fills the group, publishes
//! all of it as one batch. Nobody is answered before that. One write alone publishes at once.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use crate::backend::cache::Objects;
use crate::backend::overlay::{self, Overlay, Shown};
use crate::backend::{Backend, BackendError, Batch, Found, OriginalBackend, PublishError, View};
use crate::error::Error;
use crate::id::{BranchName, CommitId};
use crate::store::lease::{LOOK, Leased};

/// A group ends at this many commits,
const GROUP_COMMITS: usize = 256;
/// or at this many bytes of objects and rows.
const GROUP_BYTES: usize = 8 << 20;

/// Lets one verb at a time write.
#[derive(Debug)]
pub(crate) struct Writer {
    objects: Objects,
    group: Arc<Group>,
    /// What keeps other processes off; a store in memory has none.
    lease: Option<Arc<Leased>>,
    line: Mutex<Line>,
    /// Set where nothing may be written: a store of format version 1.
    refusal: Option<Refusal>,
}

/// Where a store is that is only read, and which process opened it.
#[derive(Debug)]
struct Refusal {
    root: PathBuf,
    process: u32,
}

#[derive(Default)]
struct Line {
    is_taken: bool,
    /// Whether the group has the lease.
    is_leased: bool,
    /// Who waits for a turn, in the order in which they came.
    waiting: VecDeque<(u64, Sender<()>)>,
    /// The number of the last who came.
    came: u64,
    /// Who waits for the group's sync.
    built: Vec<Sender<Result<(), Error>>>,
}

impl Writer {
    /// A writer to a backend, and the objects as each turn sees them.
    pub(crate) fn new(
        backend: Arc<dyn Backend>,
        lease: Option<Arc<Leased>>,
        cache_bytes: u64,
    ) -> (Objects, Self) {
        let group = Arc::new(Group { backend, turn: Mutex::default() });
        let shared = Arc::clone(&group) as Arc<dyn Backend>;
        let objects = Objects::new(shared, cache_bytes);
        (objects.clone(), Self { objects, group, lease, line: Mutex::default(), refusal: None })
    }

    /// The same writer for the store at `root`, which is of format version 1: it writes nothing.
    pub(crate) fn refusing(self, root: &Path) -> Self {
        let refusal = Refusal { root: root.to_owned(), process: std::process::id() };
        Self { refusal: Some(refusal), ..self }
    }

    /// The process that did not close a store which was opened to be examined: see
    /// [`Leased::killed`].
    pub(crate) fn killed(&self) -> Option<String> {
        self.lease.as_ref()?.killed()
    }

    /// Refuses where nothing can be written.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match &self.refusal {
            Some(Refusal { root, .. }) => {
                Err(OriginalBackend::read_only(format!("the store at {}", root.display())))
            }
            None => Ok(()),
        }
    }

    /// Runs a verb in a turn of its own. What it published is durable when this returns, and so
    /// is all that it saw. A verb that fails or panics publishes nothing and harms no other.
    ///
    /// A verb that tries to write from inside itself, as the closure of `update` may, is
    /// refused: it would wait for itself.
    pub(crate) fn run<T>(&self, verb: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.check()?;
        if self.group.is_mine() {
            return Err(Error::conflict("the store cannot be written from inside its own update"));
        }
        self.check_process()?;
        self.lease.as_ref().map_or(Ok(()), |lease| lease.check_writable())?;
        self.take_turn()?;
        if let Err(error) = self.take_lease() {
            self.pass_turn();
            return Err(error);
        }
        self.group.begin();
        let answer = catch_unwind(AssertUnwindSafe(verb));
        if !self.is_mine() {
            // Forked inside the verb, as the closure of `update` may: the turn is the parent's.
            return match answer {
                Ok(answer) => answer.and_then(|value| self.check_process().map(|()| value)),
                Err(panic) => resume_unwind(panic),
            };
        }
        let landed = self.end_turn(matches!(answer, Ok(Ok(_))));
        match answer {
            Ok(Ok(value)) => landed.map(|()| value),
            Ok(Err(error)) => Err(error),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Publishes, from inside a turn, what this verb and those before it in the group have built:
    /// for a verb that does something after its batch is durable.
    pub(crate) fn publish_group(&self) -> Result<(), Error> {
        let built = mem::take(&mut self.line().built);
        let batch = self.group.close(&self.objects);
        let backend = &*self.group.backend;
        let result = if batch.is_empty() {
            Ok(())
        } else {
            catch_unwind(AssertUnwindSafe(|| backend.publish(&batch)))
                .unwrap_or_else(|_| {
                    Err(BackendError::Corrupt("a write stopped the engine".into()).into())
                })
                .map_err(Error::from)
        };
        self.group.clear();
        if result.is_err() {
            // Objects that were never stored were kept for those who built on them.
            self.objects.forget();
        }
        for member in built {
            let copy = result.as_ref().copied().map_err(Error::repeat);
            drop(member.send(copy)); // whoever waited is still there, and if not, needs no answer
        }
        result
    }

    /// Lets the store go: no other call follows.
    pub(crate) fn end(&self) {
        if let Some(lease) = &self.lease {
            lease.end();
        }
    }

    /// Whether the disk takes writes.
    pub(crate) fn is_writable(&self) -> bool {
        self.lease.as_ref().is_none_or(|lease| lease.check_writable().is_ok())
    }

    /// Whether this process opened the store.
    pub(crate) fn is_mine(&self) -> bool {
        self.lease.as_ref().is_none_or(|lease| lease.is_mine())
            && self.refusal.as_ref().is_none_or(|it| it.process == std::process::id())
    }

    pub(crate) fn check_process(&self) -> Result<(), Error> {
        self.lease.as_ref().map_or(Ok(()), |lease| lease.check_process())
    }

    /// How many wait for a turn.
    #[cfg(feature = "test-support")]
    pub(crate) fn waiting(&self) -> usize {
        self.line().waiting.len()
    }

    /// Whether somebody has a turn.
    #[cfg(feature = "test-support")]
    pub(crate) fn is_taken(&self) -> bool {
        self.line().is_taken
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn. Who waits in line behind one that waits for another process does so
    /// for as long as it would itself.
    fn take_turn(&self) -> Result<(), Error> {
        let (number, called) = {
            let mut line = self.line();
            if !mem::replace(&mut line.is_taken, true) {
                return Ok(());
            }
            let (call, called) = channel();
            line.came += 1;
            let number = line.came;
            line.waiting.push_back((number, call));
            (number, called)
        };
        let mut wait = self.lease.as_ref().map(|lease| (lease, lease.wait()));
        loop {
            // Nobody drops a place in the line without calling it.
            let Err(RecvTimeoutError::Timeout) = called.recv_timeout(LOOK) else { return Ok(()) };
            if let Some((lease, wait)) = &mut wait
                && let Err(error) = lease.wait_on(wait)
                && self.line().leave(number)
            {
                return Err(error);
            }
        }
    }

    /// Adds what the verb built to the group, or drops it, and waits until the group is durable.
    fn end_turn(&self, is_good: bool) -> Result<(), Error> {
        let state = self.group.end(is_good, &self.objects);
        let mut line = self.line();
        let next = match state {
            State::Open => line.waiting.pop_front(),
            State::Empty | State::Full => None,
        };
        if let Some((_, next)) = next {
            let (tell, told) = channel();
            line.built.push(tell);
            let _ = next.send(()); // it waits for this
            drop(line);
            return told.recv().unwrap_or_else(|_| Err(Error::corrupt("a write has no answer")));
        }
        drop(line);
        // Where there is nothing to publish, nobody waits for it.
        let result = if state == State::Empty { Ok(()) } else { self.publish_group() };
        if self.line().is_leased {
            self.drop_lease();
        }
        self.pass_turn();
        result
    }

    fn pass_turn(&self) {
        let mut line = self.line();
        match line.waiting.pop_front() {
            Some((_, next)) => _ = next.send(()),
            None => line.is_taken = false,
        }
    }

    /// Takes the lease with the first turn of a group.
    fn take_lease(&self) -> Result<(), Error> {
        if let Some(lease) = self.lease.as_ref().filter(|_| !self.line().is_leased) {
            lease.begin_group()?;
            self.line().is_leased = true;
        }
        Ok(())
    }

    fn drop_lease(&self) {
        self.line().is_leased = false;
        if let Some(lease) = &self.lease {
            lease.end_group();
        }
    }
}

impl Line {
    /// Gives a place up, unless it was called already.
    fn leave(&mut self, number: u64) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|(other, _)| *other != number);
        self.waiting.len() < before
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.waiting.len();
        f.debug_struct("Line").field("waiting", &waiting).finish_non_exhaustive()
    }
}

/// A backend as the turns of a group see it.
#[derive(Debug)]
struct Group {
    backend: Arc<dyn Backend>,
    turn: Mutex<Turn>,
}

#[derive(Debug, Default)]
struct Turn {
    /// Whose turn it is.
    thread: Option<ThreadId>,
    /// What this turn publishes if it ends well. It does not see that itself.
    drafts: Vec<Batch>,
    /// What the turns before it built.
    overlay: Arc<Overlay>,
}

/// How a group stands at the end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Empty,
    Open,
    Full,
}

impl Turn {
    fn keep_drafts(&mut self, objects: &Objects) {
        for batch in mem::take(&mut self.drafts) {
            objects.keep(&batch);
            Arc::make_mut(&mut self.overlay).add(batch);
        }
    }
}

impl Group {
    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_mine(&self) -> bool {
        self.turn().thread == Some(thread::current().id())
    }

    fn begin(&self) {
        self.turn().thread = Some(thread::current().id());
    }

    fn end(&self, is_good: bool, objects: &Objects) -> State {
        let turn = &mut *self.turn();
        turn.thread = None;
        if !is_good {
            turn.drafts.clear();
        }
        turn.keep_drafts(objects);
        if turn.overlay.is_empty() {
            State::Empty
        } else if turn.overlay.commits() >= GROUP_COMMITS || turn.overlay.bytes() >= GROUP_BYTES {
            State::Full
        } else {
            State::Open
        }
    }

    /// What there is to publish. It stays readable until it is cleared.
    fn close(&self, objects: &Objects) -> Batch {
        let turn = &mut *self.turn();
        turn.keep_drafts(objects);
        turn.overlay.batch()
    }

    fn clear(&self) {
        self.turn().overlay = Arc::default();
    }
}

impl Backend for Group {
    fn name(&self) -> &'static str {
        self.backend.name()
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        let (overlay, shown) = {
            let turn = self.turn();
            let is_mine = turn.thread == Some(thread::current().id());
            (Arc::clone(&turn.overlay), if is_mine { Shown::All } else { Shown::Objects })
        };
        if overlay.is_empty() {
            return self.backend.view();
        }
        overlay::view(&*self.backend, overlay, shown)
    }

    fn known_tip(&self, name: &BranchName) -> Option<Option<CommitId>> {
        let is_mine = self.turn.try_lock().ok()?.thread == Some(thread::current().id());
        if is_mine { None } else { self.backend.known_tip(name) }
    }

    /// In a turn, keeps the batch for the turn's end; its branches are compared now, so that a
    /// stale batch fails alone.
    fn publish(&self, batch: &Batch) -> Result<(), PublishError> {
        if !self.is_mine() {
            return self.backend.publish(batch);
        }
        if !batch.refs.is_empty() {
            overlay::check(&*self.view()?, batch)?;
        }
        self.turn().drafts.push(batch.clone());
        Ok(())
    }

    fn damage(&self) -> Option<String> {
        self.backend.damage()
    }

    /// What the group has built is not stored yet, and so not inspected.
    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError> {
        self.backend.inspect(tell)
    }
}
