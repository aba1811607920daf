//! What `remember` and `forget` came to.

use mnem_store::{CommitId, NodeId};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{committed, text};
use crate::output::Page;

/// A memory that was written.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Remember {
    /// The node.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub id: NodeId,
    /// The commit that says it: the new one, or the current one when nothing changed.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub commit: CommitId,
    /// The new commit's message; where nothing changed, the one it would have had.
    pub message: String,
    /// Whether anything changed.
    pub changed: bool,
    /// The branch that was made for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_branch: Option<String>,
    #[serde(skip)]
    pub(crate) new_id: bool,
}

impl Report for Remember {
    const COMMAND: &'static str = "remember";

    fn human(&self, page: &mut Page) {
        if let Some(branch) = &self.new_branch {
            page.note(format!("{branch} is a new branch"));
        }
        if self.new_id {
            page.line(&self.id);
        }
        if self.changed {
            committed(page, self.commit, &self.message);
        } else {
            page.line(format!("{} is unchanged at {}", self.id, self.commit.short()));
        }
    }
}

/// A memory that was removed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Forget {
    /// The node.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub id: NodeId,
    /// The commit that removed it.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub commit: CommitId,
    /// The commit's message.
    pub message: String,
}

impl Report for Forget {
    const COMMAND: &'static str = "forget";

    fn human(&self, page: &mut Page) {
        committed(page, self.commit, &self.message);
    }
}
