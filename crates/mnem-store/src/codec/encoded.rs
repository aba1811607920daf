//! Bytes that carry the id they hash to.

use std::sync::Arc;

use super::canonical;
use super::strict::{self, DecodeError};
use crate::id::{CommitId, NodeVersionId, ObjectId, StateId};
use crate::object::{Commit, Kind, MemoryNode, Object, Shared, StateNode};

/// Canonical bytes and the id they hash to. Only encoding and verifying make one, so that
/// bytes are never filed or believed under an id they do not hash to.
#[derive(Clone, Debug)]
pub struct Encoded {
    id: ObjectId,
    kind: Kind,
    bytes: Arc<[u8]>,
    /// What was encoded, so that nobody decodes it again to read what they wrote.
    object: Option<Shared>,
    is_fresh: bool,
}

impl PartialEq for Encoded {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.bytes == other.bytes
    }
}

impl Eq for Encoded {}

impl Encoded {
    /// Encodes an object.
    pub fn new(object: &Object) -> Self {
        Self::of(&canonical::encode(object), object.kind(), None)
    }

    fn shared(object: Shared) -> Self {
        Self::of(&canonical::encode_shared(&object), object.kind(), Some(object))
    }

    fn of(bytes: &[u8], kind: Kind, object: Option<Shared>) -> Self {
        Self { id: hash(bytes), kind, bytes: bytes.into(), object, is_fresh: false }
    }

    /// Encodes a memory node.
    pub fn node(node: impl Into<Arc<MemoryNode>>) -> (NodeVersionId, Self) {
        let encoded = Self::shared(Shared::Node(node.into()));
        (encoded.id.into(), encoded)
    }

    /// Encodes a state node.
    pub fn state(state: StateNode) -> (StateId, Self) {
        let encoded = Self::shared(Shared::State(state.into()));
        (encoded.id.into(), encoded)
    }

    /// Encodes a commit.
    pub fn commit(commit: Commit) -> (CommitId, Self) {
        let encoded = Self::shared(Shared::Commit(commit.into()));
        (encoded.id.into(), encoded)
    }

    /// Decodes bytes strictly, with the id they hash to.
    pub fn decode(bytes: &[u8]) -> Result<(Self, Object), DecodeError> {
        let object = strict::decode(bytes)?;
        Ok((Self::of(bytes, object.kind(), None), object))
    }

    /// The same, said to hold a salt that was drawn for it, or to name what does: no store has
    /// it yet.
    pub(crate) fn fresh(self, is_fresh: bool) -> Self {
        Self { is_fresh, ..self }
    }

    /// Whether no store can have it yet, so that none need be asked.
    pub(crate) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// The id.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// The kind of the object.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What was encoded, where it was encoded here.
    pub(crate) fn object(&self) -> Option<&Shared> {
        self.object.as_ref()
    }

    /// The canonical bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The id that bytes hash to.
pub fn hash(bytes: &[u8]) -> ObjectId {
    ObjectId::from_bytes(*blake3::hash(bytes).as_bytes())
}
