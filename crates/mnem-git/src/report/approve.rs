//! A branch that was approved.

use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::merge::Merge;
use crate::error::Failure;
use crate::output::Page;

/// A branch that was approved: what the merge came to, and who approved it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Approve {
    /// What the merge came to.
    #[serde(flatten)]
    pub merge: Merge,
    /// Who approved it.
    pub reviewer: String,
}

impl Report for Approve {
    const COMMAND: &'static str = "approve";

    fn human(&self, page: &mut Page) {
        self.merge.human(page);
    }

    fn refusal(&self) -> Option<Failure> {
        self.merge.refusal()
    }
}
