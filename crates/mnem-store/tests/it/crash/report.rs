//! What a run came to: a line, a file for who asks for one, and for a failure how to run it again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use crate::sweep::{said, tell};

/// Counts cases, and goes on behind one that fails.
pub struct Report {
    name: &'static str,
    test: &'static str,
    cases: u64,
    failures: Vec<String>,
    started: Instant,
}

impl Report {
    /// Of the test of this path.
    pub fn new(name: &'static str, test: &'static str) -> Self {
        Self { name, test, cases: 0, failures: Vec::new(), started: Instant::now() }
    }

    /// Runs one case, which `variables` make again.
    pub fn case<T>(&mut self, variables: &str, what: &str, work: impl FnOnce() -> T) -> Option<T> {
        self.cases += 1;
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(value) => Some(value),
            Err(panic) => {
                let message = said(&*panic);
                let again = format!("{variables} cargo test -p mnem-store --test it {}", self.test);
                self.failures.push(format!("{what}: {message}\n  again: {again}"));
                None
            }
        }
    }

    /// Tells what came of it; panics where a case failed, or where there were too few.
    #[allow(clippy::print_stdout)] // who runs the sweep reads it
    pub fn finish(self, at_least: u64, note: &str) {
        let Self { name, cases, failures, started, .. } = self;
        println!("report: {name} cases={cases} failures={} {note}", failures.len());
        tell(name, cases, failures.len() as u64, started.elapsed().as_secs(), note);
        let some = failures[..failures.len().min(5)].join("\n");
        assert!(failures.is_empty(), "{} of {cases} failed:\n{some}", failures.len());
        assert!(cases >= at_least, "only {cases} cases");
    }
}
