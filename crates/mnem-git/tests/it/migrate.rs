//! A store of the original: read as it is, refused to be written, migrated in one command.

use std::fs;

use insta::assert_snapshot;

use crate::terminal::{Terminal, bytes};

/// What a file takes on the disk is the disk's business.
fn without_sizes(transcript: &str) -> String {
    let shown = |line: &str| {
        if line.starts_with("The data file took") || line.starts_with("It takes at most") {
            line.split(|c: char| c.is_ascii_digit())
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join("[BYTES]")
        } else {
            line.to_owned()
        }
    };
    transcript.lines().map(shown).collect::<Vec<_>>().join("\n")
}

#[test]
fn reads_work_writes_say_what_to_run_and_migrate_is_that() {
    let mut t = Terminal::new();
    drop(t.original("old"));
    let before = bytes(&t.path());
    for line in [
        "mnem -C old status",
        "mnem -C old log --oneline",
        "mnem -C old log plan --oneline",
        "mnem -C old show --stat",
        "mnem -C old get plan",
        "mnem -C old blame plan",
        "mnem -C old diff",
        "mnem -C old bisect --node plan --equals '\"Pro\"'",
        "mnem -C old branch",
        "mnem -C old reflog",
        "mnem -C old verify",
        "mnem -C old fsck",
        "mnem -C old fsck --repair --yes",
        "mnem -C old remember plan Max",
        "mnem -C old commit -m x",
        "mnem -C old checkout HEAD~1 --discard",
        "mnem -C old undo",
        "mnem -C old remember plan Max --json",
        "mnem -C old migrate --dry-run",
        "mnem -C old migrate --branch main",
    ] {
        t.run(line);
    }
    assert_eq!(bytes(&t.path()), before);
    for line in [
        "mnem -C old migrate",
        "mnem -C old log --oneline",
        "mnem -C old status",
        "mnem -C old verify",
        "mnem -C old commit -m 'the draft' --author ada",
        "mnem -C old undo",
        "mnem -C old migrate",
        "mnem -C old migrate --dry-run",
    ] {
        t.run(line);
    }
    assert_snapshot!(without_sizes(t.transcript()));
}

#[test]
fn reads_of_a_killed_writers_store_name_the_command() {
    let mut t = Terminal::new();
    let writer = t.original("old");
    fs::create_dir_all(t.path().join("killed/.mnem")).unwrap();
    for entry in fs::read_dir(t.path().join("old/.mnem")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), t.path().join("killed/.mnem").join(entry.file_name())).unwrap();
    }
    drop(writer);
    let before = bytes(&t.path().join("killed"));
    for line in [
        "mnem -C killed log --oneline",
        "mnem -C killed verify",
        "mnem -C killed get plan --json",
        "mnem -C killed remember plan Max",
    ] {
        t.run(line);
    }
    assert_eq!(bytes(&t.path().join("killed")), before);
    t.quietly("mnem -C killed migrate");
    t.run("mnem -C killed log --oneline");
    assert_snapshot!(t.transcript());
}

#[test]
fn out_of_an_old_store_and_into_a_new_one() {
    let mut t = Terminal::new();
    drop(t.original("old"));
    let before = bytes(&t.path().join("old"));
    for line in [
        "mnem -C old log --oneline",
        "mnem -C old export memory.jsonl",
        "mnem import memory.jsonl new",
        "mnem -C new log --oneline",
        "mnem -C new fsck",
        "mnem -C old export --at HEAD~1",
    ] {
        t.run(line);
    }
    assert_eq!(bytes(&t.path().join("old")), before);
    assert_snapshot!(t.transcript());
}

#[test]
fn a_damaged_old_store_is_repaired_into_a_new_one() {
    let mut t = Terminal::new();
    drop(t.original("old"));
    let data = t.path().join("old/.mnem/store.redb");
    let mut bytes = fs::read(&data).unwrap();
    bytes[..4096].fill(0xa5);
    fs::write(&data, &bytes).unwrap();
    t.run("mnem -C old log --oneline")
        .run("mnem -C old migrate")
        .run("mnem -C old fsck")
        .run("mnem -C old fsck --repair --yes")
        .run("mnem -C old log --oneline")
        .run("mnem -C old get plan")
        .run("mnem -C old fsck");
    assert!(fs::read(data).unwrap() == bytes);
    assert_snapshot!(t.transcript());
}
