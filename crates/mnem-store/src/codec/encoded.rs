//! Bytes that carry the id they hash to.

use std::borrow::Borrow;
use std::sync::Arc;

use super::canonical;
use super::strict::{self, DecodeError};
use crate::id::{CommitId, NodeVersionId, ObjectId, StateId};
use crate::object::{Commit, Kind, MemoryNode, Object, StateNode};

/// Canonical bytes and the id they hash to. Only encoding and verifying make one, so that
/// bytes are never filed or believed under an id they do not hash to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    id: ObjectId,
    kind: Kind,
    bytes: Arc<[u8]>,
    is_fresh: bool,
}

impl Encoded {
    /// Encodes an object.
    pub fn new(object: &Object) -> Self {
        Self::of(object.kind(), canonical::encode(object))
    }

    fn of(kind: Kind, bytes: Vec<u8>) -> Self {
        Self { id: hash(&bytes), kind, bytes: bytes.into(), is_fresh: false }
    }

    /// Encodes a memory node.
    pub fn node(node: impl Borrow<MemoryNode>) -> (NodeVersionId, Self) {
        let encoded = Self::of(Kind::Node, canonical::encode_node(node.borrow()));
        (encoded.id.into(), encoded)
    }

    /// Encodes a state node.
    pub fn state(state: impl Borrow<StateNode>) -> (StateId, Self) {
        let encoded = Self::of(Kind::State, canonical::encode_state(state.borrow()));
        (encoded.id.into(), encoded)
    }

    /// Encodes a commit.
    pub fn commit(commit: impl Borrow<Commit>) -> (CommitId, Self) {
        let encoded = Self::of(Kind::Commit, canonical::encode_commit(commit.borrow()));
        (encoded.id.into(), encoded)
    }

    /// Decodes bytes strictly, with the id they hash to.
    pub fn decode(bytes: &[u8]) -> Result<(Self, Object), DecodeError> {
        let object = strict::decode(bytes)?;
        let encoded =
            Self { id: hash(bytes), kind: object.kind(), bytes: bytes.into(), is_fresh: false };
        Ok((encoded, object))
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

    /// The canonical bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The id that bytes hash to.
pub fn hash(bytes: &[u8]) -> ObjectId {
    ObjectId::from_bytes(*blake3::hash(bytes).as_bytes())
}
