//! 3. Where bytes live: a backend gives a view of one moment and publishes a batch whole or
//!    not at all.
//!
//! Objects are immutable and named by their hash, so only branches need a precondition; a
//! batch with preconditions is what every engine can do, also one beyond this machine.

pub mod cache;
#[cfg(feature = "test-support")]
pub mod conformance;
#[cfg(feature = "test-support")]
pub mod counting;
pub(crate) mod descriptor;
pub(crate) mod disk;
pub mod memory;
pub mod original;
pub(crate) mod overlay;
pub mod record;
pub mod redb;
#[cfg(feature = "test-support")]
pub mod storage;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;

#[cfg(feature = "test-support")]
pub use disk::watch;
pub use memory::MemoryBackend;
pub use original::OriginalBackend;
pub use record::{Change, ChangeSet, Derived, Operation, Position, Record, Skip};
pub use redb::RedbBackend;

use crate::codec::Encoded;
use crate::error::{Error, ErrorKind, Hint};
use crate::id::{BranchName, CommitId, NodeId, ObjectId};
use crate::object::Kind;

/// A place where bytes live.
pub trait Backend: Send + Sync + Debug {
    /// The name that `config` records.
    fn name(&self) -> &'static str;

    /// The store at one moment. Never kept beyond the call that took it.
    fn view(&self) -> Result<Box<dyn View + '_>, BackendError>;

    /// Where a branch points, where that can be told without waiting for a disk or for anybody.
    fn known_tip(&self, _name: &BranchName) -> Option<Option<CommitId>> {
        None
    }

    /// Publishes a batch whole or not at all; durable when it returns.
    fn publish(&self, batch: &Batch) -> Result<(), PublishError>;

    /// What is known to be wrong with the place as a whole. It may still be read, row by row.
    fn damage(&self) -> Option<String>;

    /// Tells all that is stored at one moment, as it stands, and what of it does not hold
    /// together. Goes on behind damage; what is damaged is told as a flaw and not shown.
    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError>;
}

impl<B: Backend + ?Sized> Backend for Arc<B> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        (**self).view()
    }

    fn known_tip(&self, name: &BranchName) -> Option<Option<CommitId>> {
        (**self).known_tip(name)
    }

    fn publish(&self, batch: &Batch) -> Result<(), PublishError> {
        (**self).publish(batch)
    }

    fn damage(&self) -> Option<String> {
        (**self).damage()
    }

    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError> {
        (**self).inspect(tell)
    }
}

/// What an inspection comes upon: entries in the order of their numbers, then the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// An object or a record.
    Entry(Number, Entry),
    /// A branch, and where it points.
    Reference(BranchName, CommitId),
    /// A local row.
    Row(LocalTable, LocalRow),
    /// Something that does not hold together.
    Flaw(Flaw),
}

/// What a backend finds wrong with its own rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// An entry cannot be read. The sentence says why.
    Entry(Number, String),
    /// Another row cannot be read, or a table has lost some.
    Row(String),
    /// What finds entries does not find this one, or finds what is not there.
    Index(String),
    /// An object is stored a second time; the first counts.
    Twice {
        /// The object.
        id: ObjectId,
        /// Where it counts.
        first: Number,
        /// Where it stands again.
        again: Number,
    },
}

/// Told the bytes of objects, each with its place among those that were asked for.
pub type Tell<'t> = dyn FnMut(usize, &[u8]) + 't;

/// The store at one moment.
pub trait View {
    /// The bytes of an object, as stored: whoever asks hashes them.
    fn object(&self, id: &ObjectId) -> Result<Outcome, BackendError>;

    /// Tells the bytes of many objects, as stored, in an order of the backend's own. What is not
    /// told is to be asked for by itself.
    fn objects(&self, ids: &[ObjectId], tell: &mut Tell<'_>) -> Result<(), BackendError> {
        for (at, id) in ids.iter().enumerate() {
            if let Outcome::Present(bytes) = self.object(id)? {
                tell(at, &bytes);
            }
        }
        Ok(())
    }

    /// Where an object stands among all that was published; none when it is not stored.
    fn number(&self, id: &ObjectId) -> Result<Option<Number>, BackendError>;

    /// The commit a branch points at.
    fn reference(&self, name: &BranchName) -> Result<Option<CommitId>, BackendError>;

    /// Every branch.
    fn references(&self) -> Result<BTreeMap<BranchName, CommitId>, BackendError>;

    /// The record that a commit came with: the entry right after it, when that is a record
    /// which names it as `new`.
    fn record(&self, commit: &CommitId) -> Result<Option<(Number, Record)>, BackendError>;

    /// Where a commit stands, as the record says that it came with.
    fn position(&self, commit: &CommitId) -> Result<Option<Position>, BackendError> {
        let derived = self.record(commit)?.and_then(|(_, record)| record.derived);
        Ok(derived.map(|derived| derived.position()))
    }

    /// Records, newest first, numbered below `before`; of one branch, or all.
    fn records(
        &self,
        branch: Option<&BranchName>,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError>;

    /// The last record of a branch that counts at a time: the one before the first that is later
    /// than `time`, whatever a clock that ran backwards says of those after it. Where the
    /// first record of the branch is later, that one; none where the branch has none.
    fn move_at(
        &self,
        branch: &BranchName,
        time: i64,
    ) -> Result<Option<(Number, Record)>, BackendError> {
        Ok(move_among(self.records(Some(branch), None, usize::MAX)?, time))
    }

    /// The records whose change set holds a node, newest first, numbered below `before`.
    ///
    /// Damage may make it miss some: used only where it holds together with the objects.
    fn changes(
        &self,
        node: &NodeId,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError>;

    /// The commits of [`View::changes`], newest first, and where they stand; none of a record that
    /// came without a commit of its own.
    fn changed(
        &self,
        node: &NodeId,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<Stands>, BackendError> {
        let found = self.changes(node, before, limit)?;
        Ok(found.iter().map(|(number, record)| (*number, record.stands())).collect())
    }

    /// Local rows in the order of their keys. Of [`LocalTable::Staging`] and
    /// [`LocalTable::StagingTombstones`], a row that was lost is an error to who asks for all.
    fn rows(&self, table: LocalTable, range: RowRange) -> Result<Vec<LocalRow>, BackendError>;

    /// Every stored, unerased object of a range, in id order.
    fn ids(
        &self,
        range: RangeInclusive<ObjectId>,
        limit: usize,
    ) -> Result<Vec<(ObjectId, Kind)>, BackendError>;
}

/// [`View::move_at`] as a walk: of all records of a branch, newest first.
fn move_among(records: Vec<(Number, Record)>, time: i64) -> Option<(Number, Record)> {
    let oldest = records.len().saturating_sub(1);
    let later = records.iter().rposition(|(_, record)| record.time > time);
    records.into_iter().nth(later.map_or(0, |later| (later + 1).min(oldest)))
}

/// A record, and the commit that came with it and where that stands.
pub type Stands = (Number, Option<(CommitId, Position)>);

/// A local row: key and value.
pub type LocalRow = (Vec<u8>, Vec<u8>);

/// A range of row keys.
pub type RowRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Every key.
pub const ALL_ROWS: RowRange = (Bound::Unbounded, Bound::Unbounded);

/// What stands under an object id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The object's bytes, not yet verified.
    Present(Arc<[u8]>),
    /// Nothing was ever stored under it.
    Absent,
    /// It was stored and erased on purpose.
    Erased,
}

/// The place of an object or record in the order in which a store received them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(pub u64);

/// Tables that belong to this store alone: in no hash, never exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LocalTable {
    /// Node id -> id of a staged node object.
    Staging,
    /// Node ids that are staged for removal.
    StagingTombstones,
    /// Rows of adapters: [`local_key`] -> bytes.
    Local,
    /// Facts about this store as a whole. Shows what [`RowEdit`]s wrote; what a backend notes
    /// for itself is not seen here.
    Meta,
}

impl LocalTable {
    /// Every table.
    pub const ALL: [Self; 4] = [Self::Staging, Self::StagingTombstones, Self::Local, Self::Meta];

    /// The name of the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Staging => "staging",
            Self::StagingTombstones => "staging_tombstones",
            Self::Local => "local",
            Self::Meta => "meta",
        }
    }
}

/// The key of a row in [`LocalTable::Local`]: the owner's name, its length first, then the key.
pub fn local_key(owner: &str, key: &[u8]) -> Vec<u8> {
    let length = u32::try_from(owner.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), owner.as_bytes(), key].concat()
}

/// What one publish writes. Objects and records are numbered in the order they were added;
/// the record of a new commit comes right after the commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Objects and records, in order.
    pub entries: Vec<Entry>,
    /// Moves of branches; a batch moves a branch at most once.
    pub refs: Vec<RefEdit>,
    /// Local rows; for one key the last edit counts.
    pub rows: Vec<RowEdit>,
}

/// An appended row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// An object. One that is already stored is not stored again and takes no number.
    Object(Encoded),
    /// A record.
    Record(Record),
}

/// The move of a branch, with what its mover believes it points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefEdit {
    /// The branch.
    pub name: BranchName,
    /// Where it must be for the batch to land.
    pub expected: Expected,
    /// Where it goes; `None` deletes it.
    pub new: Option<CommitId>,
}

/// Where a branch must be. There is no "anywhere".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The branch does not exist.
    Absent,
    /// The branch points at this commit.
    At(CommitId),
}

impl Expected {
    /// What it takes to move a branch from here.
    pub fn of(tip: Option<CommitId>) -> Self {
        tip.map_or(Self::Absent, Self::At)
    }

    /// The commit, unless the branch is to be absent.
    pub fn commit(self) -> Option<CommitId> {
        match self {
            Self::Absent => None,
            Self::At(commit) => Some(commit),
        }
    }
}

/// A change of a local row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowEdit {
    /// The table.
    pub table: LocalTable,
    /// The key.
    pub key: Vec<u8>,
    /// The new value; `None` deletes the row.
    pub value: Option<Vec<u8>>,
}

impl Batch {
    /// Adds an object.
    pub fn object(&mut self, object: Encoded) {
        self.entries.push(Entry::Object(object));
    }

    /// Adds a record.
    pub fn record(&mut self, record: Record) {
        self.entries.push(Entry::Record(record));
    }

    /// Moves a branch.
    pub fn reference(&mut self, name: BranchName, expected: Expected, new: Option<CommitId>) {
        self.refs.push(RefEdit { name, expected, new });
    }

    /// Sets or deletes a local row.
    pub fn row(&mut self, table: LocalTable, key: impl Into<Vec<u8>>, value: Option<Vec<u8>>) {
        self.rows.push(RowEdit { table, key: key.into(), value });
    }

    /// Whether there is nothing to publish.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.refs.is_empty() && self.rows.is_empty()
    }
}

/// Finds the first branch that is not where its mover believes it to be.
fn check_refs<E: From<PublishError>>(
    batch: &Batch,
    mut tip: impl FnMut(&BranchName) -> Result<Option<CommitId>, E>,
) -> Result<(), E> {
    for edit in &batch.refs {
        let found = tip(&edit.name)?;
        if found != edit.expected.commit() {
            return Err(PublishError::Moved { name: edit.name.clone(), found }.into());
        }
    }
    Ok(())
}

/// Whether no key can be in the range; ordered maps panic when asked for such a range.
fn is_empty_range((start, end): &RowRange) -> bool {
    match (start, end) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(start), Bound::Included(end)) => start > end,
        (
            Bound::Included(start) | Bound::Excluded(start),
            Bound::Included(end) | Bound::Excluded(end),
        ) => start >= end,
    }
}

/// Why a backend could not answer.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// Stored bytes are not what was written. The sentence names the row.
    #[error("{0}")]
    Corrupt(String),
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Another process holds the data file.
    #[error("another process holds the data file")]
    Locked,
    /// The store itself refused.
    #[error(transparent)]
    Refused(Box<Error>),
}

/// Why a batch did not land. Nothing of it did.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// A branch is not where it was expected.
    #[error("the branch {name} moved")]
    Moved {
        /// The branch.
        name: BranchName,
        /// Where it points.
        found: Option<CommitId>,
    },
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl From<BackendError> for Error {
    fn from(error: BackendError) -> Self {
        match error {
            BackendError::Corrupt(what) => Self::corrupt(what),
            BackendError::Refused(error) => *error,
            BackendError::Io(source) => Self::io("the store's data file", source),
            BackendError::Locked => {
                Self::new(ErrorKind::Busy, "another process holds the store").hint(Hint::WaitOrStop)
            }
        }
    }
}

impl From<PublishError> for Error {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Backend(error) => error.into(),
            PublishError::Moved { name, found } => {
                let place =
                    found.map_or_else(|| "is gone".into(), |id| format!("is at {}", id.short()));
                Self::conflict(format!(
                    "the branch {name} moved while this was written: it {place}"
                ))
                .hint(Hint::Retry)
            }
        }
    }
}
