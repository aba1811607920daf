//! A memory that was staged to be removed.

use mnem_store::NodeId;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::text;
use crate::output::Page;

/// A memory that was staged to be removed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Rm {
    /// The node.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub id: NodeId,
    /// Whether it was taken out of staging instead: no commit has it.
    pub unstaged: bool,
}

impl Report for Rm {
    const COMMAND: &'static str = "rm";

    fn human(&self, page: &mut Page) {
        if self.unstaged {
            page.line(format!("Unstaged {}", self.id));
        } else {
            page.line(format!("Staged the removal of {}", self.id));
        }
    }
}
