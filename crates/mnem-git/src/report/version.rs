//! What this program is.

use mnem_store::store::FormatVersion;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use crate::output::Page;

/// The versions of the software and of the store format.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Version {
    /// The version of the software.
    pub version: &'static str,
    /// The versions of the format that are read.
    pub reads: Vec<u64>,
    /// The version of the format that is written.
    pub writes: u64,
    #[serde(skip)]
    asked: bool,
}

impl Version {
    /// This program's versions; `asked` when that is all that was asked for.
    pub fn of(asked: bool) -> Self {
        let reads = FormatVersion::ALL.map(FormatVersion::number).to_vec();
        let writes = FormatVersion::CURRENT.number();
        Self { version: env!("CARGO_PKG_VERSION"), reads, writes, asked }
    }
}

impl Report for Version {
    const COMMAND: &'static str = "version";

    fn human(&self, page: &mut Page) {
        page.line(format!("mnem {}", self.version));
        if self.asked {
            let reads: Vec<_> = self.reads.iter().map(ToString::to_string).collect();
            page.line(format!(
                "store format: reads versions {}, writes version {}",
                reads.join(" and "),
                self.writes
            ));
        } else {
            page.line(
                "Version control for an AI agent's memory. `mnem --help` lists the commands.",
            );
        }
    }
}
