//! What changed between two memories.

use mnem_store::CommitId;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{Change, Node, classified, source_of, text_or_null};
use crate::output::{Page, Shade};

/// What changed between two memories.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Diff {
    /// The commit before; null for the empty memory before the first commit.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub from: Option<CommitId>,
    /// The commit after; null for working memory.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub to: Option<CommitId>,
    /// The changes, in the order of the ids.
    pub changes: Vec<Change>,
    #[serde(skip)]
    pub(crate) detail: Detail,
}

/// How much of each change is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Its sign, its id and both contents.
    Content,
    /// Its sign and its id.
    Stat,
    /// Its id.
    Name,
}

impl Report for Diff {
    const COMMAND: &'static str = "diff";

    fn human(&self, page: &mut Page) {
        if self.changes.is_empty() {
            page.note("no changes");
        }
        for change in &self.changes {
            match self.detail {
                Detail::Name => page.line(&change.id),
                Detail::Stat => classified(page, change.kind, &change.id),
                Detail::Content => {
                    classified(page, change.kind, &change.id);
                    contents(page, change);
                }
            }
        }
    }
}

fn contents(page: &mut Page, change: &Change) {
    if let (Some(Node(old)), Some(Node(new))) = (&change.old, &change.new)
        && old.content == new.content
    {
        page.line(format!("  = {}", new.content));
        let (before, after) = (source_of(&old.provenance), source_of(&new.provenance));
        if before == after {
            page.line("  (the same content; provenance or time changed)");
        } else {
            page.say("  ").shade(Shade::Removed, format!("- {before}")).end();
            page.say("  ").shade(Shade::Added, format!("+ {after}")).end();
        }
        return;
    }
    if let Some(Node(old)) = &change.old {
        page.say("  ").shade(Shade::Removed, format!("- {}", old.content)).end();
    }
    if let Some(Node(new)) = &change.new {
        page.say("  ").shade(Shade::Added, format!("+ {}", new.content)).end();
    }
}
