//! The file itself: made, opened, opened again after an error, closed.
//!
//! Long: these are one subject.
//!
//! A redb database that met an error may refuse everything after it, and one that met damage may
//! panic. So each call runs under a guard: a panic becomes an error, and after an error the file
//! is closed and opened again before the next call. What was read before is then forgotten, the
//! pending part of the index with it.
//!
//! Where a flipped bit is in redb's notes about free pages, redb 4.6 panics inside a panic at the
//! next commit or close, which ends the process. [`Settings::check_pages`] finds such damage at
//! open. A file that is known to be damaged is still read, row by row, but neither written nor
//! closed by redb: its database is left behind and its storage taken away from it.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use redb::backends::FileBackend;
use redb::{
    Builder, Database, DatabaseError, ReadOnlyTable, ReadTransaction, ReadableDatabase,
    StorageBackend, Table, TableDefinition, WriteTransaction,
};

use super::check;
use super::copy_on_write::CopyOnWrite;
use super::index::Pending;
use super::publish::{self, Refused};
use super::rows::{self, Bytes, EPOCH, LOG, MARK, META, MOVES_MARK, REFLOGS, Rows, SCHEMA};
use super::storage::{Detachable, Dropped, Storage};
use super::view::{Moment, RedbView, read_number};
use crate::backend::disk::{self, NewFile};
use crate::backend::{Backend, BackendError, Batch, Found, PublishError, View};
use crate::error::Error;
use crate::id::{BranchName, CommitId};

/// The page cache of a store file, in bytes, unless set.
pub const CACHE_BYTES: usize = 64 << 20;

/// How many commits wait for the index, unless set.
pub const INDEX_COMMITS: u64 = 256;

/// Where redb notes in a file's header how it was left, and the bit that says: open.
const FLAGS: usize = 9;
const OPEN: u8 = 2;

/// What is said where redb panicked.
const STOPPED: &str = "damage stopped the engine";

/// Random bytes that are made with a file and tell it from every other.
pub type Epoch = [u8; 16];

/// What may be chosen when a file is opened. Nothing here changes what is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The page cache, in bytes.
    pub cache_bytes: usize,
    /// Whether redb reads the whole file and checks every page when it opens it.
    pub check_pages: bool,
    /// Whether the file is only looked at, whatever its state: not a byte of it is written, and
    /// where its index cannot be read, entries are found by reading all of them.
    pub examine: bool,
    /// The index is written out once this many commits wait for it,
    pub index_commits: u64,
    /// or this many rows,
    pub index_rows: u64,
    /// or this many bytes.
    pub index_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cache_bytes: CACHE_BYTES,
            check_pages: false,
            examine: false,
            index_commits: INDEX_COMMITS,
            index_rows: 4_096,
            index_bytes: 8 << 20,
        }
    }
}

/// A store file of redb.
pub struct RedbBackend {
    name: String,
    open: Opener,
    settings: Settings,
    epoch: Epoch,
    state: RwLock<State>,
    /// Held by whoever writes, and by whoever closes and opens the file: a file is never closed
    /// under a write transaction.
    writer: Mutex<()>,
    /// The newest generation that met an error.
    failed: AtomicU64,
    /// The newest generation that met damage.
    damaged: AtomicU64,
    /// How many inspections run: see [`RedbBackend::run_reading`].
    inspections: AtomicU64,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is read and written, by nobody else meanwhile.
    Write,
    /// It is never changed, and others may read it; what redb writes is kept in memory. A file
    /// whose writer was killed is repaired there.
    Read,
}

/// Told, while redb repairs a file whose writer was killed, how much of it is done: from 0 on, and
/// 1 when it is over.
pub type OnRepair = Arc<dyn Fn(f64) + Send + Sync>;

struct Opener {
    storage: OpenStorage,
    on_repair: Option<OnRepair>,
}

type OpenStorage = Box<dyn Fn(&Builder) -> Result<(Database, Storage), Fault> + Send + Sync>;

struct State {
    /// How often the file was opened or was to be.
    generation: u64,
    live: Option<Live>,
    /// What the log held after the mark when the file was closed in health. The mark moves only
    /// to the end of the log, so while it stands, what comes after is all that is new.
    known: Option<Pending>,
}

struct Live {
    // Its transaction ends before the database is closed.
    moment: Arc<Moment>,
    database: Database,
    storage: Storage,
    epoch: Epoch,
    /// What the check of the pages found.
    damage: Option<String>,
}

/// What redb or a row had to say.
pub(super) enum Fault {
    Engine(redb::Error),
    /// A row is not what was written; redb itself is well.
    Row(String),
}

macro_rules! fault_from {
    ($($error:ident)*) => {$(
        impl From<redb::$error> for Fault {
            fn from(error: redb::$error) -> Self {
                Self::Engine(error.into())
            }
        }
    )*};
}
fault_from!(StorageError TableError TransactionError CommitError DatabaseError SetDurabilityError);

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Engine(redb::Error::Io(error))
    }
}

impl RedbBackend {
    /// Makes a new file; one that exists is left alone and is an error.
    pub fn create(path: &Path, epoch: Epoch, settings: Settings) -> Result<Self, BackendError> {
        drop(NewFile::create(path)?);
        let open = || File::options().read(true).write(true).open(path);
        let name = path.display().to_string();
        let storage = || Ok(disk::storage(FileBackend::new(open()?)?, path));
        let made = Self::make(&name, storage, epoch, settings);
        if made.is_err() {
            // The first error is the one to tell; a file that is left over is empty or foreign.
            let _ = disk::remove(path);
        }
        made?;
        Self::open(path, settings)
    }

    /// Opens a file that [`RedbBackend::create`] made; never makes one. redb locks it: whoever
    /// opens it meanwhile, in this process or another, gets [`BackendError::Locked`].
    pub fn open(path: &Path, settings: Settings) -> Result<Self, BackendError> {
        Self::open_as(path, Access::Write, settings, None)
    }

    /// The same with a choice of access, and with news of a repair. Whoever opens the file to
    /// write it is kept out also while it is only read.
    pub fn open_as(
        path: &Path,
        access: Access,
        settings: Settings,
        on_repair: Option<OnRepair>,
    ) -> Result<Self, BackendError> {
        let name = path.display().to_string();
        let place = path.to_owned();
        let path = path.to_owned();
        let file =
            move || match File::options().read(true).write(access == Access::Write).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Err(Fault::Row("the file is missing".into()))
                }
                opened => Ok(opened?),
            };
        let storage = match access {
            Access::Write => {
                let open = move || Ok(disk::storage(FileBackend::new(file()?)?, &place));
                existing(open, settings, Dropped::default())
            }
            Access::Read => {
                let open = move || {
                    let file = file()?;
                    match file.try_lock_shared() {
                        Ok(()) => Ok(CopyOnWrite::new(file)?),
                        Err(TryLockError::WouldBlock) => {
                            Err(DatabaseError::DatabaseAlreadyOpen.into())
                        }
                        Err(TryLockError::Error(error)) => Err(error.into()),
                    }
                };
                existing(open, settings, Dropped::default())
            }
        };
        Self::start(name, Opener { storage, on_repair }, settings)
    }

    /// Makes a store on another kind of storage, which must be empty.
    pub fn create_on<S: StorageBackend>(
        name: impl Into<String>,
        open: impl Fn() -> io::Result<S> + Send + Sync + 'static,
        epoch: Epoch,
        settings: Settings,
    ) -> Result<Self, BackendError> {
        let name = name.into();
        Self::make(&name, || Ok(open()?), epoch, settings)?;
        Self::open_on(name, open, settings)
    }

    /// Opens a store on another kind of storage. `open` is called again after every error and
    /// must give the same bytes each time; `name` stands in messages.
    pub fn open_on<S: StorageBackend>(
        name: impl Into<String>,
        open: impl Fn() -> io::Result<S> + Send + Sync + 'static,
        settings: Settings,
    ) -> Result<Self, BackendError> {
        let storage = existing(move || Ok(open()?), settings, Dropped::default());
        Self::start(name.into(), Opener { storage, on_repair: None }, settings)
    }

    /// The bytes that were given when the file was made.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Closes the file until it is used again. No view of it may be left.
    pub fn release(&self) {
        let _writer = self.lock();
        self.close(&mut self.state.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// How many bytes of the file are in use, as redb counts its pages. The file itself grows
    /// by doubling, so its length says little.
    pub fn allocated_bytes(&self) -> Result<u64, BackendError> {
        let writer = self.lock();
        self.ready(&writer)?;
        self.with_live(|generation, live| {
            self.run(generation, || {
                let transaction = live.database.begin_write()?;
                let stats = transaction.stats()?;
                transaction.abort()?;
                Ok(stats.allocated_pages() * stats.page_size() as u64)
            })
        })
    }

    fn start(name: String, open: Opener, settings: Settings) -> Result<Self, BackendError> {
        let live = guarded(&name, || load(&open, &settings, None))?;
        Ok(Self {
            name,
            open,
            settings,
            epoch: live.epoch,
            state: RwLock::new(State { generation: 1, live: Some(live), known: None }),
            writer: Mutex::new(()),
            failed: AtomicU64::new(0),
            damaged: AtomicU64::new(0),
            inspections: AtomicU64::new(0),
        })
    }

    /// Fills storage that is empty.
    fn make<S: StorageBackend>(
        name: &str,
        open: impl Fn() -> Result<S, Fault>,
        epoch: Epoch,
        settings: Settings,
    ) -> Result<(), BackendError> {
        guarded(name, || {
            let storage = open()?;
            if storage.len()? != 0 {
                return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
            }
            let database = builder(&settings).create_with_backend(storage)?;
            let transaction = database.begin_write()?;
            for table in rows::TABLES {
                transaction.open_table(definition(table))?;
            }
            {
                let mut meta = write(&transaction, META)?;
                meta.put(SCHEMA, rows::encode_number(rows::SCHEMA_VERSION).to_vec())?;
                meta.put(EPOCH, epoch.to_vec())?;
                meta.put(MARK, rows::encode_number(0).to_vec())?;
                meta.put(MOVES_MARK, rows::encode_number(0).to_vec())?;
                for table in ["refs", REFLOGS, "staging", "staging_tombstones"] {
                    meta.put(&rows::count_key(table), rows::encode_number(0).to_vec())?;
                }
            }
            transaction.commit()?;
            Ok(database.close()?)
        })
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs calls of redb; after an error of redb, or a panic, the file will be opened again.
    pub(super) fn run<T>(
        &self,
        generation: u64,
        work: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<T, BackendError> {
        self.run_unless(generation, false, work)
    }

    /// The same for calls that only read. While the file is inspected damage does not close it:
    /// the inspection would lose what it reads, and opened again the file is as damaged.
    pub(super) fn run_reading<T>(
        &self,
        generation: u64,
        work: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<T, BackendError> {
        self.run_unless(generation, self.inspections.load(Ordering::SeqCst) > 0, work)
    }

    fn run_unless<T>(
        &self,
        generation: u64,
        is_inspected: bool,
        work: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<T, BackendError> {
        // What is not said below is a panic.
        let (mut is_well, mut is_damaged) = (false, true);
        let result = guarded(&self.name, || {
            let result = work();
            is_well = !matches!(result, Err(Fault::Engine(_)));
            is_damaged = matches!(result, Err(Fault::Engine(redb::Error::Corrupted(_))));
            result
        });
        if is_damaged {
            self.damaged.fetch_max(generation, Ordering::SeqCst);
        }
        let is_kept = is_inspected && is_damaged;
        if !is_well && !is_kept {
            self.fail(generation);
        }
        result
    }

    fn fail(&self, generation: u64) {
        self.failed.fetch_max(generation, Ordering::SeqCst);
    }

    fn is_ready(&self, state: &State) -> bool {
        state.live.is_some() && self.failed.load(Ordering::SeqCst) < state.generation
    }

    /// Opens the file unless it is open and well.
    fn ready(&self, _writer: &MutexGuard<'_, ()>) -> Result<(), BackendError> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if self.is_ready(&state) {
            return Ok(());
        }
        // The lock on the file goes with the old database, so that must be gone first.
        self.close(&mut state);
        state.generation += 1;
        let known = state.known.take();
        // What was closed in health has had its pages checked before.
        let check_pages = self.settings.check_pages && known.is_none();
        let settings = Settings { check_pages, ..self.settings };
        state.live = Some(guarded(&self.name, || {
            let live = load(&self.open, &settings, known)?;
            if live.epoch == self.epoch {
                Ok(live)
            } else {
                Err(Fault::Row("the file was replaced by another store's".into()))
            }
        })?);
        Ok(())
    }

    /// Closes the file. Whatever goes wrong here was not promised to anyone: publish has
    /// answered before.
    fn close(&self, state: &mut State) {
        let is_ready = self.is_ready(state);
        let Some(live) = state.live.take() else { return };
        let Live { moment, database, storage, damage, .. } = live;
        let is_well = is_ready && damage.is_none();
        state.known = Arc::into_inner(moment).filter(|_| is_well).map(|moment| moment.pending);
        if damage.is_some() || self.damaged.load(Ordering::SeqCst) >= state.generation {
            storage.detach();
            std::mem::forget(database);
        } else {
            let _ = storage.write_dropped(); // tried again before the next write
            let _ = catch_unwind(AssertUnwindSafe(move || drop(database)));
        }
    }

    fn with_live<T>(
        &self,
        work: impl FnOnce(u64, &Live) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        match &state.live {
            Some(live) => work(state.generation, live),
            None => Err(BackendError::Io(io::ErrorKind::NotConnected.into())),
        }
    }

    fn moment(&self) -> Result<RedbView<'_>, BackendError> {
        let is_ready = self.is_ready(&self.state.read().unwrap_or_else(PoisonError::into_inner));
        if !is_ready {
            self.ready(&self.lock())?;
        }
        self.with_live(|generation, live| {
            Ok(RedbView { backend: self, generation, moment: Arc::clone(&live.moment) })
        })
    }

    fn write(&self, batch: &Batch) -> Result<(), PublishError> {
        if self.settings.examine {
            let what = format!("{}: the file is open to be examined, not to be written", self.name);
            return Err(BackendError::Refused(Box::new(Error::invalid(what))).into());
        }
        let writer = self.lock();
        self.ready(&writer)?;
        self.with_live(|_, live| Ok(live.storage.write_dropped()?))?;
        let mut at = 0;
        let result = self.write_ready(batch, &mut at);
        if matches!(result, Err(PublishError::Backend(_))) {
            self.fail(at);
        }
        result
    }

    fn write_ready(&self, batch: &Batch, at: &mut u64) -> Result<(), PublishError> {
        let mut moved = None;
        let built = self.with_live(|generation, live| {
            *at = generation;
            self.run(generation, || {
                if let Some(what) = &live.damage {
                    return Err(Fault::Row(format!("{what}; it can be read, but not written")));
                }
                let transaction = live.database.begin_write()?;
                match publish::publish(&transaction, &live.moment.pending, batch, &self.settings) {
                    Ok(written) => Ok(Some((transaction, written))),
                    Err(Refused::Fault(fault)) => Err(fault),
                    Err(Refused::Moved(error)) => {
                        moved = Some(error);
                        transaction.abort()?;
                        Ok(None)
                    }
                }
            })
        })?;
        if let Some(error) = moved {
            return Err(error);
        }
        let Some((transaction, written)) = built else { return Ok(()) };
        // Readers go on with the moment before while this syncs.
        let next = self.with_live(|_, live| {
            self.run(*at, || {
                transaction.commit()?;
                Ok(live.database.begin_read()?)
            })
        })?;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = &mut state.live {
            self.run(*at, || Moment::advance(&mut live.moment, next, batch, written))?;
        }
        Ok(())
    }
}

impl Backend for RedbBackend {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        Ok(Box::new(self.moment()?))
    }

    fn known_tip(&self, name: &BranchName) -> Option<Option<CommitId>> {
        let state = self.state.try_read().ok().filter(|state| self.is_ready(state))?;
        state.live.as_ref()?.moment.tips.as_ref().map(|tips| tips.get(name).copied())
    }

    fn publish(&self, batch: &Batch) -> Result<(), PublishError> {
        if batch.is_empty() { Ok(()) } else { self.write(batch) }
    }

    fn damage(&self) -> Option<String> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let what = state.live.as_ref()?.damage.as_ref()?;
        Some(format!("{}: {what}", self.name))
    }

    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError> {
        let moment = self.moment()?;
        self.inspections.fetch_add(1, Ordering::SeqCst);
        let inspected = catch_unwind(AssertUnwindSafe(|| check::inspect(&moment, tell)));
        self.inspections.fetch_sub(1, Ordering::SeqCst);
        if self.damaged.load(Ordering::SeqCst) >= moment.generation {
            self.fail(moment.generation);
        }
        inspected.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Drop for RedbBackend {
    fn drop(&mut self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        self.close(&mut state);
    }
}

impl fmt::Debug for RedbBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbBackend").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whether the header of a file says that redb has it open: where nobody has, it was not closed.
pub(crate) fn is_open(path: &Path) -> bool {
    let mut header = [0; FLAGS + 1];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    let [.., flags] = header;
    read.is_ok() && header.starts_with(b"redb") && flags & OPEN != 0
}

fn builder(settings: &Settings) -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(settings.cache_bytes);
    builder.set_check_integrity_on_open(settings.check_pages);
    builder
}

/// Opens storage that holds something: redb would fill empty storage.
fn existing<S: StorageBackend>(
    open: impl Fn() -> Result<S, Fault> + Send + Sync + 'static,
    settings: Settings,
    dropped: Dropped,
) -> OpenStorage {
    Box::new(move |builder| {
        let open = || {
            let storage = open()?;
            if storage.len()? == 0 {
                return Err(Fault::Row("the file is empty".into()));
            }
            Ok(storage)
        };
        if settings.examine {
            let (storage, handle) =
                Detachable::open(&dropped, || Ok::<_, Fault>(CopyOnWrite::over(open()?)?))?;
            return Ok((builder.create_with_backend(storage)?, handle));
        }
        let (storage, handle) = Detachable::open(&dropped, open)?;
        Ok((builder.create_with_backend(storage)?, handle))
    })
}

/// Opens the file and reads what the index does not know yet.
fn load(open: &Opener, settings: &Settings, known: Option<Pending>) -> Result<Live, Fault> {
    let was_repaired = Arc::new(AtomicBool::new(false));
    let live = load_with(open, settings, known, &was_repaired);
    if let Some(tell) = open.on_repair.as_ref().filter(|_| was_repaired.load(Ordering::SeqCst)) {
        tell(1.0);
    }
    live
}

fn load_with(
    open: &Opener,
    settings: &Settings,
    known: Option<Pending>,
    was_repaired: &Arc<AtomicBool>,
) -> Result<Live, Fault> {
    let opened = |settings: &Settings| {
        let mut builder = builder(settings);
        if let Some(tell) = open.on_repair.clone() {
            let was_repaired = Arc::clone(was_repaired);
            builder.set_repair_callback(move |session| {
                was_repaired.store(true, Ordering::SeqCst);
                tell(session.progress());
            });
        }
        (open.storage)(&builder)
    };
    let (database, storage, damage) = match opened(settings) {
        Ok((database, storage)) => (database, storage, None),
        Err(Fault::Engine(redb::Error::Corrupted(_))) if settings.check_pages => {
            let unchecked = Settings { check_pages: false, ..*settings };
            let (database, storage) = opened(&unchecked)?;
            (database, storage, Some("a page of the file is not what was written".into()))
        }
        Err(fault) => return Err(fault),
    };
    storage.is_open();
    // A database that panicked, or that is known to be damaged, is not closed.
    let read = catch_unwind(AssertUnwindSafe(|| read_moment(&database, known, damage.clone())));
    let is_closed_by_redb = damage.is_none() && read.is_ok();
    let why = match read {
        Ok(Ok((epoch, moment))) => {
            return Ok(Live { moment: Arc::new(moment), database, storage, epoch, damage });
        }
        Ok(Err(fault)) => fault,
        Err(_) => Fault::Row(STOPPED.into()),
    };
    if settings.examine
        && let Fault::Row(what) = &why
        && let damage = damage.as_ref().unwrap_or(what).clone()
        && let Ok(moment) = catch_unwind(AssertUnwindSafe(|| {
            let pending = check::whole_log(&database)?;
            Moment::examined(database.begin_read()?, pending, damage.clone())
        }))
    {
        let (moment, epoch) = (Arc::new(moment?), Epoch::default());
        return Ok(Live { moment, database, storage, epoch, damage: Some(damage) });
    }
    if !is_closed_by_redb {
        storage.detach();
        std::mem::forget(database);
    }
    Err(why)
}

fn read_moment(
    database: &Database,
    known: Option<Pending>,
    damage: Option<String>,
) -> Result<(Epoch, Moment), Fault> {
    let transaction = database.begin_read()?;
    let meta = read(&transaction, META)?;
    let schema = read_number(&meta, SCHEMA)?;
    if schema != rows::SCHEMA_VERSION {
        return Err(Fault::Row(format!("the file has the layout {schema}, which is unknown")));
    }
    let epoch = meta.get(EPOCH)?.and_then(|value| value.as_slice().try_into().ok());
    let epoch = epoch.ok_or_else(|| meta.damaged(EPOCH))?;
    let mark = read_number(&meta, MARK)?;
    let end = read(&transaction, LOG)?.len()?;
    if mark > end {
        return Err(meta.damaged(MARK));
    }
    let known = known.filter(|known| known.mark == mark && known.end <= end);
    let known = known.unwrap_or_else(|| Pending::from(mark));
    let moment = Moment::new(transaction, known, damage)?;
    Ok((epoch, moment))
}

fn definition(table: &'static str) -> TableDefinition<'static, Bytes, Bytes> {
    TableDefinition::new(table)
}

pub(super) fn read(
    transaction: &ReadTransaction,
    table: &'static str,
) -> Result<Rows<ReadOnlyTable<Bytes, Bytes>>, Fault> {
    Ok(Rows::new(table, transaction.open_table(definition(table))?))
}

pub(super) fn write<'t>(
    transaction: &'t WriteTransaction,
    table: &'static str,
) -> Result<Rows<Table<'t, Bytes, Bytes>>, Fault> {
    Ok(Rows::new(table, transaction.open_table(definition(table))?))
}

/// Runs calls of redb: a panic is damage that redb did not expect.
fn guarded<T>(name: &str, work: impl FnOnce() -> Result<T, Fault>) -> Result<T, BackendError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(fault)) => Err(translate(name, fault)),
        Err(_) => Err(BackendError::Corrupt(format!("{name}: {STOPPED}"))),
    }
}

fn translate(name: &str, fault: Fault) -> BackendError {
    use redb::Error;
    let corrupt = |what: &dyn fmt::Display| BackendError::Corrupt(format!("{name}: {what}"));
    match fault {
        Fault::Row(what) => corrupt(&what),
        Fault::Engine(Error::DatabaseAlreadyOpen | Error::LockProtocolMismatch) => {
            BackendError::Locked
        }
        Fault::Engine(Error::Io(error)) => match error.kind() {
            io::ErrorKind::InvalidData => corrupt(&"the file was not written by redb"),
            io::ErrorKind::UnexpectedEof => corrupt(&"the file ends too early"),
            kind => BackendError::Io(io::Error::new(kind, format!("{name}: {error}"))),
        },
        Fault::Engine(error @ (Error::PreviousIo | Error::DatabaseClosed)) => {
            BackendError::Io(io::Error::other(error))
        }
        Fault::Engine(error) => corrupt(&error),
    }
}
