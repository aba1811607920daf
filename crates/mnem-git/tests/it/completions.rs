//! Completion scripts, loaded by the shells they are for.

use std::io::Write;
use std::process::{Command, Output};

use crate::terminal::Terminal;

/// Runs a script in a shell that has `$SCRIPT`; none when the machine has no such shell.
fn in_shell(shell: &str, arguments: &[&str], script: &str) -> Option<Output> {
    let mut t = Terminal::new();
    let text = t.quietly(&format!("mnem completions {shell}"));
    t.write("script", text);
    let result = Command::new(shell)
        .args(arguments)
        .arg(script)
        .env("SCRIPT", t.path().join("script"))
        .env("HOME", t.path())
        .output();
    match result {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            // Not through the macro: what that prints is shown of failing tests alone.
            let _ = writeln!(std::io::stderr(), "skipped: there is no {shell} on this machine");
            None
        }
        Err(error) => panic!("{shell}: {error}"),
    }
}

#[track_caller]
fn says(output: Option<Output>, words: &[&str]) {
    let Some(output) = output else { return };
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    assert_eq!(told, "");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.split_whitespace().collect::<Vec<_>>(), words);
}

#[test]
fn bash_completes_commands_and_options() {
    let script = r#"
        source "$SCRIPT"
        complete -p mnem > /dev/null
        try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mnem mnem "${@: -1}" "${@: -2:1}"; echo "${COMPREPLY[@]}"; }
        try mnem bla
        try mnem log --first
        try mnem completions el
    "#;
    let output = in_shell("bash", &["--norc", "-e", "-c"], script);
    says(output, &["blame", "--first-parent", "elvish"]);
}

#[test]
fn zsh_loads_it() {
    let script = r#"
        autoload -Uz compinit && compinit -D -u
        source "$SCRIPT"
        print -r -- "${_comps[mnem]}" "${+functions[_mnem]}" "${+functions[_mnem_commands]}"
    "#;
    says(in_shell("zsh", &["-f", "-e", "-c"], script), &["_mnem", "1", "1"]);
}

#[test]
fn every_shell_gets_a_script_that_names_the_commands() {
    let mut t = Terminal::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = t.quietly(&format!("mnem completions {shell}"));
        for word in ["blame", "cat-object", "first-parent"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(t.output("mnem completions tcsh", b"").status.code(), Some(2));
}
