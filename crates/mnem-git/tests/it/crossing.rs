//! export, import and import-json: memory across the border of a store.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::stores::spoil;
use crate::terminal::Terminal;

/// A directory with a store in `agent`: what is imported beside it is not within it.
fn told() -> Terminal {
    let mut t = Terminal::new();
    for line in [
        "mnem init agent --reproducible",
        "mnem -C agent remember plan basic --source ticket-9",
        "mnem -C agent remember seats --content-json 3",
        "mnem -C agent remember guess 'wants more' --branch agent",
        "mnem -C agent remember plan pro",
        "mnem -C agent add draft 'not told'",
    ] {
        t.quietly(line);
    }
    t
}

#[test]
fn out_and_in_again() {
    let mut t = told();
    t.run("mnem -C agent export memory.jsonl")
        .run("mnem import memory.jsonl copy")
        .run("mnem -C copy log --oneline")
        .run("mnem -C copy branch")
        .run("mnem -C copy status")
        .run("mnem -C copy reflog")
        .run("mnem -C copy blame plan")
        .run("mnem -C copy verify")
        .run("mnem import memory.jsonl copy")
        .run("mnem -C agent export memory.jsonl --json")
        .run("mnem import memory.jsonl other --json")
        .run("mnem -C agent export - --json")
        .run("mnem -C agent export")
        .run("mnem -C agent export .")
        .run("mnem -C agent export no/such/place")
        .run("mnem -C agent export memory.jsonl --branch agent")
        .run("mnem import missing.jsonl third");
    assert_snapshot!(t.transcript());
    let whole = t.output("mnem -C agent export -", b"");
    assert_eq!(whole.stdout, fs::read(t.path().join("memory.jsonl")).unwrap());
    let piped = t.output("mnem import - piped", &whole.stdout);
    assert!(piped.status.success());
    assert_eq!(t.output("mnem -C piped export -", b"").stdout, whole.stdout);
    let there = |name: &str| t.path().join(name).exists();
    assert_eq!(["copy", "other", "piped", "third"].map(there), [true, true, true, false]);
}

/// What was done is not told as a failure because of how a file is named.
#[test]
#[cfg(unix)]
fn a_name_that_is_no_text_is_told_in_json() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;
    let t = told();
    let name = |bytes: &[u8]| OsString::from(OsStr::from_bytes(bytes));
    let run = |words: &[&[u8]]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mnem"));
        command.env_clear().current_dir(t.path()).arg("--json");
        let output = command.args(words.iter().map(|word| name(word))).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_str::<serde_json::Value>(&told).unwrap()
    };
    assert_eq!(run(&[b"-C", b"agent", b"export", b"a\xff"])["file"], "a\u{fffd}");
    assert_eq!(run(&[b"-C", b"agent", b"export", b"--at", b"HEAD", b"b\xff"])["file"], "b\u{fffd}");
    assert_eq!(run(&[b"import", b"a\xff", b"c\xff"])["path"], "c\u{fffd}/.mnem");
    assert_eq!(run(&[b"init", b"d\xff"])["path"], "d\u{fffd}/.mnem");
    assert_eq!(run(&[b"demo", b"--keep", b"e\xff"])["store"], "e\u{fffd}");
    let page = b"-C agent merge main --branch agent --dry-run --html f\xff";
    let page: Vec<_> = page.split(|byte| *byte == b' ').collect();
    assert_eq!(run(&page)["html"], "f\u{fffd}");
    assert!(
        ["a", "b", "f"]
            .iter()
            .all(|file| t.path().join(name(&[file.as_bytes(), b"\xff"].concat())).is_file())
    );
}

/// Whoever may not read a file may not read the one that takes its place.
#[test]
#[cfg(unix)]
fn what_is_private_stays_private() {
    use std::os::unix::fs::PermissionsExt;
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut t = told();
    let export = t.path().join("memory.jsonl");
    for line in ["memory.jsonl", "memory.jsonl --at HEAD"] {
        for kept in [0o600, 0o660] {
            fs::write(&export, "").unwrap();
            set(&export, kept).unwrap();
            t.quietly(&format!("mnem -C agent export {line}"));
            assert_eq!(mode(&export), kept, "{line}");
        }
    }
    drop(t.original("old"));
    let mut damaged = Terminal::with_store();
    damaged.quietly("mnem remember plan Enterprise");
    spoil(&damaged, b"Enterprise");
    for (t, old, line) in [
        (&mut t, "old/.mnem", "mnem -C old migrate"),
        (&mut damaged, ".mnem", "mnem fsck --repair --yes"),
    ] {
        let directory = t.path().join(old);
        set(&directory.join("store.redb"), 0o400).unwrap();
        t.output(line, b"");
        assert_eq!(mode(&directory.join("store.2.redb")), 0o600, "{line}");
    }
}

#[test]
fn imports_that_are_refused_leave_nothing() {
    let mut t = told();
    t.quietly("mnem -C agent export memory.jsonl");
    let whole = fs::read_to_string(t.path().join("memory.jsonl")).unwrap();
    let lines: Vec<_> = whole.lines().collect();
    let edited = |lines: Vec<&str>| lines.join("\n") + "\n";
    let mut swapped = lines.clone();
    swapped.swap(1, 2);
    let mut twice = lines.clone();
    twice.insert(2, lines[1]);
    t.write("cut.jsonl", edited(lines[..4].to_vec()));
    t.write("swapped.jsonl", edited(swapped));
    t.write("twice.jsonl", edited(twice));
    t.write("altered.jsonl", whole.replacen("\"bytes\":\"a", "\"bytes\":\"b", 1));
    t.write("renamed.jsonl", whole.replace("\"name\":\"agent\"", "\"name\":\"agenda\""));
    t.write("later.jsonl", whole.replacen("\"version\":1", "\"version\":2", 1));
    t.write("other.jsonl", "{\"plan\": \"pro\"}\n");
    for name in ["cut", "swapped", "twice", "altered", "renamed", "later", "other"] {
        t.run(&format!("mnem import {name}.jsonl copy"));
        assert!(!t.path().join("copy").exists(), "{name}");
    }
    t.run("mnem import cut.jsonl copy --json");
    t.run("mnem import memory.jsonl agent").run("mnem import memory.jsonl agent/below");
    assert_snapshot!(t.transcript());
}

#[test]
fn a_reader_that_has_enough_is_told_nothing() {
    let t = told();
    let export = Command::new("sh")
        .args(["-c", "\"$0\" -C agent export - | head -c 10", env!("CARGO_BIN_EXE_mnem")])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .current_dir(t.path())
        .output()
        .unwrap();
    assert_eq!(export.stdout, b"{\"type\":\"h");
    // The stream may fit into the pipe, and then it was written whole.
    let said = String::from_utf8(export.stderr).unwrap();
    assert!(!said.contains("error"), "{said}");
}

#[test]
fn an_import_that_is_killed_leaves_no_store() {
    let mut t = told();
    let whole = t.output("mnem -C agent export -", b"").stdout;
    for kept in [whole.len() / 4, whole.len() / 2, whole.len() - 5] {
        // What a killed one leaves is hidden, and harms no other: the last round leaves it there.
        let mut import = Command::new(env!("CARGO_BIN_EXE_mnem"))
            .args(["import", "-", "copy"])
            .current_dir(t.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = import.stdin.take().unwrap();
        input.write_all(&whole[..kept]).unwrap();
        let place = t.path().join("copy");
        let building = || {
            fs::read_dir(&place).is_ok_and(|mut names| {
                names.any(|name| name.unwrap().path().join("store.redb").exists())
            })
        };
        while !building() {
            std::thread::yield_now();
        }
        import.kill().unwrap();
        import.wait().unwrap();
        assert!(!place.join(".mnem").exists());
        drop(input);
        if kept < whole.len() - 5 {
            fs::remove_dir_all(&place).unwrap();
        }
    }
    let again = t.output("mnem import - copy", &whole);
    assert!(again.status.success());
    assert_eq!(t.output("mnem -C copy export -", b"").stdout, whole);
}

#[test]
fn memory_at_a_point_as_plain_json() {
    let mut t = told();
    t.quietly("mnem -C agent remember text 'a \u{202e}b\u{1b}'");
    t.quietly(
        "mnem -C agent remember numbers --content-json '[1, 1.0, 18446744073709551615, -0.0]'",
    );
    t.run("mnem -C agent export --at HEAD~3")
        .run("mnem -C agent export --at HEAD")
        .run("mnem -C agent export - --at agent")
        .run("mnem -C agent export plain.json --at HEAD")
        .run("mnem -C agent export --at HEAD~3 --json")
        .run("mnem -C agent export --at nowhere")
        .run("mnem -C agent export no/such/place --at HEAD");
    t.run("mnem init again --reproducible")
        .run("mnem -C again import-json plain.json")
        .run("mnem -C again blame numbers");
    assert_snapshot!(t.transcript());
    let exports = ["mnem -C agent export --at HEAD", "mnem -C again export --at HEAD"];
    let [here, there] = exports.map(|line| t.output(line, b"").stdout);
    assert_eq!(here, there);
    assert_eq!(here, fs::read(t.path().join("plain.json")).unwrap());
}

const GRAPH: &str = r#"{"type":"entity","name":"Ada","entityType":"person","observations":["prefers tea"]}
{"type":"entity","name":"a:b","entityType":"team","observations":[]}
{"type":"entity","name":"Ada","entityType":"person","observations":["prefers tea"]}
{"type":"relation","from":"Ada","to":"a:b","relationType":"works on","since":2019}
{"type":"entity","name":"Bo","entityTy
[1]

{"type":"entity","name":"Ada","entityType":"person","observations":["prefers milk"]}
{"type":"entity","name":"No","entityType":"person","observations":[1]}
{"type":"relation","from":"Ada","to":"x"}
{"type":"thing"}
{"type":"entity","name":"Huge","entityType":"number","observations":[],"n":18446744073709551616}
{"type":"entity","name":"Eve","entityType":"person","observations":[]}
"#;

#[test]
fn the_file_of_the_memory_server() {
    let mut t = Terminal::with_store();
    t.write("memory.json", [GRAPH.as_bytes(), b"caf\xe9\n"].concat());
    t.run("mnem import-json memory.json --author me")
        .run("mnem log --oneline")
        .run("mnem show")
        .run("mnem get relation:Ada:works%20on:a%3Ab")
        .run("mnem blame entity:Ada")
        .run("mnem import-json memory.json")
        .run("mnem import-json memory.json --json --source 'the old server'");
    // One line is an object too, and still a record.
    t.pipe(GRAPH.lines().next().unwrap(), "mnem import-json - --source one --branch new");
    assert_snapshot!(t.transcript());
}

#[test]
fn plain_files_are_read_whole_or_not_at_all() {
    let mut t = Terminal::with_store();
    t.write("twice.json", r#"{"a": 1, "a": 2}"#);
    t.write("large.json", r#"{"a": 1, "b": {"c": [1e999]}}"#);
    t.write("empty.json", r#"{"a": 1, "": 2}"#);
    t.write("list.json", "[1]");
    t.write("broken.json", "{\n  \"a\": 1,\n}");
    t.write("latin.json", b"{\"a\": \"caf\xe9\"}");
    t.write("nothing.json", "{}");
    // A content may be as deep as any.
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    t.write("deep.json", format!("{{\"a\": {deep}}}"));
    t.write("deeper.json", format!("{{\"a\": [{deep}]}}"));
    for name in
        ["missing", "twice", "large", "empty", "list", "broken", "latin", "nothing", "deeper"]
    {
        t.run(&format!("mnem import-json {name}.json"));
    }
    t.pipe("{}", "mnem import-json -").run("mnem log").run("mnem import-json deep.json");
    assert_snapshot!(t.transcript());
}
