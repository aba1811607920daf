//! What a merge came to.

use mnem_store::{CommitId, ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{Node, committed, counted, text_or_null};
use crate::error::Failure;
use crate::output::{Page, Shade};

/// What a merge came to, in the shape of `MergeResult.to_dict()` of the SDK, with the names of
/// both sides.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Merge {
    /// `up-to-date`, `fast-forwarded`, `merged` or `conflicts`.
    pub status: &'static str,
    /// Where this branch is now when it moved; else null.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub commit: Option<CommitId>,
    /// What needs an answer; nothing was written when there is any.
    pub conflicts: Vec<Conflict>,
    /// The branch that was merged into.
    pub branch: String,
    /// What was merged, as it was named.
    pub theirs: String,
    /// The message of the merge commit, when one was made.
    pub message: Option<String>,
}

/// A node that both sides changed, apart.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Conflict {
    /// The node.
    pub id: String,
    /// `edit/edit`, `delete/edit`, `edit/delete` or `add/add`.
    pub kind: &'static str,
    /// Where they last agreed; null when the node was not there.
    pub base: Option<Node>,
    /// This branch; null when it removed the node.
    pub ours: Option<Node>,
    /// The other side; null when it removed the node.
    pub theirs: Option<Node>,
}

impl From<mnem_store::ops::Conflict> for Conflict {
    fn from(conflict: mnem_store::ops::Conflict) -> Self {
        Self {
            id: conflict.id.to_string(),
            kind: conflict.kind.as_str(),
            base: conflict.base.map(Node),
            ours: conflict.ours.map(Node),
            theirs: conflict.theirs.map(Node),
        }
    }
}

impl Report for Merge {
    const COMMAND: &'static str = "merge";

    fn human(&self, page: &mut Page) {
        match (self.commit, &self.message) {
            (Some(commit), Some(message)) => committed(page, commit, message),
            (Some(commit), None) => {
                page.say(format!("Fast-forwarded {} to ", self.branch));
                page.shade(Shade::Id, commit.short()).end();
            }
            (None, _) if self.conflicts.is_empty() => page.line("Already up to date"),
            (None, _) => {
                let number = self.conflicts.len() as u64;
                page.line(format!("conflict in {}:", counted(number, "node")));
                for conflict in &self.conflicts {
                    block(page, conflict);
                }
            }
        }
    }

    fn refusal(&self) -> Option<Failure> {
        let first = self.conflicts.first()?;
        let message = format!("{} and {} disagree; nothing was written", self.branch, self.theirs);
        let theirs = quoted(&self.theirs);
        let answer = quoted(&format!("{}=theirs", first.id));
        Some(Failure::no(ErrorKind::Conflict, message).hint(format!(
            "`mnem merge {theirs} --resolve {answer}` (ours, base, delete) answers one, \
             `mnem merge {theirs} --strategy theirs` (ours) every other"
        )))
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn block(page: &mut Page, conflict: &Conflict) {
    page.line(format!("  {} ({})", conflict.id, conflict.kind));
    for (label, node) in
        [("base:   ", &conflict.base), ("ours:   ", &conflict.ours), ("theirs: ", &conflict.theirs)]
    {
        page.say("    ").say(label);
        match node {
            Some(Node(node)) => page.line(&node.content),
            None => page.line("(absent)"),
        }
    }
}
