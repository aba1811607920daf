//! The memory node: one version of one memory, and where it came from.

use super::content::Content;
use crate::id::{NodeId, NodeVersionId};

/// The length of a salt, in bytes.
pub const SALT_BYTES: usize = 16;

/// One version of one memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryNode {
    /// The name of the memory.
    pub id: NodeId,
    /// What is believed.
    pub content: Content,
    /// How the content is to be read.
    pub content_kind: ContentKind,
    /// Where the belief came from.
    pub provenance: Provenance,
    /// When the belief was formed, in Unix milliseconds.
    pub event_time: Option<i64>,
    /// From when the belief holds, in Unix milliseconds. No verb reads it yet.
    pub valid_from: Option<i64>,
    /// Until when the belief holds, in Unix milliseconds. No verb reads it yet.
    pub valid_to: Option<i64>,
    /// The node versions this one was derived from; empty when unset. No verb reads it yet.
    pub derived_from: Vec<Lineage>,
    /// Random bytes that keep an erased value from being guessed back from its id.
    pub salt: Option<[u8; SALT_BYTES]>,
}

/// How content is to be read. The content of a claim is not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContentKind {
    /// Any content.
    #[default]
    Note,
    /// By convention a map with subject, predicate, value, confidence and evidence.
    Claim,
}

impl ContentKind {
    /// The kind as the format spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Claim => "claim",
        }
    }

    /// The kind that is spelt so.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Note, Self::Claim].into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Where a belief came from. Every field may be unset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// The step of the agent's run.
    pub agent_step: Option<String>,
    /// What was observed.
    pub observation: Option<String>,
    /// The tool call whose result it was.
    pub tool_call: Option<String>,
    /// The document, ticket or tool it stood in.
    pub source: Option<String>,
    /// Anything else.
    pub note: Option<String>,
}

impl Provenance {
    /// Whether no field is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A node version that another one was derived from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// The name of the memory.
    pub id: NodeId,
    /// The version of it.
    pub object: NodeVersionId,
}

impl MemoryNode {
    /// A note with nothing but its content.
    pub fn note(id: NodeId, content: Content) -> Self {
        Self {
            id,
            content,
            content_kind: ContentKind::Note,
            provenance: Provenance::default(),
            event_time: None,
            valid_from: None,
            valid_to: None,
            derived_from: Vec::new(),
            salt: None,
        }
    }

    /// Whether two versions say the same: equal in everything but their salt.
    ///
    /// The same content from another source is a change; provenance counts.
    pub fn same(&self, other: &Self) -> bool {
        let Self {
            id,
            content,
            content_kind,
            provenance,
            event_time,
            valid_from,
            valid_to,
            derived_from,
            salt: _,
        } = self;
        *id == other.id
            && *content == other.content
            && *content_kind == other.content_kind
            && *provenance == other.provenance
            && *event_time == other.event_time
            && *valid_from == other.valid_from
            && *valid_to == other.valid_to
            && *derived_from == other.derived_from
    }
}
