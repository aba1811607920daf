//! When a belief began to hold.

use mnem_store::{CommitId, NodeId};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{Node, Origin, first_line, source_of, text, text_or_null};
use crate::error::{Failure, HINT_NEVER, NO};
use crate::output::{Page, Shade};

/// When a belief began to hold.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Bisect {
    /// The node.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub node: NodeId,
    /// The commit that was asked about.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub bad: CommitId,
    /// The earliest commit where it held; null when it does not hold at `bad`.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub first: Option<CommitId>,
    /// Where the node at that commit came from; null when there is nothing to trace.
    pub blame: Option<Origin>,
    /// Every change of the answer, oldest first.
    pub flips: Vec<Flip>,
    #[serde(skip)]
    pub(crate) denial: String,
    #[serde(skip)]
    pub(crate) exactly: bool,
}

/// A commit where the answer changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Flip {
    /// The commit.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub commit: CommitId,
    /// Whether it holds from here on.
    pub holds: bool,
    /// The node here; null when it is not there.
    pub node: Option<Node>,
    /// Why the commit was made.
    pub message: String,
    /// When, in Unix milliseconds.
    pub time: i64,
}

impl Bisect {
    /// Which call or document the belief came from, in the words of `blame`.
    fn origin(&self) -> String {
        let Some(origin) = &self.blame else { return format!("{} was not there", self.node) };
        let verb = if origin.removed { "removed" } else { "set" };
        let place = if Some(origin.commit) == self.first {
            "here".to_owned()
        } else {
            format!("at {}", origin.commit.short())
        };
        if origin.removed {
            return format!("{} {verb} {place}", self.node);
        }
        format!("{} {verb} {place}, {}", self.node, source_of(&origin.node.0.provenance))
    }
}

impl Report for Bisect {
    const COMMAND: &'static str = "bisect";

    fn human(&self, page: &mut Page) {
        if let Some(first) = self.first {
            let found = self.flips.iter().find(|flip| flip.commit == first);
            let message = found.map_or("", |flip| first_line(&flip.message));
            page.shade(Shade::Id, first.short()).say("  ").line(message);
            page.line(format!("  {}", self.origin()));
        }
        // One flip is the boundary itself.
        if self.flips.len() > 1 {
            page.line("  every change of the answer, oldest first:");
            for flip in &self.flips {
                let (answer, shade) =
                    if flip.holds { ("yes", Shade::Added) } else { ("no ", Shade::Removed) };
                page.say("    ").shade(shade, answer).say(" ");
                page.shade(Shade::Id, flip.commit.short()).say("  ");
                page.line(first_line(&flip.message));
            }
        }
    }

    fn refusal(&self) -> Option<Failure> {
        self.first.is_none().then(|| Failure {
            exit: NO,
            code: "not_found",
            message: format!("{} {} at {}", self.node, self.denial, self.bad.short()),
            hint: (self.exactly && self.flips.is_empty()).then(|| HINT_NEVER.into()),
        })
    }
}
