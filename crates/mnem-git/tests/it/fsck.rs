//! What fsck says, and what a repair asks and does.

use std::fs;

use insta::assert_snapshot;

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
        .run("mnem remember customer-4821 'on the Enterprise plan'")
        .run("mnem get customer-4821")
        .run("mnem fsck");
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
