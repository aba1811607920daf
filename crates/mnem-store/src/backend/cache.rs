//! Verified objects: whatever is read is hashed before it is believed, decoded once and kept.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::{Backend, BackendError, Batch, ChangeSet, Entry, Operation, Outcome, Position, View};
use crate::codec::encoded::hash;
use crate::codec::{Encoded, strict};
use crate::error::Error;
use crate::id::{CommitId, NodeVersionId, ObjectId, StateId};
use crate::object::{Commit, MemoryNode, Object, Shared, StateNode};

/// How many bytes of decoded objects are kept unless told otherwise.
pub const DEFAULT_CACHE_BYTES: u64 = 32 * 1024 * 1024;

/// A scan that reads no more than this part of the cache keeps what it reads as any question does.
const SHORT_SCAN: u64 = 32;

/// The objects of a backend, verified and decoded. Immutable, so a cached one is never stale.
/// Clones share what is cached.
#[derive(Clone, Debug)]
pub struct Objects {
    backend: Arc<dyn Backend>,
    cache: Arc<Cache<ObjectId, Cached, ByBytes>>,
    positions: Arc<Cache<CommitId, Position>>,
    written: Arc<Cache<CommitId, Arc<ChangeSet>, ByBytes>>,
    /// Where commits stand that have no record to say so, all of them: a store without records
    /// is walked once, not once for each commit.
    walked: Arc<Mutex<BTreeMap<CommitId, Position>>>,
}

/// An object and the length of its encoding.
#[derive(Clone, Debug)]
struct Cached(Shared, usize);

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<ObjectId, Cached> for ByBytes {
    fn weight(&self, _: &ObjectId, cached: &Cached) -> u64 {
        // Decoded, an object takes about twice its encoding, and some for itself.
        cached.1 as u64 * 2 + 160
    }
}

impl Weighter<CommitId, Arc<ChangeSet>> for ByBytes {
    fn weight(&self, _: &CommitId, changes: &Arc<ChangeSet>) -> u64 {
        // An id of a node and two of versions, about.
        changes.len() as u64 * 160 + 100
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
            written: Arc::new(Cache::with_weighter(about / 64, cache_bytes / 16, ByBytes)),
            walked: Arc::default(),
        }
    }

    /// The backend itself.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// Keeps what a verb has built, which the next write reads and whoever follows a branch asks
    /// for. If it does not land, all is forgotten.
    pub(crate) fn keep(&self, batch: &Batch) {
        for entry in &batch.entries {
            match entry {
                Entry::Object(encoded) => {
                    if let Some(object) = encoded.object() {
                        let cached = Cached(object.clone(), encoded.bytes().len());
                        self.cache.insert(encoded.id(), cached);
                    }
                }
                Entry::Record(record) => {
                    if let Some((commit, position)) = record.stands() {
                        self.know_position(commit, position);
                        // What a merge takes over may differ in its salt alone, and is no change.
                        if let Some(derived) = &record.derived
                            && record.operation == Operation::WRITE
                        {
                            self.written.insert(commit, Arc::new(derived.changes.clone()));
                        }
                    }
                }
            }
        }
    }

    /// What a commit changed, if this process wrote it not long ago.
    pub(crate) fn written_by(&self, commit: CommitId) -> Option<Arc<ChangeSet>> {
        self.written.get(&commit)
    }

    /// Drops every decoded object: some may be of a batch that was built and did not land.
    pub(crate) fn forget(&self) {
        self.cache.clear();
        self.positions.clear();
        self.written.clear();
        self.walked().clear();
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
        self.required(id.into())?.node(id)
    }

    /// A state node that something stored refers to.
    pub fn state(&self, id: StateId) -> Result<Arc<StateNode>, Error> {
        self.required(id.into())?.state(id)
    }

    /// A commit that something stored refers to.
    pub fn commit(&self, id: CommitId) -> Result<Arc<Commit>, Error> {
        self.required(id.into())?.commit(id)
    }

    /// A commit that a caller asked for: `None` when no commit has this id.
    pub fn find_commit(&self, id: CommitId) -> Result<Option<Arc<Commit>>, Error> {
        match self.find(id.into())? {
            Some(Shared::Commit(commit)) => Ok(Some(commit)),
            _ => Ok(None),
        }
    }

    /// A memory node, if it is at hand.
    pub(crate) fn cached_node(&self, id: NodeVersionId) -> Option<Arc<MemoryNode>> {
        match self.cache.get(&ObjectId::from(id))?.0 {
            Shared::Node(node) => Some(node),
            _ => None,
        }
    }

    /// A state node, if it is at hand.
    pub(crate) fn cached_state(&self, id: StateId) -> Option<Arc<StateNode>> {
        match self.cache.get(&ObjectId::from(id))?.0 {
            Shared::State(state) => Some(state),
            _ => None,
        }
    }

    /// A commit, if it is at hand.
    pub(crate) fn cached_commit(&self, id: CommitId) -> Option<Arc<Commit>> {
        match self.cache.get(&ObjectId::from(id))?.0 {
            Shared::Commit(commit) => Some(commit),
            _ => None,
        }
    }

    fn required(&self, id: ObjectId) -> Result<Shared, Error> {
        self.find(id)?.ok_or_else(|| missing(id))
    }

    fn find(&self, id: ObjectId) -> Result<Option<Shared>, Error> {
        if let Some(Cached(object, _)) = self.cache.get(&id) {
            return Ok(Some(object));
        }
        self.read(id, &*self.view()?)
    }

    fn read(&self, id: ObjectId, view: &dyn View) -> Result<Option<Shared>, Error> {
        let Some(bytes) = verified(id, view.object(&id))? else { return Ok(None) };
        let object = decoded(id, &bytes)?;
        self.cache.insert(id, Cached(object.clone(), bytes.len()));
        Ok(Some(object))
    }

    /// For one question, about a few objects.
    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading { objects: self, view: OnceCell::new() }
    }

    /// For a question about many objects.
    pub(crate) fn scanning(&self) -> Scanning<'_> {
        let short = Cell::new(self.cache.capacity() / SHORT_SCAN);
        Scanning { objects: self, short, room: Cell::new(None) }
    }

    /// For a part of a long scan.
    pub(crate) fn scanning_on(&self) -> Scanning<'_> {
        Scanning { short: Cell::new(0), ..self.scanning() }
    }

    /// The verified bytes of an object; `None` when there is none with this id.
    pub fn bytes(&self, id: ObjectId) -> Result<Option<Arc<[u8]>>, Error> {
        verified(id, self.view()?.object(&id))
    }

    /// The object with this id, decoded, and its verified bytes; not kept.
    pub fn encoded(&self, id: ObjectId) -> Result<Option<(Encoded, Object)>, Error> {
        let Some(bytes) = self.bytes(id)? else { return Ok(None) };
        let decoded = Encoded::decode(&bytes)
            .map_err(|error| Error::corrupt(format!("the object {id} cannot be read: {error}")))?;
        Ok(Some(decoded))
    }
}

impl Shared {
    fn node(self, id: NodeVersionId) -> Result<Arc<MemoryNode>, Error> {
        match self {
            Self::Node(node) => Ok(node),
            _ => Err(wrong_kind(id.into(), "a memory node")),
        }
    }

    fn state(self, id: StateId) -> Result<Arc<StateNode>, Error> {
        match self {
            Self::State(state) => Ok(state),
            _ => Err(wrong_kind(id.into(), "a state")),
        }
    }

    fn commit(self, id: CommitId) -> Result<Arc<Commit>, Error> {
        match self {
            Self::Commit(commit) => Ok(commit),
            _ => Err(wrong_kind(id.into(), "a commit")),
        }
    }
}

/// The objects that one question is about, a few: what is not at hand comes from one view, taken
/// with the first.
pub(crate) struct Reading<'o> {
    objects: &'o Objects,
    view: OnceCell<Box<dyn View + 'o>>,
}

impl Reading<'_> {
    /// A memory node that something stored refers to.
    pub(crate) fn node(&self, id: NodeVersionId) -> Result<Arc<MemoryNode>, Error> {
        self.required(id.into())?.node(id)
    }

    /// A state node that something stored refers to.
    pub(crate) fn state(&self, id: StateId) -> Result<Arc<StateNode>, Error> {
        self.required(id.into())?.state(id)
    }

    fn required(&self, id: ObjectId) -> Result<Shared, Error> {
        if let Some(Cached(object, _)) = self.objects.cache.get(&id) {
            return Ok(object);
        }
        let view = if let Some(view) = self.view.get() {
            view
        } else {
            let view = self.objects.view()?;
            self.view.get_or_init(|| view)
        };
        self.objects.read(id, &**view)?.ok_or_else(|| missing(id))
    }
}

/// The objects that a scan comes upon. A short one keeps what it reads; a long one, only what there
/// is room for, so that it pushes nothing out that is read again and again.
pub(crate) struct Scanning<'o> {
    objects: &'o Objects,
    /// How many bytes more are a short scan.
    short: Cell<u64>,
    /// For how many bytes more there is room, once that was asked.
    room: Cell<Option<u64>>,
}

impl Scanning<'_> {
    /// A state node that something stored refers to.
    pub(crate) fn state(&self, id: StateId) -> Result<Arc<StateNode>, Error> {
        self.required(id.into())?.state(id)
    }

    /// A commit that something stored refers to.
    pub(crate) fn commit(&self, id: CommitId) -> Result<Arc<Commit>, Error> {
        self.required(id.into())?.commit(id)
    }

    /// Memory nodes that something stored refers to, in the order of `ids`; those that are not at
    /// hand are read together.
    pub(crate) fn nodes(&self, ids: &[NodeVersionId]) -> Result<Vec<Arc<MemoryNode>>, Error> {
        let mut found: Vec<_> = ids.iter().map(|id| self.at_hand((*id).into())).collect();
        let (wanted, mut empty): (Vec<_>, Vec<_>) = ids
            .iter()
            .zip(&mut found)
            .filter(|(_, found)| found.is_none())
            .map(|(id, place)| (ObjectId::from(*id), place))
            .unzip();
        if !wanted.is_empty() {
            let read = self.objects.view()?.objects(&wanted, &mut |at, bytes| {
                let place = wanted.get(at).zip(empty.get_mut(at));
                if let Some((id, place)) = place.filter(|(id, _)| hash(bytes) == **id) {
                    **place = self.keep(*id, bytes).ok();
                }
            });
            match read {
                // It fails again, for the one object that it is about.
                Ok(()) | Err(BackendError::Corrupt(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let node = |(id, found): (&NodeVersionId, Option<Shared>)| match found {
            Some(object) => object.node(*id),
            None => self.required((*id).into())?.node(*id),
        };
        ids.iter().zip(found).map(node).collect()
    }

    fn required(&self, id: ObjectId) -> Result<Shared, Error> {
        match self.at_hand(id) {
            Some(object) => Ok(object),
            None => self.keep(id, &self.objects.bytes(id)?.ok_or_else(|| missing(id))?),
        }
    }

    fn at_hand(&self, id: ObjectId) -> Option<Shared> {
        // What a long scan comes upon is wanted no more for that.
        let is_short = self.short.get() > 0;
        let cache = &self.objects.cache;
        let cached = if is_short { cache.get(&id) } else { cache.peek(&id) };
        cached.map(|Cached(object, _)| object)
    }

    /// Decodes what was read, and keeps it or not.
    fn keep(&self, id: ObjectId, bytes: &[u8]) -> Result<Shared, Error> {
        let cached = Cached(decoded(id, bytes)?, bytes.len());
        if self.is_kept(ByBytes.weight(&id, &cached)) {
            self.objects.cache.insert(id, cached.clone());
        }
        Ok(cached.0)
    }

    fn is_kept(&self, weight: u64) -> bool {
        if let Some(left) = self.short.get().checked_sub(weight) {
            self.short.set(left);
            return true;
        }
        self.short.set(0);
        let cache = &self.objects.cache;
        // The rest is for what is asked for by itself, and since its parts fill unevenly.
        let room = || (cache.capacity() / 4 * 3).saturating_sub(cache.weight());
        let left = self.room.get().unwrap_or_else(room).checked_sub(weight);
        self.room.set(Some(left.unwrap_or(0)));
        left.is_some()
    }
}

/// What a backend answered for an object, hashed; none when it has no object with this id.
fn verified(
    id: ObjectId,
    answer: Result<Outcome, BackendError>,
) -> Result<Option<Arc<[u8]>>, Error> {
    match answer {
        Ok(Outcome::Present(bytes)) if hash(&bytes) == id => Ok(Some(bytes)),
        Ok(Outcome::Present(_)) => Err(Error::corrupt(format!("the object {id} was altered"))),
        Ok(Outcome::Absent) => Ok(None),
        Ok(Outcome::Erased) => Err(Error::not_found(format!("the object {id} was erased"))),
        // The backend speaks of rows; whoever asked, of an object.
        Err(BackendError::Corrupt(what)) => {
            Err(Error::corrupt(format!("the object {id} cannot be read: {what}")))
        }
        Err(other) => Err(other.into()),
    }
}

fn decoded(id: ObjectId, bytes: &[u8]) -> Result<Shared, Error> {
    let object = strict::decode(bytes)
        .map_err(|error| Error::corrupt(format!("the object {id} cannot be read: {error}")))?;
    Ok(object.into())
}

fn missing(id: ObjectId) -> Error {
    Error::corrupt(format!("the object {id} is missing"))
}

fn wrong_kind(id: ObjectId, wanted: &str) -> Error {
    Error::corrupt(format!("the object {id} is not {wanted}"))
}
