//! History, of all memory or of one node.

use std::sync::Arc;

use mnem_store::ops::{ChangeKind, NodeEvent};
use mnem_store::{CommitId, ErrorKind, Hint};
use renderdag::{Ancestor, GraphRowRenderer, Renderer};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{Commit, Node, first_line, kind, sign};
use crate::error::Failure;
use crate::output::{Page, Shade};

/// History, newest first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Log {
    /// The memory whose history it is; left out for the history of everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The commits: a child before its parents.
    pub commits: Vec<Logged>,
    /// Why commits cannot be read, a sentence each; left out where all can.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    #[serde(skip)]
    pub(crate) form: Form,
    #[serde(skip)]
    pub(crate) unborn: bool,
}

/// A commit of a log.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Logged {
    /// The commit.
    #[serde(flatten)]
    pub commit: Commit,
    /// What it made of the memory; in the history of one memory only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Made>,
}

/// What a commit made of one memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Made {
    /// `added`, `modified` or `removed`.
    #[serde(serialize_with = "kind")]
    #[schemars(with = "String")]
    pub kind: ChangeKind,
    /// The memory since then; null when it was removed.
    pub node: Option<Node>,
}

/// How commits are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In full.
    Full,
    /// On one line each.
    OneLine,
    /// Beside the lines of history.
    Graph {
        /// On one line each.
        oneline: bool,
        /// Lines to first parents alone.
        first_parent: bool,
    },
}

impl Logged {
    /// A commit of the history of everything.
    pub fn commit((id, commit): (CommitId, Arc<mnem_store::Commit>)) -> Self {
        Self { commit: Commit::new(id, &commit), change: None }
    }

    /// A commit of the history of one memory.
    pub fn event(event: NodeEvent) -> Self {
        let made = Made { kind: event.change.kind, node: event.change.new.map(Node) };
        Self { commit: Commit::new(event.id, &event.commit), change: Some(made) }
    }

    fn print(&self, page: &mut Page, oneline: bool) {
        let Self { commit, change } = self;
        if oneline {
            page.shade(Shade::Id, commit.id.short()).say(" ");
            if let Some(made) = change {
                made.print(page);
                page.say("  ");
            }
            page.line(first_line(&commit.message));
            return;
        }
        page.shade(Shade::Id, format!("commit {}", commit.id)).end();
        if commit.parents.len() > 1 {
            let parents: Vec<_> = commit.parents.iter().map(CommitId::short).collect();
            page.line(format!("Merge:  {}", parents.join(" ")));
        }
        page.line(format!("Author: {}", commit.author));
        page.say("Date:   ").time(commit.time).end();
        page.end();
        for line in commit.message.lines() {
            page.line(format!("    {line}").trim_end());
        }
        if let Some(made) = change {
            page.end();
            page.say("    ");
            made.print(page);
            page.end();
        }
    }
}

impl Made {
    fn print(&self, page: &mut Page) {
        let (sign, shade) = sign(self.kind);
        match &self.node {
            Some(Node(node)) => page.shade(shade, format!("{sign} {}", node.content)),
            None => page.shade(shade, sign),
        };
    }
}

impl Report for Log {
    const COMMAND: &'static str = "log";

    fn human(&self, page: &mut Page) {
        if self.unborn {
            page.note("no commits yet");
        }
        if let Form::Graph { oneline, first_parent } = self.form {
            return self.draw(page, oneline, first_parent);
        }
        for (number, logged) in self.commits.iter().enumerate() {
            if number > 0 && self.form == Form::Full {
                page.end();
            }
            logged.print(page, self.form == Form::OneLine);
        }
    }

    fn refusal(&self) -> Option<Failure> {
        let first = self.lost.first()?;
        let more = match self.lost.len() {
            1 => String::new(),
            number => format!(", and {} more", number - 1),
        };
        let message = format!("the history is not whole: {first}{more}");
        Some(Failure::no(ErrorKind::CorruptStore, message).hint(Hint::Fsck.text()))
    }
}

impl Log {
    fn draw(&self, page: &mut Page, oneline: bool, first_parent: bool) {
        let rows = GraphRowRenderer::new().output().with_min_row_height(1);
        let mut rows = rows.build_box_drawing();
        let tip = self.commits.first().map(|logged| logged.commit.id);
        for (number, logged) in self.commits.iter().enumerate() {
            let commit = &logged.commit;
            let followed = if first_parent { 1 } else { usize::MAX };
            let parents = commit.parents.iter().take(followed);
            let parents = parents.copied().map(Ancestor::Parent).collect();
            let glyph = if Some(commit.id) == tip { "@" } else { "o" };
            let mut entry = page.beside();
            logged.print(&mut entry, oneline);
            if !oneline && number + 1 < self.commits.len() {
                entry.end();
            }
            page.framed(entry, |text| rows.next_row(commit.id, parents, glyph.into(), text));
        }
    }
}
