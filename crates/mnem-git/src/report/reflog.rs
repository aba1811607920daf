//! The moves of a branch.

use mnem_store::CommitId;
use mnem_store::backend::Record;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::text_or_null;
use crate::output::{Page, Shade};

/// The moves of a branch, newest first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reflog {
    /// The branch.
    pub branch: String,
    /// Its moves.
    pub moves: Vec<Move>,
    #[serde(skip)]
    pub(crate) none_asked: bool,
}

/// A move of a branch, in the shape of `Move.to_dict()` of the SDK.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Move {
    /// Where it pointed before; null when it did not exist.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub old: Option<CommitId>,
    /// Where it points since; null when it does not exist.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub new: Option<CommitId>,
    /// The verb that moved it.
    pub operation: String,
    /// Who moved it.
    pub author: String,
    /// The store's time of the move, in Unix milliseconds.
    pub time: i64,
}

impl From<Record> for Move {
    fn from(record: Record) -> Self {
        Self {
            old: record.old,
            new: record.new,
            operation: record.operation.as_str().to_owned(),
            author: record.author,
            time: record.time,
        }
    }
}

impl Report for Reflog {
    const COMMAND: &'static str = "reflog";

    fn human(&self, page: &mut Page) {
        if self.moves.is_empty() && !self.none_asked {
            page.note("no moves yet");
        }
        for moved in &self.moves {
            match moved.new {
                Some(commit) => page.shade(Shade::Id, commit.short()),
                None => page.say("nowhere     "),
            };
            page.say("  ").moment(moved.time);
            page.line(format!("  {} by {}", moved.operation, moved.author));
        }
    }
}
