//! add, rm, commit, status: a person's drafts.

use insta::assert_snapshot;

use crate::terminal::Terminal;

#[test]
fn from_draft_to_commit() {
    let mut t = Terminal::with_store();
    t.run("mnem status")
        .run("mnem commit -m 'nothing'")
        .run("mnem add plan 'canary rollout' --source ops-wiki")
        .run("mnem add owner alice")
        .run("mnem add owner bob")
        .run("mnem rm owner")
        .run("mnem status")
        .run("mnem commit -m 'record the plan\n\nfor the release' --author alice")
        .run("mnem commit -m again")
        .run("mnem status");
    assert_snapshot!(t.transcript());
}

#[test]
fn status_tells_each_kind_of_change() {
    let mut t = Terminal::with_store();
    for id in ["changed", "gone", "same"] {
        t.quietly(&format!("mnem remember {id} before"));
    }
    t.run("mnem add changed after")
        .run("mnem rm gone")
        .run("mnem add new here")
        .run("mnem add same before")
        .run("mnem rm nobody")
        .run("mnem status")
        .run("mnem status --json")
        .run("mnem diff --stat")
        .run("mnem commit -m 'all of it' --json")
        .run("mnem show");
    assert_snapshot!(t.transcript());
}

#[test]
fn out_of_staging() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember gone before");
    t.quietly("mnem add draft x");
    t.quietly("mnem rm gone");
    t.run("mnem unstage draft")
        .run("mnem unstage gone --json")
        .run("mnem unstage gone")
        .run("mnem unstage nobody --json")
        .run("mnem status")
        .run("mnem show");
    assert_snapshot!(t.transcript());
}

#[test]
fn staging_as_json() {
    let mut t = Terminal::with_store();
    t.run("mnem add plan 'canary rollout' --json")
        .run("mnem rm plan --json")
        .run("mnem commit -m none --json");
    assert_snapshot!(t.transcript());
}
