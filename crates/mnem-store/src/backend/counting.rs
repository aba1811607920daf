//! Backends for tests and benchmarks that count what is asked of another, or fail a call.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{
    Backend, BackendError, Batch, BranchName, CommitId, Entry, Found, Kind, LocalRow, LocalTable,
    NodeId, Number, ObjectId, Outcome, PublishError, Record, RowRange, View,
};

/// What was asked of a backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Views taken.
    pub views: u64,
    /// Objects read, found or not.
    pub object_reads: u64,
    /// Questions to a view about anything else.
    pub other_reads: u64,
    /// Local rows in the answers.
    pub rows: u64,
    /// Batches that landed.
    pub publishes: u64,
    /// Objects that the landed batches added to those already stored.
    pub objects_inserted: u64,
    /// Bytes of those objects.
    pub object_bytes: u64,
    /// Records that landed.
    pub records: u64,
}

/// Counts what is asked of another backend.
#[derive(Debug)]
pub struct Counting<B> {
    inner: B,
    counts: Mutex<Counts>,
}

impl<B: Backend> Counting<B> {
    /// Counts from zero.
    pub fn new(inner: B) -> Self {
        Self { inner, counts: Mutex::default() }
    }

    /// What was asked so far.
    pub fn counts(&self) -> Counts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was asked so far; counts from zero again.
    pub fn take(&self) -> Counts {
        self.with(std::mem::take)
    }

    fn with<T>(&self, change: impl FnOnce(&mut Counts) -> T) -> T {
        change(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many objects of a batch are not stored yet, and their bytes.
    fn new_objects(&self, batch: &Batch) -> Result<(u64, u64), BackendError> {
        let view = self.inner.view()?;
        let mut seen = BTreeSet::new();
        let (mut count, mut bytes) = (0, 0);
        for entry in &batch.entries {
            let Entry::Object(object) = entry else { continue };
            if seen.insert(object.id()) && view.object(&object.id())? == Outcome::Absent {
                count += 1;
                bytes += object.bytes().len() as u64;
            }
        }
        Ok((count, bytes))
    }
}

impl<B: Backend> Backend for Counting<B> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        self.with(|counts| counts.views += 1);
        let note = |question| {
            self.with(|counts| match question {
                Question::Object => counts.object_reads += 1,
                Question::Other => counts.other_reads += 1,
                Question::Answered { rows } => counts.rows += rows,
            });
            Ok(())
        };
        Ok(Box::new(Watched { inner: self.inner.view()?, before: note }))
    }

    fn publish(&self, batch: &Batch) -> Result<(), PublishError> {
        let (objects, bytes) = self.new_objects(batch)?;
        self.inner.publish(batch)?;
        let records = batch.entries.iter().filter(|entry| matches!(entry, Entry::Record(_)));
        self.with(|counts| {
            counts.publishes += 1;
            counts.objects_inserted += objects;
            counts.object_bytes += bytes;
            counts.records += records.count() as u64;
        });
        Ok(())
    }

    fn damage(&self) -> Option<String> {
        self.inner.damage()
    }

    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError> {
        self.inner.inspect(tell)
    }
}

/// Fails one call to another backend: a view, a question to one, or a publish, which then does
/// not land.
#[derive(Debug)]
pub struct Failing<B> {
    inner: B,
    calls: AtomicU64,
    fail_at: AtomicU64,
}

impl<B: Backend> Failing<B> {
    /// Fails nothing yet.
    pub fn new(inner: B) -> Self {
        Self { inner, calls: AtomicU64::new(0), fail_at: AtomicU64::new(0) }
    }

    /// How many calls were made.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Fails the n-th call from now, counted from 1; 0 fails none.
    pub fn fail_at(&self, call: u64) {
        self.calls.store(0, Ordering::SeqCst);
        self.fail_at.store(call, Ordering::SeqCst);
    }

    fn call(&self) -> Result<(), BackendError> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if call == self.fail_at.load(Ordering::SeqCst) {
            return Err(std::io::Error::other(format!("call {call} was made to fail")).into());
        }
        Ok(())
    }
}

impl<B: Backend> Backend for Failing<B> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        self.call()?;
        let before = |question| match question {
            Question::Object | Question::Other => self.call(),
            Question::Answered { .. } => Ok(()),
        };
        Ok(Box::new(Watched { inner: self.inner.view()?, before }))
    }

    fn publish(&self, batch: &Batch) -> Result<(), PublishError> {
        self.call()?;
        self.inner.publish(batch)
    }

    fn damage(&self) -> Option<String> {
        self.inner.damage()
    }

    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError> {
        self.call()?;
        self.inner.inspect(tell)
    }
}

/// Does something once, when another backend has answered with local rows: what happens between
/// two reads of a call.
pub struct Meanwhile<B> {
    inner: B,
    #[allow(clippy::type_complexity)] // it is said once
    action: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl<B: Backend> Meanwhile<B> {
    /// Does nothing yet.
    pub fn new(inner: B) -> Self {
        Self { inner, action: Mutex::default() }
    }

    /// Does this after the next answer with local rows.
    pub fn after_rows(&self, action: impl FnOnce() + Send + 'static) {
        *self.action.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(action));
    }
}

impl<B: fmt::Debug> fmt::Debug for Meanwhile<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meanwhile").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<B: Backend> Backend for Meanwhile<B> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        let before = |question| {
            if matches!(question, Question::Answered { .. }) {
                let action = self.action.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(action) = action {
                    action();
                }
            }
            Ok(())
        };
        Ok(Box::new(Watched { inner: self.inner.view()?, before }))
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

#[derive(Clone, Copy)]
enum Question {
    Object,
    Other,
    /// None: the rows that were asked for are here.
    Answered {
        rows: u64,
    },
}

/// A view that does something before each question.
struct Watched<'b, F> {
    inner: Box<dyn View + 'b>,
    before: F,
}

impl<F: Fn(Question) -> Result<(), BackendError>> View for Watched<'_, F> {
    fn object(&self, id: &ObjectId) -> Result<Outcome, BackendError> {
        (self.before)(Question::Object)?;
        self.inner.object(id)
    }

    fn number(&self, id: &ObjectId) -> Result<Option<Number>, BackendError> {
        (self.before)(Question::Other)?;
        self.inner.number(id)
    }

    fn reference(&self, name: &BranchName) -> Result<Option<CommitId>, BackendError> {
        (self.before)(Question::Other)?;
        self.inner.reference(name)
    }

    fn references(&self) -> Result<BTreeMap<BranchName, CommitId>, BackendError> {
        (self.before)(Question::Other)?;
        self.inner.references()
    }

    fn record(&self, commit: &CommitId) -> Result<Option<(Number, Record)>, BackendError> {
        (self.before)(Question::Other)?;
        self.inner.record(commit)
    }

    fn records(
        &self,
        branch: Option<&BranchName>,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        (self.before)(Question::Other)?;
        self.inner.records(branch, before, limit)
    }

    fn move_at(
        &self,
        branch: &BranchName,
        time: i64,
    ) -> Result<Option<(Number, Record)>, BackendError> {
        (self.before)(Question::Other)?;
        self.inner.move_at(branch, time)
    }

    fn changes(
        &self,
        node: &NodeId,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        (self.before)(Question::Other)?;
        self.inner.changes(node, before, limit)
    }

    fn rows(&self, table: LocalTable, range: RowRange) -> Result<Vec<LocalRow>, BackendError> {
        (self.before)(Question::Other)?;
        let rows = self.inner.rows(table, range)?;
        (self.before)(Question::Answered { rows: rows.len() as u64 })?;
        Ok(rows)
    }

    fn ids(
        &self,
        range: RangeInclusive<ObjectId>,
        limit: usize,
    ) -> Result<Vec<(ObjectId, Kind)>, BackendError> {
        (self.before)(Question::Other)?;
        self.inner.ids(range, limit)
    }
}
