//! The store at one moment, as redb holds it.
//!
//! Long: it answers every question of a view.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;

use redb::{ReadOnlyTable, ReadTransaction, ReadableTable};

use super::index::Pending;
use super::publish::{Written, is_counted, local_row_key};
use super::rows::{self, Bytes, Direction, LOG, LogRow, META, META_ROW, NODES, REFS, Rows, WHERE};
use super::{Fault, RedbBackend, read};
use crate::backend::{
    ALL_ROWS, BackendError, Batch, BranchName, CommitId, Kind, LocalRow, LocalTable, NodeId,
    Number, ObjectId, Outcome, Position, Record, RowRange, Stands, Tell, View, is_empty_range,
    move_among,
};

/// A read transaction with the part of the index that belongs to it.
pub(super) struct RedbView<'b> {
    pub(super) backend: &'b RedbBackend,
    pub(super) generation: u64,
    pub(super) moment: Arc<Moment>,
}

/// What the answers come from: the file after one publish, and what belongs to it.
pub(super) struct Moment {
    pub(super) transaction: ReadTransaction,
    log: Table,
    /// None in a file that is examined and whose table cannot be opened.
    places: Option<Table>,
    pub(super) pending: Pending,
    /// Every branch; none where the table could not be read when the file was opened.
    pub(super) tips: Option<Tips>,
    /// What is known to be wrong with the file.
    pub(super) damage: Option<String>,
}

/// Opened once a moment: finding a table costs as much as finding a row.
pub(super) type Table = Rows<ReadOnlyTable<Bytes, Bytes>>;

/// Where each branch points.
pub(super) type Tips = BTreeMap<BranchName, CommitId>;

impl RedbView<'_> {
    pub(super) fn ask<T>(
        &self,
        question: impl FnOnce(&Moment) -> Result<T, Fault>,
    ) -> Result<T, BackendError> {
        self.backend.run_reading(self.generation, || question(&self.moment))
    }
}

impl View for RedbView<'_> {
    fn object(&self, id: &ObjectId) -> Result<Outcome, BackendError> {
        self.ask(|moment| moment.object(id))
    }

    fn objects(&self, ids: &[ObjectId], tell: &mut Tell<'_>) -> Result<(), BackendError> {
        self.ask(|moment| moment.objects(ids, tell))
    }

    fn number(&self, id: &ObjectId) -> Result<Option<Number>, BackendError> {
        self.ask(|moment| moment.place(id))
    }

    fn reference(&self, name: &BranchName) -> Result<Option<CommitId>, BackendError> {
        if let Some(tips) = &self.moment.tips {
            return Ok(tips.get(name).copied());
        }
        self.ask(|moment| {
            let transaction = &moment.transaction;
            reference(&read(transaction, REFS)?, &read(transaction, META)?, name)
        })
    }

    fn references(&self) -> Result<Tips, BackendError> {
        match &self.moment.tips {
            Some(tips) => Ok(tips.clone()),
            None => self.ask(Moment::references),
        }
    }

    fn record(&self, commit: &CommitId) -> Result<Option<(Number, Record)>, BackendError> {
        self.ask(|moment| moment.record_of(commit))
    }

    fn position(&self, commit: &CommitId) -> Result<Option<Position>, BackendError> {
        self.ask(|moment| moment.position_of(commit))
    }

    fn records(
        &self,
        branch: Option<&BranchName>,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        if let Some(branch) = branch
            && let Some(found) =
                indexed(self.ask(|moment| moment.records_of(branch, before, limit)))?
        {
            return Ok(found);
        }
        self.ask(|moment| moment.records(branch, before, limit))
    }

    fn move_at(
        &self,
        branch: &BranchName,
        time: i64,
    ) -> Result<Option<(Number, Record)>, BackendError> {
        match indexed(self.ask(|moment| moment.move_at(branch, time)))? {
            Some(found) => Ok(found),
            None => Ok(move_among(self.records(Some(branch), None, usize::MAX)?, time)),
        }
    }

    fn changes(
        &self,
        node: &NodeId,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        self.ask(|moment| moment.changes(node, before, limit))
    }

    fn changed(
        &self,
        node: &NodeId,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<Stands>, BackendError> {
        self.ask(|moment| moment.changed(node, before, limit))
    }

    fn rows(&self, table: LocalTable, range: RowRange) -> Result<Vec<LocalRow>, BackendError> {
        self.ask(|moment| moment.rows(table, range))
    }

    fn ids(
        &self,
        range: RangeInclusive<ObjectId>,
        limit: usize,
    ) -> Result<Vec<(ObjectId, Kind)>, BackendError> {
        self.ask(|moment| moment.ids(range, limit))
    }
}

/// What an index says; none where it does not tell or is damaged, and the log is to be walked.
fn indexed<T>(answer: Result<T, BackendError>) -> Result<Option<T>, BackendError> {
    match answer {
        Err(BackendError::Corrupt(_)) => Ok(None),
        answer => answer.map(Some),
    }
}

/// A bit in redb's list of tables takes all rows of one away at once.
fn emptied(table: &str) -> Fault {
    Fault::Row(format!("the table {table} is empty, and should not be"))
}

impl Moment {
    /// The moment after the last publish. What was known of the file at an earlier one is read
    /// on from there.
    pub(super) fn new(
        transaction: ReadTransaction,
        known: Pending,
        damage: Option<String>,
    ) -> Result<Self, Fault> {
        let (log, places) = (read(&transaction, LOG)?, read(&transaction, WHERE)?);
        let pending = known.read_on(&transaction)?;
        let places = Some(places);
        let mut moment = Self { transaction, log, places, pending, tips: None, damage };
        moment.tips = moment.references().ok();
        // A branch names a commit, which stands in the log.
        if moment.pending.end == 0 && moment.tips.as_ref().is_some_and(|tips| !tips.is_empty()) {
            return Err(emptied(LOG));
        }
        Ok(moment)
    }

    /// The moment of a file that is examined: what its log holds has been found row by row.
    pub(super) fn examined(
        transaction: ReadTransaction,
        pending: Pending,
        damage: String,
    ) -> Result<Self, Fault> {
        let log = read(&transaction, LOG)?;
        let places = read(&transaction, WHERE).ok();
        Ok(Self { transaction, log, places, pending, tips: None, damage: Some(damage) })
    }

    /// Goes on to the moment after a publish; views keep the one they have.
    pub(super) fn advance(
        moment: &mut Arc<Self>,
        transaction: ReadTransaction,
        batch: &Batch,
        Written { added, indexed }: Written,
    ) -> Result<(), Fault> {
        let (log, places) = (read(&transaction, LOG)?, Some(read(&transaction, WHERE)?));
        if let Some(moment) = Arc::get_mut(moment) {
            (moment.log, moment.places, moment.transaction) = (log, places, transaction);
        } else {
            let (pending, tips) = (moment.pending.clone(), moment.tips.clone());
            *moment = Arc::new(Self { transaction, log, places, pending, tips, damage: None });
        }
        let Some(moment) = Arc::get_mut(moment) else { return Ok(()) }; // it has one owner by now
        if indexed {
            moment.pending = Pending::from(added.end);
        } else {
            moment.pending.extend(added);
        }
        if let Some(tips) = &mut moment.tips {
            for edit in &batch.refs {
                match edit.new {
                    Some(commit) => _ = tips.insert(edit.name.clone(), commit),
                    None => _ = tips.remove(&edit.name),
                }
            }
        }
        Ok(())
    }

    fn references(&self) -> Result<Tips, Fault> {
        references(&read(&self.transaction, REFS)?, &read(&self.transaction, META)?)
    }

    /// Refuses in a damaged file what would be answered from a table whose rows nobody counts:
    /// a page that says it is empty takes rows away without a word.
    pub(super) fn trust(&self, table: &str) -> Result<(), Fault> {
        match &self.damage {
            None => Ok(()),
            Some(what) => {
                Err(Fault::Row(format!("{what}; rows of the table {table} may be missing")))
            }
        }
    }

    /// Refuses an index without a row of what stands before the mark.
    fn refuse_emptied(&self, places: &Table) -> Result<(), Fault> {
        if self.pending.mark > 0 && places.len()? == 0 {
            return Err(emptied(WHERE));
        }
        Ok(())
    }

    fn object(&self, id: &ObjectId) -> Result<Outcome, Fault> {
        if let Some(number) = self.likely_place(id)?
            && let Some(bytes) =
                self.log.object(&rows::encode_number(number.0), |bytes| Arc::from(bytes))?
        {
            return Ok(Outcome::Present(bytes));
        }
        // Rows that are checked say what is not there.
        let Some(number) = self.place(id)? else { return Ok(Outcome::Absent) };
        match self.log_row(number)? {
            LogRow::Erased(erased) if erased == *id => Ok(Outcome::Erased),
            _ => Err(unexpected(number)),
        }
    }

    /// In the order of the index, and then of the log: neighbours share pages.
    fn objects(&self, ids: &[ObjectId], tell: &mut Tell<'_>) -> Result<(), Fault> {
        let mut asked: Vec<_> = ids.iter().enumerate().map(|(at, id)| (id, at)).collect();
        asked.sort_unstable();
        let mut places = Vec::with_capacity(asked.len());
        for (id, at) in asked {
            places.extend(self.likely_place(id)?.map(|number| (number, at)));
        }
        places.sort_unstable();
        for (number, at) in places {
            self.log.object(&rows::encode_number(number.0), |bytes| tell(at, bytes))?;
        }
        Ok(())
    }

    /// Where an object is likely to stand. Not checked: whoever asks for it hashes it.
    fn likely_place(&self, id: &ObjectId) -> Result<Option<Number>, Fault> {
        match self.pending.objects.get(id) {
            Some((_, number)) => Ok(Some(*number)),
            None => self.places()?.place(id.as_bytes()),
        }
    }

    pub(super) fn place(&self, id: &ObjectId) -> Result<Option<Number>, Fault> {
        if let Some((_, number)) = self.pending.objects.get(id) {
            return Ok(Some(*number));
        }
        let places = self.places()?;
        let Some(value) = places.get(id.as_bytes())? else {
            self.refuse_emptied(places)?;
            return Ok(None);
        };
        let (_, number) =
            rows::decode_place(&value).ok_or_else(|| places.damaged(id.as_bytes()))?;
        Ok(Some(number))
    }

    /// A row that must be there.
    pub(super) fn log_row(&self, number: Number) -> Result<LogRow, Fault> {
        log_row(&self.log, number)
    }

    fn places(&self) -> Result<&Table, Fault> {
        let unread = || Fault::Row(format!("the table {WHERE} cannot be read"));
        self.places.as_ref().ok_or_else(unread)
    }

    /// A record with the change set that may stand beside it.
    pub(super) fn whole_record(
        &self,
        number: Number,
        mut record: Box<Record>,
        changes_follow: bool,
    ) -> Result<Record, Fault> {
        if changes_follow {
            let beside = Number(number.0.saturating_add(1));
            match (self.log_row(beside)?, &mut record.derived) {
                (LogRow::Changes(changes), Some(derived)) => derived.changes = changes,
                _ => return Err(unexpected(beside)),
            }
        }
        Ok(*record)
    }

    /// The record right after a commit, when it names it; its change set may be the next row.
    fn head_of(&self, commit: &CommitId) -> Result<Option<(Number, Box<Record>, bool)>, Fault> {
        let Some(number) = self.place(&(*commit).into())? else { return Ok(None) };
        let number = Number(number.0.saturating_add(1));
        if number.0 >= self.pending.end {
            return Ok(None);
        }
        match self.log_row(number)? {
            LogRow::Record { record, changes_follow } if record.new == Some(*commit) => {
                Ok(Some((number, record, changes_follow)))
            }
            _ => Ok(None),
        }
    }

    fn record_of(&self, commit: &CommitId) -> Result<Option<(Number, Record)>, Fault> {
        match self.head_of(commit)? {
            Some((number, record, changes_follow)) => {
                Ok(Some((number, self.whole_record(number, record, changes_follow)?)))
            }
            None => Ok(None),
        }
    }

    /// Does without the change set, which of a large commit is large.
    fn position_of(&self, commit: &CommitId) -> Result<Option<Position>, Fault> {
        let derived = self.head_of(commit)?.and_then(|(_, record, _)| record.derived);
        Ok(derived.map(|derived| derived.position()))
    }

    fn records(
        &self,
        branch: Option<&BranchName>,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, Fault> {
        let log = &self.log;
        if self.pending.end == 0 {
            self.trust(LOG)?;
        }
        let mut found = Vec::new();
        let mut next = before.map_or(self.pending.end, |before| before.0.min(self.pending.end));
        let end = Bound::Excluded(rows::encode_number(next).to_vec());
        let mut rows = log.range((Bound::Unbounded, end), Direction::Down)?;
        while next > 0 && found.len() < limit {
            next -= 1;
            let key = rows::encode_number(next);
            let (found_key, value) = rows.next().ok_or_else(|| log.damaged(&key))??;
            let row = rows::decode_log_row(&value).filter(|_| found_key == key);
            match row.ok_or_else(|| log.damaged(&key))? {
                LogRow::Record { record, changes_follow }
                    if branch.is_none() || record.branch.as_ref() == branch =>
                {
                    let number = Number(next);
                    found.push((number, self.whole_record(number, record, changes_follow)?));
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn changes(
        &self,
        node: &NodeId,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, Fault> {
        self.trust(NODES)?;
        self.numbers(node, before, limit)?
            .into_iter()
            .map(|number| {
                let LogRow::Record { record, changes_follow } = self.log_row(number)? else {
                    return Err(unexpected(number));
                };
                let record = self.whole_record(number, record, changes_follow)?;
                if record.changes().contains_key(node) {
                    Ok((number, record))
                } else {
                    Err(unexpected(number))
                }
            })
            .collect()
    }

    /// Does without the change sets, which of large commits are large.
    fn changed(
        &self,
        node: &NodeId,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<Stands>, Fault> {
        self.trust(NODES)?;
        let numbers = self.numbers(node, before, limit)?.into_iter();
        numbers
            .map(|number| match self.log_row(number)? {
                LogRow::Record { record, .. } => Ok((number, record.stands())),
                _ => Err(unexpected(number)),
            })
            .collect()
    }

    /// The numbers of the records that the index names for a node, newest first.
    pub(super) fn numbers(
        &self,
        node: &NodeId,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<Number>, Fault> {
        let before = before.map_or(u64::MAX, |before| before.0);
        let nodes = read(&self.transaction, NODES)?;
        let range = (
            Bound::Included(rows::node_key(node, 0)),
            Bound::Excluded(rows::node_key(node, before)),
        );
        let indexed = nodes.range(range, Direction::Down)?.map(|row| {
            let (key, _) = row?;
            rows::node_key_number(&key).ok_or_else(|| nodes.damaged(&key))
        });
        let pending = self.pending.nodes.get(node).into_iter().flatten().rev();
        let pending = pending.copied().filter(|number| *number < before).map(Ok);
        pending.chain(indexed).take(limit).map(|number| number.map(Number)).collect()
    }

    fn rows(&self, table: LocalTable, range: RowRange) -> Result<Vec<LocalRow>, Fault> {
        if is_empty_range(&range) {
            return Ok(Vec::new());
        }
        let rows = read(&self.transaction, table.as_str())?;
        if is_counted(table) && range == ALL_ROWS {
            let meta = read(&self.transaction, META)?;
            return rows.whole(read_number(&meta, &rows::count_key(table.as_str()))?);
        }
        self.trust(table.as_str())?;
        if table != LocalTable::Meta {
            return rows.range(range, Direction::Up)?.collect();
        }
        let shifted = |bound: Bound<Vec<u8>>| bound.map(|key| local_row_key(table, &key));
        let range = match range {
            (Bound::Unbounded, end) => (Bound::Included(vec![META_ROW]), shifted(end)),
            (start, end) => (shifted(start), shifted(end)),
        };
        let range = match range {
            (start, Bound::Unbounded) => (start, Bound::Excluded(vec![META_ROW + 1])),
            range => range,
        };
        let without_mark = |(key, value): LocalRow| (key.into_iter().skip(1).collect(), value);
        rows.range(range, Direction::Up)?.map(|row| row.map(without_mark)).collect()
    }

    fn ids(
        &self,
        range: RangeInclusive<ObjectId>,
        limit: usize,
    ) -> Result<Vec<(ObjectId, Kind)>, Fault> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let places = self.places()?;
        self.refuse_emptied(places)?;
        let [start, end] = [range.start(), range.end()].map(|id| id.as_bytes().to_vec());
        let range_of_keys = (Bound::Included(start), Bound::Included(end));
        let indexed = places.range(range_of_keys, Direction::Up)?.filter_map(|row| {
            let place = row.and_then(|(key, value)| {
                let id = ObjectId::from_slice(&key);
                let place = id.zip(rows::decode_place(&value));
                place.ok_or_else(|| places.damaged(&key))
            });
            match place {
                Ok((id, (Some(kind), _))) => Some(Ok((id, kind))),
                Ok((_, (None, _))) => None,
                Err(fault) => Some(Err(fault)),
            }
        });
        let mut found = indexed.take(limit).collect::<Result<BTreeMap<_, _>, _>>()?;
        let pending = self.pending.objects.range(range).take(limit);
        found.extend(pending.map(|(id, (kind, _))| (*id, *kind)));
        Ok(found.into_iter().take(limit).collect())
    }
}

/// A row of `log` that must be there.
pub(super) fn log_row(log: &Table, number: Number) -> Result<LogRow, Fault> {
    let key = rows::encode_number(number.0);
    let value = log.get(&key)?.ok_or_else(|| log.damaged(&key))?;
    rows::decode_log_row(&value).ok_or_else(|| log.damaged(&key))
}

pub(super) fn unexpected(number: Number) -> Fault {
    Fault::Row(format!("the row {} of the table log is not what its index says", number.0))
}

/// Where a branch points. A row that is not found is believed only with all rows in place.
pub(super) fn reference<T: ReadableTable<&'static [u8], &'static [u8]>>(
    refs: &Rows<T>,
    meta: &Rows<T>,
    name: &BranchName,
) -> Result<Option<CommitId>, Fault> {
    let key = name.as_str().as_bytes();
    match refs.get(key)? {
        Some(commit) => CommitId::from_slice(&commit).map(Some).ok_or_else(|| refs.damaged(key)),
        None => Ok(references(refs, meta)?.get(name).copied()),
    }
}

fn references<T: ReadableTable<&'static [u8], &'static [u8]>>(
    refs: &Rows<T>,
    meta: &Rows<T>,
) -> Result<Tips, Fault> {
    let rows = refs.whole(read_number(meta, &rows::count_key("refs"))?)?;
    let decode =
        |(key, value): LocalRow| rows::decode_ref(&key, &value).ok_or_else(|| refs.damaged(&key));
    rows.into_iter().map(decode).collect()
}

/// A number in `meta` that was written when the file was made.
pub(super) fn read_number<T: ReadableTable<&'static [u8], &'static [u8]>>(
    meta: &Rows<T>,
    key: &[u8],
) -> Result<u64, Fault> {
    let value = meta.get(key)?.ok_or_else(|| meta.damaged(key))?;
    rows::decode_number(&value).ok_or_else(|| meta.damaged(key))
}
