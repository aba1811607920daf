//! init, remember, forget, get: memory written and read at once.

use insta::assert_snapshot;

use crate::terminal::Terminal;

#[test]
fn a_bare_command_says_what_it_is() {
    let mut t = Terminal::new();
    t.run("mnem").run("mnem --version").run("mnem -V --json");
    assert_snapshot!(t.transcript());
}

#[test]
fn init() {
    let mut t = Terminal::new();
    t.run("mnem init").run("mnem init").run("mnem init inner");
    let mut t2 = Terminal::new();
    t2.run("mnem init ./my-agent --default-branch trunk --reproducible --json")
        .run("mnem -C my-agent status")
        .run("mnem -C my-agent init");
    assert_snapshot!([t.transcript(), t2.transcript()].concat());
}

#[test]
fn remember_and_forget() {
    let mut t = Terminal::with_store();
    t.run("mnem remember plan 'canary rollout' --step 3 --source ops-wiki --author alice")
        .run("mnem remember plan 'canary rollout' --step 3 --source ops-wiki --author alice")
        .run("mnem remember plan 'canary rollout' --step 4 --source ops-wiki -m 'read it again'")
        .run("mnem remember limits --content-json '{\"cpu\": 2, \"share\": 0.1}' --json")
        .run("mnem remember limits --content-json '{\"share\": 0.1, \"cpu\": 2}' --json")
        .run("mnem forget limits --author bob")
        .run("mnem forget limits")
        .run("mnem forget plan --json -m 'no longer so'")
        .run("mnem log --oneline");
    assert_snapshot!(t.transcript());
}

#[test]
fn remember_makes_an_id() {
    let mut t = Terminal::with_store();
    let text = t.quietly("mnem remember --new 'the office is closed on Friday' -m 'office hours'");
    let lines: Vec<_> = text.lines().collect();
    let [id, commit] = lines.as_slice() else { panic!("{text}") };
    assert_eq!(id.len(), 36, "{id}");
    assert!(commit.ends_with("] office hours"), "{commit}");
    assert_eq!(t.quietly(&format!("mnem get {id}")), "\"the office is closed on Friday\"\n");

    t.run("mnem remember --new one two").run("mnem remember --new one --content-json 1");
    assert_snapshot!(t.transcript());
}

#[test]
fn remember_leaves_drafts_alone() {
    let mut t = Terminal::with_store();
    t.quietly("mnem add draft 'not yet'");
    t.run("mnem remember plan now").run("mnem status").run("mnem get draft");
    assert_snapshot!(t.transcript());
}

#[test]
fn get() {
    let mut t = Terminal::with_store();
    t.run("mnem get plan");
    t.quietly("mnem remember plan 'first, \"the plan\"'");
    t.quietly(
        "mnem remember plan --content-json '{\"b\": [1, 1.0, true, null, 0.1], \"a\": \"x\"}'",
    );
    t.run("mnem get plan")
        .run("mnem get plan --raw")
        .run("mnem get plan --at HEAD~1")
        .run("mnem get plan --at HEAD~1 --raw")
        .run("mnem get plan --json")
        .run("mnem get nobody")
        .run("mnem get nobody --at HEAD~1 --json")
        .run("mnem get plan --at nowhere")
        .run("mnem get plan --raw --json");
    assert_snapshot!(t.transcript());
}

#[test]
fn the_author_is_the_option_then_the_environment_then_unknown() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember a 1");
    t.set("MNEM_AUTHOR", "agent-7");
    t.quietly("mnem remember a 2");
    t.quietly("mnem remember a 3 --author bob");
    let log = t.quietly("mnem log");
    let authors: Vec<_> = log.lines().filter_map(|line| line.strip_prefix("Author: ")).collect();
    assert_eq!(authors, ["bob", "agent-7", "unknown"]);
}
