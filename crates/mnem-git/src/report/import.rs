//! A store that was made from an export.

use std::path::PathBuf;

use mnem_store::portable::Carried;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::export::{Counts, in_words};
use crate::output::Page;

/// A store that was made from an export.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Import {
    /// The store's directory.
    pub path: PathBuf,
    /// Where HEAD is: `ref: ` and a branch, or a commit id.
    pub head: String,
    /// What it holds.
    #[serde(flatten)]
    #[schemars(with = "Counts")]
    pub carried: Carried,
}

impl Report for Import {
    const COMMAND: &'static str = "import";

    fn human(&self, page: &mut Page) {
        page.line(format!("Imported {} to {}", in_words(&self.carried), self.path.display()));
    }
}
