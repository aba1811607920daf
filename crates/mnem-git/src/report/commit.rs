//! A commit that was made.

use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{self, committed};
use crate::output::Page;

/// A commit that was made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Commit {
    /// The branch it is on.
    pub branch: String,
    /// The commit.
    pub commit: shapes::Commit,
}

impl Report for Commit {
    const COMMAND: &'static str = "commit";

    fn human(&self, page: &mut Page) {
        committed(page, self.commit.id, &self.commit.message);
    }
}
