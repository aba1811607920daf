//! What a merge came to.

use std::path::PathBuf;

use mnem_store::{CommitId, ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{Node, committed, counted, text_or_null};
use crate::error::Failure;
use crate::output::{Page, Shade, option, quoted};

/// What a merge came to, in the shape of `MergeResult.to_dict()` of the SDK, with the names of
/// both sides.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Merge {
    /// `up-to-date`, `fast-forwarded`, `merged` or `conflicts`.
    pub status: &'static str,
    /// Where this branch is now when it moved, or would be when it only moves forward; else null.
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
    /// Whether this is what a merge would come to: nothing was written.
    pub dry_run: bool,
    /// The page that shows the conflicts, when one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<PathBuf>,
    #[serde(skip)]
    pub(crate) bound: bool,
    #[serde(skip)]
    pub(crate) author: Option<String>,
}

/// A node that both sides changed, apart.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Conflict {
    /// The node.
    pub id: String,
    /// `edit/edit`, `delete/edit`, `edit/delete` or `add/add`.
    pub kind: &'static str,
    /// Where they last agreed; null when the node was not there, or when they last agreed in
    /// several places and those disagree.
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
        if self.dry_run {
            self.dry(page);
            return;
        }
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
        let answer = option("--resolve", &format!("{}=theirs", first.id));
        let theirs = quoted(&self.theirs);
        // What begins with a dash stands last, after what says that no option follows.
        let (mut merge, last) = if theirs.starts_with('-') {
            ("mnem merge".to_owned(), format!(" -- {theirs}"))
        } else {
            (format!("mnem merge {theirs}"), String::new())
        };
        if self.bound {
            merge = format!("{merge} {}", option("--branch", &self.branch));
        }
        if let Some(author) = &self.author {
            merge = format!("{merge} {}", option("--author", author));
        }
        Some(Failure::no(ErrorKind::Conflict, message).hint(format!(
            "`{merge} {answer}{last}` (ours, base, delete, @FILE) answers one, \
             `{merge} --strategy theirs{last}` (ours) every other"
        )))
    }
}

impl Merge {
    fn dry(&self, page: &mut Page) {
        page.say("(dry run) ");
        match self.commit {
            Some(commit) => {
                page.say(format!("would fast-forward {} to ", self.branch));
                page.shade(Shade::Id, commit.short()).end();
            }
            None if self.status == "up-to-date" => page.line("already up to date"),
            None if self.conflicts.is_empty() => {
                page.line(format!("would merge {} into {}", self.theirs, self.branch));
            }
            None => {
                // The original's line, `node(s)` included: others read it.
                page.line(format!("would conflict in {} node(s):", self.conflicts.len()));
                for conflict in &self.conflicts {
                    block(page, conflict);
                }
            }
        }
        if let Some(path) = &self.html {
            page.note(format!("the page is {}", path.display()));
        }
    }
}

pub(super) fn block(page: &mut Page, conflict: &Conflict) {
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
