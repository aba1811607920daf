//! Rows taken straight from the pages of a file that redb does not open.
//!
//! A leaf of redb's trees is a page, or several in a row, that begins with its kind and how many
//! rows it has, then where each key and each value ends, then keys and values. Each row is
//! believed by its own checksum, whatever stands around it. Pages that were given up still hold
//! old rows: of the log every row is as good as when it was written, but of a table whose rows
//! change nobody can say which is the last, so those tables are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::RedbBackend;
use super::rows::{self, LOG, LogRow, REFS};
use crate::backend::{Backend, BackendError, Batch, Expected, PublishError, Record};
use crate::codec::Encoded;

const PAGE: u64 = 4096;
/// The first byte of a leaf.
const LEAF: u8 = 1;
/// How many entries are written at a time, and how many bytes.
const BATCH: (usize, usize) = (4_096, 8 << 20);

/// A row whose checksum holds.
struct Found {
    table: &'static str,
    key: Vec<u8>,
    value: Vec<u8>,
    /// Where in the file the value is, and its length with the checksum.
    place: (u64, usize),
}

/// Fills an empty backend with the objects and records in a file, in the order of their numbers,
/// and with the branches that no record names. Returns how many objects there are.
pub(crate) fn carve(path: &Path, into: &RedbBackend) -> Result<u64, BackendError> {
    let mut pages = Pages::of(path)?;
    let mut log: BTreeMap<u64, Vec<(u64, usize)>> = BTreeMap::new();
    let mut refs = BTreeMap::new();
    let mut next = 0;
    for page in pages.all() {
        // What stands in a value is no page, whatever whoever wrote it made it look like.
        if page < next {
            continue;
        }
        for Found { table, key, value, place } in pages.rows(page)? {
            next = next.max(place.0 + place.1 as u64);
            match (table, rows::decode_number(&key)) {
                (LOG, Some(number)) => log.entry(number).or_default().push(place),
                (REFS, _) => refs.extend(rows::decode_ref(&key, &value)),
                _ => {}
            }
        }
    }
    let mut carved = Carved { into, batch: Batch::default(), bytes: 0, objects: 0, waiting: None };
    for (number, places) in log {
        let key = rows::encode_number(number);
        // The same row stands again in pages that were given up.
        let mut taken = BTreeSet::new();
        for (at, length) in places {
            let sealed = pages.read(at, length)?;
            if !taken.insert(blake3::hash(&sealed).as_bytes().to_owned()) {
                continue;
            }
            let row = rows::unsealed(LOG, &key, &sealed).and_then(rows::decode_log_row);
            row.map_or(Ok(()), |row| carved.take(row))?;
        }
    }
    carved.end_record();
    for (name, commit) in refs {
        if into.view()?.records(Some(&name), None, 1)?.is_empty() {
            carved.batch.reference(name, Expected::Absent, Some(commit));
        }
    }
    carved.publish()?;
    Ok(carved.objects)
}

/// Whether anything of a store can be read in the pages of a file.
pub(crate) fn holds_rows(mut pages: Pages<'_>) -> io::Result<bool> {
    for page in pages.all() {
        if !pages.rows(page)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The pages of a file of redb, of this version and of 2, read past redb.
pub(crate) struct Pages<'r> {
    read: Box<ReadAt<'r>>,
    length: u64,
}

/// Fills a buffer with the bytes from an offset on.
type ReadAt<'r> = dyn FnMut(u64, &mut [u8]) -> io::Result<()> + 'r;

/// A row of a leaf: its key, and where in the file its value is.
pub(crate) struct Pair {
    pub(crate) key: Vec<u8>,
    pub(crate) value: (u64, usize),
}

impl Pages<'static> {
    /// Those of the file at a path.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let read = move |at, out: &mut [u8]| {
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(out)
        };
        Ok(Self { read: Box::new(read), length })
    }
}

impl<'r> Pages<'r> {
    /// Pages that are read by a call, and how many bytes there are.
    pub(crate) fn new(
        read: impl FnMut(u64, &mut [u8]) -> io::Result<()> + 'r,
        length: u64,
    ) -> Self {
        Self { read: Box::new(read), length }
    }

    /// Where a page may begin.
    pub(crate) fn all(&self) -> impl Iterator<Item = u64> + use<> {
        (0..self.length).step_by(usize::try_from(PAGE).unwrap_or(usize::MAX))
    }

    /// Bytes of the file: as many as there are.
    pub(crate) fn read(&mut self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let there = usize::try_from(self.length.saturating_sub(at)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(there)];
        (self.read)(at, &mut bytes)?;
        Ok(bytes)
    }

    /// The rows in a page, if it is a leaf of a table whose values have this length, or any.
    pub(crate) fn leaf(&mut self, page: u64, width: Option<u64>) -> io::Result<Vec<Pair>> {
        let head = self.read(page, 4)?;
        let [LEAF, _, low, high] = head.as_slice() else { return Ok(Vec::new()) };
        let count = usize::from(u16::from_le_bytes([*low, *high]));
        let noted = if width.is_some() { count } else { 2 * count };
        let ends = self.read(page + 4, noted * 4)?;
        let mut ends: Vec<u64> =
            ends.as_chunks::<4>().0.iter().map(|end| u64::from(u32::from_le_bytes(*end))).collect();
        if let (Some(width), Some(last)) = (width, ends.last().copied()) {
            ends.extend((1..=count as u64).map(|place| last + place * width));
        }
        let start = 4 + 4 * noted as u64;
        let is_leaf = ends.len() == 2 * count
            && ends.first().is_some_and(|first| *first >= start)
            && ends.is_sorted()
            && ends.last().is_some_and(|last| page + last <= self.length);
        if !is_leaf {
            return Ok(Vec::new());
        }
        // Each key begins where the one before it ends, and so does each value; the first value
        // where the last key does.
        let bounds: Vec<_> = [start].into_iter().chain(ends).collect();
        let parts: Vec<_> = bounds.iter().zip(bounds.iter().skip(1)).collect();
        let (keys, values) = parts.split_at(count.min(parts.len()));
        let place = |(start, end): &(&u64, &u64)| {
            (page + **start, usize::try_from(**end - **start).unwrap_or(usize::MAX))
        };
        let pairs = keys.iter().map(place).zip(values.iter().map(place));
        pairs.map(|((at, length), value)| Ok(Pair { key: self.read(at, length)?, value })).collect()
    }

    /// The rows of a store in a page.
    fn rows(&mut self, page: u64) -> io::Result<Vec<Found>> {
        let mut found = Vec::new();
        for Pair { key, value: place } in self.leaf(page, None)? {
            let sealed = self.read(place.0, place.1)?;
            for table in rows::TABLES {
                if let Some(unsealed) = rows::unsealed(table, &key, &sealed) {
                    let (key, value) = (key.clone(), unsealed.to_vec());
                    found.push(Found { table, key, value, place });
                }
            }
        }
        Ok(found)
    }
}

struct Carved<'i> {
    into: &'i RedbBackend,
    batch: Batch,
    bytes: usize,
    objects: u64,
    /// A record that leaves its change set to the next row.
    waiting: Option<Box<Record>>,
}

impl Carved<'_> {
    fn take(&mut self, row: LogRow) -> Result<(), BackendError> {
        if let (LogRow::Changes(changes), Some(record)) = (&row, &mut self.waiting) {
            if let Some(derived) = &mut record.derived {
                derived.changes.clone_from(changes);
            }
            self.end_record();
            return Ok(());
        }
        self.end_record();
        match row {
            LogRow::Object(bytes) => {
                if let Ok((object, _)) = Encoded::decode(&bytes) {
                    self.objects += 1;
                    self.bytes += bytes.len();
                    self.batch.object(object);
                }
            }
            LogRow::Record { record, .. } => self.waiting = Some(record),
            LogRow::Changes(_) | LogRow::Erased(_) => {}
        }
        let is_enough = self.batch.entries.len() >= BATCH.0 || self.bytes >= BATCH.1;
        if is_enough { self.publish() } else { Ok(()) }
    }

    fn end_record(&mut self) {
        if let Some(record) = self.waiting.take() {
            self.batch.record(*record);
        }
    }

    fn publish(&mut self) -> Result<(), BackendError> {
        self.bytes = 0;
        match self.into.publish(&std::mem::take(&mut self.batch)) {
            Ok(()) => Ok(()),
            Err(PublishError::Backend(error)) => Err(error),
            Err(error @ PublishError::Moved { .. }) => {
                Err(BackendError::Corrupt(error.to_string()))
            }
        }
    }
}
