//! Where HEAD is and what is staged.

use mnem_store::NodeId;
use mnem_store::ops::ChangeKind;
use serde::Serialize;

use super::Report;
use super::shapes::{Commit, classified, text};
use crate::output::{Page, Shade};

/// Where HEAD is and what is staged.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The branch one is on; null when HEAD is detached.
    pub branch: Option<String>,
    /// The commit one is at; null on a branch without a commit.
    pub commit: Option<Commit>,
    /// What is staged, in the order of the ids.
    pub staged: Vec<Staged>,
}

/// A staged node.
#[derive(Clone, Debug, Serialize)]
pub struct Staged {
    /// The node.
    #[serde(serialize_with = "text")]
    pub id: NodeId,
    /// `added`, `modified`, `removed`, or `unchanged` when it says what HEAD says.
    #[serde(serialize_with = "kind")]
    pub kind: Option<ChangeKind>,
}

#[allow(clippy::trivially_copy_pass_by_ref, clippy::ref_option)] // the shape that serde calls
fn kind<S: serde::Serializer>(kind: &Option<ChangeKind>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.map_or("unchanged", ChangeKind::as_str))
}

impl Report for Status {
    const COMMAND: &'static str = "status";

    fn human(&self, page: &mut Page) {
        match (&self.branch, &self.commit) {
            (Some(branch), _) => page.say("On branch ").shade(Shade::Current, branch).end(),
            (None, Some(commit)) => {
                page.say("HEAD detached at ").shade(Shade::Id, commit.id.short()).end();
            }
            (None, None) => page.line("HEAD is nowhere"),
        }
        match &self.commit {
            Some(commit) => {
                page.say("  ");
                commit.one_line(page);
            }
            None => page.line("  no commits yet"),
        }
        if self.staged.is_empty() {
            page.line("nothing staged");
            return;
        }
        page.line("staged:");
        for staged in &self.staged {
            page.say("  ");
            match staged.kind {
                Some(kind) => classified(page, kind, &staged.id),
                None => page.line(format!("= {}", staged.id)),
            }
        }
    }
}
