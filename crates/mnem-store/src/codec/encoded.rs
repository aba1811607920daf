//! Bytes that carry the id they hash to.

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
}

impl Encoded {
    /// Encodes an object.
    pub fn new(object: &Object) -> Self {
        let bytes = canonical::encode(object);
        Self { id: hash(&bytes), kind: object.kind(), bytes: bytes.into() }
    }

    /// Encodes a memory node.
    pub fn node(node: MemoryNode) -> (NodeVersionId, Self) {
        let encoded = Self::new(&Object::Node(node));
        (encoded.id.into(), encoded)
    }

    /// Encodes a state node.
    pub fn state(state: StateNode) -> (StateId, Self) {
        let encoded = Self::new(&Object::State(state));
        (encoded.id.into(), encoded)
    }

    /// Encodes a commit.
    pub fn commit(commit: Commit) -> (CommitId, Self) {
        let encoded = Self::new(&Object::Commit(commit));
        (encoded.id.into(), encoded)
    }

    /// Decodes bytes strictly, with the id they hash to.
    pub fn decode(bytes: &[u8]) -> Result<(Self, Object), DecodeError> {
        let object = strict::decode(bytes)?;
        let encoded = Self { id: hash(bytes), kind: object.kind(), bytes: bytes.into() };
        Ok((encoded, object))
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
