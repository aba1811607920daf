//! Memory at one commit, read node by node.

use std::collections::BTreeMap;
use std::iter::FusedIterator;
use std::sync::Arc;
use std::time::Duration;
use std::vec;

use super::engine::Engine;
use super::{Head, Store, lease};
use crate::error::{Error, ErrorKind};
use crate::id::{CommitId, NodeId, NodeVersionId, StateId};
use crate::object::{MemoryNode, StateNode};
use crate::state::{self, Nodes};

/// Memory by node id, in the order of the ids.
pub type Memory = BTreeMap<NodeId, Arc<MemoryNode>>;

/// How many nodes a scan reads together.
const PIECE: usize = 4_096;

/// Memory at one commit; of a branch without a commit, nothing.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) engine: Arc<Engine>,
    commit: Option<CommitId>,
    state: Option<StateId>,
}

impl Snapshot {
    pub(crate) fn new(engine: &Arc<Engine>, commit: Option<CommitId>) -> Result<Self, Error> {
        let state = match commit {
            Some(id) => Some(engine.objects.commit(id)?.state),
            None => None,
        };
        Ok(Self { engine: Arc::clone(engine), commit, state })
    }

    /// The commit.
    pub fn commit(&self) -> Option<CommitId> {
        self.commit
    }

    /// The commit's state.
    pub fn state(&self) -> Option<StateId> {
        self.state
    }

    /// Which version of a node is current.
    pub fn version(&self, id: &NodeId) -> Result<Option<NodeVersionId>, Error> {
        self.engine.check_process()?;
        match self.state {
            Some(state) => state::get(&self.engine.objects, state, id),
            None => Ok(None),
        }
    }

    /// A node, if it is there.
    pub fn get(&self, id: &NodeId) -> Result<Option<Arc<MemoryNode>>, Error> {
        self.engine.check_process()?;
        let Some(state) = self.state else { return Ok(None) };
        let objects = self.engine.objects.reading();
        let version = state::get(&objects, state, id)?;
        version.map(|version| filed(id, version, objects.node(version)?)).transpose()
    }

    /// How many nodes there are.
    pub fn count(&self) -> Result<u64, Error> {
        self.engine.check_process()?;
        self.state.map_or(Ok(0), |state| state::count(&self.engine.objects, state))
    }

    /// The ids and versions of the nodes whose id begins with `prefix`, after `after`, in order.
    pub fn versions(
        &self,
        prefix: &str,
        after: Option<&NodeId>,
        limit: Option<usize>,
    ) -> Result<Vec<(NodeId, NodeVersionId)>, Error> {
        self.engine.check_process()?;
        match self.state {
            Some(state) => state::entries(&self.engine.objects.scanning(), state, prefix, after)
                .take(limit.unwrap_or(usize::MAX))
                .collect(),
            None => Ok(Vec::new()),
        }
    }

    /// The nodes whose id begins with `prefix`, after `after`, at most `limit` of them, in order, a
    /// piece at a time.
    pub fn scan(
        &self,
        prefix: &str,
        after: Option<&NodeId>,
        limit: Option<usize>,
    ) -> Result<Scan, Error> {
        Ok(Scan::new(&self.engine, self.versions(prefix, after, limit)?))
    }

    /// The nodes whose id begins with `prefix`, at most `limit` of them, in order.
    pub fn memory(&self, prefix: &str, limit: Option<usize>) -> Result<Memory, Error> {
        self.scan(prefix, None, limit)?.memory()
    }

    /// What [`Snapshot::get`] would answer, as far as that can be told without waiting for a disk
    /// or for anybody; else none.
    pub fn get_at_hand(&self, id: &NodeId) -> Option<Option<Arc<MemoryNode>>> {
        self.engine.check_process().ok()?;
        match state::get(&AtHand(&self.engine), self.state?, id).ok()? {
            None => Some(None),
            Some(version) => {
                let node = self.engine.objects.cached_node(version)?;
                (node.id == *id).then_some(Some(node))
            }
        }
    }
}

/// Nodes in the order of their ids, read a piece at a time: all of memory need not be held at once.
/// It ends after the first error.
#[derive(Debug)]
pub struct Scan {
    engine: Arc<Engine>,
    ahead: vec::IntoIter<(NodeId, NodeVersionId)>,
    /// Whether there is more than a piece of it.
    is_long: bool,
    /// How long the handle that began it waits for another process: another thread may go on.
    patience: Option<Duration>,
}

impl Scan {
    pub(crate) fn new(engine: &Arc<Engine>, versions: Vec<(NodeId, NodeVersionId)>) -> Self {
        let is_long = versions.len() > PIECE;
        let (engine, patience) = (Arc::clone(engine), lease::patience());
        Self { engine, ahead: versions.into_iter(), is_long, patience }
    }

    /// Whether it is of more than one piece.
    pub fn is_long(&self) -> bool {
        self.is_long
    }

    /// All that is ahead.
    pub fn memory(self) -> Result<Memory, Error> {
        let mut memory = Memory::new();
        for piece in self {
            memory.extend(piece?.into_iter().map(|node| (node.id.clone(), node)));
        }
        Ok(memory)
    }

    fn piece(&mut self) -> Result<Vec<Arc<MemoryNode>>, Error> {
        self.engine.check_process()?;
        self.patience.into_iter().for_each(lease::be_patient);
        let (ids, versions): (Vec<_>, Vec<_>) = self.ahead.by_ref().take(PIECE).unzip();
        let objects = &self.engine.objects;
        let objects = if self.is_long { objects.scanning_on() } else { objects.scanning() };
        let nodes = objects.nodes(&versions)?.into_iter();
        nodes
            .zip(ids.iter().zip(versions))
            .map(|(node, (id, version))| filed(id, version, node))
            .collect()
    }
}

impl Iterator for Scan {
    type Item = Result<Vec<Arc<MemoryNode>>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ahead.len() == 0 {
            return None;
        }
        let piece = self.piece();
        if piece.is_err() {
            self.ahead = Vec::new().into_iter();
        }
        Some(piece)
    }
}

impl FusedIterator for Scan {}

/// The tree nodes that are at hand; any other is an error.
struct AtHand<'e>(&'e Engine);

impl Nodes for AtHand<'_> {
    fn state_node(&self, id: StateId) -> Result<Arc<StateNode>, Error> {
        let node = self.0.objects.cached_state(id);
        node.ok_or_else(|| Error::not_found(format!("the state {id} is not at hand")))
    }
}

impl Store {
    /// What [`Store::snapshot`] would answer, if that can be told without waiting for a disk or for
    /// anybody; else none.
    pub fn snapshot_at_hand(&self) -> Option<Snapshot> {
        let engine = self.engine_at_hand()?;
        let branch = if let Some(branch) = self.bound() {
            engine.check_place().ok()?;
            branch.clone()
        } else if let Head::Attached(branch) = engine.head_at_hand()? {
            branch
        } else {
            return None;
        };
        let tip = engine.objects.backend().known_tip(&branch)??;
        let state = engine.objects.cached_commit(tip)?.state;
        Some(Snapshot { engine, commit: Some(tip), state: Some(state) })
    }
}

impl Engine {
    /// The node object that a state files under an id; its own id must be that one.
    pub(crate) fn node_at(
        &self,
        id: &NodeId,
        version: NodeVersionId,
    ) -> Result<Arc<MemoryNode>, Error> {
        filed(id, version, self.objects.node(version)?)
    }

    /// Whether two versions say the same: one object, or equal in all but their salt. An erased
    /// version says what no other says.
    pub(crate) fn same(&self, a: NodeVersionId, b: NodeVersionId) -> Result<bool, Error> {
        let readable = |id| match self.objects.node(id) {
            Ok(node) => Ok(Some(node)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        Ok(a == b
            || match (readable(a)?, readable(b)?) {
                (Some(a), Some(b)) => a.same(&b),
                _ => false,
            })
    }

    /// The same of versions that may be absent.
    pub(crate) fn same_or_absent(
        &self,
        a: Option<NodeVersionId>,
        b: Option<NodeVersionId>,
    ) -> Result<bool, Error> {
        match (a, b) {
            (Some(a), Some(b)) => self.same(a, b),
            (a, b) => Ok(a == b),
        }
    }
}

/// A node that a state files under an id; its own id must be that one.
fn filed(
    id: &NodeId,
    version: NodeVersionId,
    node: Arc<MemoryNode>,
) -> Result<Arc<MemoryNode>, Error> {
    if node.id == *id {
        return Ok(node);
    }
    let message = format!("a state files the node {:?} ({version}) under {id:?}", node.id);
    Err(Error::corrupt(message))
}
