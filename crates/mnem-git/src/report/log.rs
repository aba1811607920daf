//! History.

use mnem_store::CommitId;
use serde::Serialize;

use super::Report;
use super::shapes::{Commit, utc};
use crate::output::{Page, Shade};

/// History, newest first.
#[derive(Clone, Debug, Serialize)]
pub struct Log {
    /// The commits: a child before its parents.
    pub commits: Vec<Commit>,
    #[serde(skip)]
    pub(crate) oneline: bool,
    #[serde(skip)]
    pub(crate) unborn: bool,
}

impl Report for Log {
    const COMMAND: &'static str = "log";

    fn human(&self, page: &mut Page) {
        if self.unborn {
            page.note("no commits yet");
        }
        for (number, commit) in self.commits.iter().enumerate() {
            if self.oneline {
                commit.one_line(page);
                continue;
            }
            if number > 0 {
                page.end();
            }
            page.shade(Shade::Id, format!("commit {}", commit.id)).end();
            if commit.parents.len() > 1 {
                let parents: Vec<_> = commit.parents.iter().map(CommitId::short).collect();
                page.line(format!("Merge:  {}", parents.join(" ")));
            }
            page.line(format!("Author: {}", commit.author));
            page.line(format!("Date:   {}", utc(commit.time)));
            page.end();
            for line in commit.message.lines() {
                page.line(format!("    {line}").trim_end());
            }
        }
    }
}
