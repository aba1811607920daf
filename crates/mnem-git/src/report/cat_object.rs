//! One object, as it is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use mnem_store::codec::{Encoded, diagnostic};
use mnem_store::object::{Object, StateNode};
use mnem_store::{Error, ObjectId};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{Commit, Node, text};
use crate::output::Page;

/// One object, as it is stored.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatObject {
    /// Its id: the BLAKE3 hash of its bytes.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub id: ObjectId,
    /// The length of its encoding, in bytes.
    pub bytes: u64,
    /// What it says.
    #[serde(flatten)]
    pub object: Fields,
    #[serde(skip)]
    pub(crate) notation: String,
}

/// What an object says, by its kind.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fields {
    /// One version of one memory.
    MemoryNode {
        /// The memory.
        node: Node,
        /// Its random bytes in hexadecimal; null in a reproducible store.
        salt: Option<String>,
    },
    /// A state, or a part of one.
    State {
        /// The entries of a leaf: node id to the id of the version; null of a branch.
        nodes: Option<BTreeMap<String, String>>,
        /// The children of a branch of the tree; null of a leaf.
        branch: Option<TreeBranch>,
    },
    /// A point in history.
    Commit {
        /// The commit.
        commit: Commit,
    },
}

/// A branch of the tree that a state is stored as.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TreeBranch {
    /// What every node id below begins with, in hexadecimal.
    pub prefix: String,
    /// The version of the node whose id is the prefix itself.
    pub here: Option<String>,
    /// The subtrees, by the byte that follows the prefix, in hexadecimal.
    pub children: BTreeMap<String, Subtree>,
}

/// A subtree.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Subtree {
    /// The state object at its root.
    pub id: String,
    /// How many entries it has.
    pub entries: u64,
}

impl CatObject {
    /// An object and its bytes.
    pub fn new(encoded: &Encoded, object: Object) -> Result<Self, Error> {
        let fields = match object {
            Object::Node(node) => Fields::MemoryNode {
                salt: node.salt.map(|salt| hex(&salt)),
                node: Node(Arc::new(node)),
            },
            Object::State(StateNode::Leaf(leaf)) => {
                let nodes = leaf.nodes.iter();
                let nodes = nodes.map(|(id, version)| (id.to_string(), version.to_string()));
                Fields::State { nodes: Some(nodes.collect()), branch: None }
            }
            Object::State(StateNode::Branch(branch)) => {
                let children = branch.children.iter().map(|(byte, child)| {
                    (hex(&[*byte]), Subtree { id: child.id.to_string(), entries: child.count })
                });
                let branch = TreeBranch {
                    prefix: hex(&branch.prefix),
                    here: branch.here.map(|version| version.to_string()),
                    children: children.collect(),
                };
                Fields::State { nodes: None, branch: Some(branch) }
            }
            Object::Commit(commit) => {
                Fields::Commit { commit: Commit::new(encoded.id().into(), &commit) }
            }
        };
        Ok(Self {
            id: encoded.id(),
            bytes: encoded.bytes().len() as u64,
            object: fields,
            notation: diagnostic::render(encoded)?,
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    text.extend(bytes.iter().map(|byte| format!("{byte:02x}")));
    text
}

impl Report for CatObject {
    const COMMAND: &'static str = "cat-object";

    fn human(&self, page: &mut Page) {
        // A line break inside a string of the notation is escaped, so these are its own.
        for line in self.notation.lines() {
            page.line(line);
        }
    }
}
