//! The small texts of a store: `config`, `HEAD`, and revisions.

use std::cell::OnceCell;

use jiff::Timestamp;
use mnem_store::ops::{MergeOptions, MergeOutcome};
use mnem_store::store::config::Config;
use mnem_store::store::revision::parse_time;
use mnem_store::{BranchName, ErrorKind, Head, InitOptions, Store};

use super::{Answer, is_one_sentence};
use crate::support::{environment, put};

/// What is read of a config is what its rendering says, and it names no file outside the store.
pub fn config(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let config = match Config::parse(&text) {
        Ok(config) => config,
        Err(error) => {
            let kinds = [ErrorKind::CorruptStore, ErrorKind::FormatVersion];
            assert!(kinds.contains(&error.kind()), "{error}");
            assert!(is_one_sentence(&error), "{error}");
            return Answer::Refused;
        }
    };
    assert!(Config::is_ours(&text));
    let rendered = config.render();
    assert_eq!(Config::parse(&rendered).unwrap(), config);
    // What a later release adds changes nothing.
    let later = format!("{rendered}a key of tomorrow = 1\n# and a comment = 2\nno entry\n");
    assert_eq!(Config::parse(&later).unwrap(), config);
    if let Some(engine) = &config.engine {
        let name = std::path::Path::new(&engine.data_file);
        assert_eq!(name.file_name(), Some(name.as_os_str()));
    }
    Answer::Accepted
}

/// What is read of HEAD is rendered to the same line.
pub fn head(bytes: &[u8]) -> Answer {
    let Ok(text) = str::from_utf8(bytes) else { return Answer::Refused };
    match Head::parse(text) {
        Ok(head) => {
            let line = text.strip_suffix('\n').unwrap_or(text);
            assert_eq!(head.render(), line);
            assert!(!line.contains(char::is_control), "{line:?}");
            assert_eq!(Head::parse(&format!("{line}\n")).unwrap(), head);
            Answer::Accepted
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::CorruptStore);
            assert!(is_one_sentence(&error), "{error}");
            Answer::Refused
        }
    }
}

/// A store with branches whose names look like other things, a merge, and a branch that was moved
/// back.
fn told() -> Store {
    let options = InitOptions { reproducible: true, ..InitOptions::default() };
    let store = Store::in_memory(&options, environment()).unwrap();
    put(&store, "plan", "basic");
    for name in ["side", "abcd", "2026-01-01", "a/b.c"] {
        let side = store.on(&BranchName::new(name).unwrap(), "tester").unwrap();
        put(&side, name, "1");
        put(&store, "plan", name);
        let merged = store.merge(name, &MergeOptions::default()).unwrap();
        assert!(matches!(merged, MergeOutcome::Merged(_)), "{merged:?}");
    }
    let side = store.on(&BranchName::new("side").unwrap(), "tester").unwrap();
    put(&side, "guess", "wrong");
    let _ = side.undo(None, &MergeOptions::default()).unwrap();
    store
}

/// A revision names a commit, by which the steps that may follow it go; or it is refused with a
/// sentence, and so is everything that goes on from it.
pub fn revision(bytes: &[u8]) -> Answer {
    thread_local! { static STORE: OnceCell<Store> = const { OnceCell::new() }; }
    let Ok(text) = str::from_utf8(bytes) else { return Answer::Refused };
    if let Some(millis) = parse_time(text) {
        assert_eq!(parse_time(&millis.to_string()), Some(millis));
        if let Ok(timestamp) = Timestamp::from_millisecond(millis) {
            assert_eq!(parse_time(&timestamp.to_string()), Some(millis));
        }
    }
    STORE.with(|store| resolve(store.get_or_init(told), text))
}

fn resolve(store: &Store, text: &str) -> Answer {
    let after = |steps: &str| store.resolve(&format!("{text}{steps}"));
    let commit = match store.resolve(text) {
        Ok(commit) => commit,
        Err(error) => {
            let kinds = [ErrorKind::InvalidRef, ErrorKind::NotFound];
            assert!(kinds.contains(&error.kind()), "{error}");
            assert!(is_one_sentence(&error), "{error}");
            assert!(after("~1").is_err(), "{text:?} is refused, and {text:?}~1 is not");
            return Answer::Refused;
        }
    };
    assert_eq!(store.resolve(&commit.to_string()).unwrap(), commit);
    let parents = &store.commit_object(commit).unwrap().parents;
    for steps in ["~0", "^0"] {
        assert_eq!(after(steps).unwrap(), commit, "{text:?}{steps}");
    }
    for (steps, parent) in [("~1", 0), ("~", 0), ("^", 0), ("^1", 0), ("^2", 1), ("^3", 2)] {
        // A number goes on: `main~` before `1` is `main~1`.
        assert_eq!(after(steps).ok(), parents.get(parent).copied(), "{text:?}{steps}");
    }
    assert_eq!(after("@{0}").ok(), None, "{text:?} is a branch after steps");
    Answer::Accepted
}
