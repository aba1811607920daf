//! Every verb of a store is beside the model, or says which test holds it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What the histories leave out: files, and what only some states of a store answer.
const ELSEWHERE: [(&str, &str); 12] = [
    ("default_branch", "open.rs::what_init_was_told"),
    ("export_to", "portable.rs::an_export_to_a_file_is_whole_or_leaves_what_was_there"),
    ("format_version", "original.rs::reading_changes_nothing"),
    ("import_chat", "fuzz/transcripts.rs::transcript"),
    ("import_chat_watched", "chat.rs::the_progress_counts_messages"),
    ("in_memory", "open.rs::a_store_in_memory_is_gone_with_its_handle"),
    ("is_writing", "writers.rs::who_waits_shares_one_publish"),
    ("readable_log", "log.rs::what_is_lost_hides_what_no_line_leads_to_and_nothing_else"),
    ("root", "open.rs::a_store_in_memory_is_gone_with_its_handle"),
    ("stale_conflicts", "staging.rs::what_a_stale_base_would_overwrite_is_told"),
    ("waiting_writers", "writers.rs::who_waits_shares_one_publish"),
    ("was_killed", "original.rs::reading_changes_nothing"),
];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The public functions of `impl Store`, and those that are given a store.
fn verbs() -> BTreeSet<String> {
    let mut sources = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut sources);
    let mut verbs = BTreeSet::new();
    for source in sources {
        let text = read(&source);
        let mut is_of_store = false;
        for (line, next) in text.lines().zip(text.lines().skip(1)) {
            if line.starts_with("impl") {
                is_of_store = line == "impl Store {";
            } else if line == "}" {
                is_of_store = false;
            }
            let declared = if is_of_store { "    pub fn " } else { "pub fn " };
            let Some(rest) = line.strip_prefix(declared) else { continue };
            let is_given = line.contains("store: &Store") || next.contains("store: &Store,");
            if is_of_store || is_given {
                let end = rest.find(['(', '<']).unwrap();
                verbs.insert(rest[..end].to_owned());
            }
        }
    }
    verbs
}

#[test]
fn every_verb_is_in_the_model_or_says_where() {
    let verbs = verbs();
    for known in ["write", "merge_with", "undo", "local_edit", "import_json"] {
        assert!(verbs.contains(known), "{known} was not found among {verbs:?}");
    }
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let mut sources = vec![tests.join("histories.rs"), tests.join("questions.rs")];
    files(&tests.join("histories"), &mut sources);
    let model: String = sources.iter().map(|source| read(source)).collect();
    let elsewhere: BTreeMap<_, _> = ELSEWHERE.into_iter().collect();
    for verb in &verbs {
        let called = [format!(".{verb}("), format!(".{verb}::<"), format!("Store::{verb}(")];
        let is_called = called.iter().any(|call| model.contains(call))
            || model.contains(&format!(" {verb}(store, "));
        match elsewhere.get(verb.as_str()) {
            None => assert!(is_called, "{verb} is not in the histories: add it, or say where"),
            Some(place) => {
                assert!(!is_called, "{verb} is in the histories, and needs no other place");
                let (file, test) = place.split_once("::").unwrap();
                let source = read(&tests.join(file));
                assert!(source.contains(verb.as_str()), "{file} does not know {verb}");
                assert!(source.contains(&format!("fn {test}")), "{file} has no {test}");
            }
        }
    }
    for verb in elsewhere.keys() {
        assert!(verbs.contains(*verb), "{verb} is no verb of a store");
    }
}
