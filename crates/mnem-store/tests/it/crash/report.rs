//! What a run came to: a line, a file for who asks for one, and for a failure how to run it again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::ways::told;

/// Counts cases, and goes on behind one that fails.
pub struct Report {
    name: &'static str,
    test: &'static str,
    cases: u64,
    failures: Vec<String>,
    begun: Instant,
}

impl Report {
    /// Of the test of this path.
    pub fn new(name: &'static str, test: &'static str) -> Self {
        Self { name, test, cases: 0, failures: Vec::new(), begun: Instant::now() }
    }

    /// Runs one case, which `variables` make again.
    pub fn case<T>(&mut self, variables: &str, what: &str, work: impl FnOnce() -> T) -> Option<T> {
        self.cases += 1;
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(value) => Some(value),
            Err(panic) => {
                let message = panic
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
                    .unwrap_or_default();
                let again = format!("{variables} cargo test -p mnem-store --test it {}", self.test);
                self.failures.push(format!("{what}: {message}\n  again: {again}"));
                None
            }
        }
    }

    /// Tells what came of it; panics where a case failed, or where there were too few.
    #[allow(clippy::print_stdout)] // who runs the sweep reads it
    pub fn finish(self, at_least: u64, note: &str) {
        let Self { name, cases, failures, begun, .. } = self;
        println!("report: {name} cases={cases} failures={} {note}", failures.len());
        if let Some(directory) = told("MNEM_SWEEP_REPORT") {
            let report = serde_json::json!({
                "name": name,
                "cases": cases,
                "failures": failures.len(),
                "seconds": begun.elapsed().as_secs(),
                "note": note,
            });
            let path = std::path::Path::new(&directory).join(format!("{name}.json"));
            std::fs::create_dir_all(directory).unwrap();
            std::fs::write(path, format!("{report:#}\n")).unwrap();
        }
        let some = failures[..failures.len().min(5)].join("\n");
        assert!(failures.is_empty(), "{} of {cases} failed:\n{some}", failures.len());
        assert!(cases >= at_least, "only {cases} cases");
    }
}
