//! branch, checkout, merge: more than one line of memory.

use insta::assert_snapshot;

use crate::terminal::Terminal;

#[test]
fn branch() {
    let mut t = Terminal::with_store();
    t.run("mnem branch").run("mnem branch side");
    t.quietly("mnem remember plan one");
    t.quietly("mnem remember plan two");
    t.run("mnem branch side")
        .run("mnem branch old HEAD~1 --json")
        .run("mnem branch side")
        .run("mnem branch")
        .run("mnem branch --json")
        .run("mnem branch -d main")
        .run("mnem branch -d old")
        .run("mnem branch -d old")
        .run("mnem branch --delete side --json")
        .run("mnem branch -d main other")
        .run("mnem branch new nowhere");
    assert_snapshot!(t.transcript());
}

#[test]
fn checkout() {
    let mut t = Terminal::with_store();
    t.run("mnem checkout").run("mnem checkout main").run("mnem checkout -b early");
    t.quietly("mnem remember plan one");
    t.quietly("mnem remember plan two");
    t.run("mnem checkout -b side HEAD~1")
        .run("mnem get plan")
        .run("mnem checkout early")
        .run("mnem checkout -b side")
        .run("mnem checkout nowhere")
        .run("mnem checkout HEAD~1")
        .run("mnem status")
        .run("mnem commit -m x")
        .run("mnem remember plan three")
        .run("mnem merge early")
        .run("mnem checkout early --json")
        .run("mnem checkout -b third --json");
    t.quietly("mnem add draft x");
    t.run("mnem checkout early").run("mnem checkout early --discard").run("mnem status");
    t.quietly("mnem add draft x");
    t.run("mnem checkout early").run("mnem checkout early --discard").run("mnem status");
    assert_snapshot!(t.transcript());
}

/// Two lines that disagree on `plan`, `rm` and `new`, and agree on nothing else.
fn disagreement() -> Terminal {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan 'Enterprise' --source ticket-4821");
    t.quietly("mnem remember rm here");
    t.quietly("mnem checkout -b callback");
    t.quietly("mnem remember plan 'Enterprise, confirmed by phone' --source call-17");
    t.quietly("mnem remember rm 'still here'");
    t.quietly("mnem remember new=1 theirs");
    t.quietly("mnem checkout main");
    t.quietly("mnem remember plan 'Pro' --source billing-note-8842");
    t.quietly("mnem forget rm");
    t.quietly("mnem remember new=1 ours");
    t
}

#[test]
fn merge() {
    let mut t = disagreement();
    t.run("mnem merge callback")
        .run("mnem merge callback --json --resolve rm=delete --resolve new=1=ours")
        .run("mnem merge callback --resolve plan=theirs --strategy ours --author alice")
        .run("mnem show")
        .run("mnem blame plan")
        .run("mnem merge callback")
        .run("mnem checkout callback")
        .run("mnem merge main")
        .run("mnem log --oneline");
    assert_snapshot!(t.transcript());
}

#[test]
fn the_hint_of_a_conflict_can_be_typed() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember base x");
    let id = shlex::try_quote("it's \"the\" plan $HOME").unwrap().into_owned();
    t.quietly("mnem checkout -b side");
    t.quietly(&format!("mnem remember {id} theirs"));
    t.quietly("mnem checkout main");
    t.quietly(&format!("mnem remember {id} ours"));
    let output = t.output("mnem merge side", b"");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    let command = text.split('`').nth(1).unwrap();
    t.quietly(command);
    assert_eq!(t.quietly(&format!("mnem get {id}")), "\"theirs\"\n", "{command}");
}

#[test]
fn merge_as_json() {
    let mut t = disagreement();
    t.run("mnem merge callback --strategy theirs -m 'trust the call' --json")
        .run("mnem merge callback --json")
        .run("mnem checkout callback")
        .run("mnem merge main --json");
    assert_snapshot!(t.transcript());
}

#[test]
fn merges_that_are_refused() {
    let mut t = disagreement();
    t.run("mnem merge nowhere")
        .run("mnem merge callback --resolve plan=mine")
        .run("mnem merge callback --resolve plan")
        .run("mnem merge callback --resolve plan=ours --resolve plan=theirs")
        .run("mnem merge callback --resolve other=ours --strategy ours")
        .run("mnem merge callback --resolve new=1=base --strategy ours")
        .run("mnem merge callback --strategy mine");
    t.quietly("mnem add draft x");
    t.run("mnem merge callback --strategy ours");
    assert_snapshot!(t.transcript());
}
