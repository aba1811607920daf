//! Content from arguments, options, files and standard input, exactly.

use insta::assert_snapshot;

use crate::terminal::Terminal;

#[test]
fn each_way_in() {
    let mut t = Terminal::with_store();
    t.write("content.json", "{\"n\": [1, 1.0, -0.0, 18446744073709551615, 5e-324]}\n");
    t.run("mnem remember text plain")
        .run("mnem remember json --content-json '[null, \"text\"]'")
        .run("mnem remember file --content-file content.json")
        .pipe("from a pipe\n", "mnem remember piped")
        .pipe("two\nlines\n\n", "mnem add lines")
        .pipe("windows\r\n", "mnem add windows")
        .pipe("{\"a\": 1}", "mnem add file2 --content-file -")
        .run("mnem remember minus -- -5")
        .run("mnem remember number --content-json -5")
        .run("mnem show");
    assert_snapshot!(t.transcript());
}

#[test]
fn json_goes_through_exactly() {
    let mut t = Terminal::with_store();
    for json in [
        "0.42451918914251396",
        "-0.0",
        "5e-324",
        "1.7976931348623157e308",
        "18446744073709551615",
        "-9223372036854775808",
        "1",
        "1.0",
        r#""a \" quote, a \\, é and 🦀""#,
        r#"{"a":[],"bb":{}}"#,
    ] {
        let quoted = shlex::try_quote(json).unwrap().into_owned();
        t.quietly(&format!("mnem remember value --content-json {quoted}"));
        let content = t.quietly("mnem get value");
        let value = |text: &str| mnem_store::portable::json::parse(text).unwrap();
        assert_eq!(value(&content), value(json), "{json}");
        let document = t.quietly("mnem get value --json");
        assert_eq!(value(&document), {
            let whole = value(&document);
            let node = whole.as_map().unwrap().get("node").unwrap();
            assert_eq!(node.as_map().unwrap().get("content"), Some(&value(json)), "{json}");
            whole
        });
    }
}

#[test]
fn raw_text_is_the_text_to_the_byte() {
    let mut t = Terminal::with_store();
    let text = "two\nlines \u{1b}[31m\u{9b} and no end";
    t.output("mnem remember text", text.as_bytes());
    assert_eq!(t.quietly("mnem get text --raw"), text);
}
