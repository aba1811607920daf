//! A file looked at as it stands: everything in it that can be read, and what of it does not
//! hold together. Each row is read by itself, so that damage hides nothing but itself.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use redb::{Database, ReadableDatabase};

use super::index::Pending;
use super::moves::{self, Reflog};
use super::rows::{
    self, Direction, LOG, LogRow, META, META_ROW, MOVES, MOVES_MARK, NODES, REFLOGS, REFS, WHERE,
};
use super::view::{Moment, RedbView, log_row, read_number};
use super::{Fault, read};
use crate::backend::{
    ALL_ROWS, BackendError, BranchName, Entry, Flaw, Found, LocalTable, Number, ObjectId, Record,
};
use crate::codec::Encoded;
use crate::codec::encoded::hash;

/// More entries than a store has; a damaged number must not keep a search going for years.
const MOST_ENTRIES: u64 = 1 << 32;

/// The index of a file whose own cannot be read: all entries that can be read, as if none of
/// them had been indexed yet.
pub(super) fn whole_log(database: &Database) -> Result<Pending, Fault> {
    let transaction = database.begin_read()?;
    let log = read(&transaction, LOG)?;
    // Where the last rows cannot be reached, the table's own word bounds the search for others.
    let end = catch_unwind(AssertUnwindSafe(|| log.end()));
    let end = end.unwrap_or_else(|_| log.len()).or_else(|_| log.len())?.min(MOST_ENTRIES);
    let mut pending = Pending::from(0);
    let mut waiting: Option<(u64, Box<Record>)> = None;
    for number in 0..end {
        let row = catch_unwind(AssertUnwindSafe(|| log_row(&log, Number(number))));
        match (row, waiting.take()) {
            (Ok(Ok(LogRow::Object(bytes))), _) => {
                if let Ok((object, _)) = Encoded::decode(&bytes) {
                    pending.add_object(object.id(), object.kind());
                }
            }
            (Ok(Ok(LogRow::Record { record, changes_follow: true })), _) => {
                waiting = Some((number, record));
            }
            (Ok(Ok(LogRow::Record { record, .. })), _) => pending.add_record(number, &record),
            (Ok(Ok(LogRow::Changes(changes))), Some((number, mut record))) => {
                if let Some(derived) = &mut record.derived {
                    derived.changes = changes;
                }
                pending.add_record(number, &record);
            }
            _ => {}
        }
        pending.add_row(0);
    }
    Ok(pending)
}

/// See [`Backend::inspect`](crate::backend::Backend::inspect).
pub(super) fn inspect(
    view: &RedbView<'_>,
    tell: &mut dyn FnMut(Found),
) -> Result<(), BackendError> {
    let mut inspection = Inspection {
        view,
        tell,
        objects: 0,
        changes: 0,
        moves: BTreeMap::new(),
        moves_mark: None,
        has_gaps: false,
    };
    inspection.find_moves_mark()?;
    inspection.entries()?;
    // What finds entries in a damaged file was made up from the entries.
    if view.moment.damage.is_none() && !inspection.has_gaps {
        inspection.reflogs()?;
        inspection.sizes()?;
    }
    inspection.references()?;
    LocalTable::ALL.into_iter().try_for_each(|table| inspection.rows(table))
}

struct Inspection<'i> {
    view: &'i RedbView<'i>,
    tell: &'i mut dyn FnMut(Found),
    /// How many objects before the mark are the first with their id.
    objects: u64,
    /// How many nodes the records before the mark changed.
    changes: u64,
    /// The moves of each branch before the mark of moves.
    moves: BTreeMap<BranchName, Reflog>,
    /// The first row that the index of moves does not know; none where there is no such index.
    moves_mark: Option<u64>,
    /// Whether an entry cannot be read.
    has_gaps: bool,
}

impl Inspection<'_> {
    fn flaw(&mut self, flaw: Flaw) {
        self.has_gaps |= matches!(flaw, Flaw::Entry(..));
        (self.tell)(Found::Flaw(flaw));
    }

    /// What redb answers, or none where it or a row is damaged, which is told by `flaw`.
    fn ask<T>(
        &mut self,
        question: impl FnOnce(&Moment) -> Result<T, Fault>,
        flaw: impl FnOnce(String) -> Flaw,
    ) -> Result<Option<T>, BackendError> {
        match self.view.ask(question) {
            Ok(answer) => Ok(Some(answer)),
            Err(BackendError::Corrupt(what)) => {
                self.flaw(flaw(what));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn entries(&mut self) -> Result<(), BackendError> {
        // A record that leaves its change set to the next row waits for it.
        let mut waiting: Option<(Number, Box<Record>)> = None;
        for number in 0..self.view.moment.pending.end {
            let number = Number(number);
            let row =
                self.ask(|moment| moment.log_row(number), |what| Flaw::Entry(number, what))?;
            if let Some((number, mut record)) = waiting.take() {
                match (&row, &mut record.derived) {
                    (Some(LogRow::Changes(changes)), Some(derived)) => {
                        derived.changes.clone_from(changes);
                    }
                    (Some(_), _) => self.flaw(Flaw::Entry(number, misplaced(number))),
                    (None, derived) => *derived = None,
                }
                self.record(number, *record)?;
                if matches!(row, Some(LogRow::Changes(_))) {
                    continue;
                }
            }
            match row {
                Some(LogRow::Object(bytes)) => match Encoded::decode(&bytes) {
                    Ok((object, _)) => {
                        self.placed(number, object.id())?;
                        (self.tell)(Found::Entry(number, Entry::Object(object)));
                    }
                    Err(error) => {
                        let what = format!("the object {} cannot be read: {error}", hash(&bytes));
                        self.flaw(Flaw::Entry(number, what));
                    }
                },
                Some(LogRow::Record { record, changes_follow: true }) => {
                    waiting = Some((number, record));
                }
                Some(LogRow::Record { record, .. }) => self.record(number, *record)?,
                Some(LogRow::Changes(_)) => self.flaw(Flaw::Entry(number, misplaced(number))),
                Some(LogRow::Erased(id)) => self.placed(number, id)?,
                None => {}
            }
        }
        if let Some((number, record)) = waiting {
            self.flaw(Flaw::Entry(number, misplaced(number)));
            self.record(number, *record)?;
        }
        Ok(())
    }

    /// Checks what the index says of an object.
    fn placed(&mut self, number: Number, id: ObjectId) -> Result<(), BackendError> {
        let found = self.ask(|moment| moment.place(&id), Flaw::Index)?;
        let Some(found) = found else { return Ok(()) };
        self.objects += u64::from(found == Some(number) && self.is_indexed(number));
        if found == Some(number) {
            return Ok(());
        }
        // What waits for the index is found before what the index has.
        let other = found.filter(|other| *other < number || !self.is_indexed(*other));
        let is_twice = other.map(|other| {
            let is_it = |row| matches!(row, LogRow::Object(bytes) if hash(&bytes) == id);
            self.view.ask(|moment| moment.log_row(other)).is_ok_and(is_it)
        });
        let flaw = match (other, is_twice, found) {
            (Some(other), Some(true), _) => {
                self.objects += u64::from(number < other && self.is_indexed(number));
                Flaw::Twice { id, first: number.min(other), again: number.max(other) }
            }
            (_, _, None) => Flaw::Index(format!("the index lacks the object {id}")),
            (_, _, Some(wrong)) => Flaw::Index(format!(
                "the index has the object {id} at {}, and it stands at {}",
                wrong.0, number.0
            )),
        };
        self.flaw(flaw);
        Ok(())
    }

    fn record(&mut self, number: Number, record: Record) -> Result<(), BackendError> {
        if self.is_indexed(number) {
            self.changes += record.changes().len() as u64;
        }
        let next = Number(number.0 + 1);
        for node in record.changes().keys() {
            let newest = self.ask(|moment| moment.numbers(node, Some(next), 1), Flaw::Index)?;
            if newest.is_some_and(|newest| newest != [number]) {
                let what = format!("the index lacks the change {} of the node {node:?}", number.0);
                self.flaw(Flaw::Index(what));
            }
        }
        if self.moves_mark.is_some_and(|mark| number.0 < mark)
            && let Some(branch) = &record.branch
        {
            self.moved(number, branch, record.time)?;
        }
        (self.tell)(Found::Entry(number, Entry::Record(record)));
        Ok(())
    }

    fn find_moves_mark(&mut self) -> Result<(), BackendError> {
        // A damaged file is walked.
        if self.view.moment.damage.is_some() {
            return Ok(());
        }
        let mark = self.view.moment.pending.mark;
        let known = self.ask(
            |moment| {
                let meta = read(&moment.transaction, META)?;
                match moves::known(&meta)? {
                    Some(known) if known > mark => Err(meta.damaged(MOVES_MARK)),
                    known => Ok(known),
                }
            },
            Flaw::Index,
        )?;
        self.moves_mark = known.flatten();
        Ok(())
    }

    /// Checks what the index says of a move. Behind a gap nobody knows the places of moves.
    fn moved(
        &mut self,
        number: Number,
        branch: &BranchName,
        time: i64,
    ) -> Result<(), BackendError> {
        let reflog = self.moves.entry(branch.clone()).or_insert(Reflog::EMPTY);
        let place = reflog.count;
        reflog.add(time);
        let expected = rows::encode_move(number.0, reflog.latest);
        if self.has_gaps {
            return Ok(());
        }
        let key = rows::move_key(branch, place);
        let found = self.ask(|moment| read(&moment.transaction, MOVES)?.get(&key), Flaw::Index)?;
        if found.is_some_and(|found| found.as_ref() != Some(&expected)) {
            let what = format!("the index lacks the move {} of the branch {branch}", number.0);
            self.flaw(Flaw::Index(what));
        }
        Ok(())
    }

    /// Checks how many moves the index says each branch has.
    fn reflogs(&mut self) -> Result<(), BackendError> {
        if self.moves_mark.is_none() {
            return Ok(());
        }
        let found = self.ask(
            |moment| {
                let meta = read(&moment.transaction, META)?;
                let count = read_number(&meta, &rows::count_key(REFLOGS))?;
                read(&moment.transaction, REFLOGS)?.whole(count)
            },
            Flaw::Index,
        )?;
        let Some(found) = found else { return Ok(()) };
        let found: BTreeMap<_, _> = found.into_iter().collect();
        let there: BTreeMap<_, _> = self
            .moves
            .iter()
            .map(|(branch, reflog)| (branch.as_str().as_bytes().to_vec(), reflog.encode()))
            .collect();
        for key in found.keys().chain(there.keys()).collect::<BTreeSet<_>>() {
            if found.get(key) != there.get(key) {
                let name = String::from_utf8_lossy(key);
                let what = format!("the index has another number of moves of the branch {name}");
                self.flaw(Flaw::Index(what));
            }
        }
        Ok(())
    }

    fn is_indexed(&self, number: Number) -> bool {
        number.0 < self.view.moment.pending.mark
    }

    /// With everything in its place, more rows than there are things name what is not there.
    fn sizes(&mut self) -> Result<(), BackendError> {
        let mut tables = vec![(WHERE, self.objects), (NODES, self.changes)];
        if self.moves_mark.is_some() {
            tables.push((MOVES, self.moves.values().map(|reflog| reflog.count).sum()));
        }
        for (table, there) in tables {
            let rows = self.ask(
                |moment| {
                    let rows = read(&moment.transaction, table)?;
                    let mut count = 0_u64;
                    rows.range(ALL_ROWS, Direction::Up)?
                        .try_for_each(|row| row.map(|_| count += 1))?;
                    Ok(count)
                },
                Flaw::Index,
            )?;
            if let Some(rows) = rows.filter(|rows| *rows > there) {
                self.flaw(Flaw::Index(format!(
                    "the index table {table} has {rows} rows, and {there} of them name what is there"
                )));
            }
        }
        Ok(())
    }

    fn references(&mut self) -> Result<(), BackendError> {
        for (key, value) in self.table(REFS, true)? {
            match rows::decode_ref(&key, &value) {
                Some((name, commit)) => (self.tell)(Found::Reference(name, commit)),
                None => self.flaw(Flaw::Row(format!(
                    "the row {} of the table {REFS} names no commit",
                    key.escape_ascii()
                ))),
            }
        }
        Ok(())
    }

    fn rows(&mut self, table: LocalTable) -> Result<(), BackendError> {
        let is_counted = super::publish::is_counted(table);
        for (key, value) in self.table(table.as_str(), is_counted)? {
            let key = match (table, key.split_first()) {
                (LocalTable::Meta, Some((&META_ROW, key))) => key.to_vec(),
                // What the backend notes for itself.
                (LocalTable::Meta, _) => continue,
                _ => key,
            };
            (self.tell)(Found::Row(table, (key, value)));
        }
        Ok(())
    }

    /// The rows of a small table that can be read; what cannot is told.
    fn table(
        &mut self,
        table: &'static str,
        is_counted: bool,
    ) -> Result<Vec<rows::Row>, BackendError> {
        let mut found = Vec::new();
        let mut flaws = Vec::new();
        self.ask(
            |moment| {
                let rows = read(&moment.transaction, table)?;
                let whole = rows.len()?;
                for row in rows.range(ALL_ROWS, Direction::Up)? {
                    match row {
                        Ok(row) => found.push(row),
                        Err(Fault::Row(what)) => flaws.push(what),
                        Err(fault) => return Err(fault),
                    }
                }
                // A page that says it is empty takes its rows away without a word.
                let (count, what) = if is_counted {
                    let meta = read(&moment.transaction, META)?;
                    (read_number(&meta, &rows::count_key(table))?, "that were written")
                } else {
                    (whole, "that the file names")
                };
                let there = (found.len() + flaws.len()) as u64;
                if there != count {
                    flaws.push(format!(
                        "the table {table} has {there} rows, not the {count} {what}"
                    ));
                }
                Ok(())
            },
            Flaw::Row,
        )?;
        for what in flaws {
            self.ask(|_| Err::<(), _>(Fault::Row(what)), Flaw::Row)?;
        }
        Ok(found)
    }
}

fn misplaced(number: Number) -> String {
    format!("the row {} of the table {LOG} does not belong where it stands", number.0)
}
