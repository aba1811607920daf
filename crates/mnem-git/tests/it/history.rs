//! log, show, diff, blame, bisect: what was believed, when and why.

use insta::assert_snapshot;

use crate::terminal::Terminal;

/// A belief that is right, goes wrong, is mended and goes wrong again.
fn story() -> Terminal {
    let mut t = Terminal::with_store();
    t.quietly(
        "mnem remember plan:4821 'Enterprise' --step step-1 --source ticket-4821 --author agent",
    );
    t.quietly("mnem remember contact:4821 'Ada' -m 'note the contact' --author agent");
    t.quietly("mnem remember plan:4821 'Pro' --step step-31 --source billing-note-8842 -m 'reconcile the plan'");
    t.quietly(
        "mnem remember plan:4821 'Enterprise' --observation 'said so by phone' -m 'mend the plan'",
    );
    t.quietly("mnem forget contact:4821 -m 'the contact left'");
    t.quietly("mnem remember plan:4821 'Pro' -m 'import old notes\n\nfrom the archive'");
    t
}

#[test]
fn log() {
    let mut t = story();
    t.run("mnem log -n 2")
        .run("mnem log --oneline")
        .run("mnem log --oneline -n 0")
        .run("mnem log -n 1 --json");
    assert_snapshot!(t.transcript());
}

#[test]
fn log_of_a_merge() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember a 1");
    t.quietly("mnem checkout -b side");
    t.quietly("mnem remember b 2");
    t.quietly("mnem checkout main");
    t.quietly("mnem remember c 3");
    t.quietly("mnem merge side");
    t.run("mnem log --oneline").run("mnem log --oneline --first-parent").run("mnem log -n 1");
    assert_snapshot!(t.transcript());
}

#[test]
fn nothing_yet() {
    let mut t = Terminal::with_store();
    t.run("mnem log")
        .run("mnem log --json")
        .run("mnem show")
        .run("mnem show HEAD")
        .run("mnem diff")
        .run("mnem blame plan")
        .run("mnem bisect --node plan --present");
    assert_snapshot!(t.transcript());
}

#[test]
fn show() {
    let mut t = story();
    t.quietly("mnem add draft 'not yet'");
    t.run("mnem show")
        .run("mnem show HEAD")
        .run("mnem show HEAD~3")
        .run("mnem show --stat")
        .run("mnem show HEAD~1 --stat")
        .run("mnem show HEAD~5 --json")
        .run("mnem show HEAD~1 --stat --json")
        .run("mnem show HEAD~9")
        .run("mnem show plan:4821")
        .run("mnem show main@{2026-10-17T18:03}")
        .run("mnem show main@{2026-10-17T18:02:59.999}");
    assert_snapshot!(t.transcript());
}

#[test]
fn diff() {
    let mut t = story();
    t.run("mnem diff HEAD~5 HEAD~2")
        .run("mnem diff HEAD~3 HEAD~1")
        .run("mnem diff HEAD~5 HEAD~3 --stat")
        .run("mnem diff HEAD~5 HEAD~3 --name-only")
        .run("mnem diff HEAD~4")
        .run("mnem diff")
        .run("mnem diff HEAD~2 HEAD~1 --json");
    t.quietly("mnem remember plan:4821 Pro --event-time 2026-10-01 -m 'with its time'");
    t.run("mnem diff HEAD~1 HEAD")
        .run("mnem diff nowhere")
        .run("mnem diff HEAD~5 HEAD~3 --stat --name-only")
        .run("mnem diff HEAD HEAD");
    assert_snapshot!(t.transcript());
}

#[test]
fn blame() {
    let mut t = story();
    t.run("mnem blame plan:4821")
        .run("mnem blame plan:4821 HEAD~2")
        .run("mnem blame plan:4821 HEAD~3")
        .run("mnem blame contact:4821")
        .run("mnem blame contact:4821 --json")
        .run("mnem blame nobody");
    t.quietly(
        "mnem remember full --content-json '{\"a\": 1}' --step 1 --source s --tool-call 'f(x)' \
         --observation 'saw it' --note n --event-time -1",
    );
    t.run("mnem blame full").run("mnem blame full --json");
    assert_snapshot!(t.transcript());
}

#[test]
fn bisect() {
    let mut t = story();
    t.run("mnem bisect --node plan:4821 --equals '\"Pro\"'")
        .run("mnem bisect --node plan:4821 --equals '\"Pro\"' --good HEAD~5 HEAD~3")
        .run("mnem bisect --node plan:4821 --equals '\"Enterprise\"'")
        .run("mnem bisect --node plan:4821 --equals '\"Enterprise\"' HEAD~1")
        .run("mnem bisect --node contact:4821 --absent")
        .run("mnem bisect --node nobody --absent")
        .run("mnem bisect --node nobody --present")
        .run("mnem bisect --node plan:4821 --equals 1")
        .run("mnem bisect --node plan:4821 --equals '\"Pro\"' --good HEAD~3")
        .run("mnem bisect --node plan:4821 --equals '\"Pro\"' --good HEAD --json")
        .run("mnem bisect --node plan:4821 --equals '\"Enterprise\"' --json");
    assert_snapshot!(t.transcript());
}

#[test]
fn bisect_asks_one_question() {
    let mut t = story();
    t.run("mnem bisect --node plan:4821")
        .run("mnem bisect --node plan:4821 --present --absent")
        .run("mnem bisect --node plan:4821 --equals Pro")
        .run("mnem bisect --node plan:4821 --present --bad HEAD");
    assert_snapshot!(t.transcript());
}
