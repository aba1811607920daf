//! The data file as a backend that takes the lease when it is needed.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::{HolderState, Leased, Purpose, Tips};
use crate::backend::{
    Backend, BackendError, Batch, Found, LocalRow, LocalTable, Number, Outcome, Position,
    PublishError, Record, RowRange, Stands, Tell, View,
};
use crate::error::Error;
use crate::id::{BranchName, CommitId, NodeId, ObjectId};
use crate::object::Kind;

thread_local! {
    /// How many views this thread has open: it must get another, or it would wait for itself.
    pub(super) static VIEWS: Cell<usize> = const { Cell::new(0) };
}

/// In a forked child: the views of its one thread are its parent's.
pub(crate) fn forget_views() {
    VIEWS.set(0);
}

impl Backend for Leased {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        Ok(Box::new(LeasedView { leased: self, open: OnceCell::new() }))
    }

    fn known_tip(&self, name: &BranchName) -> Option<Option<CommitId>> {
        if !self.is_mine() {
            return None;
        }
        if self.is_held()? {
            self.backend().ok()?.known_tip(name)
        } else {
            self.known_tips().map(|tips| tips.get(name).copied())
        }
    }

    fn publish(&self, batch: &Batch) -> Result<(), PublishError> {
        self.check_writable().map_err(refused)?;
        let _use = Use::begin(self)?;
        let published = self.backend()?.publish(batch);
        // Also after an error: it may have landed.
        let mut state = self.state();
        state.counter = state.counter.wrapping_add(1);
        self.write_holder(state.counter, HolderState::Holding);
        published
    }

    fn damage(&self) -> Option<String> {
        let _use = Use::begin(self).ok()?;
        self.backend().ok()?.damage()
    }

    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError> {
        let _use = Use::begin(self)?;
        self.backend()?.inspect(tell)
    }
}

fn refused(error: Error) -> BackendError {
    BackendError::Refused(Box::new(error))
}

/// Keeps the file open.
struct Use<'l>(&'l Leased);

impl<'l> Use<'l> {
    fn begin(leased: &'l Leased) -> Result<Self, BackendError> {
        leased.hold(Purpose::View).map_err(refused)?;
        VIEWS.set(VIEWS.get() + 1);
        Ok(Self(leased))
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        // In a forked child it is its parent's.
        if !self.0.is_mine() {
            return;
        }
        VIEWS.set(VIEWS.get().saturating_sub(1));
        self.0.drop_use(&mut self.0.state());
    }
}

/// A view that takes the lease with the first question that needs it.
struct LeasedView<'l> {
    leased: &'l Leased,
    open: OnceCell<OpenView<'l>>,
}

struct OpenView<'l> {
    // Dropped before the use ends.
    view: Box<dyn View + 'l>,
    _use: Use<'l>,
}

impl LeasedView<'_> {
    fn open(&self) -> Result<&dyn View, BackendError> {
        if self.open.get().is_none() {
            let held = Use::begin(self.leased)?;
            let view = self.leased.backend()?.view()?;
            let _ = self.open.set(OpenView { view, _use: held });
        }
        match self.open.get() {
            Some(open) => Ok(&*open.view),
            None => Err(std::io::Error::from(std::io::ErrorKind::NotConnected).into()),
        }
    }

    fn known_tips(&self) -> Option<Tips> {
        if self.open.get().is_some() || !self.leased.is_mine() {
            None
        } else {
            self.leased.known_tips()
        }
    }
}

impl View for LeasedView<'_> {
    fn object(&self, id: &ObjectId) -> Result<Outcome, BackendError> {
        self.open()?.object(id)
    }

    fn objects(&self, ids: &[ObjectId], tell: &mut Tell<'_>) -> Result<(), BackendError> {
        self.open()?.objects(ids, tell)
    }

    fn number(&self, id: &ObjectId) -> Result<Option<Number>, BackendError> {
        self.open()?.number(id)
    }

    fn reference(&self, name: &BranchName) -> Result<Option<CommitId>, BackendError> {
        match self.known_tips() {
            Some(tips) => Ok(tips.get(name).copied()),
            None => self.open()?.reference(name),
        }
    }

    fn references(&self) -> Result<BTreeMap<BranchName, CommitId>, BackendError> {
        match self.known_tips() {
            Some(tips) => Ok((*tips).clone()),
            None => self.open()?.references(),
        }
    }

    fn record(&self, commit: &CommitId) -> Result<Option<(Number, Record)>, BackendError> {
        self.open()?.record(commit)
    }

    fn position(&self, commit: &CommitId) -> Result<Option<Position>, BackendError> {
        self.open()?.position(commit)
    }

    fn records(
        &self,
        branch: Option<&BranchName>,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        self.open()?.records(branch, before, limit)
    }

    fn move_at(
        &self,
        branch: &BranchName,
        time: i64,
    ) -> Result<Option<(Number, Record)>, BackendError> {
        self.open()?.move_at(branch, time)
    }

    fn changes(
        &self,
        node: &NodeId,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<(Number, Record)>, BackendError> {
        self.open()?.changes(node, before, limit)
    }

    fn changed(
        &self,
        node: &NodeId,
        before: Option<Number>,
        limit: usize,
    ) -> Result<Vec<Stands>, BackendError> {
        self.open()?.changed(node, before, limit)
    }

    fn rows(&self, table: LocalTable, range: RowRange) -> Result<Vec<LocalRow>, BackendError> {
        self.open()?.rows(table, range)
    }

    fn ids(
        &self,
        range: RangeInclusive<ObjectId>,
        limit: usize,
    ) -> Result<Vec<(ObjectId, Kind)>, BackendError> {
        self.open()?.ids(range, limit)
    }
}
