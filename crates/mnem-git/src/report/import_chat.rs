//! What reading a transcript came to.

use mnem_store::CommitId;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{counted, text_or_null};
use crate::output::Page;

/// What reading a transcript came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImportChat {
    /// Its name.
    pub transcript: String,
    /// How many messages it has.
    pub messages: u64,
    /// How many of them were read before.
    pub before: u64,
    /// Tool results among the others.
    pub results: u64,
    /// Commits that were made.
    pub commits: u64,
    /// Memories that were written.
    pub written: u64,
    /// Entities that said what was known already.
    pub unchanged: u64,
    /// Results that named no entity and were not kept.
    pub passed_over: u64,
    /// The branch's commit afterwards; null when nothing was ever written.
    #[serde(serialize_with = "text_or_null")]
    #[schemars(with = "Option<String>")]
    pub head: Option<CommitId>,
    /// The branch that was made for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_branch: Option<String>,
}

impl Report for ImportChat {
    const COMMAND: &'static str = "import-chat";

    fn human(&self, page: &mut Page) {
        if let Some(branch) = &self.new_branch {
            page.note(format!("{branch} is a new branch"));
        }
        if self.before == self.messages {
            let messages = counted(self.messages, "message");
            page.line(format!("Nothing new in {}: {messages} read before", self.transcript));
            return;
        }
        let new = self.messages.saturating_sub(self.before);
        let read = if self.before == 0 { String::new() } else { format!(" ({new} new)") };
        page.line(format!(
            "Read {} of {}{read}, {}",
            counted(self.messages, "message"),
            self.transcript,
            counted(self.results, "tool result")
        ));
        page.line(format!(
            "  {} in {}, {} unchanged, {} passed over",
            counted(self.written, "memory"),
            counted(self.commits, "commit"),
            self.unchanged,
            counted(self.passed_over, "result"),
        ));
    }
}
