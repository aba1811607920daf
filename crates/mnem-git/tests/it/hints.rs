//! Help, and hints: a hint names a command that exists, with options that it has.

use insta::assert_snapshot;
use mnem_git::error::HINTS;
use mnem_store::Hint;

use crate::terminal::Terminal;

/// The commands between backquotes.
fn commands(hint: &str) -> Vec<&str> {
    hint.split('`').skip(1).step_by(2).filter(|quoted| quoted.starts_with("mnem")).collect()
}

#[test]
fn every_hint_names_a_command_that_exists() {
    let mut t = Terminal::new();
    let mut seen = 0;
    for hint in Hint::ALL.iter().map(|hint| hint.text()).chain(HINTS) {
        for command in commands(hint) {
            // After all of it, so that every option before has been read.
            let output = t.output(&format!("{command} --help"), b"");
            let text = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success(), "{command}: {text}");
            assert!(!output.stdout.is_empty(), "{command}");
            seen += 1;
        }
    }
    assert!(seen >= 25, "{seen}");
}

#[test]
fn a_hint_of_another_option_would_be_seen() {
    let mut t = Terminal::new();
    for command in ["mnem frobnicate", "mnem merge BRANCH --theirs", "mnem log NODE --tree"] {
        assert_eq!(t.output(&format!("{command} --help"), b"").status.code(), Some(2), "{command}");
    }
}

#[test]
fn help() {
    let mut t = Terminal::new();
    let summary = t.quietly("mnem -h");
    let commands: Vec<_> = summary
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect();
    assert_eq!(commands.len(), 36);
    t.run("mnem --help");
    for command in commands {
        t.run(&format!("mnem {command} -h"));
    }
    t.run("mnem remember --help");
    assert_snapshot!(t.transcript());
}
