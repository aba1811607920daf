//! The shapes that reports share: nodes, commits and changes as JSON, and how they read.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use mnem_store::ops::{Blame, ChangeKind, NodeChange};
use mnem_store::{CommitId, Content, MemoryNode, Provenance};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::output::{Page, Shade};

/// A memory node, in the shape of `MemoryNode.to_dict()` of the SDK.
#[derive(Clone, Debug)]
pub struct Node(pub Arc<MemoryNode>);

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(node) = self;
        let Provenance { agent_step, observation, tool_call, source, note } = &node.provenance;
        let derived_from = node.derived_from.iter();
        NodeShape {
            id: node.id.as_str(),
            content: &node.content,
            content_kind: node.content_kind.as_str(),
            provenance: ProvenanceShape { agent_step, observation, tool_call, source, note },
            event_time: node.event_time,
            valid_from: node.valid_from,
            valid_to: node.valid_to,
            derived_from: derived_from
                .map(|l| LineageShape { id: l.id.as_str(), object: l.object.to_string() })
                .collect(),
        }
        .serialize(serializer)
    }
}

impl JsonSchema for Node {
    fn schema_name() -> Cow<'static, str> {
        "Node".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        NodeShape::json_schema(generator)
    }
}

/// A memory node.
#[derive(Serialize, JsonSchema)]
struct NodeShape<'n> {
    /// The name of the memory.
    id: &'n str,
    /// What is believed: any JSON value.
    #[schemars(with = "serde_json::Value")]
    content: &'n Content,
    /// `note` or `claim`.
    content_kind: &'static str,
    /// Where the belief came from.
    provenance: ProvenanceShape<'n>,
    /// When the belief was formed, in Unix milliseconds.
    event_time: Option<i64>,
    /// From when the belief holds, in Unix milliseconds; left out when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<i64>,
    /// Until when the belief holds, in Unix milliseconds; left out when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_to: Option<i64>,
    /// The versions this one was derived from; left out when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    derived_from: Vec<LineageShape<'n>>,
}

/// Where a belief came from.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Provenance")]
struct ProvenanceShape<'n> {
    /// The step of the agent's run.
    agent_step: &'n Option<String>,
    /// What was observed.
    observation: &'n Option<String>,
    /// The tool call whose result it was.
    tool_call: &'n Option<String>,
    /// The document, ticket or tool it stood in.
    source: &'n Option<String>,
    /// Anything else.
    note: &'n Option<String>,
}

/// A version of a memory that another one was derived from.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Lineage")]
struct LineageShape<'n> {
    /// The name of the memory.
    id: &'n str,
    /// The id of the version.
    object: String,
}

/// A commit, in the shape of `Commit.to_dict()` of the SDK.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Commit {
    /// Its id.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub id: CommitId,
    /// The ids of its parents, first parent first.
    #[serde(serialize_with = "texts")]
    #[schemars(with = "Vec<String>")]
    pub parents: Vec<CommitId>,
    /// The id of its state.
    pub state: String,
    /// Why it was made.
    pub message: String,
    /// Who made it.
    pub author: String,
    /// When, in Unix milliseconds.
    pub time: i64,
}

impl Commit {
    /// The commit with this id.
    pub fn new(id: CommitId, commit: &mnem_store::Commit) -> Self {
        Self {
            id,
            parents: commit.parents.clone(),
            state: commit.state.to_string(),
            message: commit.message.clone(),
            author: commit.author.clone(),
            time: commit.time,
        }
    }

    /// Its short id and the first line of its message.
    pub fn one_line(&self, page: &mut Page) {
        page.shade(Shade::Id, self.id.short()).say("  ").line(first_line(&self.message));
    }
}

/// A change of a node, in the shape of `NodeChange.to_dict()` of the SDK.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Change {
    /// The node.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub id: mnem_store::NodeId,
    /// `added`, `modified` or `removed`.
    #[serde(serialize_with = "kind")]
    #[schemars(with = "String")]
    pub kind: ChangeKind,
    /// Before.
    pub old: Option<Node>,
    /// After.
    pub new: Option<Node>,
}

impl From<NodeChange> for Change {
    fn from(change: NodeChange) -> Self {
        Self {
            id: change.id,
            kind: change.kind,
            old: change.old.map(Node),
            new: change.new.map(Node),
        }
    }
}

/// Where a belief came from, in the shape of `Blame.to_dict()` of the SDK, with its commit's
/// message and author.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Origin {
    /// The commit that set it, or removed it.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub commit: CommitId,
    /// What it set, or removed.
    pub node: Node,
    /// The event time, else the commit's time, in Unix milliseconds.
    pub time: i64,
    /// Whether the node is gone.
    pub removed: bool,
    /// Why the commit was made.
    pub message: String,
    /// Who made the commit.
    pub author: String,
}

impl Origin {
    /// What blame found, with the commit it names.
    pub fn new(blame: Blame, commit: &mnem_store::Commit) -> Self {
        Self {
            commit: blame.commit,
            node: Node(blame.node),
            time: blame.time,
            removed: blame.removed,
            message: commit.message.clone(),
            author: commit.author.clone(),
        }
    }
}

/// An id or a name as its text.
pub fn text<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// An id that may be missing, as its text or null.
#[allow(clippy::ref_option)] // the shape that serde calls
pub fn text_or_null<T: Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

/// Ids as a list of texts.
pub fn texts<T: Display, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(ToString::to_string))
}

/// How a node changed, as its word.
#[allow(clippy::trivially_copy_pass_by_ref)] // the shape that serde calls
pub fn kind<S: Serializer>(kind: &ChangeKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

/// The first line of a message.
pub fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

/// `1 commit`, `2 commits`, `2 branches`, `2 memories`.
pub fn counted(number: u64, thing: &str) -> String {
    match thing.strip_suffix('y') {
        _ if number == 1 => format!("1 {thing}"),
        Some(stem) => format!("{number} {stem}ies"),
        None if thing.ends_with("ch") => format!("{number} {thing}es"),
        None => format!("{number} {thing}s"),
    }
}

/// `[<12 hex>] message`.
pub fn committed(page: &mut Page, commit: CommitId, message: &str) {
    page.say("[").shade(Shade::Id, commit.short()).say("] ").line(first_line(message));
}

/// The sign of a change and how it stands out.
pub fn sign(kind: ChangeKind) -> (&'static str, Shade) {
    match kind {
        ChangeKind::Added => ("+", Shade::Added),
        ChangeKind::Modified => ("~", Shade::Id),
        ChangeKind::Removed => ("-", Shade::Removed),
    }
}

/// `+ id`, `~ id` or `- id`.
pub fn classified(page: &mut Page, kind: ChangeKind, id: impl Display) {
    let (sign, shade) = sign(kind);
    page.shade(shade, sign).say(" ").line(id);
}

/// A node as `show` prints it: the id, and the content below.
pub fn listed(page: &mut Page, Node(node): &Node) {
    page.line(&node.id);
    page.say("  ").line(&node.content);
}

/// Where a node came from, in a few words.
pub fn source_of(provenance: &Provenance) -> String {
    let Provenance { agent_step, observation, tool_call, source, note } = provenance;
    let told = |what: &str, value: &Option<String>| value.as_ref().map(|v| format!("{what} {v}"));
    let mut parts: Vec<_> =
        [told("from", agent_step), told("source", source)].into_iter().flatten().collect();
    if parts.is_empty() {
        let rest = [told("observed", observation), told("by", tool_call), told("note", note)];
        parts.extend(rest.into_iter().flatten());
    }
    if parts.is_empty() { "no provenance recorded".into() } else { parts.join(", ") }
}
