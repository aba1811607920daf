//! How much the store holds.

use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use crate::output::Page;

/// How much the store holds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Stats {
    /// Memories where HEAD is.
    pub memories: u64,
    /// Branches that point at a commit.
    pub branches: u64,
    /// Memories that are staged, or staged to be removed.
    pub staged: u64,
    /// Records of moves of branches.
    pub records: u64,
    /// Every object of the store, by kind.
    pub objects: Objects,
    /// The tree of the memory where HEAD is; null before the first commit.
    pub tree: Option<Tree>,
    /// The length of the data file.
    pub file_bytes: Option<u64>,
    /// What the data file takes on the disk, in bytes.
    pub allocated_bytes: Option<u64>,
}

/// Objects by kind.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Objects {
    /// Versions of memories.
    pub memory_node: Amount,
    /// States and their parts.
    pub state: Amount,
    /// Commits.
    pub commit: Amount,
}

/// A number of objects and their size.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct Amount {
    /// How many.
    pub count: u64,
    /// Their encodings together, in bytes.
    pub bytes: u64,
}

/// The tree that the memory at one commit is stored as.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tree {
    /// Levels below the root.
    pub height: u64,
    /// Its state objects.
    pub objects: u64,
    /// Their encodings together, in bytes.
    pub bytes: u64,
}

impl Report for Stats {
    const COMMAND: &'static str = "stats";

    fn human(&self, page: &mut Page) {
        let mut row = |name: &str, count: u64, rest: String| {
            page.line(format!("{name:<13} {count:>10}{rest}").trim_end());
        };
        row("memories", self.memories, String::new());
        row("commits", self.objects.commit.count, size(self.objects.commit.bytes));
        row("branches", self.branches, String::new());
        row("staged", self.staged, String::new());
        row("records", self.records, String::new());
        row("versions", self.objects.memory_node.count, size(self.objects.memory_node.bytes));
        row("states", self.objects.state.count, size(self.objects.state.bytes));
        if let Some(Tree { height, objects, bytes }) = &self.tree {
            row("tree here", *objects, format!("{}, height {height}", size(*bytes)));
        }
        if let (Some(length), Some(allocated)) = (self.file_bytes, self.allocated_bytes) {
            page.line(format!("data file     {length:>10} bytes, {allocated} on the disk"));
        }
    }
}

fn size(bytes: u64) -> String {
    format!("{bytes:>14} bytes")
}
