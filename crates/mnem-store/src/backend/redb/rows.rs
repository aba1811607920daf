//! What the rows are: tables, keys, values, and the checksum that each value ends in.
//!
//! redb checks no page checksum when it reads, so the checksum of a row is what turns a flipped
//! bit into an error. It covers the table and the key too: a row is right only in its place.
//! That a row is **not** there is believed from its neighbours: a search that a damaged key has
//! led astray ends beside that key, or at a row that is out of order.

use std::cmp::Ordering;
use std::ops::Bound;

use redb::{AccessGuard, CursorError, CursorMut, ReadableTable, StorageError, Table};

use super::super::record::{self, MAX_INLINE_CHANGES};
use super::super::{
    ALL_ROWS, BranchName, CommitId, Kind, LocalTable, NodeId, Number, ObjectId, Record, RowRange,
};
use super::Fault;

pub(super) type Bytes = &'static [u8];

/// Number -> object, record or change set, appended.
pub(super) const LOG: &str = "log";
/// Object id -> kind and number.
pub(super) const WHERE: &str = "where";
/// Length of a node id, node id, number of a record that changed it -> nothing.
pub(super) const NODES: &str = "nodes";
/// Length of a branch name, branch name, place among its moves -> number of the record that moved
/// it, and the latest time so far.
pub(super) const MOVES: &str = "moves";
/// Branch name -> how many of its moves are in `moves`, and the latest time of them.
pub(super) const REFLOGS: &str = "reflogs";
/// Branch name -> commit id.
pub(super) const REFS: &str = "refs";
/// What the backend notes about the file, and rows of [`LocalTable::Meta`] under [`META_ROW`].
pub(super) const META: &str = "meta";

/// Every table of a store file.
pub(super) const TABLES: [&str; 10] = [
    LOG,
    WHERE,
    NODES,
    MOVES,
    REFLOGS,
    REFS,
    META,
    LocalTable::Staging.as_str(),
    LocalTable::StagingTombstones.as_str(),
    LocalTable::Local.as_str(),
];

/// The keys of `meta` that are the backend's own.
pub(super) const SCHEMA: &[u8] = b"schema";
pub(super) const EPOCH: &[u8] = b"epoch";
pub(super) const MARK: &[u8] = b"mark";
pub(super) const MOVES_MARK: &[u8] = b"mark moves";
/// The first byte of every key of `meta` that a batch wrote.
pub(super) const META_ROW: u8 = b'+';

/// The version of this layout.
pub(super) const SCHEMA_VERSION: u64 = 1;

/// From so many rows on it pays to append them at once.
const MANY_ROWS: usize = 32;

/// Bytes of checksum at the end of each value.
const CHECKSUM_BYTES: usize = 8;

/// The key in `meta` of the number of rows in a table.
pub(super) fn count_key(table: &str) -> Vec<u8> {
    format!("rows {table}").into_bytes()
}

fn checksum(table: &str, key: &[u8], value: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hasher = blake3::Hasher::new();
    for part in [table.as_bytes(), key] {
        hasher.update(&(part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.update(value);
    let mut bytes = [0; CHECKSUM_BYTES];
    hasher.finalize_xof().fill(&mut bytes);
    bytes
}

/// The value of a row with its checksum.
fn sealed(table: &str, key: &[u8], mut value: Vec<u8>) -> Vec<u8> {
    let sum = checksum(table, key, &value);
    value.extend_from_slice(&sum);
    value
}

/// The value of a row without its checksum; none where that says that it is not what was written.
pub(super) fn unsealed<'v>(table: &str, key: &[u8], sealed: &'v [u8]) -> Option<&'v [u8]> {
    let (value, sum) = sealed.split_last_chunk::<CHECKSUM_BYTES>()?;
    (*sum == checksum(table, key, value)).then_some(value)
}

/// A table of one transaction whose values are sealed as they go in and checked as they come out.
pub(super) struct Rows<T> {
    name: &'static str,
    table: T,
}

/// From which end a range is read.
#[derive(Clone, Copy)]
pub(super) enum Direction {
    Up,
    Down,
}

/// A row as it was put in: key and value.
pub(super) type Row = (Vec<u8>, Vec<u8>);

impl<T> Rows<T> {
    pub(super) fn new(name: &'static str, table: T) -> Self {
        Self { name, table }
    }

    fn verified<'v>(&self, key: &[u8], sealed: &'v [u8]) -> Result<&'v [u8], Fault> {
        unsealed(self.name, key, sealed).ok_or_else(|| self.damaged(key))
    }

    /// What is said of a row that is not what was written.
    pub(super) fn damaged(&self, key: &[u8]) -> Fault {
        damaged(self.name, key)
    }
}

fn damaged(table: &str, key: &[u8]) -> Fault {
    let key = match key.try_into() {
        Ok(number) if table == LOG => u64::from_be_bytes(number).to_string(),
        _ => match ObjectId::from_slice(key) {
            Some(id) if table == WHERE => id.to_string(),
            _ => key.escape_ascii().take(80).map(char::from).collect(),
        },
    };
    Fault::Row(format!("the row {key} of the table {table} is damaged"))
}

impl<T: ReadableTable<Bytes, Bytes>> Rows<T> {
    /// The value under a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        if let Some(value) = self.probe(key)? {
            return Ok(Some(value));
        }
        let at = (Bound::Included(key.to_vec()), Bound::Included(key.to_vec()));
        let found = self.range(at, Direction::Up)?.next().transpose()?;
        Ok(found.map(|(_, value)| value))
    }

    /// The value under a key; with a damaged neighbour it may be missed.
    pub(super) fn probe(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        match self.table.get(key)? {
            Some(sealed) => Ok(Some(self.verified(key, sealed.value())?.to_vec())),
            None => Ok(None),
        }
    }

    /// Where a row of `where` says that an object stands; none where there is no row, or one that
    /// says nothing. Not verified: what stands there is hashed.
    pub(super) fn place(&self, key: &[u8]) -> Result<Option<Number>, Fault> {
        let row = self.table.get(key)?;
        let sealed = row.as_ref().and_then(|row| row.value().split_last_chunk::<CHECKSUM_BYTES>());
        Ok(sealed.and_then(|(value, _)| decode_place(value)).map(|(_, number)| number))
    }

    /// What `read` makes of the bytes of an object in a row of `log`; none where the row is missing
    /// or says that it is something else. Not verified: whoever asked for the object hashes it.
    pub(super) fn object<R>(
        &self,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, Fault> {
        let row = self.table.get(key)?;
        let sealed = row.as_ref().and_then(|row| row.value().split_last_chunk::<CHECKSUM_BYTES>());
        Ok(match sealed {
            Some(([OBJECT, bytes @ ..], _)) => Some(read(bytes)),
            _ => None,
        })
    }

    /// The rows of a range, lowest key first or last.
    ///
    /// The row before them and the row after them are read and checked too.
    pub(super) fn range<'r>(
        &'r self,
        range: RowRange,
        direction: Direction,
    ) -> Result<impl Iterator<Item = Result<Row, Fault>> + 'r, Fault> {
        let (start, end) = &range;
        let whole = Bound::Unbounded::<&[u8]>;
        let (near, before, rows): (_, _, Box<dyn Iterator<Item = _> + 'r>) = match direction {
            Direction::Up => {
                let before = outside(start).map(|end| self.table.range::<&[u8]>((whole, end)));
                let before = before.transpose()?.and_then(|mut rows| rows.next_back());
                let rows = self.table.range::<&[u8]>((borrowed(start), whole))?;
                (Ordering::Less, before, Box::new(rows))
            }
            Direction::Down => {
                let before = outside(end).map(|start| self.table.range::<&[u8]>((start, whole)));
                let before = before.transpose()?.and_then(|mut rows| rows.next());
                let rows = self.table.range::<&[u8]>((whole, borrowed(end)))?;
                (Ordering::Greater, before, Box::new(rows.rev()))
            }
        };
        let mut last = None;
        if let Some(row) = before {
            let (key, sealed) = row?;
            self.verified(key.value(), sealed.value())?;
            if side(&range, key.value()) != near {
                return Err(self.damaged(key.value()));
            }
            last = Some(key.value().to_vec());
        }
        Ok(rows.map_while(move |row| self.next(row, &range, near, &mut last).transpose()))
    }

    /// The next row of a range, whose last one had this key; none when it is past the end, and
    /// then checked and not copied: it may be as large as a row can be.
    fn next(
        &self,
        row: Result<(AccessGuard<'_, Bytes>, AccessGuard<'_, Bytes>), StorageError>,
        range: &RowRange,
        near: Ordering,
        last: &mut Option<Vec<u8>>,
    ) -> Result<Option<Row>, Fault> {
        let (key, sealed) = row?;
        let key = key.value();
        let value = self.verified(key, sealed.value())?;
        let place = side(range, key);
        let last = last.replace(key.to_vec());
        if place == near || last.is_some_and(|last| last.as_slice().cmp(key) != near) {
            return Err(self.damaged(key));
        }
        Ok((place == Ordering::Equal).then(|| (key.to_vec(), value.to_vec())))
    }

    /// Every row of a table that should have `count` of them.
    pub(super) fn whole(&self, count: u64) -> Result<Vec<Row>, Fault> {
        let rows = self.range(ALL_ROWS, Direction::Up)?.collect::<Result<Vec<_>, _>>()?;
        if rows.len() as u64 == count {
            Ok(rows)
        } else {
            Err(Fault::Row(format!(
                "the table {} has {} rows, not the {count} that were written",
                self.name,
                rows.len()
            )))
        }
    }

    /// The number after the last row of `log`: found from the end, where damaged rows are passed
    /// over and counted.
    pub(super) fn end(&self) -> Result<u64, Fault> {
        let mut damaged = 0;
        for row in self.range(ALL_ROWS, Direction::Down)? {
            match row {
                Ok((key, _)) => {
                    let last = decode_number(&key).ok_or_else(|| self.damaged(&key))?;
                    return Ok(last + 1 + damaged);
                }
                Err(Fault::Row(_)) => damaged += 1,
                Err(fault) => return Err(fault),
            }
        }
        Ok(damaged)
    }

    /// How many rows the table says it has.
    pub(super) fn len(&self) -> Result<u64, Fault> {
        Ok(self.table.len()?)
    }
}

impl<'t> Rows<Table<'t, Bytes, Bytes>> {
    /// Sets a row; true when it was there.
    pub(super) fn put(&mut self, key: &[u8], value: Vec<u8>) -> Result<bool, Fault> {
        let sealed = sealed(self.name, key, value);
        Ok(self.table.insert(key, sealed.as_slice())?.is_some())
    }

    /// Adds about so many rows after all others.
    pub(super) fn appender(&mut self, rows: usize) -> Result<Appender<'_, 't>, Fault> {
        let end = if rows < MANY_ROWS {
            End::Few(&mut self.table)
        } else {
            End::Many(Box::new(self.table.upper_bound_mut(Bound::<&[u8]>::Unbounded)?))
        };
        Ok(Appender { name: self.name, end })
    }

    /// Deletes a row; true when it was there.
    pub(super) fn remove(&mut self, key: &[u8]) -> Result<bool, Fault> {
        Ok(self.table.remove(key)?.is_some())
    }
}

/// The end of a table, where rows are added in the order of their keys.
pub(super) struct Appender<'a, 't> {
    name: &'static str,
    end: End<'a, 't>,
}

enum End<'a, 't> {
    /// Row by row, which fills the last page before it begins another.
    Few(&'a mut Table<'t, Bytes, Bytes>),
    /// All at once, which builds each page once, and leaves room in those around the first row.
    Many(Box<CursorMut<'a, Bytes, Bytes>>),
}

impl Appender<'_, '_> {
    /// Adds a row.
    pub(super) fn push(&mut self, key: &[u8], value: Vec<u8>) -> Result<(), Fault> {
        let sealed = sealed(self.name, key, value);
        let is_last = match &mut self.end {
            End::Few(table) => table.insert(key, sealed.as_slice())?.is_none(),
            End::Many(end) => match end.insert_before(key, sealed.as_slice()) {
                Ok(()) => true,
                Err(CursorError::Storage(error)) => return Err(error.into()),
                Err(_) => false,
            },
        };
        if is_last { Ok(()) } else { Err(damaged(self.name, key)) }
    }

    /// Ends it: only then is everything in the table.
    pub(super) fn close(self) -> Result<(), Fault> {
        match self.end {
            End::Few(_) => Ok(()),
            End::Many(end) => Ok(end.close()?),
        }
    }
}

fn borrowed(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// Where the keys end that a bound leaves out.
fn outside(bound: &Bound<Vec<u8>>) -> Option<Bound<&[u8]>> {
    match bound {
        Bound::Included(key) => Some(Bound::Excluded(key)),
        Bound::Excluded(key) => Some(Bound::Included(key)),
        Bound::Unbounded => None,
    }
}

/// On which side of a range a key is; equal when it is inside.
fn side((start, end): &RowRange, key: &[u8]) -> Ordering {
    let is_below = match start {
        Bound::Included(start) => key < start.as_slice(),
        Bound::Excluded(start) => key <= start.as_slice(),
        Bound::Unbounded => false,
    };
    let is_above = match end {
        Bound::Included(end) => key > end.as_slice(),
        Bound::Excluded(end) => key >= end.as_slice(),
        Bound::Unbounded => false,
    };
    if is_below {
        Ordering::Less
    } else if is_above {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// A number as it stands in keys and values.
pub(super) fn encode_number(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

pub(super) fn decode_number(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_be_bytes)
}

/// A row of `log`.
pub(super) enum LogRow {
    Object(Vec<u8>),
    Record { record: Box<Record>, changes_follow: bool },
    Changes(record::ChangeSet),
    Erased(ObjectId),
}

const OBJECT: u8 = 0;
const RECORD: u8 = 1;
const CHANGES: u8 = 2;
const ERASED: u8 = 3;

/// An object: its tag and its bytes.
pub(super) fn encode_object(bytes: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(1 + bytes.len() + CHECKSUM_BYTES);
    row.push(OBJECT);
    row.extend_from_slice(bytes);
    row
}

/// A record: its tag, 1 when its change set is the next row and else 0, the length of what
/// follows without the change set, the record, and the change set unless it is the next row.
/// A change set in a row of its own comes second.
pub(super) fn encode_record(record: &Record) -> (Vec<u8>, Option<Vec<u8>>) {
    let encoded = record.encode();
    let changes = record::encode_changes(record.changes());
    let apart = changes.len() > MAX_INLINE_CHANGES;
    let length = u32::try_from(encoded.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut row = [&[RECORD, u8::from(apart)], length.as_slice(), &encoded].concat();
    if apart {
        (row, Some([&[CHANGES], changes.as_slice()].concat()))
    } else {
        row.extend_from_slice(&changes);
        (row, None)
    }
}

/// Reads a row of `log`; `None` when it is none.
pub(super) fn decode_log_row(value: &[u8]) -> Option<LogRow> {
    let (tag, rest) = value.split_first()?;
    match *tag {
        OBJECT => Some(LogRow::Object(rest.to_vec())),
        RECORD => {
            let (apart, rest) = rest.split_first()?;
            let (length, rest) = rest.split_first_chunk::<4>()?;
            let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
            let (encoded, changes) = rest.split_at_checked(length)?;
            let mut record = Record::decode(encoded).ok()?;
            let changes_follow = *apart == 1;
            if !changes_follow {
                let changes = record::decode_changes(changes).ok()?;
                match &mut record.derived {
                    Some(derived) => derived.changes = changes,
                    None if changes.is_empty() => {}
                    None => return None,
                }
            }
            Some(LogRow::Record { record: Box::new(record), changes_follow })
        }
        CHANGES => record::decode_changes(rest).ok().map(LogRow::Changes),
        ERASED => ObjectId::from_slice(rest).map(LogRow::Erased),
        _ => None,
    }
}

/// The value of a row of `where`. A kind of 3 stands for an erased object.
pub(super) fn encode_place(kind: Kind, number: Number) -> Vec<u8> {
    let kind = match kind {
        Kind::Node => 0,
        Kind::State => 1,
        Kind::Commit => 2,
    };
    [[kind].as_slice(), &encode_number(number.0)].concat()
}

/// What a row of `where` says; the kind is `None` for an erased object.
pub(super) fn decode_place(value: &[u8]) -> Option<(Option<Kind>, Number)> {
    let (kind, number) = value.split_first()?;
    let kind = match kind {
        0 => Some(Kind::Node),
        1 => Some(Kind::State),
        2 => Some(Kind::Commit),
        3 => None,
        _ => return None,
    };
    Some((kind, Number(decode_number(number)?)))
}

/// The key of a row of `nodes`.
pub(super) fn node_key(node: &NodeId, number: u64) -> Vec<u8> {
    let id = node.as_str().as_bytes();
    let length = u32::try_from(id.len()).unwrap_or(u32::MAX).to_be_bytes();
    [length.as_slice(), id, &encode_number(number)].concat()
}

/// The number in a key of `nodes`.
pub(super) fn node_key_number(key: &[u8]) -> Option<u64> {
    key.last_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes))
}

/// The key of a row of `moves`.
pub(super) fn move_key(branch: &BranchName, place: u64) -> Vec<u8> {
    let name = branch.as_str().as_bytes();
    let length = u32::try_from(name.len()).unwrap_or(u32::MAX).to_be_bytes();
    [length.as_slice(), name, &encode_number(place)].concat()
}

/// The value of a row of `moves` or `reflogs`.
pub(super) fn encode_move(number: u64, latest: i64) -> Vec<u8> {
    [encode_number(number), latest.to_be_bytes()].concat()
}

pub(super) fn decode_move(value: &[u8]) -> Option<(u64, i64)> {
    let (number, latest) = value.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*number), i64::from_be_bytes(latest.try_into().ok()?)))
}

/// A row of `refs`.
pub(super) fn decode_ref(key: &[u8], value: &[u8]) -> Option<(BranchName, CommitId)> {
    let name = std::str::from_utf8(key).ok()?;
    Some((BranchName::from_stored(name), CommitId::from_slice(value)?))
}
