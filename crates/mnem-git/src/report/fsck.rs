//! Whether everything in the store agrees.

use std::path::PathBuf;

use mnem_store::{CommitId, ErrorKind, Hint, ops};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{counted, text_or_null};
use crate::error::Failure;
use crate::output::{Page, clean, named};

/// What was checked, what is wrong, and what a repair did.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Fsck {
    /// Memory nodes that were read.
    pub nodes: u64,
    /// State objects that were read.
    pub states: u64,
    /// Commits that were read.
    pub commits: u64,
    /// Records that were read.
    pub records: u64,
    /// Branches that were followed.
    pub branches: u64,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// What the repair did, where one was asked for and something was wrong.
    pub repair: Option<Repair>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Finding {
    /// What kind of thing: `file`, `config`, `entries`, `row`, `index`, `object`, `lost`,
    /// `no_record`, `derived`, `branch`, `tip`, `head`, `staged`, `lease`, `twice`, `ahead`,
    /// `leftover`, `unused`, `room` or `killed`.
    pub kind: &'static str,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What helps.
    pub hint: &'static str,
    /// Whether it harms nothing.
    pub warning: bool,
    #[serde(skip)]
    is_repairable: bool,
}

/// What a repair did.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Repair {
    /// What is lost.
    pub losses: Vec<Finding>,
    /// Objects that were saved.
    pub objects: u64,
    /// Branches that were put elsewhere.
    pub moved: Vec<Moved>,
    /// The branch HEAD was put on; null where it was right.
    pub head: Option<String>,
    /// The new data file; null where the old one is whole, or nothing more could be saved.
    pub data_file: Option<PathBuf>,
    /// The damaged data file.
    pub kept: Option<PathBuf>,
    /// What processes had left that ended too early, and is gone.
    pub removed: Vec<PathBuf>,
}

/// A branch that was put elsewhere.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Moved {
    /// The branch.
    pub branch: String,
    /// Where it is now; null where it is gone.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub commit: Option<CommitId>,
}

impl From<ops::Fsck> for Fsck {
    fn from(found: ops::Fsck) -> Self {
        let ops::Fsck { nodes, states, commits, records, branches, findings, .. } = found;
        let findings = findings.iter().map(Finding::from).collect();
        Self { nodes, states, commits, records, branches, findings, repair: None }
    }
}

impl From<&ops::Finding> for Finding {
    fn from(finding: &ops::Finding) -> Self {
        Self {
            kind: finding.kind(),
            message: finding.to_string(),
            hint: finding.hint().text(),
            warning: finding.is_warning(),
            is_repairable: finding.is_repairable(),
        }
    }
}

impl From<ops::Repair> for Repair {
    fn from(repair: ops::Repair) -> Self {
        let moved = repair.moved.into_iter();
        Self {
            losses: repair.losses.iter().map(Finding::from).collect(),
            objects: repair.objects,
            moved: moved
                .map(|(branch, commit)| Moved { branch: branch.to_string(), commit })
                .collect(),
            head: repair.head.map(|branch| branch.to_string()),
            data_file: repair.data_file.map(named),
            kept: repair.kept.map(named),
            removed: repair.removed.into_iter().map(named).collect(),
        }
    }
}

impl Fsck {
    /// What is asked before a repair.
    pub fn question(&self) -> String {
        let lines: Vec<_> = self.findings.iter().map(|one| clean(&one.message) + "\n").collect();
        let what = if self.damages().any(|one| one.is_repairable) {
            "Save what can be read into a fresh data file? The damaged one is kept."
        } else {
            "Remove what processes left that ended too early?"
        };
        format!("{}{what} [y/N] ", lines.concat())
    }

    /// Whether a repair has something to do.
    pub fn is_repairable(&self) -> bool {
        self.findings.iter().any(|one| one.is_repairable)
    }

    /// Whether the store was too damaged to be opened.
    fn is_unread(&self) -> bool {
        let read = [self.nodes, self.states, self.commits, self.records, self.branches];
        read == [0; 5] && self.findings.iter().any(|one| ["file", "config"].contains(&one.kind))
    }

    fn damages(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !finding.warning)
    }
}

impl Report for Fsck {
    const COMMAND: &'static str = "fsck";

    fn human(&self, page: &mut Page) {
        for finding in &self.findings {
            let kind = match finding.kind {
                "lost" => "lost: ",
                _ if finding.warning => "warning: ",
                _ => "",
            };
            page.say(kind).line(&finding.message);
            if finding.warning {
                page.hint(finding.hint);
            }
        }
        let checked = [
            counted(self.commits, "commit"),
            counted(self.states, "state"),
            counted(self.nodes, "memory node"),
            counted(self.records, "record"),
            counted(self.branches, "branch"),
        ];
        let verdict = if self.damages().next().is_none() { "all agree" } else { "damaged" };
        if self.is_unread() {
            page.line("Nothing of it could be read: damaged");
        } else {
            page.line(format!("Checked {}: {verdict}", checked.join(", ")));
        }
        if let Some(repair) = &self.repair {
            repair.human(page);
        }
    }

    fn refusal(&self) -> Option<Failure> {
        let refuse = |message| Failure::no(ErrorKind::CorruptStore, message);
        if let Some(repair) = &self.repair {
            let is_whole = repair.losses.is_empty();
            let lost = || refuse("not everything could be saved".to_owned());
            return (!is_whole).then(|| lost().hint(Hint::StaysLost.text()));
        }
        let first = self.damages().next()?;
        if self.damages().all(|one| one.kind == "lost") {
            let number = self.damages().count() as u64;
            let what = if number == 1 { "1 loss".into() } else { format!("{number} losses") };
            return Some(refuse(format!(
                "the store has {what}, and a repair can save nothing more"
            )))
            .map(|failure| failure.hint(first.hint));
        }
        // One word for all of it: what a repair makes good comes first.
        let repaired = self.damages().find(|one| one.hint == Hint::Repair.text());
        let hint = repaired.unwrap_or(first).hint;
        let number = counted(self.damages().count() as u64, "problem");
        let vain = if self.is_repairable() { "" } else { ", and a repair does not help" };
        Some(refuse(format!("the store has {number}{vain}")).hint(hint))
    }
}

impl Repair {
    fn human(&self, page: &mut Page) {
        for loss in &self.losses {
            page.say("lost: ").line(&loss.message);
        }
        for Moved { branch, commit } in &self.moved {
            match commit {
                Some(commit) => page.line(format!("{branch} is at {} now", commit.short())),
                None => page.line(format!("{branch} is gone")),
            }
        }
        if let Some(head) = &self.head {
            page.line(format!("HEAD is on {head} now"));
        }
        if let (Some(new), Some(kept)) = (&self.data_file, &self.kept) {
            let saved = counted(self.objects, "object");
            page.line(format!("Saved {saved} in {}", new.display()));
            page.line(format!("The damaged file is kept: {}", kept.display()));
        }
        for path in &self.removed {
            page.line(format!("Removed {}", path.display()));
        }
    }
}
