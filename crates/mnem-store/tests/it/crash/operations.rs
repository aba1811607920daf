//! The script forgets no verb, and no change of a file goes past the place that tests watch.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::script::SCRIPT;

/// Verbs that write and have a test of their own beside the script.
const ELSEWHERE: &[&str] = &["init", "import", "migrate", "repair"];

/// What writes nothing of a store that lasts. `to_file` and `import_through` are below verbs that
/// are tested.
const READS: &[&str] = &[
    "after_in_child",
    "after_in_parent",
    "before",
    "bisect",
    "bisect_node",
    "blame",
    "bound",
    "branches",
    "changed_by",
    "check_transcript",
    "close",
    "check_transcript",
    "commit_object",
    "default_branch",
    "diff",
    "discover",
    "environment",
    "export",
    "find_object",
    "flips",
    "format_version",
    "fsck",
    "fsck_at",
    "head",
    "head_commit",
    "import_through",
    "in_memory",
    "is_writing",
    "local_get",
    "local_rows",
    "log",
    "node_log",
    "nodes_log",
    "open",
    "over_backend",
    "parse",
    "parse_time",
    "plan_merge",
    "readable_log",
    "reflog",
    "resolve",
    "resolve_or_head",
    "root",
    "scan_working_memory",
    "snapshot",
    "snapshot_at",
    "snapshot_at_hand",
    "staged",
    "stale_conflicts",
    "statistics",
    "to_file",
    "unmerged",
    "verify",
    "waiting_writers",
    "was_killed",
    "working_memory",
    "working_node",
];

fn sources() -> Vec<(PathBuf, String)> {
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut sources = Vec::new();
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                sources.push((path, text));
            }
        }
    }
    sources.sort();
    sources
}

/// The public methods of `Store`, and the public functions beside it.
fn verbs() -> BTreeSet<String> {
    let mut verbs = BTreeSet::new();
    for (path, text) in sources() {
        let is_verb = ["ops", "store", "portable"].iter().any(|layer| {
            path.parent().is_some_and(|directory| directory.ends_with(format!("src/{layer}")))
        });
        let mut is_of_store = false;
        for line in text.lines().filter(|_| is_verb) {
            if line.starts_with("impl") {
                is_of_store = line == "impl Store {";
            }
            let declared = line.strip_prefix("pub fn ");
            let declared =
                declared.or_else(|| line.strip_prefix("    pub fn ").filter(|_| is_of_store));
            if let Some(name) = declared {
                verbs.insert(name.split(['(', '<']).next().unwrap().to_owned());
            }
        }
    }
    verbs
}

#[test]
fn every_verb_that_writes_is_in_the_script() {
    let used = SCRIPT.iter().flat_map(|step| step.verbs).chain(ELSEWHERE);
    let used: BTreeSet<String> = used.map(ToString::to_string).collect();
    let reads: BTreeSet<String> = READS.iter().map(ToString::to_string).collect();
    assert_eq!(used.intersection(&reads).count(), 0);
    let known: BTreeSet<_> = used.union(&reads).cloned().collect();
    let verbs = verbs();
    let new: Vec<_> = verbs.difference(&known).collect();
    assert!(new.is_empty(), "{new:?}: a verb that writes belongs into the script, others to READS");
    let gone: Vec<_> = known.difference(&verbs).collect();
    assert!(gone.is_empty(), "{gone:?} are no verbs");
}

#[test]
fn nothing_goes_past_the_watched_calls() {
    let changes = [
        "fs::write(",
        "fs::rename(",
        "fs::remove_",
        "fs::create_dir",
        "fs::copy(",
        "fs::hard_link(",
        " File::create",
        "(File::create",
        ".create(true)",
        ".create_new(",
        ".sync_all()",
        ".sync_data()",
        ".set_len(",
        "Database::create(",
        "fs::set_permissions(",
    ];
    // The watched place itself, storage that stands over another, and what only tests use.
    let excepted = [
        "backend/disk.rs",
        "backend/storage.rs",
        "backend/redb/copy_on_write.rs",
        "backend/redb/storage.rs",
        "backend/original/writer.rs",
        "backend/original/storage.rs",
    ];
    let mut found = Vec::new();
    for (path, text) in sources() {
        if excepted.iter().any(|excepted| path.ends_with(excepted)) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if changes.iter().any(|change| line.contains(change))
                && !line.trim_start().starts_with("//")
            {
                found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "use backend/disk.rs: {found:#?}");
}
