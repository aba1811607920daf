//! What `make sweep` asks of a test, and is told by it.
//!
//! Where `MNEM_SWEEP_REPORT` names a directory, `NAME.json` there says how many cases were run, how
//! many failed, and how long they took; one file for all tests of one name.

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Instant;

use proptest::prelude::{ProptestConfig, Strategy};
use proptest::test_runner::{TestCaseResult, TestError, TestRunner};

#[derive(Clone, Copy, Debug, Default)]
struct Told {
    cases: u64,
    failures: u64,
    seconds: u64,
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
    let told = {
        let mut all = TOLD.lock().unwrap();
        let sum = all.entry(name).or_default();
        sum.cases += cases.get();
        sum.failures += u64::from(outcome.is_err());
        sum.seconds += start.elapsed().as_secs();
        sum.tests += 1;
        *sum
    };
    let note = format!("random histories of {} tests beside plain dicts", told.tests);
    tell(name, told.cases, told.failures, told.seconds, note);
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, value)) => panic!("{why}\nminimal failing input: {value:#?}"),
        Err(error) => panic!("{error}"),
    }
}

/// What the environment may set: the sweep runs the same tests with larger numbers.
#[allow(clippy::disallowed_methods)] // a test may be asked for more cases; the engine may not
pub fn asked(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

pub fn number<N: FromStr<Err: Debug>>(name: &str, default: N) -> N {
    asked(name).map_or(default, |text| text.parse().expect("a number"))
}

pub fn said(reason: &(dyn Any + Send)) -> String {
    let text = reason.downcast_ref::<String>().cloned();
    text.or_else(|| reason.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
}

/// Leaves what a test came to for the sweep, if one is running.
pub fn tell(name: &str, cases: u64, failures: u64, seconds: u64, note: impl Display) {
    let Some(folder) = asked("MNEM_SWEEP_REPORT") else { return };
    let told = serde_json::json!({
        "name": name,
        "cases": cases,
        "failures": failures,
        "seconds": seconds,
        "note": note.to_string(),
    });
    fs::create_dir_all(&folder).unwrap();
    fs::write(Path::new(&folder).join(format!("{name}.json")), format!("{told:#}\n")).unwrap();
}

/// The same of a test that held.
pub fn tell_held(name: &str, cases: u64, started: Instant, note: impl Display) {
    tell(name, cases, 0, started.elapsed().as_secs(), note);
}
