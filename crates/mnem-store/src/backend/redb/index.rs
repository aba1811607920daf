//! The index of what stands after the mark, and the moment it is written out.
//!
//! Index rows are scattered over their tables, and writing them with each commit would cost more
//! than the commit. They are written for many commits at once; what is not yet written is read
//! from the log when the file is opened and kept here.

use std::collections::BTreeMap;
use std::ops::Bound;

use redb::ReadTransaction;

use super::moves::{self, MovesOf};
use super::rows::{self, Direction, LOG, LogRow, MARK, NODES, WHERE};
use super::{Fault, Settings, read, write};
use crate::backend::{Kind, NodeId, Number, ObjectId, Record};
use crate::codec::Encoded;

/// What the rows of the log from `mark` to `end` hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    /// The first row that the tables of the index do not know.
    pub(super) mark: u64,
    /// The number that the next row takes.
    pub(super) end: u64,
    commits: u64,
    bytes: u64,
    pub(super) objects: BTreeMap<ObjectId, (Kind, Number)>,
    pub(super) nodes: BTreeMap<NodeId, Vec<u64>>,
    pub(super) moves: MovesOf,
}

impl Pending {
    /// Nothing, from a row on.
    pub(super) fn from(mark: u64) -> Self {
        Self { mark, end: mark, ..Self::default() }
    }

    /// Reads what the log holds after this, and verifies it.
    pub(super) fn read_on(mut self, transaction: &ReadTransaction) -> Result<Self, Fault> {
        let log = read(transaction, LOG)?;
        let pending = &mut self;
        let start = rows::encode_number(pending.end).to_vec();
        let rest = (Bound::Included(start), Bound::Unbounded);
        let mut record: Option<(u64, Box<Record>)> = None;
        for row in log.range(rest, Direction::Up)? {
            let (key, value) = row?;
            if rows::decode_number(&key) != Some(pending.end) {
                return Err(log.damaged(&rows::encode_number(pending.end)));
            }
            let size = value.len();
            let row = rows::decode_log_row(&value).ok_or_else(|| log.damaged(&key))?;
            // A record that leaves its change set to the next row waits for it.
            match (row, record.take()) {
                (LogRow::Changes(changes), Some((number, mut owner))) => {
                    owner.derived.as_mut().ok_or_else(|| log.damaged(&key))?.changes = changes;
                    pending.add_record(number, &owner);
                }
                (LogRow::Object(bytes), None) => {
                    let (object, _) = Encoded::decode(&bytes).map_err(|_| log.damaged(&key))?;
                    pending.add_object(object.id(), object.kind());
                }
                (LogRow::Record { record: owner, changes_follow: true }, None) => {
                    record = Some((pending.end, owner));
                }
                (LogRow::Record { record: owner, .. }, None) => {
                    pending.add_record(pending.end, &owner);
                }
                // Erasing rewrites the file, and the rewrite moves the mark to its end.
                _ => return Err(log.damaged(&key)),
            }
            pending.add_row(size);
        }
        if record.is_some() || log.len()? != pending.end {
            return Err(log.damaged(&rows::encode_number(pending.end)));
        }
        Ok(self)
    }

    /// Notes the object whose row is the next; the first of two rows with one id counts.
    pub(super) fn add_object(&mut self, id: ObjectId, kind: Kind) {
        self.commits += u64::from(kind == Kind::Commit);
        self.objects.entry(id).or_insert((kind, Number(self.end)));
    }

    /// Notes what a record says it changed and moved.
    pub(super) fn add_record(&mut self, number: u64, record: &Record) {
        for node in record.changes().keys() {
            self.nodes.entry(node.clone()).or_default().push(number);
        }
        if let Some(branch) = &record.branch {
            self.moves.entry(branch.clone()).or_default().push((number, record.time));
        }
    }

    /// Goes past a row of this many bytes.
    pub(super) fn add_row(&mut self, bytes: usize) {
        self.end += 1;
        self.bytes += bytes as u64;
    }

    /// Takes up what was appended after this.
    pub(super) fn extend(&mut self, added: Self) {
        self.end = added.end;
        self.commits += added.commits;
        self.bytes += added.bytes;
        self.objects.extend(added.objects);
        for (node, numbers) in added.nodes {
            self.nodes.entry(node).or_default().extend(numbers);
        }
        for (branch, moves) in added.moves {
            self.moves.entry(branch).or_default().extend(moves);
        }
    }

    /// Whether this and what is being added to it are due to be written out.
    pub(super) fn is_due(&self, added: &Self, settings: &Settings) -> bool {
        self.commits + added.commits >= settings.index_commits
            || added.end - self.mark >= settings.index_rows
            || self.bytes + added.bytes >= settings.index_bytes
    }

    /// Writes the index rows and moves the mark to `end`.
    pub(super) fn write_out(
        parts: [&Self; 2],
        end: u64,
        transaction: &redb::WriteTransaction,
    ) -> Result<(), Fault> {
        let mut places = write(transaction, WHERE)?;
        let mut nodes = write(transaction, NODES)?;
        for part in parts {
            for (id, (kind, number)) in &part.objects {
                // An object that was said to be fresh and was not stands twice: the first counts.
                if places.probe(id.as_bytes())?.is_none() {
                    places.put(id.as_bytes(), rows::encode_place(*kind, *number))?;
                }
            }
            for (node, numbers) in &part.nodes {
                for number in numbers {
                    nodes.put(&rows::node_key(node, *number), Vec::new())?;
                }
            }
        }
        let [pending, added] = parts;
        moves::write_out([&pending.moves, &added.moves], pending.mark, end, transaction)?;
        write(transaction, rows::META)?.put(MARK, rows::encode_number(end).to_vec())?;
        Ok(())
    }
}
