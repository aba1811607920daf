//! Which store is meant, what state it is in, and what time it is.

use std::fs;
use std::sync::Arc;

use insta::assert_snapshot;
use mnem_git::system::environment;
use mnem_store::ops::{Changes, Meta};
use mnem_store::{Content, Environment, InitOptions, MemoryNode, NodeId, Store};

use crate::terminal::{Stopped, Terminal};

#[test]
fn the_option_beats_the_environment_beats_the_directory() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember which here");
    let elsewhere = Terminal::new();
    let place = |name: &str| elsewhere.path().join(name).display().to_string();
    let (one, two) = (place("one"), place("two"));
    for (name, path) in [("one", &one), ("two", &two)] {
        t.quietly(&format!("mnem -C {path} init"));
        t.quietly(&format!("mnem -C {path} remember which {name}"));
    }
    assert_eq!(t.quietly("mnem get which"), "\"here\"\n");
    t.set("MNEM_STORE", "");
    assert_eq!(t.quietly("mnem get which"), "\"here\"\n");
    t.set("MNEM_STORE", &one);
    assert_eq!(t.quietly("mnem get which"), "\"one\"\n");
    assert_eq!(t.quietly(&format!("mnem -C {two} get which")), "\"two\"\n");
    assert_eq!(t.quietly(&format!("mnem get which -C {two}")), "\"two\"\n");
    fs::create_dir_all(t.path().join("a/b")).unwrap();
    assert_eq!(t.quietly("mnem -C a/b get which"), "\"here\"\n");
    t.set("MNEM_STORE", &place("three"));
    t.quietly("mnem init");
    assert!(elsewhere.path().join("three/.mnem").is_dir());
}

/// A path that is typed is from here, also for who has a store in the environment.
#[test]
fn a_new_store_is_where_its_path_says() {
    let mut t = Terminal::new();
    t.quietly("mnem init one");
    t.set("MNEM_STORE", &t.path().join("one").display().to_string());
    t.quietly("mnem init two");
    t.quietly("mnem -C two remember which two");
    t.quietly("mnem -C two export two.jsonl");
    t.quietly("mnem import two.jsonl three");
    t.quietly("mnem -C deep init four");
    for made in ["one", "two", "three", "deep/four"] {
        assert!(t.path().join(made).join(".mnem").is_dir(), "{made}");
    }
    assert_eq!(t.quietly("mnem -C three get which"), "\"two\"\n");
}

#[test]
fn without_a_store() {
    let mut t = Terminal::new();
    t.run("mnem status").run("mnem remember plan x --json").run("mnem -C missing log");
    assert_snapshot!(t.transcript());
}

/// Mistyped, a path must not lead to the store of whoever is above it.
#[test]
fn a_directory_that_is_not_there_leads_to_no_store() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan x");
    let before = t.holdings();
    for line in ["remember plan y", "get plan", "verify", "fsck", "migrate", "get plan --json"] {
        t.run(&format!("mnem -C agnet/deep {line}"));
    }
    t.set("MNEM_STORE", &t.path().join("agnet").display().to_string());
    t.run("mnem remember plan y").run("mnem -C . get plan");
    assert_eq!(t.output("mnem init sub", b"").status.code(), Some(3), "a store is above it");
    t.set("MNEM_STORE", "");
    assert_eq!(t.holdings(), before);
    assert_snapshot!(t.transcript());
}

#[test]
fn verify() {
    let mut t = Terminal::with_store();
    t.run("mnem verify");
    t.quietly("mnem remember plan x");
    t.run("mnem verify").run("mnem verify --json");
    assert_snapshot!(t.transcript());
}

#[test]
fn verify_tells_of_a_store_that_cannot_be_opened() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan 'the customer is on the Enterprise plan'");
    t.quietly("mnem remember owner alice");
    spoil(&t, b"Enterprise");
    t.run("mnem verify").run("mnem get plan").run("mnem get owner").run("mnem verify --json");
    assert_snapshot!(t.transcript());
}

#[test]
fn verify_lists_what_is_damaged() {
    let mut t = with_customers();
    spoil(&t, b"Enterprise");
    t.run("mnem verify")
        .run("mnem verify --json")
        .run("mnem get customer-4821")
        .run("mnem get customer-4820")
        .run("mnem remember customer-4820 'on another plan'");
    assert_snapshot!(t.transcript());
}

/// A store of 5,000 customers, one of which is on the Enterprise plan.
pub fn with_customers() -> Terminal {
    let t = Terminal::new();
    let options = InitOptions { reproducible: true, ..InitOptions::default() };
    // The time of the record, too, is the terminal's.
    let environment = Environment { clock: Arc::new(Stopped), ..environment() };
    let store = Store::init(&t.path(), &options, environment).unwrap();
    // Enough rows at once that the write brings its own index: nothing of it is read at open.
    let changes: Changes = (0..5_000)
        .map(|number| {
            let id = NodeId::new(format!("customer-{number}")).unwrap();
            let plan = if number == 4_821 { "on the Enterprise plan" } else { "on a plan" };
            (id.clone(), Some(MemoryNode::note(id, Content::text(plan))))
        })
        .collect();
    store.write(changes, &Meta { time: Some(0), ..Meta::new("everyone", "tester") }).unwrap();
    store.close();
    t
}

/// Changes a byte of a word wherever it stands in the data file.
pub fn spoil(t: &Terminal, word: &[u8]) {
    let path = t.path().join(".mnem/store.redb");
    let mut data = fs::read(&path).unwrap();
    let starts = |at: &usize| data[*at..].starts_with(word);
    let places: Vec<_> = (0..data.len()).filter(starts).collect();
    assert!(!places.is_empty());
    for at in places {
        data[at] ^= 1;
    }
    fs::write(&path, data).unwrap();
}

#[test]
fn damaged_and_foreign_stores() {
    let cases: [(&str, &str, Option<&[u8]>); 6] = [
        ("no config", "config", None),
        ("another program's config", "config", Some(b"name = theirs\n")),
        ("a newer format", "config", Some(b"format_version = 9\nhash_algo = blake3\n")),
        ("the original's format", "config", Some(b"format_version = 1\nhash_algo = blake3\n")),
        ("junk in HEAD", "HEAD", Some(b"junk\x1b\n")),
        ("an empty data file", "store.redb", Some(b"")),
    ];
    let mut whole = String::new();
    for (what, file, bytes) in cases {
        let mut t = Terminal::with_store();
        t.quietly("mnem remember plan x");
        let path = t.path().join(".mnem").join(file);
        match bytes {
            Some(bytes) => fs::write(path, bytes).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        t.run("mnem log --oneline");
        whole.extend(["# ", what, "\n", t.transcript()]);
    }
    assert_snapshot!(whole);
}

#[test]
fn time_is_fixed_in_either_form() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember a 1 --time 2026-10-17T18:29:55+02:00");
    t.quietly("mnem add a 2");
    t.quietly("mnem commit -m x --time -1");
    t.quietly("mnem remember a 3 --time 253402300800000 ");
    t.run("mnem log");
    assert_snapshot!(t.transcript());
}

#[test]
fn the_command_runs_beside_an_open_store_of_the_same_process() {
    let t = Terminal::new();
    let store = Store::init(&t.path(), &InitOptions::default(), environment()).unwrap();
    let place = t.path().display().to_string();
    let run = |line: &str| {
        let words = format!("mnem -C {place} --time 5 {line}");
        mnem_git::run(words.split(' ').map(Into::into))
    };
    assert_eq!(run("remember plan x"), 0);
    assert_eq!(run("get nobody"), 1);
    assert_eq!(run("frobnicate"), 2);
    // The clock is the one that the store was opened with; the commit's time was said.
    let tip = store.head_commit().unwrap().unwrap();
    assert_eq!(store.commit_object(tip).unwrap().time, 5);
}
