//! What was exported.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mnem_store::portable::Carried;
use mnem_store::{CommitId, Content};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{counted, text_or_null};
use crate::output::Page;

/// What was exported: a whole store, or memory at a commit.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Export {
    /// The file; null for standard output.
    pub file: Option<PathBuf>,
    /// The whole store; left out with `--at`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Stream>,
    /// The commit that memory was read at; with `--at` only.
    #[serde(serialize_with = "text_or_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub commit: Option<CommitId>,
    /// Memory: id to content; with `--at` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, serde_json::Value>>")]
    pub memory: Option<BTreeMap<String, Content>>,
}

/// What is in a stream.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Stream {
    /// What it holds.
    #[serde(flatten)]
    #[schemars(with = "Counts")]
    pub carried: Carried,
    /// What of the store it does not hold.
    pub left_out: Vec<&'static str>,
}

/// How much there is.
#[derive(JsonSchema)]
#[allow(dead_code)] // its shape is what counts
pub struct Counts {
    /// Memory node versions.
    nodes: u64,
    /// State objects.
    states: u64,
    /// Commits.
    commits: u64,
    /// Branches.
    branches: u64,
}

/// How much there is, in words.
pub fn in_words(carried: &Carried) -> String {
    let Carried { nodes, states, commits, branches } = carried;
    let counts =
        [(commits, "commit"), (states, "state"), (nodes, "memory node"), (branches, "branch")];
    counts.map(|(number, thing)| counted(*number, thing)).join(", ")
}

impl Export {
    /// Memory as a plain object; none without `--at`.
    pub fn plain(&self) -> Option<String> {
        // Content is JSON: nothing here can fail.
        serde_json::to_string_pretty(self.memory.as_ref()?).ok().map(|text| text + "\n")
    }
}

impl Report for Export {
    const COMMAND: &'static str = "export";

    fn human(&self, page: &mut Page) {
        match (&self.file, &self.stream, self.plain()) {
            (Some(file), Some(Stream { carried, left_out }), _) => {
                page.line(format!("Exported {} to {}", in_words(carried), file.display()));
                page.note(format!("not in it: {}", left_out.join(", ")));
            }
            (None, Some(Stream { carried, left_out }), _) => {
                page.note(format!("exported {}", in_words(carried)));
                page.note(format!("not in it: {}", left_out.join(", ")));
            }
            (Some(file), None, Some(_)) => {
                let number = self.memory.as_ref().map_or(0, BTreeMap::len);
                let memories = counted(number as u64, "memory");
                page.line(format!("Wrote {memories} to {}", file.display()));
            }
            (None, None, Some(text)) => page.exact(text),
            (_, None, None) => {}
        }
    }
}
