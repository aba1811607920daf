//! The moves of each branch, by place: its records are found without reading those of others.
//!
//! `moves` holds the moves of a branch as an array, oldest first: the number of each record and
//! the latest time so far, so that both rise and are searched by halves. `reflogs` holds how long
//! each array is, and its rows are counted: a row that is lost is missed. Both know the rows of
//! the log before `mark moves`. That is the mark, but in a file that was written before there
//! were such tables, until the next rows are written out; there the log is walked.

use std::collections::BTreeMap;
use std::ops::Bound;

use redb::{ReadTransaction, ReadableTable, WriteTransaction};

use super::rows::{
    self, Bytes, Direction, LOG, LogRow, META, MOVES, MOVES_MARK, REFLOGS, Rows, count_key,
};
use super::view::{Moment, Table, read_number, unexpected};
use super::{Fault, read, write};
use crate::backend::{BranchName, Number, Record};

/// The records of each branch, oldest first: number and time.
pub(super) type MovesOf = BTreeMap<BranchName, Vec<(u64, i64)>>;

/// How many moves of a branch are indexed, and the latest time of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reflog {
    pub(super) count: u64,
    pub(super) latest: i64,
}

impl Reflog {
    pub(super) const EMPTY: Self = Self { count: 0, latest: i64::MIN };

    /// Goes on to the next move.
    pub(super) fn add(&mut self, time: i64) {
        self.count += 1;
        self.latest = self.latest.max(time);
    }

    /// The value of its row.
    pub(super) fn encode(self) -> Vec<u8> {
        rows::encode_move(self.count, self.latest)
    }

    fn of<T: ReadableTable<Bytes, Bytes>>(
        reflogs: &Rows<T>,
        branch: &BranchName,
    ) -> Result<Option<Self>, Fault> {
        let key = branch.as_str().as_bytes();
        let Some(value) = reflogs.get(key)? else { return Ok(None) };
        let (count, latest) = rows::decode_move(&value).ok_or_else(|| reflogs.damaged(key))?;
        Ok(Some(Self { count, latest }))
    }
}

/// The indexed moves of a branch.
pub(super) struct Moves<'b> {
    table: Table,
    branch: &'b BranchName,
    reflog: Reflog,
}

impl<'b> Moves<'b> {
    /// An error where the index does not know all rows of the log before `mark`.
    pub(super) fn of(
        transaction: &ReadTransaction,
        branch: &'b BranchName,
        mark: u64,
    ) -> Result<Self, Fault> {
        let meta = read(transaction, META)?;
        if known(&meta)? != Some(mark) {
            return Err(Fault::Row("the index of moves lags behind".into()));
        }
        let reflogs = read(transaction, REFLOGS)?;
        let reflog = Reflog::of(&reflogs, branch)?;
        if reflog.is_none() {
            // Believed only with all rows in place.
            reflogs.whole(read_number(&meta, &count_key(REFLOGS))?)?;
        }
        let reflog = reflog.unwrap_or(Reflog::EMPTY);
        Ok(Self { table: read(transaction, MOVES)?, branch, reflog })
    }

    pub(super) fn reflog(&self) -> Reflog {
        self.reflog
    }

    /// A move that must be there: the number of its record, and the latest time so far.
    pub(super) fn at(&self, place: u64) -> Result<(Number, i64), Fault> {
        let key = rows::move_key(self.branch, place);
        let found = self.table.get(&key)?.and_then(|value| rows::decode_move(&value));
        let (number, latest) = found.ok_or_else(|| self.table.damaged(&key))?;
        Ok((Number(number), latest))
    }

    /// Before how many moves, counted from the oldest, this stops to hold.
    pub(super) fn count_while(&self, holds: impl Fn((Number, i64)) -> bool) -> Result<u64, Fault> {
        let (mut low, mut high) = (0, self.reflog.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(self.at(middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The numbers of the newest of the first `end` moves, newest first.
    pub(super) fn newest(&self, end: u64, limit: usize) -> Result<Vec<Number>, Fault> {
        let [first, end_key] = [0, end].map(|place| rows::move_key(self.branch, place));
        let range = (Bound::Included(first), Bound::Excluded(end_key));
        let mut found = Vec::new();
        if end == 0 {
            return Ok(found);
        }
        let mut rows = self.table.range(range, Direction::Down)?;
        for place in (0..end).rev().take(limit) {
            let key = rows::move_key(self.branch, place);
            let row = rows.next().transpose()?.filter(|(found, _)| *found == key);
            let value = row.and_then(|(_, value)| rows::decode_move(&value));
            let (number, _) = value.ok_or_else(|| self.table.damaged(&key))?;
            found.push(Number(number));
        }
        Ok(found)
    }
}

impl Moment {
    /// The records of a branch; an error where the index does not tell.
    pub(super) fn records_of(
        &self,
        branch: &BranchName,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, Fault> {
        let moves = self.moves(branch)?;
        let is_before = |number: Number| before.is_none_or(|before| number < before);
        let pending = self.pending.moves.get(branch).into_iter().flatten().rev();
        let pending = pending.map(|(number, _)| Number(*number));
        let mut numbers: Vec<_> = pending.filter(|n| is_before(*n)).take(limit).collect();
        if numbers.len() < limit {
            let end = match before {
                Some(before) if before.0 < self.pending.mark => {
                    moves.count_while(|(number, _)| number < before)?
                }
                _ => moves.reflog().count,
            };
            numbers.extend(moves.newest(end, limit - numbers.len())?);
        }
        numbers.into_iter().map(|number| self.moved(branch, number)).collect()
    }

    /// See [`View::move_at`](crate::backend::View::move_at); an error where the index does not tell.
    pub(super) fn move_at(
        &self,
        branch: &BranchName,
        time: i64,
    ) -> Result<Option<(Number, Record)>, Fault> {
        let moves = self.moves(branch)?;
        let Reflog { count, latest } = moves.reflog();
        let pending = self.pending.moves.get(branch).map(Vec::as_slice).unwrap_or_default();
        let number = if count > 0 && latest > time {
            let by_then = moves.count_while(|(_, latest)| latest <= time)?;
            Some(moves.at(by_then.saturating_sub(1))?.0)
        } else {
            let by_then = pending.iter().take_while(|(_, made)| *made <= time).last();
            match by_then {
                None if count > 0 => Some(moves.at(count - 1)?.0),
                by_then => by_then.or(pending.first()).map(|(number, _)| Number(*number)),
            }
        };
        number.map(|number| self.moved(branch, number)).transpose()
    }

    fn moves<'b>(&self, branch: &'b BranchName) -> Result<Moves<'b>, Fault> {
        self.trust(MOVES)?;
        Moves::of(&self.transaction, branch, self.pending.mark)
    }

    /// A record that the index says moved a branch.
    fn moved(&self, branch: &BranchName, number: Number) -> Result<(Number, Record), Fault> {
        match self.log_row(number)? {
            LogRow::Record { record, changes_follow } if record.branch.as_ref() == Some(branch) => {
                Ok((number, self.whole_record(number, record, changes_follow)?))
            }
            _ => Err(unexpected(number)),
        }
    }
}

/// The first row of the log that the index of moves does not know; none where there is none.
pub(super) fn known<T: ReadableTable<Bytes, Bytes>>(meta: &Rows<T>) -> Result<Option<u64>, Fault> {
    let Some(value) = meta.get(MOVES_MARK)? else { return Ok(None) };
    rows::decode_number(&value).map(Some).ok_or_else(|| meta.damaged(MOVES_MARK))
}

/// Writes the rows of these moves, which begin at `mark`, and notes that those before `end` are
/// known.
pub(super) fn write_out(
    parts: [&MovesOf; 2],
    mark: u64,
    end: u64,
    transaction: &WriteTransaction,
) -> Result<(), Fault> {
    let mut meta = write(transaction, META)?;
    let known = known(&meta)?;
    let Some(earlier) = unknown(known.unwrap_or(0), mark, transaction)? else { return Ok(()) };
    let mut moves = write(transaction, MOVES)?;
    let mut reflogs = write(transaction, REFLOGS)?;
    let count_key = count_key(REFLOGS);
    let mut count = known.map_or(Ok(0), |_| read_number(&meta, &count_key))?;
    for (branch, added) in [&earlier].into_iter().chain(parts).flatten() {
        let mut reflog = Reflog::of(&reflogs, branch)?.unwrap_or(Reflog::EMPTY);
        for (number, time) in added {
            let place = rows::move_key(branch, reflog.count);
            reflog.add(*time);
            if moves.put(&place, rows::encode_move(*number, reflog.latest))? {
                return Err(moves.damaged(&place));
            }
        }
        let was_there = reflogs.put(branch.as_str().as_bytes(), reflog.encode())?;
        count += u64::from(!was_there);
    }
    meta.put(&count_key, rows::encode_number(count).to_vec())?;
    meta.put(MOVES_MARK, rows::encode_number(end).to_vec())?;
    Ok(())
}

/// The moves in rows of the log from `start` to `end`; none where one cannot be read.
fn unknown(start: u64, end: u64, transaction: &WriteTransaction) -> Result<Option<MovesOf>, Fault> {
    let mut found = MovesOf::new();
    if start == end {
        return Ok(Some(found));
    }
    let log = write(transaction, LOG)?;
    let [start, end] = [start, end].map(|number| rows::encode_number(number).to_vec());
    for row in log.range((Bound::Included(start), Bound::Excluded(end)), Direction::Up)? {
        let row = match row {
            Err(Fault::Row(_)) => return Ok(None),
            row => row?,
        };
        let number = rows::decode_number(&row.0);
        let Some((number, row)) = number.zip(rows::decode_log_row(&row.1)) else { return Ok(None) };
        if let LogRow::Record { record, .. } = row
            && let Some(branch) = record.branch
        {
            found.entry(branch).or_default().push((number, record.time));
        }
    }
    Ok(Some(found))
}
