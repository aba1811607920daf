//! A memory that was taken out of staging.

use mnem_store::NodeId;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::text;
use crate::output::Page;

/// A memory that was taken out of staging.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Unstage {
    /// The node.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub id: NodeId,
}

impl Report for Unstage {
    const COMMAND: &'static str = "unstage";

    fn human(&self, page: &mut Page) {
        page.line(format!("Unstaged {}", self.id));
    }
}
