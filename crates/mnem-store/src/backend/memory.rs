//! A backend that lives and dies with its process, and says what every other must answer.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeInclusive};
use std::sync::{Arc, PoisonError, RwLock};

use super::{
    Backend, BackendError, Batch, BranchName, CommitId, Entry, Found, Kind, LocalRow, LocalTable,
    NodeId, Number, ObjectId, Outcome, PublishError, Record, RefEdit, RowRange, View, check_refs,
    is_empty_range,
};
use crate::codec::Encoded;

/// Objects, records and rows in ordered maps. It defers nothing.
#[derive(Debug, Default)]
pub struct MemoryBackend {
    contents: RwLock<Arc<Contents>>,
}

#[derive(Clone, Debug, Default)]
struct Contents {
    next: u64,
    objects: BTreeMap<ObjectId, (Number, Kind, Arc<[u8]>)>,
    records: BTreeMap<Number, Record>,
    nodes: BTreeMap<NodeId, Vec<Number>>,
    /// The records of each branch, oldest first, and the latest time so far.
    moves: BTreeMap<BranchName, Vec<(Number, i64)>>,
    refs: BTreeMap<BranchName, CommitId>,
    rows: BTreeMap<LocalTable, BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl MemoryBackend {
    /// An empty backend.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Backend for MemoryBackend {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
        Ok(Box::new(MemoryView(Arc::clone(&contents))))
    }

    fn known_tip(&self, name: &BranchName) -> Option<Option<CommitId>> {
        Some(self.contents.try_read().ok()?.refs.get(name).copied())
    }

    fn publish(&self, batch: &Batch) -> Result<(), PublishError> {
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        check_refs(batch, |name| Ok::<_, PublishError>(contents.refs.get(name).copied()))?;
        // Nothing below can fail.
        Arc::make_mut(&mut contents).apply(batch);
        Ok(())
    }

    fn damage(&self) -> Option<String> {
        None
    }

    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError> {
        let contents = Arc::clone(&self.contents.read().unwrap_or_else(PoisonError::into_inner));
        let objects = contents.objects.values().filter_map(|(number, _, bytes)| {
            // Only what was encoded came in.
            Some((*number, Entry::Object(Encoded::decode(bytes).ok()?.0)))
        });
        let records = contents.records.iter();
        let records = records.map(|(number, record)| (*number, Entry::Record(record.clone())));
        let entries: BTreeMap<_, _> = objects.chain(records).collect();
        for (number, entry) in entries {
            tell(Found::Entry(number, entry));
        }
        for (name, commit) in &contents.refs {
            tell(Found::Reference(name.clone(), *commit));
        }
        for (table, rows) in &contents.rows {
            for (key, value) in rows {
                tell(Found::Row(*table, (key.clone(), value.clone())));
            }
        }
        Ok(())
    }
}

impl Contents {
    fn apply(&mut self, batch: &Batch) {
        for entry in &batch.entries {
            match entry {
                Entry::Object(object) if self.objects.contains_key(&object.id()) => {}
                Entry::Object(object) => {
                    let number = self.take_numbers(1);
                    self.objects
                        .insert(object.id(), (number, object.kind(), object.bytes().into()));
                }
                Entry::Record(record) => {
                    let number = self.take_numbers(record.numbers());
                    for node in record.changes().keys() {
                        self.nodes.entry(node.clone()).or_default().push(number);
                    }
                    if let Some(branch) = &record.branch {
                        let moves = self.moves.entry(branch.clone()).or_default();
                        let latest =
                            moves.last().map_or(record.time, |last| last.1.max(record.time));
                        moves.push((number, latest));
                    }
                    self.records.insert(number, record.clone());
                }
            }
        }
        for RefEdit { name, new, .. } in &batch.refs {
            match new {
                Some(commit) => self.refs.insert(name.clone(), *commit),
                None => self.refs.remove(name),
            };
        }
        for edit in &batch.rows {
            let table = self.rows.entry(edit.table).or_default();
            match &edit.value {
                Some(value) => table.insert(edit.key.clone(), value.clone()),
                None => table.remove(&edit.key),
            };
        }
    }

    fn take_numbers(&mut self, count: u64) -> Number {
        let number = Number(self.next);
        self.next += count;
        number
    }
}

struct MemoryView(Arc<Contents>);

impl MemoryView {
    fn moves(&self, branch: &BranchName) -> &[(Number, i64)] {
        self.0.moves.get(branch).map(Vec::as_slice).unwrap_or_default()
    }

    fn numbered(&self, number: Number) -> Option<(Number, Record)> {
        Some((number, self.0.records.get(&number)?.clone()))
    }
}

fn below(before: Option<Number>) -> (Bound<Number>, Bound<Number>) {
    (Bound::Unbounded, before.map_or(Bound::Unbounded, Bound::Excluded))
}

impl View for MemoryView {
    fn object(&self, id: &ObjectId) -> Result<Outcome, BackendError> {
        let found = self.0.objects.get(id);
        Ok(found.map_or(Outcome::Absent, |(.., bytes)| Outcome::Present(Arc::clone(bytes))))
    }

    fn number(&self, id: &ObjectId) -> Result<Option<Number>, BackendError> {
        Ok(self.0.objects.get(id).map(|(number, ..)| *number))
    }

    fn reference(&self, name: &BranchName) -> Result<Option<CommitId>, BackendError> {
        Ok(self.0.refs.get(name).copied())
    }

    fn references(&self) -> Result<BTreeMap<BranchName, CommitId>, BackendError> {
        Ok(self.0.refs.clone())
    }

    fn record(&self, commit: &CommitId) -> Result<Option<(Number, Record)>, BackendError> {
        let Some((number, ..)) = self.0.objects.get(&(*commit).into()) else { return Ok(None) };
        let number = Number(number.0 + 1);
        let record = self.0.records.get(&number).filter(|record| record.new == Some(*commit));
        Ok(record.map(|record| (number, record.clone())))
    }

    fn records(
        &self,
        branch: Option<&BranchName>,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        let Some(branch) = branch else {
            let records = self.0.records.range(below(before)).rev().take(limit);
            return Ok(records.map(|(number, record)| (*number, record.clone())).collect());
        };
        let moves = self.moves(branch);
        let end = moves.partition_point(|(number, _)| before.is_none_or(|end| *number < end));
        let numbers = moves.iter().take(end).rev().take(limit);
        Ok(numbers.filter_map(|(number, _)| self.numbered(*number)).collect())
    }

    fn move_at(
        &self,
        branch: &BranchName,
        time: i64,
    ) -> Result<Option<(Number, Record)>, BackendError> {
        let moves = self.moves(branch);
        let by_then = moves.partition_point(|(_, latest)| *latest <= time);
        let counts = moves.get(by_then.saturating_sub(1));
        Ok(counts.and_then(|(number, _)| self.numbered(*number)))
    }

    fn changes(
        &self,
        node: &NodeId,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        let numbers = self.0.nodes.get(node).into_iter().flatten().rev();
        Ok(numbers
            .filter(|number| before.is_none_or(|before| **number < before))
            .take(limit)
            .filter_map(|number| self.numbered(*number))
            .collect())
    }

    fn rows(&self, table: LocalTable, range: RowRange) -> Result<Vec<LocalRow>, BackendError> {
        if is_empty_range(&range) {
            return Ok(Vec::new());
        }
        let rows = self.0.rows.get(&table).into_iter().flat_map(|rows| rows.range(range.clone()));
        Ok(rows.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn ids(
        &self,
        range: RangeInclusive<ObjectId>,
        limit: usize,
    ) -> Result<Vec<(ObjectId, Kind)>, BackendError> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.0.objects.range(range).take(limit);
        Ok(found.map(|(id, (_, kind, _))| (*id, *kind)).collect())
    }
}
