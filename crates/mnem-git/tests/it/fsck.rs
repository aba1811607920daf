//! What fsck says, and what a repair asks and does.

use std::fs;

use insta::assert_snapshot;
use mnem_git::system::environment;
use mnem_store::Store;

use crate::stores::{spoil, with_customers};
use crate::terminal::{Terminal, bytes};

#[test]
fn a_sound_store() {
    let mut t = Terminal::with_store();
    t.run("mnem fsck");
    t.quietly("mnem remember plan x");
    let before = bytes(&t.path());
    t.run("mnem fsck").run("mnem fsck --json").run("mnem fsck --repair --yes");
    assert!(bytes(&t.path()) == before, "fsck changed a file");
    assert_snapshot!(t.transcript());
}

#[test]
fn a_lost_memory_is_named_and_the_rest_is_saved() {
    let mut t = with_customers();
    spoil(&t, b"Enterprise");
    let before = bytes(&t.path());
    t.run("mnem fsck").run("mnem fsck --json").run("mnem fsck --repair");
    assert!(bytes(&t.path()) == before, "fsck changed a file");
    t.run("mnem fsck --repair --yes")
        .run("mnem get customer-4821")
        .run("mnem get customer-4820")
        // What is lost stays lost: nothing is written for it.
        .run("mnem fsck")
        .run("mnem fsck --repair")
        .run("mnem fsck --repair --yes")
        .run("mnem remember customer-4821 'on the Enterprise plan'")
        .run("mnem get customer-4821")
        .run("mnem fsck");
    assert!(!t.path().join(".mnem/store.3.redb").exists());
    assert!(
        before
            .iter()
            .all(|(path, old)| { path.ends_with("config") || fs::read(path).unwrap() == *old })
    );
    assert_snapshot!(t.transcript());
}

#[test]
fn head_is_put_on_the_default_branch() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan x");
    t.write(".mnem/HEAD", "junk\n");
    t.run("mnem fsck").run("mnem fsck --repair --yes").run("mnem fsck").run("mnem get plan");
    assert_snapshot!(t.transcript());
}

#[test]
fn a_repair_that_is_not_one() {
    let mut t = Terminal::with_store();
    t.run("mnem fsck --yes").run("mnem fsck --repair --json");
    fs::remove_file(t.path().join(".mnem/store.redb")).unwrap();
    t.run("mnem fsck").run("mnem fsck --repair --yes");
    assert_snapshot!(t.transcript());
}

#[test]
fn a_history_with_a_hole_is_read_as_far_as_it_goes() {
    let mut t = Terminal::with_store();
    for (id, message) in [("a", "the first"), ("b", "the one that is lost"), ("c", "the third")] {
        t.quietly(&format!("mnem remember {id} 1 -m '{message}'"));
    }
    spoil(&t, b"the one that is lost");
    t.output("mnem fsck --repair --yes", b"");
    t.run("mnem log --oneline").run("mnem log --json").run("mnem log -n 1 --oneline");
    t.run("mnem log --graph --oneline").run("mnem fsck");
    assert_snapshot!(t.transcript());
}

#[test]
fn a_process_that_did_not_close_the_store_is_named() {
    let mut t = Terminal::new();
    t.quietly("mnem init open --reproducible");
    let store = Store::open(&t.path().join("open"), environment()).unwrap();
    t.quietly("mnem init killed");
    // What a kill leaves behind: the files as they are while the store is open.
    for file in fs::read_dir(t.path().join("open/.mnem")).unwrap() {
        let path = file.unwrap().path();
        fs::copy(&path, t.path().join("killed/.mnem").join(path.file_name().unwrap())).unwrap();
    }
    drop(store);
    t.run("mnem -C killed fsck")
        .run("mnem -C killed fsck --json")
        .run("mnem -C killed fsck --repair --yes")
        .run("mnem -C killed verify")
        .run("mnem -C killed status")
        .run("mnem -C killed fsck");
    let process = format!("process {} on ", std::process::id());
    let (before, after) = t.transcript().split_once(&process).unwrap();
    let host = after.split_once(' ').unwrap().0;
    let told = format!("{before}{process}{after}");
    assert_snapshot!(told.replace(&format!("{process}{host} "), "process [ID] on [HOST] "));
}

#[test]
fn a_damaged_config_and_a_data_file_that_is_none() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan x");
    t.write(".mnem/store.redb", "a text\n".repeat(2_000));
    t.run("mnem status").run("mnem fsck").run("mnem fsck --repair --yes");
    t.write(".mnem/config", "garbage\n");
    t.run("mnem status").run("mnem fsck").run("mnem fsck --repair --yes").run("mnem init");
    assert_snapshot!(t.transcript());
}
