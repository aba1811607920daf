//! What changed between two memories, in sentences.

use mnem_store::CommitId;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{Change, Node, source_of, text_or_null};
use crate::output::Page;

/// What changed between two memories, in sentences.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Changelog {
    /// The commit before; null for the empty memory before the first commit.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub from: Option<CommitId>,
    /// The commit after; null for working memory.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub to: Option<CommitId>,
    /// The changes, in the order of the ids.
    pub changes: Vec<Told>,
}

/// A change and its sentence.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Told {
    /// The change in words.
    pub sentence: String,
    /// The change.
    #[serde(flatten)]
    pub change: Change,
}

impl<C: Into<Change>> From<C> for Told {
    fn from(change: C) -> Self {
        let change = change.into();
        Self { sentence: sentence(&change), change }
    }
}

fn sentence(change: &Change) -> String {
    let id = &change.id;
    match (&change.old, &change.new) {
        (Some(Node(old)), Some(Node(new))) if old.content != new.content => {
            format!("{id} changed from {} to {}", old.content, new.content)
        }
        (Some(Node(old)), Some(Node(new))) => {
            let (before, after) = (source_of(&old.provenance), source_of(&new.provenance));
            if before == after {
                format!("{id} is still {}, with other provenance or time", new.content)
            } else {
                format!("{id} is still {}, now {after} instead of {before}", new.content)
            }
        }
        (None, Some(Node(new))) => format!("{id} was added as {}", new.content),
        (Some(Node(old)), None) => format!("{id} was removed; it was {}", old.content),
        (None, None) => format!("{id} is unchanged"),
    }
}

impl Report for Changelog {
    const COMMAND: &'static str = "changelog";

    fn human(&self, page: &mut Page) {
        if self.changes.is_empty() {
            page.note("nothing changed");
        }
        for change in &self.changes {
            page.line(&change.sentence);
        }
    }
}
