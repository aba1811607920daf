//! Help, and hints: a hint names a command that exists, with options that it has.

use insta::assert_snapshot;
use mnem_git::error::{HINTS, OTHER_WORDS};
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
    let words = OTHER_WORDS.iter().map(|(_, hint)| *hint);
    for hint in Hint::ALL.iter().map(|hint| hint.text()).chain(HINTS).chain(words) {
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
fn a_word_of_another_tool_is_answered() {
    let mut t = Terminal::with_store();
    for (words, hint) in OTHER_WORDS {
        for word in words {
            let told = refused(&mut t, &format!("mnem {word} x -y"));
            assert!(told.ends_with(&format!("hint: {hint}\n")), "{word}: {told}");
        }
    }
    t.run("mnem stash").run("mnem list --json").run("mnem comit").run("mnem add .");
    assert_snapshot!(t.transcript());
}

#[test]
fn a_hint_of_another_option_would_be_seen() {
    let mut t = Terminal::new();
    for command in ["mnem frobnicate", "mnem merge BRANCH --theirs", "mnem log NODE --tree"] {
        assert_eq!(t.output(&format!("{command} --help"), b"").status.code(), Some(2), "{command}");
    }
}

/// What stands on standard error of a command that fails.
fn refused(t: &mut Terminal, line: &str) -> String {
    let output = t.output(line, b"");
    assert!(!output.status.success(), "{line}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_hint_is_about_the_store_that_was_named() {
    let mut t = Terminal::new();
    t.quietly("mnem init here");
    t.quietly("mnem init 'over there'");
    t.write("over there/.mnem/HEAD", "garbage\n");
    let told = refused(&mut t, "mnem -C 'over there' show");
    assert_eq!(commands(&told), ["mnem -C 'over there' fsck"]);
    let told = refused(&mut t, commands(&told)[0]);
    let named = commands(&told);
    assert_eq!(named.len(), 2, "{told}");
    t.quietly(&format!("{} --yes", named[1]));
    t.quietly("mnem -C 'over there' show");
    let told = refused(&mut t, "mnem -C 'over there' get x --json");
    assert!(told.contains("`mnem -C 'over there' remember ID CONTENT`"), "{told}");
    // What makes a store names its own place; without -C nothing is added.
    assert_eq!(commands(&refused(&mut t, "mnem -C nowhere show")), ["mnem init PATH"]);
    t.set("MNEM_STORE", "here");
    assert_eq!(commands(&refused(&mut t, "mnem get x")), ["mnem remember ID CONTENT"]);
}

#[test]
fn a_hint_is_about_the_branch_that_was_named() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan basic");
    for (node, author) in [("plan", "ann"), ("seats", "bo")] {
        for (content, author) in [("first", "me"), ("second", author), ("third", "me")] {
            t.quietly(&format!("mnem remember {node} {content} --author {author} --branch side"));
        }
    }
    let before = t.quietly("mnem log --oneline");
    for line in ["mnem revert side~4 --branch side", "mnem undo --author bo --branch side"] {
        let told = refused(&mut t, line);
        let named = commands(&told);
        assert_eq!(named.len(), 2, "{told}");
        t.quietly(named[1]);
    }
    assert_eq!(t.quietly("mnem log --oneline"), before, "HEAD's branch stays");
    assert_eq!(t.quietly("mnem log --oneline --branch side").lines().count(), 9);
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
