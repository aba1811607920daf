//! What was taken back: a commit, a node, the last move of a branch.

use mnem_store::{CommitId, Error, ErrorKind, NodeId, Store};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::merge::{Conflict, block};
use super::reflog::Move;
use super::shapes::{committed, counted, text, text_or_null};
use crate::error::Failure;
use crate::output::{Page, Shade, option};

/// How something was taken back.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TakenBack {
    /// `reverted` by a new commit, `moved-back`, `unchanged` or `conflicts`.
    pub status: &'static str,
    /// The new commit, when one was made.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub commit: Option<CommitId>,
    /// Its message.
    pub message: Option<String>,
    /// What needs an answer; nothing was written when there is any.
    pub conflicts: Vec<Conflict>,
}

impl TakenBack {
    pub(crate) fn unchanged() -> Self {
        Self { status: "unchanged", commit: None, message: None, conflicts: Vec::new() }
    }

    pub(crate) fn moved() -> Self {
        Self { status: "moved-back", ..Self::unchanged() }
    }

    pub(crate) fn committed(store: &Store, commit: CommitId) -> Result<Self, Error> {
        let message = Some(store.commit_object(commit)?.message.clone());
        Ok(Self { status: "reverted", commit: Some(commit), message, ..Self::unchanged() })
    }

    pub(crate) fn conflicts(conflicts: Vec<mnem_store::ops::Conflict>) -> Self {
        let conflicts = conflicts.into_iter().map(Into::into).collect();
        Self { status: "conflicts", conflicts, ..Self::unchanged() }
    }

    fn human(&self, page: &mut Page) {
        if let (Some(commit), Some(message)) = (self.commit, &self.message) {
            committed(page, commit, message);
        }
        if !self.conflicts.is_empty() {
            let number = self.conflicts.len() as u64;
            page.line(format!("conflict in {}:", counted(number, "node")));
            for conflict in &self.conflicts {
                block(page, conflict);
            }
        }
    }

    fn refusal(&self, command: &str) -> Option<Failure> {
        let first = self.conflicts.first()?;
        let message = "what is to be taken back was changed again since; nothing was written";
        let answer = option("--resolve", &format!("{}=theirs", first.id));
        Some(Failure::no(ErrorKind::Conflict, message).hint(format!(
            "`{command} {answer}` (ours, base, delete) answers one, \
             `{command} --strategy theirs` (ours) every other; theirs is what was before"
        )))
    }
}

/// A commit that was taken back.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Revert {
    /// The commit.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub reverted: CommitId,
    /// The command that answers conflicts, without the answers.
    #[serde(skip)]
    pub(crate) again: String,
    /// How.
    #[serde(flatten)]
    pub taken: TakenBack,
}

impl Report for Revert {
    const COMMAND: &'static str = "revert";

    fn human(&self, page: &mut Page) {
        self.taken.human(page);
    }

    fn refusal(&self) -> Option<Failure> {
        if self.taken.status == "unchanged" {
            let message = format!("nothing of {} is left to take back", self.reverted.short());
            return Some(Failure::no(ErrorKind::InvalidRef, message));
        }
        self.taken.refusal(&self.again)
    }
}

/// A move of a branch that was taken back.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Undo {
    /// The branch.
    pub branch: String,
    /// Where it points now, when it moved; null also when it points nowhere.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub tip: Option<CommitId>,
    /// The command that answers conflicts, without the answers.
    #[serde(skip)]
    pub(crate) again: String,
    /// The move that was taken back.
    pub undone: Move,
    /// How.
    #[serde(flatten)]
    pub taken: TakenBack,
}

impl Report for Undo {
    const COMMAND: &'static str = "undo";

    fn human(&self, page: &mut Page) {
        if self.taken.status == "moved-back" {
            let Move { operation, author, .. } = &self.undone;
            page.say(format!("Took back {operation} by {author}: {} ", self.branch));
            match self.tip {
                Some(tip) => page.say("is at ").shade(Shade::Id, tip.short()).end(),
                None => page.line("has no commit"),
            }
        }
        self.taken.human(page);
    }

    fn refusal(&self) -> Option<Failure> {
        self.taken.refusal(&self.again)
    }
}

/// A node that is as it was.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Restore {
    /// The node.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub id: NodeId,
    /// The commit that says it: the new one, or the current one when nothing changed.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub commit: CommitId,
    /// The new commit's message; where nothing changed, the one it would have had.
    pub message: String,
    /// Whether anything changed.
    pub changed: bool,
}

impl Report for Restore {
    const COMMAND: &'static str = "restore";

    fn human(&self, page: &mut Page) {
        if self.changed {
            committed(page, self.commit, &self.message);
        } else {
            page.line(format!("{} is unchanged at {}", self.id, self.commit.short()));
        }
    }
}
