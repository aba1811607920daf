//! Random cases, and what a sweep tells of them.
//!
//! Where `MNEM_SWEEP_REPORT` names a directory, `NAME.json` there says how many cases were run, how
//! many failed, and how long they took; one file for all tests of one name.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use proptest::prelude::{ProptestConfig, Strategy};
use proptest::test_runner::{TestCaseResult, TestError, TestRunner};

#[derive(Clone, Copy, Debug, Default)]
struct Told {
    cases: u64,
    failures: u64,
    seconds: f64,
    tests: u64,
}

static TOLD: Mutex<BTreeMap<&str, Told>> = Mutex::new(BTreeMap::new());

/// Runs a test over random cases; one that fails is made as small as it gets.
#[track_caller]
pub fn swept<S: Strategy<Value: Debug>>(
    name: &'static str,
    config: ProptestConfig,
    strategy: S,
    test: impl Fn(S::Value),
) {
    let start = Instant::now();
    let cases = Cell::new(0);
    let (is_running, has_failed) = (Cell::new(false), Cell::new(false));
    let outcome = TestRunner::new(config).run(&strategy, |value| {
        // Once a case has failed, the others are the same one made smaller.
        has_failed.set(has_failed.get() || is_running.replace(true));
        cases.set(cases.get() + u64::from(!has_failed.get()));
        test(value);
        is_running.set(false);
        TestCaseResult::Ok(())
    });
    let told = Told {
        cases: cases.get(),
        failures: u64::from(outcome.is_err()),
        seconds: start.elapsed().as_secs_f64(),
        tests: 1,
    };
    tell(name, told);
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, value)) => panic!("{why}\nminimal failing input: {value:#?}"),
        Err(error) => panic!("{error}"),
    }
}

#[allow(clippy::disallowed_methods)] // the engine reads no environment; a test may
fn tell(name: &'static str, told: Told) {
    let Some(directory) = std::env::var_os("MNEM_SWEEP_REPORT") else { return };
    let mut all = TOLD.lock().unwrap();
    let sum = all.entry(name).or_default();
    sum.cases += told.cases;
    sum.failures += told.failures;
    sum.seconds += told.seconds;
    sum.tests += told.tests;
    let report = serde_json::json!({
        "name": name,
        "cases": sum.cases,
        "failures": sum.failures,
        "seconds": sum.seconds.round(),
        "note": format!("random histories of {} tests beside plain dicts", sum.tests),
    });
    let text = serde_json::to_string_pretty(&report).unwrap() + "\n";
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(Path::new(&directory).join(format!("{name}.json")), text).unwrap();
}
