//! What reading a file of JSON came to.

use mnem_store::{CommitId, ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{counted, text_or_null};
use crate::error::Failure;
use crate::output::Page;

/// What reading a file of JSON came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImportJson {
    /// What each memory names as its source.
    pub source: String,
    /// `plain`, an object of ids and contents, or `graph`, an entity or relation on each line.
    pub form: &'static str,
    /// Memories that were read.
    pub read: u64,
    /// Those of them that were new or changed.
    pub written: u64,
    /// Lines that were not read.
    pub skipped: Vec<SkippedLine>,
    /// The branch's commit afterwards; null when nothing was ever written.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub head: Option<CommitId>,
    /// The branch that was made for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_branch: Option<String>,
}

/// A line that was not read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SkippedLine {
    /// Its number, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

impl Report for ImportJson {
    const COMMAND: &'static str = "import-json";

    fn human(&self, page: &mut Page) {
        if let Some(branch) = &self.new_branch {
            page.note(format!("{branch} is a new branch"));
        }
        for SkippedLine { line, reason } in &self.skipped {
            page.line(format!("line {line} was skipped: {reason}"));
        }
        page.line(format!(
            "Read {} from {}: {} new or changed",
            counted(self.read, "memory"),
            self.source,
            self.written
        ));
    }

    fn refusal(&self) -> Option<Failure> {
        let lines = self.skipped.len() as u64;
        (lines > 0).then(|| {
            let was = if lines == 1 { "was" } else { "were" };
            let lines = counted(lines, "line");
            let message = format!("{lines} of {} {was} skipped; the rest was read", self.source);
            Failure::no(ErrorKind::InvalidRef, message)
        })
    }
}
