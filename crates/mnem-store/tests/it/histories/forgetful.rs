//! A backend whose index does not go back to the beginning, as after an import that brought none.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

use mnem_store::backend::{
    Backend, BackendError, Batch, Found, LocalRow, LocalTable, MemoryBackend, Number, Outcome,
    PublishError, Record, RowRange, View,
};
use mnem_store::object::Kind;
use mnem_store::{BranchName, CommitId, NodeId, ObjectId};

impl Forgetful {
    pub fn new(forgotten: u64) -> Self {
        Self { inner: MemoryBackend::new(), forgotten, lost: u64::MAX.into() }
    }
}

/// Commits numbered below `forgotten` have no derived facts and stand in no index.
#[derive(Debug)]
pub struct Forgetful {
    pub inner: MemoryBackend,
    pub forgotten: u64,
    /// A record that the index of nodes has lost.
    pub lost: AtomicU64,
}

struct Forgetting<'b> {
    inner: Box<dyn View + 'b>,
    forgotten: u64,
    lost: u64,
}

impl Backend for Forgetful {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        let lost = self.lost.load(Ordering::SeqCst);
        Ok(Box::new(Forgetting { inner: self.inner.view()?, forgotten: self.forgotten, lost }))
    }

    fn publish(&self, batch: &Batch) -> Result<(), PublishError> {
        self.inner.publish(batch)
    }

    fn damage(&self) -> Option<String> {
        self.inner.damage()
    }

    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError> {
        self.inner.inspect(tell)
    }
}

impl View for Forgetting<'_> {
    fn object(&self, id: &ObjectId) -> Result<Outcome, BackendError> {
        self.inner.object(id)
    }

    fn number(&self, id: &ObjectId) -> Result<Option<Number>, BackendError> {
        self.inner.number(id)
    }

    fn reference(&self, name: &BranchName) -> Result<Option<CommitId>, BackendError> {
        self.inner.reference(name)
    }

    fn references(&self) -> Result<BTreeMap<BranchName, CommitId>, BackendError> {
        self.inner.references()
    }

    fn record(&self, commit: &CommitId) -> Result<Option<(Number, Record)>, BackendError> {
        let mut found = self.inner.record(commit)?;
        if let Some((_, record)) = found.as_mut().filter(|(number, _)| number.0 < self.forgotten) {
            record.derived = None;
        }
        Ok(found)
    }

    fn records(
        &self,
        branch: Option<&BranchName>,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        self.inner.records(branch, before, limit)
    }

    fn changes(
        &self,
        node: &NodeId,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        let mut found = self.inner.changes(node, before, limit)?;
        found.retain(|(number, _)| number.0 >= self.forgotten && number.0 != self.lost);
        Ok(found)
    }

    fn rows(&self, table: LocalTable, range: RowRange) -> Result<Vec<LocalRow>, BackendError> {
        self.inner.rows(table, range)
    }

    fn ids(
        &self,
        range: RangeInclusive<ObjectId>,
        limit: usize,
    ) -> Result<Vec<(ObjectId, Kind)>, BackendError> {
        self.inner.ids(range, limit)
    }
}
