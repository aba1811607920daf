//! The tables of an original store as a backend: objects, branches and what is staged.
//!
//! It kept no records and no local rows; its index of what each commit changed is derived and
//! not read. Whoever asks for a record is told that there is none, and walks.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::{Bound, RangeBounds, RangeInclusive};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use redb2::{
    Database, Key, ReadOnlyTable, ReadTransaction, ReadableTable, TableDefinition, TableError,
    Value,
};

use super::storage::Storage;
use crate::backend::descriptor::Descriptor;
use crate::backend::redb::CopyOnWrite;
use crate::backend::{
    ALL_ROWS, Backend, BackendError, Batch, Entry, Flaw, Found, LocalRow, LocalTable, Number,
    Outcome, PublishError, Record, RowRange, View, is_empty_range,
};
use crate::codec::{Encoded, strict};
use crate::error::{Error, ErrorKind, Hint};
use crate::id::{BranchName, CommitId, NodeId, ObjectId};
use crate::object::Kind;

pub(super) const OBJECTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("objects");
pub(super) const REFS: TableDefinition<'_, &str, &[u8; 32]> = TableDefinition::new("refs");
pub(super) const STAGING: TableDefinition<'_, &str, &[u8; 32]> = TableDefinition::new("staging");
pub(super) const TOMBSTONES: TableDefinition<'_, &str, ()> =
    TableDefinition::new("staging_tombstones");

/// Where redb notes in a file's header how it was left, and the bit that says: open.
const FLAGS: usize = 9;
const UNCLEAN: u8 = 2;
/// Where the two newest commits say of which version the file is, and what redb 2 wrote.
const VERSIONS: [usize; 2] = [64, 192];
const VERSION: u8 = 2;

/// The page cache of redb, in bytes.
const CACHE_BYTES: usize = 64 << 20;

/// The data file of an original store.
pub struct OriginalBackend {
    name: String,
    /// There until it is dropped, which may panic on a damaged file.
    database: Option<Database>,
    was_killed: bool,
    /// Every object in the order of the ids, once somebody asks for a number.
    ids: OnceLock<Vec<ObjectId>>,
}

/// What redb had to say.
struct Fault(Box<redb2::Error>);

impl<E: Into<redb2::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self(Box::new(error.into()))
    }
}

impl OriginalBackend {
    /// Reads a file that its caller has locked: nobody may write it while this is open. The lock
    /// goes with this. `name` stands in messages; `check_pages` reads the whole file and checks
    /// every page.
    pub(crate) fn open(
        file: Descriptor<CopyOnWrite>,
        name: impl Into<String>,
        check_pages: bool,
    ) -> Result<Self, BackendError> {
        let name = name.into();
        if file.with(CopyOnWrite::is_empty).unwrap_or_default() {
            // redb would take it for a new one.
            return Err(BackendError::Corrupt(format!("{name}: the file is empty")));
        }
        let repaired = Arc::new(AtomicBool::new(false));
        let note = Arc::clone(&repaired);
        let mut was_killed = false;
        let database = guarded(&name, || {
            let storage = Storage(file);
            let mut header = [0; VERSIONS[1] + 1];
            storage.read_at(0, &mut header)?;
            if VERSIONS.iter().all(|at| header.get(*at) != Some(&VERSION)) {
                return Err(corrupted("the file is not one of format version 1"));
            }
            was_killed = header[FLAGS] & UNCLEAN != 0;
            let mut builder = Database::builder();
            builder.set_cache_size(CACHE_BYTES);
            builder.set_repair_callback(move |_| note.store(true, Ordering::Relaxed));
            let mut database = builder.create_with_backend(storage)?;
            if repaired.load(Ordering::Relaxed) && !was_killed {
                // It fell back to an older commit.
                return Err(corrupted("the header is not what was written"));
            }
            if check_pages && !database.check_integrity()? {
                return Err(corrupted("a page is not what was written"));
            }
            Ok(database)
        })?;
        Ok(Self { name, database: Some(database), was_killed, ids: OnceLock::new() })
    }

    /// Whether its writer was killed.
    pub fn was_killed(&self) -> bool {
        self.was_killed
    }

    /// What every write is answered.
    pub(crate) fn read_only(place: impl fmt::Display) -> Error {
        let message =
            format!("{place} has format version 1, which this release reads and does not write");
        Error::new(ErrorKind::FormatVersion, message).hint(Hint::Migrate)
    }

    fn at_once(&self) -> Result<OriginalView<'_>, BackendError> {
        let Some(database) = &self.database else {
            return Err(io::Error::from(io::ErrorKind::NotConnected).into());
        };
        let transaction = self.ask(|| Ok(database.begin_read()?))?;
        Ok(OriginalView { backend: self, transaction })
    }

    fn ask<T>(&self, question: impl FnOnce() -> Result<T, Fault>) -> Result<T, BackendError> {
        guarded(&self.name, question)
    }
}

impl Backend for OriginalBackend {
    fn name(&self) -> &'static str {
        "original"
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        Ok(Box::new(self.at_once()?))
    }

    fn publish(&self, _: &Batch) -> Result<(), PublishError> {
        Err(BackendError::Refused(Box::new(Self::read_only(&self.name))).into())
    }

    fn damage(&self) -> Option<String> {
        None
    }

    /// Objects are told in the order of their ids. There are no records and no other rows.
    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError> {
        let view = self.at_once()?;
        for (place, id) in view.all_ids()?.iter().enumerate() {
            let number = Number(place as u64);
            tell(match view.object(id) {
                Ok(Outcome::Present(bytes)) => entry(number, id, &bytes),
                Ok(_) => Found::Flaw(Flaw::Entry(number, format!("the object {id} is missing"))),
                Err(BackendError::Corrupt(why)) => Found::Flaw(Flaw::Entry(number, why)),
                Err(error) => return Err(error),
            });
        }
        for (name, commit) in view.references()? {
            tell(Found::Reference(name, commit));
        }
        for table in [LocalTable::Staging, LocalTable::StagingTombstones] {
            for row in view.rows(table, ALL_ROWS)? {
                tell(Found::Row(table, row));
            }
        }
        Ok(())
    }
}

impl Drop for OriginalBackend {
    fn drop(&mut self) {
        let database = self.database.take();
        let _ = catch_unwind(AssertUnwindSafe(move || drop(database)));
    }
}

impl fmt::Debug for OriginalBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OriginalBackend").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The file at one moment; it has no other.
struct OriginalView<'b> {
    backend: &'b OriginalBackend,
    transaction: ReadTransaction,
}

impl OriginalView<'_> {
    /// Asks a table; the original makes one with its first row.
    fn table<K: Key + 'static, V: Value + 'static, T: Default>(
        &self,
        definition: TableDefinition<'_, K, V>,
        question: impl FnOnce(ReadOnlyTable<K, V>) -> Result<T, Fault>,
    ) -> Result<T, BackendError> {
        self.backend.ask(|| match self.transaction.open_table(definition) {
            Ok(table) => question(table),
            Err(TableError::TableDoesNotExist(_)) => Ok(T::default()),
            Err(error) => Err(error.into()),
        })
    }

    /// Every object, in the order of the ids.
    fn all_ids(&self) -> Result<&[ObjectId], BackendError> {
        if let Some(ids) = self.backend.ids.get() {
            return Ok(ids);
        }
        let ids = self.table(OBJECTS, |table| {
            let mut ids = Vec::new();
            for row in table.iter()? {
                ids.push(object_id(row?.0.value())?);
            }
            Ok(ids)
        })?;
        Ok(self.backend.ids.get_or_init(|| ids))
    }

    /// Every row of a small table, in the order of the keys.
    fn all<K, V, T>(
        &self,
        definition: TableDefinition<'_, K, V>,
        row: impl Fn(K::SelfType<'_>, V::SelfType<'_>) -> T,
    ) -> Result<Vec<T>, BackendError>
    where
        K: Key + 'static,
        V: Value + 'static,
    {
        self.table(definition, |table| {
            let mut found = Vec::new();
            for pair in table.iter()? {
                let (key, value) = pair?;
                found.push(row(key.value(), value.value()));
            }
            Ok(found)
        })
    }
}

impl View for OriginalView<'_> {
    fn object(&self, id: &ObjectId) -> Result<Outcome, BackendError> {
        let bytes = self.table(OBJECTS, |table| {
            Ok(table.get(id.as_bytes().as_slice())?.map(|bytes| Arc::from(bytes.value())))
        })?;
        Ok(bytes.map_or(Outcome::Absent, Outcome::Present))
    }

    /// The original kept no order; it is that of the ids.
    fn number(&self, id: &ObjectId) -> Result<Option<Number>, BackendError> {
        Ok(self.all_ids()?.binary_search(id).ok().map(|place| Number(place as u64)))
    }

    fn reference(&self, name: &BranchName) -> Result<Option<CommitId>, BackendError> {
        self.table(REFS, |table| {
            let commit = table.get(name.as_str())?;
            Ok(commit.map(|commit| CommitId::from_bytes(*commit.value())))
        })
    }

    fn references(&self) -> Result<BTreeMap<BranchName, CommitId>, BackendError> {
        let row = |name: &str, commit: &[u8; 32]| {
            (BranchName::from_stored(name), CommitId::from_bytes(*commit))
        };
        Ok(self.all(REFS, row)?.into_iter().collect())
    }

    fn record(&self, _: &CommitId) -> Result<Option<(Number, Record)>, BackendError> {
        Ok(None)
    }

    fn records(
        &self,
        _: Option<&BranchName>,
        _: Option<Number>,
        _: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        Ok(Vec::new())
    }

    fn changes(
        &self,
        _: &NodeId,
        _: Option<Number>,
        _: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        Ok(Vec::new())
    }

    fn rows(&self, table: LocalTable, range: RowRange) -> Result<Vec<LocalRow>, BackendError> {
        if is_empty_range(&range) {
            return Ok(Vec::new());
        }
        let mut rows: Vec<LocalRow> = match table {
            LocalTable::Staging => self.all(STAGING, |id: &str, version: &[u8; 32]| {
                (id.as_bytes().to_vec(), version.to_vec())
            })?,
            LocalTable::StagingTombstones => {
                self.all(TOMBSTONES, |id: &str, (): ()| (id.as_bytes().to_vec(), Vec::new()))?
            }
            LocalTable::Local | LocalTable::Meta => Vec::new(),
        };
        rows.retain(|(key, _)| range.contains(key));
        Ok(rows)
    }

    fn ids(
        &self,
        range: RangeInclusive<ObjectId>,
        limit: usize,
    ) -> Result<Vec<(ObjectId, Kind)>, BackendError> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        self.table(OBJECTS, |table| {
            let [start, end] = [range.start(), range.end()].map(|id| id.as_bytes().as_slice());
            let rows = table.range::<&[u8]>((Bound::Included(start), Bound::Included(end)))?;
            let mut found = Vec::new();
            for row in rows.take(limit) {
                let (id, bytes) = row?;
                let id = object_id(id.value())?;
                // What cannot be decoded is listed too, so that who reads everything meets it.
                let kind = strict::decode(bytes.value()).map_or(Kind::Node, |it| it.kind());
                found.push((id, kind));
            }
            Ok(found)
        })
    }
}

fn object_id(key: &[u8]) -> Result<ObjectId, Fault> {
    ObjectId::from_slice(key).ok_or_else(|| corrupted("the table objects has a key that is no id"))
}

/// A row of the objects, as an inspection tells it.
fn entry(number: Number, id: &ObjectId, bytes: &[u8]) -> Found {
    match Encoded::decode(bytes) {
        Ok((object, _)) if object.id() == *id => Found::Entry(number, Entry::Object(object)),
        Ok(_) => Found::Flaw(Flaw::Entry(number, format!("the object {id} was altered"))),
        Err(error) => {
            let why = format!("the object {id} cannot be read: {error}");
            Found::Flaw(Flaw::Entry(number, why))
        }
    }
}

fn corrupted(what: &str) -> Fault {
    redb2::Error::Corrupted(what.to_owned()).into()
}

/// Runs calls of redb: it asserts what a damaged file does not hold.
fn guarded<T>(name: &str, work: impl FnOnce() -> Result<T, Fault>) -> Result<T, BackendError> {
    use redb2::Error;
    let corrupt = |what: &dyn fmt::Display| BackendError::Corrupt(format!("{name}: {what}"));
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(Fault(error))) => Err(match *error {
            Error::Io(error) => match error.kind() {
                io::ErrorKind::InvalidData => corrupt(&"the file was not written by redb"),
                io::ErrorKind::UnexpectedEof => corrupt(&"the file ends too early"),
                _ => BackendError::Io(error),
            },
            Error::Corrupted(what) => corrupt(&what),
            error => corrupt(&error),
        }),
        Err(_) => Err(corrupt(&"damage stopped the engine")),
    }
}
