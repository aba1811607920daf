//! A branch that was rejected.

use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use crate::output::Page;

/// A branch that was rejected.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reject {
    /// The branch.
    pub branch: String,
    /// Who rejected it.
    pub reviewer: String,
    /// Why.
    pub reason: String,
}

impl Report for Reject {
    const COMMAND: &'static str = "reject";

    fn human(&self, page: &mut Page) {
        let Self { branch, reviewer, reason } = self;
        page.line(format!("Rejected {branch} ({reviewer}): {reason}"));
    }
}
