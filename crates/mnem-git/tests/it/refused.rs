//! Bad input: what is typed, the exit code, the message, and that nothing was written.

use std::path::PathBuf;

use crate::terminal::{Terminal, bytes};

/// What is typed, on standard input, the exit code, the first line of the error.
type Row = (&'static str, &'static [u8], i32, &'static str);

const ROWS: &[Row] = &[
    // Ids.
    ("remember '' x", b"", 2, "a node id must not be empty"),
    ("add '' x", b"", 2, "a node id must not be empty"),
    (
        "remember [LONG] x",
        b"",
        2,
        "the node id \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"… has 1025 bytes, more than 1024",
    ),
    // Content.
    ("remember a", b"", 2, "there is no content: none was given and standard input is empty"),
    ("remember a", b"\xff", 2, "standard input is not UTF-8 text"),
    (
        "remember a --content-json ''",
        b"",
        2,
        "--content-json: not valid JSON: Unexpected end of file, a value was expected, line 1 column 1",
    ),
    (
        "remember a --content-json '[1,]'",
        b"",
        2,
        "--content-json: not valid JSON: Trailing commas are not allowed, line 1 column 4",
    ),
    ("remember a --content-json '{\"k\": [1e999]}'", b"", 2, "content.k[0]: not a finite number"),
    (
        "remember a --content-json NaN",
        b"",
        2,
        "--content-json: not valid JSON: Unexpected char: 'N', line 1 column 1",
    ),
    (
        "remember a --content-json 18446744073709551616",
        b"",
        2,
        "content: an integer outside -2^63 to 2^64-1",
    ),
    (
        "remember a --content-json '{\"a\": 1, \"a\": 1}'",
        b"",
        2,
        "content: the key \"a\" stands twice",
    ),
    ("remember a --content-json '\"\\ud800\"'", b"", 2, "content: text with a lone surrogate"),
    (
        "remember a --content-json [DEEP]",
        b"",
        2,
        "content[DEEP PATH]…: nested more than 128 arrays and maps deep",
    ),
    (
        "remember a x --content-json 1",
        b"",
        2,
        "the argument '[CONTENT]' cannot be used with '--content-json <JSON>'",
    ),
    (
        "remember a --content-file missing.json",
        b"",
        3,
        "cannot read missing.json: No such file or directory (os error 2)",
    ),
    ("remember a --content-file .", b"", 3, "cannot read .: Is a directory (os error 21)"),
    (
        "remember a --content-file -",
        b"{",
        2,
        "standard input: not valid JSON: Object keys must be strings, line 1 column 2",
    ),
    (
        "add a x --event-time soon",
        b"",
        2,
        "invalid value 'soon' for '--event-time <TIME>': neither Unix milliseconds nor an ISO 8601 time such as 2026-10-17T18:29:55Z",
    ),
    // Names and revisions.
    ("branch HEAD", b"", 2, "the branch name \"HEAD\" is reserved"),
    ("branch ''", b"", 2, "the branch name \"\" must not be empty"),
    (
        "branch 'a b'",
        b"",
        2,
        "the branch name \"a b\" must not contain whitespace or control characters",
    ),
    ("branch a..b", b"", 2, "the branch name \"a..b\" must not contain '..'"),
    ("checkout -b /a", b"", 2, "the branch name \"/a\" must not begin or end with '/' or '.'"),
    (
        "branch 681bfae1a210681bfae1a210681bfae1a210681bfae1a210681bfae1a210681b",
        b"",
        2,
        "the branch name \"681bfae1a210681bfae1a210681bfae1a210681bfae1a210681bfae1a210681b\" must not look like a commit id",
    ),
    ("branch main", b"", 1, "the branch main already exists"),
    (
        "show nowhere",
        b"",
        1,
        "no branch named \"nowhere\", and it is not a commit id prefix (4 to 64 lowercase hex)",
    ),
    ("show 0000", b"", 1, "no commit matching \"0000\""),
    (
        "show ''",
        b"",
        1,
        "no branch named \"\", and it is not a commit id prefix (4 to 64 lowercase hex)",
    ),
    ("show HEAD~", b"", 1, "\"HEAD~\" goes back beyond the first commit"),
    ("show HEAD^2", b"", 1, "\"HEAD^2\": [TIP] has no parent number 2"),
    (
        "show HEAD@{never}",
        b"",
        1,
        "\"never\" in \"HEAD@{never}\" is no ISO 8601 time and no Unix milliseconds",
    ),
    (
        "show HEAD@x",
        b"",
        1,
        "\"HEAD@x\" is not a revision: after a branch or commit id come ~N, ^N or @{TIME}",
    ),
    ("branch -d nobody", b"", 1, "no branch named \"nobody\""),
    ("branch -d main", b"", 1, "cannot delete main: it is the current branch"),
    // What is not there, or nothing to do.
    ("rm nobody", b"", 1, "no node \"nobody\" in memory"),
    ("forget nobody", b"", 1, "no node \"nobody\" in memory"),
    ("get nobody", b"", 1, "no node \"nobody\" in memory"),
    ("commit -m x", b"", 1, "nothing to commit on main"),
    // Usage.
    ("frobnicate", b"", 2, "unrecognized subcommand 'frobnicate'"),
    ("commit", b"", 2, "the following required arguments were not provided:"),
    ("remember", b"", 2, "the following required arguments were not provided:"),
    ("log -n -1", b"", 2, "unexpected argument '-1' found"),
    (
        "log -n many",
        b"",
        2,
        "invalid value 'many' for '--max-count <N>': invalid digit found in string",
    ),
    (
        "status --time then",
        b"",
        2,
        "invalid value 'then' for '--time <TIME>': neither Unix milliseconds nor an ISO 8601 time such as 2026-10-17T18:29:55Z",
    ),
    ("bisect --node plan --present --bad HEAD", b"", 2, "unexpected argument '--bad' found"),
    ("init", b"", 3, "a store already exists at [DIR]/.mnem"),
];

#[test]
fn bad_input_is_told_and_changes_nothing() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan x");
    let tip = t.quietly("mnem log --oneline");
    let tip = tip.split_whitespace().next().unwrap().to_owned();
    let place = t.path().display().to_string();
    let before = picture(&mut t);
    for (typed, input, code, message) in ROWS {
        let line = typed
            .replace("[LONG]", &"x".repeat(1025))
            .replace("[DEEP]", &format!("{}{}", "[".repeat(129), "]".repeat(129)));
        let expected = message
            .replace("[DEEP PATH]", &"[0]".repeat(128).chars().take(200).collect::<String>())
            .replace("[TIP]", &tip)
            .replace("[DIR]", &place);
        let output = t.output(&format!("mnem {line}"), input);
        let text = String::from_utf8(output.stderr).unwrap();
        let first = text.lines().next().unwrap_or_default();
        assert_eq!(first, format!("error: {expected}"), "mnem {typed}");
        assert_eq!(output.status.code(), Some(*code), "mnem {typed}");
        assert_eq!(output.stdout, b"", "mnem {typed}");
    }
    assert!(before == picture(&mut t), "something was written");
}

/// All that a store holds: every object counted, every branch, draft and memory, and the bytes
/// of its files. The data file's own bytes do not count: opening it already turns its pages.
fn picture(t: &mut Terminal) -> (Vec<String>, Vec<(PathBuf, Vec<u8>)>) {
    let answers = ["verify", "branch", "status", "log", "show"]
        .map(|verb| t.quietly(&format!("mnem {verb} --json")))
        .to_vec();
    let mut files = bytes(&t.path());
    files.retain(|(path, _)| !path.ends_with("store.redb"));
    assert!(files.len() >= 4, "{}", files.len());
    (answers, files)
}
