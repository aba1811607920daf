//! Where HEAD went.

use mnem_store::CommitId;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::text_or_null;
use crate::output::{Page, Shade};

/// Where HEAD went.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Checkout {
    /// The branch HEAD is on; null when it is detached.
    pub branch: Option<String>,
    /// The commit HEAD is at; null on a branch without a commit.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub commit: Option<CommitId>,
    /// Whether the branch is new.
    pub created: bool,
    #[serde(skip)]
    pub(crate) stayed: bool,
}

impl Report for Checkout {
    const COMMAND: &'static str = "checkout";

    fn human(&self, page: &mut Page) {
        match (&self.branch, self.commit) {
            (Some(branch), _) => {
                page.say(if self.stayed { "Already on " } else { "Switched to branch " })
                    .shade(Shade::Current, branch)
                    .end();
            }
            (None, Some(commit)) => {
                page.say("HEAD is now at ").shade(Shade::Id, commit.short()).line(" (detached)");
            }
            (None, None) => page.line("HEAD is nowhere"),
        }
    }
}
