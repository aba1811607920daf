//! A merge that is only planned, approved, rejected, or answered with a value of one's own.

use std::fs;

use insta::assert_snapshot;

use crate::terminal::Terminal;

/// Two lines that disagree on three nodes, in each way two lines can; one of them is hostile.
fn disagreement() -> Terminal {
    let mut t = Terminal::with_store();
    t.write("base.json", r#"{"plan": "enterprise", "seats": 40, "notes": "due in May"}"#);
    t.write("ours.json", r#"{"plan": "pro", "seats": 40, "notes": "due in May", "tag": 1}"#);
    t.write(
        "theirs.json",
        r#"{"plan": "enterprise", "seats": 55, "notes": "<script>\"x\"</script>\u202e & due in June"}"#,
    );
    t.quietly("mnem remember account --content-file base.json --source ticket-4821");
    t.quietly("mnem remember gone here");
    t.quietly("mnem branch side");
    t.quietly(
        "mnem remember account --content-file theirs.json --source '<i>call</i>' --branch side",
    );
    t.quietly("mnem remember gone 'still here' --branch side");
    t.quietly("mnem remember new=@1 theirs --branch side");
    t.quietly("mnem remember account --content-file ours.json --source billing-8842");
    t.quietly("mnem forget gone");
    t.quietly("mnem remember new=@1 ours");
    t
}

#[test]
fn a_dry_run_writes_nothing() {
    let mut t = disagreement();
    t.quietly("mnem branch ahead side");
    t.quietly("mnem remember more x --branch ahead");
    let before = t.holdings();
    t.run("mnem merge side --dry-run")
        .run("mnem merge side --dry-run --json")
        .run("mnem merge HEAD~1 --dry-run")
        .run("mnem merge ahead --dry-run --branch side")
        .run("mnem merge ahead --dry-run --branch side --json")
        .run("mnem merge side --dry-run --strategy ours")
        .run("mnem merge side --dry-run --resolve gone=ours")
        .run("mnem merge nowhere --dry-run")
        .run("mnem merge side --html page.html")
        .run("mnem merge side --dry-run --html nowhere/page.html");
    assert_eq!(t.holdings(), before);
    assert_snapshot!(t.transcript());
}

#[test]
fn a_dry_run_without_conflict() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan one");
    t.quietly("mnem remember theirs x --branch side");
    t.quietly("mnem remember ours x");
    let before = t.holdings();
    t.run("mnem merge side --dry-run").run("mnem merge side --dry-run --json");
    assert_eq!(t.holdings(), before);
    t.quietly("mnem add draft x");
    t.run("mnem merge side --dry-run");
    assert_snapshot!(t.transcript());
}

#[test]
fn the_page() {
    let mut t = disagreement();
    t.run("mnem merge side --dry-run --html page.html");
    let page = fs::read_to_string(t.path().join("page.html")).unwrap();
    assert!(!page.contains("<script"), "memory is text");
    assert!(!page.contains('\u{202e}'), "nothing reorders the page");
    assert_snapshot!(page);
    t.quietly("mnem merge side --dry-run --html 'a page.html' --branch side");
    let page = fs::read_to_string(t.path().join("a page.html")).unwrap();
    assert!(page.contains("There is nothing to merge."), "{page}");
}

#[test]
fn a_value_of_ones_own() {
    let mut t = disagreement();
    t.write("agreed.json", r#"{"plan": "pro", "seats": 55}"#);
    t.write("broken.json", "{");
    t.run("mnem merge side --resolve account=@nowhere.json --strategy ours")
        .run("mnem merge side --resolve account=@broken.json --strategy ours")
        .run("mnem merge side --resolve account=@ --strategy ours")
        .run("mnem merge side --resolve other=@agreed.json --strategy ours")
        .run("mnem merge side --resolve account=@agreed.json")
        .run(
            "mnem merge side --resolve account=@agreed.json --resolve new=@1=theirs \
             --resolve gone=delete -m 'met in the middle' --author alice",
        )
        .run("mnem get account")
        .run("mnem blame account")
        .run("mnem show");
    assert_snapshot!(t.transcript());
}

#[test]
fn a_value_from_standard_input() {
    let mut t = disagreement();
    t.pipe("7\n", "mnem merge side --resolve account=@- --strategy theirs").run("mnem show");
    assert_snapshot!(t.transcript());
}

#[test]
fn approve_and_reject() {
    let mut t = disagreement();
    t.quietly("mnem remember idea x --branch clean");
    let before = t.holdings();
    t.run("mnem approve side --reviewer \"o'neil\"")
        .run("mnem approve side --reviewer alice --json")
        .run("mnem approve side")
        .run("mnem approve nowhere --reviewer alice")
        .run("mnem reject side --reviewer alice --reason 'a fix has shipped'")
        .run("mnem reject side --reviewer alice --reason 'a fix\u{1b}[2J has shipped' --json")
        .run("mnem reject side --reviewer alice")
        .run("mnem reject side --reviewer alice --reason x --branch side");
    assert_eq!(t.holdings(), before);
    t.quietly("mnem branch ahead clean");
    t.quietly("mnem remember idea y --branch ahead");
    t.quietly("mnem remember own z");
    t.run("mnem approve clean --reviewer alice")
        .run("mnem log -n 1")
        .run("mnem approve clean --reviewer alice")
        .run("mnem approve ahead --reviewer bob --branch clean --json");
    assert_snapshot!(t.transcript());
}

#[test]
fn the_hint_of_a_review_can_be_typed() {
    let mut t = disagreement();
    t.quietly("mnem branch other side");
    let output = t.output("mnem approve main --reviewer \"o'neil\" --branch other", b"");
    let text = String::from_utf8(output.stderr).unwrap();
    let strategy = text.split('`').nth(3).unwrap();
    t.quietly(strategy);
    let log = t.quietly("mnem log -n 1 --branch other");
    assert!(log.contains("Author: o'neil"), "{strategy}: {log}");
}

#[test]
fn the_hints_of_names_that_begin_with_a_dash_can_be_typed() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember -- -id base");
    t.quietly("mnem remember --branch=-side -- -id theirs");
    t.quietly("mnem remember -- -id ours");
    for (line, number) in [
        ("mnem merge -- -side", 1),
        ("mnem merge -- -side", 3),
        ("mnem approve main --reviewer=-r --branch=-side", 1),
        ("mnem revert --branch=-side -- -side~1", 1),
        ("mnem undo --author=-r --branch=-side", 3),
    ] {
        let before = t.quietly("mnem branch");
        let output = t.output(line, b"");
        assert_eq!(output.status.code(), Some(1), "{line}");
        let text = String::from_utf8(output.stderr).unwrap();
        t.quietly(text.split('`').nth(number).unwrap_or_else(|| panic!("{line}: {text}")));
        assert_ne!(t.quietly("mnem branch"), before, "{line}: {text}");
        if line.starts_with("mnem merge") {
            t.quietly("mnem undo");
        }
    }
}

#[test]
fn text_may_begin_with_a_dash() {
    let mut t = Terminal::with_store();
    t.run("mnem remember plan -5 -m '- a list' --source -s --note -n --observation '-- x'")
        .run("mnem blame plan")
        .run("mnem add plan -5.5")
        .run("mnem commit -m -5")
        .run("mnem log --node -x")
        .run("mnem bisect --node -x --present")
        .run("mnem reject side --reviewer a --reason '- no'");
    assert_snapshot!(t.transcript());
}

#[test]
fn reject_needs_no_store() {
    let mut t = Terminal::new();
    t.run("mnem reject side --reviewer alice --reason 'not ours'");
    assert_eq!(t.transcript().lines().nth(1).unwrap(), "Rejected side (alice): not ours");
}

#[test]
fn coloured() {
    let mut t = disagreement();
    t.set("CLICOLOR_FORCE", "1");
    t.quietly("mnem remember idea x --branch clean");
    t.run("mnem merge side --dry-run").run("mnem approve clean --reviewer alice");
    assert_snapshot!(t.transcript().replace('\u{1b}', "^"));
}
