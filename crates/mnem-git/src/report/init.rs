//! A store that was made.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use crate::output::Page;

/// A store that was made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Init {
    /// The store's directory.
    pub path: PathBuf,
    /// The branch HEAD names.
    pub branch: String,
    /// The version of its format.
    pub format_version: u64,
    /// Whether its ids depend on the content alone.
    pub reproducible: bool,
}

impl Report for Init {
    const COMMAND: &'static str = "init";

    fn human(&self, page: &mut Page) {
        page.line(format!("Initialised an empty Mnemosyne store in {}", self.path.display()));
    }
}
