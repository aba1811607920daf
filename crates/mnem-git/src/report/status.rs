//! Where HEAD is and what is staged.

use mnem_store::NodeId;
use mnem_store::ops::ChangeKind;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{Commit, classified, text};
use crate::output::{Page, Shade};

/// Where HEAD is and what is staged.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Status {
    /// The branch one is on; null when HEAD is detached.
    pub branch: Option<String>,
    /// The commit one is at; null on a branch without a commit.
    pub commit: Option<Commit>,
    /// What is staged, in the order of the ids.
    pub staged: Vec<Staged>,
    /// Every branch, in the order of the names; with `--all-branches` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branches: Option<Vec<Tip>>,
}

/// A branch and the age of its commit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tip {
    /// Its name.
    pub name: String,
    /// The milliseconds since its commit's time; negative for a time still to come.
    pub age: i64,
    /// The commit it points at.
    pub commit: Commit,
}

/// A staged node.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Staged {
    /// The node.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub id: NodeId,
    /// `added`, `modified`, `removed`, or `unchanged` when it says what HEAD says.
    #[serde(serialize_with = "kind")]
    #[schemars(with = "String")]
    pub kind: Option<ChangeKind>,
}

#[allow(clippy::trivially_copy_pass_by_ref, clippy::ref_option)] // the shape that serde calls
fn kind<S: serde::Serializer>(kind: &Option<ChangeKind>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.map_or("unchanged", ChangeKind::as_str))
}

impl Report for Status {
    const COMMAND: &'static str = "status";

    fn human(&self, page: &mut Page) {
        if let Some(branches) = &self.branches {
            return list(page, branches);
        }
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

fn list(page: &mut Page, branches: &[Tip]) {
    if branches.is_empty() {
        page.note("no branch has a commit yet");
    }
    let width = |of: fn(&Tip) -> &str| {
        branches.iter().map(|tip| of(tip).chars().count()).max().unwrap_or_default()
    };
    let (names, authors) = (width(|tip| &tip.name), width(|tip| &tip.commit.author));
    for Tip { name, age, commit } in branches {
        page.say(format!("{name:<names$}  ")).shade(Shade::Id, commit.id.short());
        page.say(format!("  {:<authors$}  ", commit.author)).line(ago(*age));
    }
}

/// `5s ago`, `2h ago`, `3d ago`; `in 5s` for a time still to come.
fn ago(millis: i64) -> String {
    let seconds = millis.unsigned_abs() / 1_000;
    let (number, unit) = match seconds {
        0..60 => (seconds, "s"),
        60..3_600 => (seconds / 60, "m"),
        3_600..86_400 => (seconds / 3_600, "h"),
        _ => (seconds / 86_400, "d"),
    };
    if millis < 0 { format!("in {number}{unit}") } else { format!("{number}{unit} ago") }
}
