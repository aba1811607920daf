//! Memory, or what a commit changed.

use mnem_store::ops::ChangeKind;
use mnem_store::{CommitId, NodeId};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{Node, classified, kind, listed, text, text_or_null};
use crate::output::Page;

/// Memory at a commit, or working memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Show {
    /// The commit; null for working memory.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub commit: Option<CommitId>,
    /// The memory, in the order of the ids; left out with `--stat`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<Node>>,
    /// What the commit changed, in the order of the ids; with `--stat` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Changed>>,
}

/// A node that a commit changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Changed {
    /// The node.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub id: NodeId,
    /// `added`, `modified` or `removed`.
    #[serde(serialize_with = "kind")]
    #[schemars(with = "String")]
    pub kind: ChangeKind,
}

impl Report for Show {
    const COMMAND: &'static str = "show";

    fn human(&self, page: &mut Page) {
        if self.nodes.as_ref().is_some_and(Vec::is_empty) {
            page.note("memory is empty");
        }
        for node in self.nodes.iter().flatten() {
            listed(page, node);
        }
        for change in self.changes.iter().flatten() {
            classified(page, change.kind, &change.id);
        }
    }
}
