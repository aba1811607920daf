//! One memory.

use mnem_store::CommitId;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{Node, text};
use crate::output::Page;

/// One memory, at a commit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Get {
    /// The commit it was read at.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub commit: CommitId,
    /// The memory.
    pub node: Node,
    #[serde(skip)]
    pub(crate) raw: bool,
}

impl Report for Get {
    const COMMAND: &'static str = "get";

    fn human(&self, page: &mut Page) {
        let content = &self.node.0.content;
        match content.as_text().filter(|_| self.raw) {
            Some(text) => page.exact(text),
            None => page.line(content),
        }
    }
}
