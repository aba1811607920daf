//! Whether the store holds what was written.

use mnem_store::{ErrorKind, Hint};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::counted;
use crate::error::Failure;
use crate::output::Page;

/// What was checked and what is wrong.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Verify {
    /// Memory nodes that were read.
    pub nodes: u64,
    /// State objects that were read.
    pub states: u64,
    /// Commits that were read.
    pub commits: u64,
    /// Branches that were followed.
    pub branches: u64,
    /// What is wrong, a sentence each.
    pub problems: Vec<String>,
}

impl Report for Verify {
    const COMMAND: &'static str = "verify";

    fn human(&self, page: &mut Page) {
        for problem in &self.problems {
            page.line(problem);
        }
        let Self { nodes, states, commits, branches, problems } = self;
        let checked = [
            counted(*commits, "commit"),
            counted(*states, "state"),
            counted(*nodes, "memory node"),
            if *branches == 1 { "1 branch".into() } else { format!("{branches} branches") },
        ];
        let verdict = if problems.is_empty() { "all intact" } else { "damaged" };
        page.line(format!("Checked {}: {verdict}", checked.join(", ")));
    }

    fn refusal(&self) -> Option<Failure> {
        (!self.problems.is_empty()).then(|| {
            let number = self.problems.len() as u64;
            let message = format!("the store has {}", counted(number, "problem"));
            Failure::no(ErrorKind::CorruptStore, message).hint(Hint::Fsck.text())
        })
    }
}
