//! What became of a store of the original.

use mnem_store::ErrorKind;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::counted;
use crate::error::Failure;
use crate::output::Page;

/// What a migration did, or would do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Migrate {
    /// The directory that contains the store's `.mnem/`.
    pub store: String,
    /// What came of it.
    pub outcome: Outcome,
    /// The format version that the store had.
    pub from_version: u64,
    /// The format version of this release.
    pub to_version: u64,
    /// Commits, each with the id it had.
    pub commits: u64,
    /// States, as they were stored.
    pub states: u64,
    /// Versions of memories.
    pub nodes: u64,
    /// State objects that are new: the trees of the branches' memory.
    pub trees: u64,
    /// Branches that point at a commit.
    pub branches: u64,
    /// Memories that are staged, or staged to be removed.
    pub staged: u64,
    /// The length of the old data file.
    pub old_bytes: u64,
    /// What the new data file takes on the disk; of a dry run, what it takes at most.
    pub new_bytes: u64,
    /// Whether the old data file was removed that a stopped migration had left.
    pub removed_old: bool,
}

/// What came of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The store has the new format.
    Migrated,
    /// It would have, were this no dry run.
    WouldMigrate,
    /// It had the new format already.
    NothingToDo,
}

impl Report for Migrate {
    const COMMAND: &'static str = "migrate";

    fn human(&self, page: &mut Page) {
        let held = [
            counted(self.commits, "commit"),
            counted(self.states, "state"),
            counted(self.nodes, "memory node"),
            counted(self.branches, "branch"),
            format!("{} staged", self.staged),
        ]
        .join(", ");
        let (from, to) = (self.from_version, self.to_version);
        match self.outcome {
            Outcome::Migrated => {
                page.line(format!("Migrated from format version {from} to {to}: {held}"));
                let (old, new) = (self.old_bytes, self.new_bytes);
                page.line(format!("The data file took {old} bytes and takes {new}"));
            }
            Outcome::WouldMigrate => {
                page.line(format!("Would migrate from format version {from} to {to}: {held}"));
                let new = self.new_bytes;
                page.line(format!(
                    "It takes at most {new} bytes beside the old data file, which goes last"
                ));
            }
            Outcome::NothingToDo if self.removed_old => {
                page.line("Removed the old data file that a stopped migration had left");
            }
            Outcome::NothingToDo => {}
        }
    }

    fn refusal(&self) -> Option<Failure> {
        (self.outcome == Outcome::NothingToDo && !self.removed_old).then(|| {
            let Self { store, to_version, .. } = self;
            let message = format!("the store at {store} has format version {to_version} already");
            Failure::no(ErrorKind::InvalidRef, message)
        })
    }
}
