//! Batches that are built and not published yet, over a backend: what the next batch is built
//! on, and all of them as one batch.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::{
    Backend, BackendError, Batch, BranchName, CommitId, Entry, Kind, LocalRow, LocalTable, NodeId,
    Number, ObjectId, Outcome, Position, PublishError, Record, RefEdit, RowRange, Tell, View,
    check_refs, is_empty_range, move_among,
};
use crate::codec::Encoded;

/// Records that have no number yet are numbered from here, above all that have one.
const UNNUMBERED: u64 = 1 << 62;

/// Batches in their order, found by what is asked of a view.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    objects: BTreeMap<ObjectId, Encoded>,
    records: BTreeMap<Number, Record>,
    commits: BTreeMap<CommitId, Number>,
    refs: BTreeMap<BranchName, RefEdit>,
    rows: BTreeMap<(LocalTable, Vec<u8>), Option<Vec<u8>>>,
    entries: Vec<Entry>,
    bytes: usize,
}

impl Overlay {
    /// Whether there is nothing to publish.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.refs.is_empty() && self.rows.is_empty()
    }

    /// How many new commits there are.
    pub(crate) fn commits(&self) -> usize {
        self.commits.len()
    }

    /// How many bytes the objects and rows have.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a batch whose branches have been compared with a whole view of this.
    pub(crate) fn add(&mut self, batch: Batch) {
        let mut last_commit = None;
        for entry in batch.entries {
            match &entry {
                Entry::Object(object) if self.objects.contains_key(&object.id()) => continue,
                Entry::Object(object) => {
                    self.bytes += object.bytes().len();
                    self.objects.insert(object.id(), object.clone());
                    last_commit = Some(CommitId::from(object.id()));
                }
                Entry::Record(record) => {
                    let number = Number(UNNUMBERED + self.records.len() as u64);
                    if let Some(commit) = last_commit.take()
                        && record.new == Some(commit)
                    {
                        self.commits.insert(commit, number);
                    }
                    self.records.insert(number, record.clone());
                }
            }
            self.entries.push(entry);
        }
        for edit in batch.refs {
            // A branch that moves again still starts from where the first mover found it.
            match self.refs.get_mut(&edit.name) {
                Some(moved) => moved.new = edit.new,
                None => _ = self.refs.insert(edit.name.clone(), edit),
            }
        }
        for edit in batch.rows {
            self.bytes += edit.key.len() + edit.value.as_ref().map_or(0, Vec::len);
            self.rows.insert((edit.table, edit.key), edit.value);
        }
    }

    /// Everything as one batch.
    pub(crate) fn batch(&self) -> Batch {
        let mut batch = Batch {
            entries: self.entries.clone(),
            refs: self.refs.values().cloned().collect(),
            rows: Vec::new(),
        };
        for ((table, key), value) in &self.rows {
            batch.row(*table, key.clone(), value.clone());
        }
        batch
    }
}

/// How much of an overlay a view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// All of it: to whoever builds on it.
    All,
    /// Objects alone. Only who has been given the id of one asks for it, as a snapshot does that
    /// an update hands to another thread.
    Objects,
}

/// A view of a backend with an overlay.
pub(crate) fn view<'b>(
    backend: &'b dyn Backend,
    overlay: Arc<Overlay>,
    shown: Shown,
) -> Result<Box<dyn View + 'b>, BackendError> {
    Ok(Box::new(OverlayView { below: backend.view()?, overlay, shown }))
}

/// Finds a branch that is not where a batch expects it to be.
pub(crate) fn check(view: &dyn View, batch: &Batch) -> Result<(), PublishError> {
    check_refs(batch, |name| view.reference(name).map_err(PublishError::from))
}

struct OverlayView<'b> {
    below: Box<dyn View + 'b>,
    overlay: Arc<Overlay>,
    shown: Shown,
}

impl OverlayView<'_> {
    /// The overlay, where more than objects is asked for.
    fn whole(&self) -> Option<&Overlay> {
        (self.shown == Shown::All).then_some(&*self.overlay)
    }

    /// Records of the overlay, newest first, then those of `below`.
    fn with_records(
        &self,
        before: Option<Number>,
        limit: usize,
        wanted: impl Fn(&Record) -> bool,
        below: impl FnOnce(usize) -> Result<Vec<(Number, Record)>, BackendError>,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        let records = self.whole().into_iter().flat_map(|overlay| overlay.records.iter().rev());
        let mut found: Vec<_> = records
            .filter(|(number, record)| before.is_none_or(|end| **number < end) && wanted(record))
            .take(limit)
            .map(|(number, record)| (*number, record.clone()))
            .collect();
        found.extend(below(limit - found.len())?);
        Ok(found)
    }
}

impl View for OverlayView<'_> {
    fn object(&self, id: &ObjectId) -> Result<Outcome, BackendError> {
        match self.overlay.objects.get(id) {
            Some(object) => Ok(Outcome::Present(object.bytes().into())),
            None => self.below.object(id),
        }
    }

    fn objects(&self, ids: &[ObjectId], tell: &mut Tell<'_>) -> Result<(), BackendError> {
        let (mut places, mut below) = (Vec::new(), Vec::new());
        for (at, id) in ids.iter().enumerate() {
            if let Some(object) = self.overlay.objects.get(id) {
                tell(at, object.bytes());
            } else {
                places.push(at);
                below.push(*id);
            }
        }
        self.below.objects(&below, &mut |at, bytes| {
            if let Some(at) = places.get(at) {
                tell(*at, bytes);
            }
        })
    }

    /// What is not published yet has none.
    fn number(&self, id: &ObjectId) -> Result<Option<Number>, BackendError> {
        self.below.number(id)
    }

    fn reference(&self, name: &BranchName) -> Result<Option<CommitId>, BackendError> {
        match self.whole().and_then(|overlay| overlay.refs.get(name)) {
            Some(edit) => Ok(edit.new),
            None => self.below.reference(name),
        }
    }

    fn references(&self) -> Result<BTreeMap<BranchName, CommitId>, BackendError> {
        let mut found = self.below.references()?;
        for edit in self.whole().into_iter().flat_map(|overlay| overlay.refs.values()) {
            match edit.new {
                Some(commit) => found.insert(edit.name.clone(), commit),
                None => found.remove(&edit.name),
            };
        }
        Ok(found)
    }

    fn record(&self, commit: &CommitId) -> Result<Option<(Number, Record)>, BackendError> {
        let added = self.whole().and_then(|overlay| {
            let number = overlay.commits.get(commit)?;
            Some((*number, overlay.records.get(number)?.clone()))
        });
        added.map_or_else(|| self.below.record(commit), |added| Ok(Some(added)))
    }

    fn position(&self, commit: &CommitId) -> Result<Option<Position>, BackendError> {
        let is_added = self.whole().is_some_and(|overlay| overlay.commits.contains_key(commit));
        if !is_added {
            return self.below.position(commit);
        }
        let derived = self.record(commit)?.and_then(|(_, record)| record.derived);
        Ok(derived.map(|derived| derived.position()))
    }

    fn records(
        &self,
        branch: Option<&BranchName>,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        let wanted = |record: &Record| branch.is_none() || record.branch.as_ref() == branch;
        let below = |limit| self.below.records(branch, before, limit);
        self.with_records(before, limit, wanted, below)
    }

    fn move_at(
        &self,
        branch: &BranchName,
        time: i64,
    ) -> Result<Option<(Number, Record)>, BackendError> {
        let below = self.below.move_at(branch, time)?;
        // What was added counts only where nothing below is later.
        if let Some((number, record)) = &below {
            let newest = self.below.records(Some(branch), None, 1)?;
            if record.time > time || newest.iter().any(|(newest, _)| newest != number) {
                return Ok(below);
            }
        }
        let of_branch = |record: &Record| record.branch.as_ref() == Some(branch);
        let below = |_| Ok(below.into_iter().collect());
        Ok(move_among(self.with_records(None, usize::MAX, of_branch, below)?, time))
    }

    fn changes(
        &self,
        node: &NodeId,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        let wanted = |record: &Record| record.changes().contains_key(node);
        let below = |limit| self.below.changes(node, before, limit);
        self.with_records(before, limit, wanted, below)
    }

    fn rows(&self, table: LocalTable, range: RowRange) -> Result<Vec<LocalRow>, BackendError> {
        let found = self.below.rows(table, range.clone())?;
        let Some(overlay) = self.whole().filter(|_| !is_empty_range(&range)) else {
            return Ok(found);
        };
        let mut found: BTreeMap<_, _> = found.into_iter().collect();
        let with_table = |bound: std::ops::Bound<Vec<u8>>| bound.map(|key| (table, key));
        // An open end reaches into other tables.
        let edits = overlay.rows.range((with_table(range.0), with_table(range.1)));
        for ((_, key), value) in edits.filter(|((of, _), _)| *of == table) {
            match value {
                Some(value) => found.insert(key.clone(), value.clone()),
                None => found.remove(key),
            };
        }
        Ok(found.into_iter().collect())
    }

    fn ids(
        &self,
        range: RangeInclusive<ObjectId>,
        limit: usize,
    ) -> Result<Vec<(ObjectId, Kind)>, BackendError> {
        let mut found = self.below.ids(range.clone(), limit)?;
        if let Some(overlay) = self.whole().filter(|_| !range.is_empty()) {
            let added = overlay.objects.range(range).take(limit);
            found.extend(added.map(|(id, object)| (*id, object.kind())));
            found.sort_unstable_by_key(|(id, _)| *id);
            found.dedup_by_key(|(id, _)| *id);
            found.truncate(limit);
        }
        Ok(found)
    }
}
