//! Branches.

use mnem_store::CommitId;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{Commit, first_line, text};
use crate::output::{Page, Shade};

/// What was done with branches.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum Branch {
    /// They were listed.
    List {
        /// Every branch, in the order of the names.
        branches: Vec<Listed>,
    },
    /// One was made.
    Created {
        /// Its name.
        name: String,
        /// The commit it starts at.
        #[serde(serialize_with = "text")]
        #[schemars(with = "String")]
        commit: CommitId,
    },
    /// One was deleted.
    Deleted {
        /// Its name.
        name: String,
        /// The commit it pointed at, which stays.
        #[serde(serialize_with = "text")]
        #[schemars(with = "String")]
        commit: CommitId,
    },
}

/// A branch in a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Whether HEAD is on it.
    pub current: bool,
    /// The commit it points at.
    pub commit: Commit,
}

impl Report for Branch {
    const COMMAND: &'static str = "branch";

    fn human(&self, page: &mut Page) {
        match self {
            Self::List { branches } => {
                if branches.is_empty() {
                    page.note("no branch has a commit yet");
                }
                for Listed { name, current, commit } in branches {
                    if *current {
                        page.say("* ").shade(Shade::Current, name);
                    } else {
                        page.say("  ").say(name);
                    }
                    page.say("  ").shade(Shade::Id, commit.id.short());
                    page.say("  ").line(first_line(&commit.message));
                }
            }
            Self::Created { name, commit } => {
                page.say(format!("Created branch {name} at ")).shade(Shade::Id, commit.short());
                page.end();
            }
            Self::Deleted { name, commit } => {
                page.say(format!("Deleted branch {name}, which was at "));
                page.shade(Shade::Id, commit.short()).end();
            }
        }
    }
}
