//! What reaches a terminal, a pipe and a program.

use std::io::Read;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::reference::conforms;
use crate::terminal::Terminal;

/// What drives a terminal, reorders text, or hides it: the last is a tag, which only a model reads.
const EVIL: &str = "\u{1b}[2J\u{7}\u{9b}31m\u{7f}\u{202e}\t\u{61c}\u{200b}\u{feff}\u{e0041}";

/// Memory, its id, its message, its author and its provenance that try to drive the terminal.
fn hostile() -> Terminal {
    let mut t = Terminal::with_store();
    t.quietly(&format!(
        "mnem remember 'id{EVIL}' 'content{EVIL}' -m 'message{EVIL}\nsecond line' \
         --author 'author{EVIL}' --source 'source{EVIL}' --step 'step{EVIL}'"
    ));
    t
}

#[test]
fn no_memory_drives_the_terminal() {
    let mut t = hostile();
    let id = format!("'id{EVIL}'");
    for line in [
        "mnem show".to_owned(),
        "mnem log".to_owned(),
        "mnem status".to_owned(),
        "mnem branch".to_owned(),
        format!("mnem blame {id}"),
        format!("mnem get {id}"),
        format!("mnem get {id} --json"),
        format!("mnem bisect --node {id} --present"),
        format!("mnem get {id} --at HEAD~1"),
        format!("mnem get missing{id}"),
        format!("mnem rm missing{id} --json"),
        format!("mnem add {id} x"),
        "mnem diff".to_owned(),
        // Nor does a command line that a script made of it.
        format!("mnem get x {id}"),
        format!("mnem log -n {id}"),
        format!("mnem {id}"),
        format!("mnem {id} --json"),
        format!("mnem get x --{id}"),
    ] {
        let output = t.output(&line, b"");
        for bytes in [output.stdout, output.stderr] {
            let text = String::from_utf8(bytes).unwrap();
            let raw = |c: char| c != '\n' && c != '[' && EVIL.contains(c) && !c.is_alphanumeric();
            assert_eq!(text.find(raw), None, "{line}: {text:?}");
        }
    }
    t.run("mnem log");
    assert_snapshot!(t.transcript());
}

/// An escape in JSON means what it stands for, and what words are written with stays.
#[test]
fn what_is_escaped_is_the_same_in_json() {
    let mut t = hostile();
    let json: serde_json::Value = serde_json::from_str(&t.quietly("mnem show --json")).unwrap();
    assert_eq!(json["nodes"][0]["content"], format!("content{EVIL}"));
    let words = "\u{1f469}\u{200d}\u{1f680} می\u{200c}خواهم \u{2764}\u{fe0f}";
    t.quietly(&format!("mnem remember words '{words}'"));
    assert_eq!(t.quietly("mnem get words"), format!("\"{words}\"\n"));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut t = Terminal::with_store();
    let long = "x".repeat(500_000);
    t.output("mnem remember long", long.as_bytes());
    let mut child = Command::new(env!("CARGO_BIN_EXE_mnem"))
        .env_clear()
        .current_dir(t.path())
        .args(["show"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 1];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap(); // and it is closed
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_under_the_answer_is_told() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan x");
    for word in ["show", "--help"] {
        let output = Command::new(env!("CARGO_BIN_EXE_mnem"))
            .env_clear()
            .current_dir(t.path())
            .arg(word)
            .stdout(std::fs::File::create("/dev/full").unwrap())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("error: cannot write the answer: "), "{word}: {text}");
        assert_eq!(output.status.code(), Some(3), "{word}");
    }
}

#[test]
fn colour_is_for_terminals() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan x");
    assert!(!t.quietly("mnem log").contains('\u{1b}'));
    t.set("CLICOLOR_FORCE", "1");
    assert!(t.quietly("mnem log").contains("\u{1b}[33mcommit "));
    assert!(!t.quietly("mnem log --json").contains('\u{1b}'));
    t.set("NO_COLOR", "1");
    assert!(!t.quietly("mnem log").contains('\u{1b}'));
}

#[test]
fn every_answer_and_every_error_names_its_schema() {
    let mut t = Terminal::with_store();
    t.write("chat.json", "[]");
    drop(t.original("old"));
    for (command, line) in [
        ("version", "mnem --json"),
        ("remember", "mnem remember a 1 --json"),
        ("remember", "mnem remember b 1 --json"),
        ("forget", "mnem forget b --json"),
        ("get", "mnem get a --json"),
        ("add", "mnem add a 2 --json"),
        ("rm", "mnem rm a --json"),
        ("status", "mnem status --json"),
        ("commit", "mnem commit -m x --json"),
        ("log", "mnem log --json"),
        ("show", "mnem show --json"),
        ("diff", "mnem diff --json"),
        ("blame", "mnem blame a --json"),
        ("changelog", "mnem changelog --json"),
        ("inbox", "mnem inbox --json"),
        ("stats", "mnem stats --json"),
        ("status", "mnem status --all-branches --json"),
        ("log", "mnem log a --json"),
        ("show", "mnem show --stat --json"),
        ("completions", "mnem completions zsh --json"),
        ("cat-object", "mnem cat-object {commit} --json"),
        ("cat-object", "mnem cat-object {state} --json"),
        ("cat-object", "mnem cat-object {node} --json"),
        ("bisect", "mnem bisect --node a --present --json"),
        ("branch", "mnem branch --json"),
        ("checkout", "mnem checkout main --json"),
        ("merge", "mnem merge main --json"),
        ("verify", "mnem verify --json"),
        ("fsck", "mnem fsck --json"),
        ("fsck", "mnem fsck --repair --yes --json"),
        ("migrate", "mnem -C old migrate --dry-run --json"),
        ("migrate", "mnem -C old migrate --json"),
        ("import-chat", "mnem import-chat chat.json --json"),
        ("error", "mnem get nobody --json"),
        ("error", "mnem --json frobnicate"),
    ] {
        let line = &place(&mut t, line);
        let output = t.output(line, b"");
        let (answer, other) = if command == "error" {
            (output.stderr, output.stdout)
        } else {
            (output.stdout, output.stderr)
        };
        let document: serde_json::Value = serde_json::from_slice(&answer).unwrap_or_else(|error| {
            panic!("{line}: {error}: {}", String::from_utf8_lossy(&answer))
        });
        assert_eq!(document["schema"]["command"], command, "{line}");
        assert_eq!(document["schema"]["version"], 1, "{line}");
        assert_eq!(String::from_utf8(other).unwrap(), "", "{line}");
        if command != "error" {
            conforms(command, &document).unwrap_or_else(|problem| panic!("{line}: {problem}"));
        }
    }
}

/// A command line with ids of objects in their places.
fn place(t: &mut Terminal, line: &str) -> String {
    if !line.contains('{') {
        return line.to_owned();
    }
    let json = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
    let log = json(t.quietly("mnem log HEAD~1 -n 1 --json"));
    let id = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let (commit, state) = (id(&log["commits"][0]["id"]), id(&log["commits"][0]["state"]));
    let nodes = json(t.quietly(&format!("mnem cat-object {state} --json")))["nodes"].take();
    let node = id(nodes.as_object().unwrap().values().next().unwrap());
    line.replace("{commit}", &commit).replace("{state}", &state).replace("{node}", &node)
}

#[test]
fn colours_of_every_kind() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan 'Pro'");
    t.quietly("mnem remember owner ada");
    t.quietly("mnem checkout -b side");
    t.quietly("mnem remember plan 'Team'");
    t.quietly("mnem forget owner");
    t.quietly("mnem checkout main");
    t.quietly("mnem remember plan 'Max'");
    t.set("CLICOLOR_FORCE", "1");
    for line in [
        "mnem log -n 1",
        "mnem log --oneline --graph",
        "mnem log plan --oneline",
        "mnem merge side",
        "mnem add draft x",
        "mnem status",
        "mnem status --all-branches",
        "mnem branch",
        "mnem inbox",
        "mnem diff HEAD~1 side",
        "mnem changelog HEAD~1 side",
        "mnem show side --stat",
        "mnem blame plan",
        "mnem bisect --node plan --equals '\"Max\"'",
        "mnem get nobody",
        "mnem inbox -h",
        "mnem inbox --nothing",
    ] {
        t.run(line);
    }
    assert_snapshot!(t.transcript().replace('\u{1b}', "<esc>"));
}
