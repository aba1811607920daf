//! Branches that wait to be merged.

use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{Commit, first_line};
use crate::output::{Page, Shade};

/// Branches that wait to be merged.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Inbox {
    /// The store's default branch.
    pub into: String,
    /// The branches whose tip is not behind it, in the order of the names.
    pub branches: Vec<Waiting>,
}

/// A branch that waits.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Waiting {
    /// Its name.
    pub name: String,
    /// The commit it points at.
    pub commit: Commit,
}

impl Report for Inbox {
    const COMMAND: &'static str = "inbox";

    fn human(&self, page: &mut Page) {
        if self.branches.is_empty() {
            page.line(format!("Nothing pending - every branch is merged into {}.", self.into));
        }
        for Waiting { name, commit } in &self.branches {
            page.say(name).say("  ").shade(Shade::Id, commit.id.short());
            page.say("  ").say(&commit.author).say("  ").line(first_line(&commit.message));
        }
    }
}
