//! Memory at one commit, and the reads that a store and a snapshot share.

#![allow(clippy::needless_pass_by_value)] // Python hands arguments over by value

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use mnem_store::object::MemoryNode;
use mnem_store::store::snapshot::Scan;
use mnem_store::{Error, NodeId, Snapshot, Store};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{Limit, Text};
use crate::errors::{Failure, guarded, work_for_another};
use crate::types;

/// How often who waits for another thread looks whether Python has a signal for it.
const LOOK: Duration = Duration::from_millis(50);

/// Memory at one commit.
///
/// `mnem.Store.update` hands it to its callable. It does not change, whatever is written later.
#[pyclass(frozen, name = "Snapshot", module = "mnem")]
pub struct PySnapshot(pub Snapshot);

#[pymethods]
impl PySnapshot {
    /// The id of the commit, 64 hexadecimal digits; `None` on a branch without one.
    #[getter]
    fn commit(&self) -> Option<String> {
        self.0.commit().map(|commit| commit.to_string())
    }

    /// The node with this id, or `None`.
    ///
    /// >>> store = mnem.open(":memory:")
    /// >>> def extend(memory):
    /// ...     seats = memory.get("seats")
    /// ...     return {"seats": 1 if seats is None else seats.content + 1}
    /// >>> for _ in range(2):
    /// ...     _ = store.update(extend, message="one more seat")
    /// >>> store.get("seats").content
    /// 2
    fn get<'py>(&self, py: Python<'py>, id: Text) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| get(py, id, Some(self.0.clone()), || Ok(self.0.clone())))
    }

    /// Whether there is a node with this id.
    ///
    /// >>> store = mnem.open(":memory:")
    /// >>> def settle(memory):
    /// ...     return {} if memory.exists("plan") else {"plan": "basic"}
    /// >>> first = store.update(settle, message="a plan, unless there is one")
    /// >>> store.update(settle, message="a plan, unless there is one") == first
    /// True
    fn exists(&self, py: Python<'_>, id: Text) -> PyResult<bool> {
        guarded(|| exists(py, id, Some(self.0.clone()), || Ok(self.0.clone())))
    }

    /// The nodes whose id begins with `prefix` and comes after `after`, at most `limit` of them, by
    /// id.
    ///
    /// >>> store = mnem.open(":memory:")
    /// >>> _ = store.write({"cart:1": "tea", "cart:2": "milk", "plan": 1}, message="learn")
    /// >>> def clear(memory):
    /// ...     return dict.fromkeys(memory.memory(prefix="cart:"))
    /// >>> _ = store.update(clear, message="an empty cart")
    /// >>> store.exists("cart:1"), store.exists("plan")
    /// (False, True)
    #[pyo3(signature = (prefix = None, limit = None, after = None))]
    fn memory<'py>(
        &self,
        py: Python<'py>,
        prefix: Option<Text>,
        limit: Option<Limit>,
        after: Option<Text>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let asked = Asked::new(prefix, after, limit);
        guarded(|| memory(py, || asked.of(&self.0)))
    }
}

/// Which nodes of memory are asked for.
pub struct Asked {
    prefix: String,
    after: Option<NodeId>,
    limit: Option<usize>,
}

impl Asked {
    pub fn new(prefix: Option<Text>, after: Option<Text>, limit: Option<Limit>) -> Self {
        Self {
            prefix: prefix.map(Text::into_string).unwrap_or_default(),
            after: after.map(|after| NodeId::from_stored(after.into_string())),
            limit: limit.map(|limit| limit.0),
        }
    }

    /// Those at one commit.
    pub fn of(&self, snapshot: &Snapshot) -> Result<Scan, Error> {
        snapshot.scan(&self.prefix, self.after.as_ref(), self.limit)
    }

    /// The ids of those at one commit.
    pub fn ids_of(&self, snapshot: &Snapshot) -> Result<Vec<String>, Error> {
        let versions = snapshot.versions(&self.prefix, self.after.as_ref(), self.limit)?;
        Ok(versions.into_iter().map(|(id, _)| id.to_string()).collect())
    }

    /// Those of HEAD's memory with staging over it.
    pub fn of_working_memory(&self, store: &Store) -> Result<Scan, Error> {
        store.scan_working_memory(&self.prefix, self.after.as_ref(), self.limit)
    }
}

/// What a scan reads at once.
type Piece = Result<Vec<Arc<MemoryNode>>, Error>;

/// A node, or `None`.
///
/// What is at hand is answered with the lock of Python kept: to get it back under load costs more
/// than the answer.
pub fn get(
    py: Python<'_>,
    id: Text,
    at_hand: Option<Snapshot>,
    snapshot: impl FnOnce() -> Result<Snapshot, Error> + Send,
) -> Result<Bound<'_, PyAny>, Failure> {
    let id = NodeId::from_stored(id.into_string());
    let node = match at_hand.as_ref().and_then(|snapshot| snapshot.get_at_hand(&id)) {
        Some(node) => node,
        None => py.detach(|| at_hand.map_or_else(snapshot, Ok)?.get(&id))?,
    };
    Ok(types::node_to_python(py, node.as_ref())?)
}

/// Whether there is a node.
pub fn exists(
    py: Python<'_>,
    id: Text,
    at_hand: Option<Snapshot>,
    snapshot: impl FnOnce() -> Result<Snapshot, Error> + Send,
) -> Result<bool, Failure> {
    let id = NodeId::from_stored(id.into_string());
    match at_hand.as_ref().and_then(|snapshot| snapshot.get_at_hand(&id)) {
        Some(node) => Ok(node.is_some()),
        None => Ok(py.detach(|| at_hand.map_or_else(snapshot, Ok)?.version(&id))?.is_some()),
    }
}

/// A `dict` from node id to `MemoryNode`, in the order of the ids. What is not Python's yet is
/// never more than two pieces: while one becomes Python's, another thread reads the next.
pub fn memory(
    py: Python<'_>,
    scan: impl FnOnce() -> Result<Scan, Error> + Send,
) -> Result<Bound<'_, PyDict>, Failure> {
    let mut scan = py.detach(scan)?;
    let nodes = types::Nodes::of_many(py)?;
    let memory = PyDict::new(py);
    let put = |piece: Piece| {
        piece?.iter().try_for_each(|node| nodes.put(&memory, node)).map_err(Failure::from)
    };
    if scan.is_long() {
        thread::scope(|threads| {
            let (ahead, mut pieces) = mpsc::sync_channel(0);
            let given_up = Arc::new(AtomicBool::new(false));
            let is_given_up = Arc::clone(&given_up);
            // It ends when nobody takes them any more.
            threads.spawn(move || {
                work_for_another(is_given_up);
                scan.try_for_each(|piece| ahead.send(piece))
            });
            let filled = loop {
                let waited = &mut pieces;
                let step = match py.detach(move || waited.recv_timeout(LOOK)) {
                    Ok(piece) => put(piece),
                    Err(RecvTimeoutError::Timeout) => py.check_signals().map_err(Failure::from),
                    Err(RecvTimeoutError::Disconnected) => break Ok(()),
                };
                if step.is_err() {
                    break step;
                }
            };
            given_up.store(true, Ordering::SeqCst);
            filled
        })?;
    } else {
        while let Some(piece) = py.detach(|| scan.next()) {
            put(piece)?;
        }
    }
    Ok(memory)
}
