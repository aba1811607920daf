//! The demo.

use std::fs;

use insta::assert_snapshot;

use crate::terminal::Terminal;

#[test]
fn the_demo_tells_its_story() {
    let mut t = Terminal::new();
    t.set("MNEM_AUTHOR", "somebody");
    t.set("MNEM_STORE", "nowhere");
    t.run("mnem demo");
    assert_eq!(fs::read_dir(t.path()).unwrap().count(), 0, "nothing stays");
    assert_snapshot!(t.transcript());
}

#[test]
fn coloured() {
    let mut t = Terminal::new();
    t.set("CLICOLOR_FORCE", "1");
    t.run("mnem demo");
    assert_snapshot!(t.transcript().replace('\u{1b}', "^"));
}

#[test]
fn the_store_can_be_kept() {
    let mut t = Terminal::new();
    let story = t.quietly("mnem demo --keep kept");
    assert!(story.contains("The store is in kept"), "{story}");
    t.run("mnem -C kept log --oneline")
        .run("mnem -C kept get stay:H27:dog")
        .run("mnem demo --keep other --json")
        .run("mnem demo --step")
        .run("mnem demo --step --json");
    t.write("file", "");
    t.run("mnem demo --keep file");
    t.run("mnem demo --keep kept").run("mnem demo --keep kept/new/deep");
    assert!(!t.path().join("kept/new").exists());
    t.quietly("mnem init");
    t.run("mnem demo --keep new --json");
    assert!(!t.path().join("new").exists());
    assert_snapshot!(t.transcript());
}
