//! revert, restore, undo, reflog: mistakes taken back.

use insta::assert_snapshot;

use crate::terminal::Terminal;

/// Three commits, the second of them a mistake.
fn mistaken() -> Terminal {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan Pro --author ada");
    t.quietly("mnem remember plan Enterprise --author bob");
    t.quietly("mnem remember seats 3 --author ada");
    t
}

#[test]
fn revert() {
    let mut t = mistaken();
    t.run("mnem revert HEAD~1 --author eve")
        .run("mnem get plan")
        .run("mnem revert HEAD~2")
        .run("mnem revert HEAD~2 --json")
        .run("mnem revert HEAD --json -m again")
        .run("mnem revert nowhere")
        .run("mnem revert");
    t.quietly("mnem remember plan Team");
    t.run("mnem revert HEAD~1")
        .run("mnem revert HEAD~1 --json --resolve seats=ours")
        .run("mnem revert HEAD~1 --resolve plan=theirs --resolve plan=ours")
        .run("mnem revert HEAD~1 --resolve plan=theirs")
        .run("mnem show");
    assert_snapshot!(t.transcript());
}

#[test]
fn restore() {
    let mut t = mistaken();
    t.run("mnem restore plan HEAD~2 --author eve")
        .run("mnem get plan")
        .run("mnem restore plan HEAD")
        .run("mnem restore plan HEAD --json")
        .run("mnem restore seats HEAD~2")
        .run("mnem restore seats nowhere")
        .run("mnem restore seats");
    t.quietly("mnem forget seats");
    t.run("mnem restore seats HEAD~1 -m 'it was right' --json").run("mnem get seats");
    assert_snapshot!(t.transcript());
}

#[test]
fn undo() {
    let mut t = mistaken();
    t.run("mnem undo")
        .run("mnem get seats")
        .run("mnem undo --json")
        .run("mnem get seats")
        .run("mnem undo --author bob")
        .run("mnem get plan")
        .run("mnem undo --author bob")
        .run("mnem undo --author nobody");
    t.quietly("mnem remember plan Team --author bob");
    t.quietly("mnem remember plan Free --author ada");
    t.run("mnem undo --author bob")
        .run("mnem undo --author bob --strategy theirs --json")
        .run("mnem reflog")
        .run("mnem reflog -n 2 --json");
    t.quietly("mnem add draft x");
    t.run("mnem undo").run("mnem revert HEAD");
    assert_snapshot!(t.transcript());
}

#[test]
fn undo_of_the_first_commit_and_of_a_branch() {
    let mut t = Terminal::with_store();
    t.run("mnem undo").run("mnem reflog");
    t.quietly("mnem remember plan Pro");
    t.run("mnem undo").run("mnem status").run("mnem undo").run("mnem get plan");
    t.quietly("mnem checkout -b side");
    t.run("mnem undo").run("mnem reflog").run("mnem reflog main").run("mnem reflog nowhere");
    assert_snapshot!(t.transcript());
}

#[test]
fn the_hint_of_a_revert_in_conflict_can_be_typed() {
    let mut t = mistaken();
    t.quietly("mnem remember plan Team");
    let output = t.output("mnem revert HEAD~2", b"");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    let command = text.split('`').nth(1).unwrap();
    t.quietly(command);
    assert_eq!(t.quietly("mnem get plan"), "\"Pro\"\n", "{command}");
}

#[test]
fn lines_that_share_nothing_merge_on_request() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan theirs");
    t.quietly("mnem branch other");
    t.quietly("mnem undo");
    t.quietly("mnem remember seats 3");
    t.run("mnem merge other").run("mnem merge other --allow-unrelated").run("mnem show");
    assert_snapshot!(t.transcript());
}
