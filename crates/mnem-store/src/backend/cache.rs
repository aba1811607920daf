//! Verified objects: whatever is read is hashed before it is believed, decoded once and kept.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::{Backend, BackendError, Outcome, Position, View};
use crate::codec::encoded::hash;
use crate::codec::{Encoded, strict};
use crate::error::Error;
use crate::id::{CommitId, NodeVersionId, ObjectId, StateId};
use crate::object::{Commit, MemoryNode, Object, StateNode};

/// How many bytes of decoded objects are kept unless told otherwise.
pub const DEFAULT_CACHE_BYTES: u64 = 32 * 1024 * 1024;

/// The objects of a backend, verified and decoded. Immutable, so a cached one is never stale.
/// Clones share what is cached.
#[derive(Clone, Debug)]
pub struct Objects {
    backend: Arc<dyn Backend>,
    cache: Arc<Cache<ObjectId, Cached, ByBytes>>,
    positions: Arc<Cache<CommitId, Position>>,
    /// Where commits stand that have no record to say so, all of them: a store without records
    /// is walked once, not once for each commit.
    walked: Arc<Mutex<BTreeMap<CommitId, Position>>>,
    /// What a verb has built in its turn, which may yet come to nothing.
    drafts: Arc<Mutex<Vec<(ObjectId, Cached)>>>,
}

#[derive(Clone, Debug)]
enum Cached {
    Node(Arc<MemoryNode>, u32),
    State(Arc<StateNode>, u32),
    Commit(Arc<Commit>, u32),
}

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<ObjectId, Cached> for ByBytes {
    fn weight(&self, _: &ObjectId, cached: &Cached) -> u64 {
        let (Cached::Node(_, bytes) | Cached::State(_, bytes) | Cached::Commit(_, bytes)) = cached;
        // Decoded, an object takes about twice its encoding, and some for itself.
        u64::from(*bytes) * 2 + 160
    }
}

impl Objects {
    /// The objects of a backend, keeping at most this many bytes of them decoded.
    pub fn new(backend: Arc<dyn Backend>, cache_bytes: u64) -> Self {
        let about = usize::try_from(cache_bytes / 500).unwrap_or(usize::MAX);
        // A position takes about 150 bytes; all of them, a quarter of the objects' share.
        let positions = usize::try_from(cache_bytes / 600).unwrap_or(usize::MAX);
        Self {
            backend,
            cache: Arc::new(Cache::with_weighter(about, cache_bytes, ByBytes)),
            positions: Arc::new(Cache::new(positions)),
            walked: Arc::default(),
            drafts: Arc::default(),
        }
    }

    /// The backend itself.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// Drops every decoded object: some may be of a batch that was built and did not land.
    pub(crate) fn forget(&self) {
        self.cache.clear();
        self.positions.clear();
        self.walked().clear();
    }

    /// Notes a node that a verb has built, as it will be read.
    pub(crate) fn draft_node(&self, object: &Encoded, node: Arc<MemoryNode>) {
        self.draft(object, |bytes| Cached::Node(node, bytes));
    }

    /// Notes a state node that a verb has built.
    pub(crate) fn draft_state(&self, object: &Encoded, state: Arc<StateNode>) {
        self.draft(object, |bytes| Cached::State(state, bytes));
    }

    /// Notes a commit that a verb has built.
    pub(crate) fn draft_commit(&self, object: &Encoded, commit: Arc<Commit>) {
        self.draft(object, |bytes| Cached::Commit(commit, bytes));
    }

    fn draft(&self, object: &Encoded, cached: impl FnOnce(u32) -> Cached) {
        let bytes = u32::try_from(object.bytes().len()).unwrap_or(u32::MAX);
        self.drafts().push((object.id(), cached(bytes)));
    }

    /// Keeps what a verb has built, which is to be published, or drops it. The next verb builds
    /// on the same objects, and need not read and decode what was decoded a moment ago.
    pub(crate) fn end_drafts(&self, are_good: bool) {
        for (id, cached) in std::mem::take(&mut *self.drafts()).into_iter().filter(|_| are_good) {
            self.cache.insert(id, cached);
        }
    }

    fn drafts(&self) -> MutexGuard<'_, Vec<(ObjectId, Cached)>> {
        self.drafts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a commit stands, if that was asked before.
    pub(crate) fn known_position(&self, commit: CommitId) -> Option<Position> {
        self.positions.get(&commit).or_else(|| self.walked().get(&commit).copied())
    }

    /// Keeps where a commit stands.
    pub(crate) fn know_position(&self, commit: CommitId, position: Position) {
        self.positions.insert(commit, position);
    }

    /// Keeps where a commit stands that has no record, for as long as the store is open.
    pub(crate) fn know_walked(&self, commit: CommitId, position: Position) {
        self.walked().insert(commit, position);
    }

    fn walked(&self) -> MutexGuard<'_, BTreeMap<CommitId, Position>> {
        self.walked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store at one moment.
    pub fn view(&self) -> Result<Box<dyn View + '_>, Error> {
        Ok(self.backend.view()?)
    }

    /// A memory node that something stored refers to.
    pub fn node(&self, id: NodeVersionId) -> Result<Arc<MemoryNode>, Error> {
        match self.required(id.into())? {
            Cached::Node(node, _) => Ok(node),
            _ => Err(wrong_kind(id.into(), "a memory node")),
        }
    }

    /// A state node that something stored refers to.
    pub fn state(&self, id: StateId) -> Result<Arc<StateNode>, Error> {
        match self.required(id.into())? {
            Cached::State(state, _) => Ok(state),
            _ => Err(wrong_kind(id.into(), "a state")),
        }
    }

    /// A commit that something stored refers to.
    pub fn commit(&self, id: CommitId) -> Result<Arc<Commit>, Error> {
        match self.required(id.into())? {
            Cached::Commit(commit, _) => Ok(commit),
            _ => Err(wrong_kind(id.into(), "a commit")),
        }
    }

    /// A commit that a caller asked for: `None` when no commit has this id.
    pub fn find_commit(&self, id: CommitId) -> Result<Option<Arc<Commit>>, Error> {
        match self.find(id.into())? {
            Some(Cached::Commit(commit, _)) => Ok(Some(commit)),
            _ => Ok(None),
        }
    }

    /// A memory node, if it is at hand.
    pub(crate) fn cached_node(&self, id: NodeVersionId) -> Option<Arc<MemoryNode>> {
        match self.cache.get(&ObjectId::from(id))? {
            Cached::Node(node, _) => Some(node),
            _ => None,
        }
    }

    /// A state node, if it is at hand.
    pub(crate) fn cached_state(&self, id: StateId) -> Option<Arc<StateNode>> {
        match self.cache.get(&ObjectId::from(id))? {
            Cached::State(state, _) => Some(state),
            _ => None,
        }
    }

    /// A commit, if it is at hand.
    pub(crate) fn cached_commit(&self, id: CommitId) -> Option<Arc<Commit>> {
        match self.cache.get(&ObjectId::from(id))? {
            Cached::Commit(commit, _) => Some(commit),
            _ => None,
        }
    }

    fn required(&self, id: ObjectId) -> Result<Cached, Error> {
        self.find(id)?.ok_or_else(|| Error::corrupt(format!("the object {id} is missing")))
    }

    fn find(&self, id: ObjectId) -> Result<Option<Cached>, Error> {
        if let Some(cached) = self.cache.get(&id) {
            return Ok(Some(cached));
        }
        let Some(bytes) = self.bytes(id)? else { return Ok(None) };
        let object = strict::decode(&bytes)
            .map_err(|error| Error::corrupt(format!("the object {id} cannot be read: {error}")))?;
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let cached = match object {
            Object::Node(node) => Cached::Node(Arc::new(node), size),
            Object::State(state) => Cached::State(Arc::new(state), size),
            Object::Commit(commit) => Cached::Commit(Arc::new(commit), size),
        };
        self.cache.insert(id, cached.clone());
        Ok(Some(cached))
    }

    /// The verified bytes of an object; `None` when there is none with this id.
    pub fn bytes(&self, id: ObjectId) -> Result<Option<Arc<[u8]>>, Error> {
        let outcome = self.backend.view()?.object(&id).map_err(|error| match error {
            // The backend speaks of rows; whoever asked, of an object.
            BackendError::Corrupt(what) => {
                Error::corrupt(format!("the object {id} cannot be read: {what}"))
            }
            other => other.into(),
        })?;
        match outcome {
            Outcome::Present(bytes) if hash(&bytes) == id => Ok(Some(bytes)),
            Outcome::Present(_) => Err(Error::corrupt(format!("the object {id} was altered"))),
            Outcome::Absent => Ok(None),
            Outcome::Erased => Err(Error::not_found(format!("the object {id} was erased"))),
        }
    }

    /// The object with this id, decoded, and its verified bytes; not kept.
    pub fn encoded(&self, id: ObjectId) -> Result<Option<(Encoded, Object)>, Error> {
        let Some(bytes) = self.bytes(id)? else { return Ok(None) };
        let decoded = Encoded::decode(&bytes)
            .map_err(|error| Error::corrupt(format!("the object {id} cannot be read: {error}")))?;
        Ok(Some(decoded))
    }
}

fn wrong_kind(id: ObjectId, wanted: &str) -> Error {
    Error::corrupt(format!("the object {id} is not {wanted}"))
}
