//! A script that completes a command line.

use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use crate::output::Page;

/// A script that completes a command line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Completions {
    /// The shell.
    pub shell: String,
    /// The script.
    pub script: String,
}

impl Report for Completions {
    const COMMAND: &'static str = "completions";

    fn human(&self, page: &mut Page) {
        page.exact(&self.script);
    }
}
