//! One batch, one write transaction.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use redb::WriteTransaction;

use super::index::Pending;
use super::rows::{self, LOG, META, META_ROW, REFS, WHERE};
use super::view::{self, read_number};
use super::{Fault, Settings, write};
use crate::backend::{Batch, Entry, LocalTable, ObjectId, PublishError, check_refs};

/// What a transaction will have done once it is committed.
pub(super) struct Written {
    /// What it appended.
    pub(super) added: Pending,
    /// Whether everything appended so far is indexed.
    pub(super) indexed: bool,
}

/// Why nothing was written.
pub(super) enum Refused {
    Fault(Fault),
    Moved(PublishError),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<PublishError> for Refused {
    fn from(error: PublishError) -> Self {
        Self::Moved(error)
    }
}

/// Puts a batch into a transaction. The branches are compared first, so that a batch that does
/// not land has touched nothing.
pub(super) fn publish(
    transaction: &WriteTransaction,
    pending: &Pending,
    batch: &Batch,
    settings: &Settings,
) -> Result<Written, Refused> {
    let mut counts = Counts::default();
    write_refs(transaction, batch, &mut counts)?;
    let added = append(transaction, pending, batch)?;
    write_rows(transaction, batch, &mut counts)?;
    counts.write(transaction)?;
    let indexed = pending.is_due(&added, settings);
    if indexed {
        Pending::write_out([pending, &added], added.end, transaction)?;
    }
    Ok(Written { added, indexed })
}

fn write_refs(
    transaction: &WriteTransaction,
    batch: &Batch,
    counts: &mut Counts,
) -> Result<(), Refused> {
    if batch.refs.is_empty() {
        return Ok(());
    }
    let mut refs = write(transaction, REFS)?;
    let meta = write(transaction, META)?;
    check_refs(batch, |name| view::reference(&refs, &meta, name).map_err(Refused::from))?;
    for edit in &batch.refs {
        let key = edit.name.as_str().as_bytes();
        match &edit.new {
            Some(commit) => {
                let was_there = refs.put(key, commit.as_bytes().to_vec())?;
                counts.set("refs", was_there, true);
            }
            None => counts.set("refs", refs.remove(key)?, false),
        }
    }
    Ok(())
}

fn append(
    transaction: &WriteTransaction,
    pending: &Pending,
    batch: &Batch,
) -> Result<Pending, Fault> {
    let mut added = Pending::from(pending.end);
    if batch.entries.is_empty() {
        return Ok(added);
    }
    let mut log = write(transaction, LOG)?;
    let mut log = log.appender(batch.entries.len())?;
    // Finding a table costs as much as finding a row, and what is fresh is not looked for.
    let places = OnceCell::new();
    let is_stored = |id: &ObjectId| {
        if places.get().is_none() {
            let _ = places.set(write(transaction, WHERE)?);
        }
        Ok::<_, Fault>(match places.get() {
            Some(places) => places.probe(id.as_bytes())?.is_some(),
            None => false,
        })
    };
    let mut put = |added: &mut Pending, row: Vec<u8>| {
        let size = row.len();
        log.push(&rows::encode_number(added.end), row)?;
        added.add_row(size);
        Ok::<_, Fault>(())
    };
    for entry in &batch.entries {
        match entry {
            Entry::Object(object) => {
                let id = object.id();
                let known = added.objects.contains_key(&id)
                    || pending.objects.contains_key(&id)
                    || !object.is_fresh() && is_stored(&id)?;
                if !known {
                    added.add_object(id, object.kind());
                    put(&mut added, rows::encode_object(object.bytes()))?;
                }
            }
            Entry::Record(record) => {
                added.add_record(added.end, record);
                let (row, changes) = rows::encode_record(record);
                put(&mut added, row)?;
                if let Some(changes) = changes {
                    put(&mut added, changes)?;
                }
            }
        }
    }
    log.close()?;
    Ok(added)
}

fn write_rows(
    transaction: &WriteTransaction,
    batch: &Batch,
    counts: &mut Counts,
) -> Result<(), Fault> {
    for table in LocalTable::ALL {
        let mut edits = batch.rows.iter().filter(|edit| edit.table == table).peekable();
        if edits.peek().is_none() {
            continue;
        }
        let mut rows = write(transaction, table.as_str())?;
        for edit in edits {
            let key = local_row_key(table, &edit.key);
            let was_there = match &edit.value {
                Some(value) => rows.put(&key, value.clone())?,
                None => rows.remove(&key)?,
            };
            if is_counted(table) {
                counts.set(table.as_str(), was_there, edit.value.is_some());
            }
        }
    }
    Ok(())
}

/// The key under which a local row stands in its table.
pub(super) fn local_row_key(table: LocalTable, key: &[u8]) -> Vec<u8> {
    match table {
        LocalTable::Meta => [&[META_ROW], key].concat(),
        _ => key.to_vec(),
    }
}

/// Whether `meta` keeps the number of rows, so that a lost row is noticed.
pub(super) fn is_counted(table: LocalTable) -> bool {
    matches!(table, LocalTable::Staging | LocalTable::StagingTombstones)
}

/// By how much the small tables grow and shrink.
#[derive(Default)]
struct Counts(BTreeMap<&'static str, (u64, u64)>);

impl Counts {
    fn set(&mut self, table: &'static str, was_there: bool, is_there: bool) {
        let (more, fewer) = self.0.entry(table).or_default();
        *more += u64::from(!was_there && is_there);
        *fewer += u64::from(was_there && !is_there);
    }

    fn write(self, transaction: &WriteTransaction) -> Result<(), Fault> {
        for (table, (more, fewer)) in self.0.into_iter().filter(|(_, (more, fewer))| more != fewer)
        {
            let mut meta = write(transaction, META)?;
            let key = rows::count_key(table);
            let count = (read_number(&meta, &key)? + more)
                .checked_sub(fewer)
                .ok_or_else(|| meta.damaged(&key))?;
            meta.put(&key, rows::encode_number(count).to_vec())?;
        }
        Ok(())
    }
}
