//! `--branch NAME`: another branch is read and written, HEAD and staging stay.

use insta::assert_snapshot;

use crate::terminal::Terminal;

#[test]
fn reading_and_writing_a_branch() {
    let mut t = Terminal::with_store();
    t.run("mnem remember plan early --branch side").run("mnem branch");
    t.quietly("mnem remember plan pro");
    t.quietly("mnem add draft x");
    t.run("mnem remember guess 'wants team' --branch side")
        .run("mnem remember guess 'wants team' --branch third --json")
        .run("mnem --branch side log --oneline")
        .run("mnem show --branch side")
        .run("mnem get plan --branch side")
        .run("mnem diff main --branch side")
        .run("mnem blame guess --branch side")
        .run("mnem bisect --node guess --present --branch side")
        .run("mnem status --branch side")
        .run("mnem merge third --branch side --strategy ours")
        .run("mnem forget guess --branch side")
        .run("mnem status")
        .run("mnem log --oneline")
        .run("mnem branch");
    assert_snapshot!(t.transcript());
}

#[test]
fn a_branch_that_is_not_there() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan pro");
    let before = t.holdings();
    for command in [
        "log",
        "show",
        "status",
        "diff",
        "get plan",
        "blame plan",
        "bisect --node plan --present",
        "forget plan",
        "merge main",
        "approve main --reviewer a",
        "log --json",
    ] {
        t.run(&format!("mnem {command} --branch sied"));
    }
    t.run("mnem remember plan team --branch 'no good'");
    assert_eq!(t.holdings(), before);
    assert_snapshot!(t.transcript());
}

#[test]
fn what_is_refused_makes_no_branch() {
    let mut t = Terminal::with_store();
    t.write("empty.json", "{}");
    t.run("mnem import-json empty.json --branch side").run("mnem branch");
    t.quietly("mnem remember plan pro");
    t.write("broken.json", "{");
    t.write("list.json", "[1]");
    t.write("id.json", r#"{"": 1}"#);
    let before = t.holdings();
    t.run("mnem import-json broken.json --branch side")
        .run("mnem import-json list.json --branch side")
        .run("mnem import-json id.json --branch side")
        .run("mnem import-chat list.json --branch side")
        .run("mnem import-chat broken.json --branch side")
        .run("mnem import-chat list.json --branch side --transcript ''");
    let large = vec![b'x'; (64 << 20) + 1];
    let output = t.output("mnem remember plan --branch side", &large);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(t.holdings(), before);
    assert_snapshot!(t.transcript());
}

#[test]
fn commands_that_are_on_no_branch() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan pro");
    t.quietly("mnem branch side");
    let before = t.holdings();
    for command in [
        "add plan x",
        "rm plan",
        "unstage plan",
        "commit -m x",
        "checkout side",
        "branch",
        "init",
        "verify",
        "fsck",
        "demo",
    ] {
        t.run(&format!("mnem {command} --branch side"));
    }
    t.run("mnem add plan x --branch side --json");
    assert_eq!(t.holdings(), before);
    assert_snapshot!(t.transcript());
}
