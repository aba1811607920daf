//! JSON text becomes exactly the content it says, or an error that names the path.

use mnem_store::object::Content;
use mnem_store::object::content::{ContentProblem, Float, Integer, MAX_CONTENT_DEPTH};
use mnem_store::portable::json::parse;
use proptest::prelude::*;

use crate::sample;

#[test]
fn numbers_are_exact() {
    let integer = |value| Content::Integer(Integer::new(value).unwrap());
    let float = |value| Content::Float(Float::new(value).unwrap());
    for (text, value) in [
        ("1", integer(1)),
        ("-0", integer(0)),
        ("18446744073709551615", integer((1 << 64) - 1)),
        ("-9223372036854775808", integer(-(1 << 63))),
        ("1.0", float(1.0)),
        ("-0.0", float(-0.0)),
        ("0e0", float(0.0)),
        ("1e2", float(100.0)),
        ("1E+2", float(100.0)),
        ("0.42451918914251396", float(0.424_519_189_142_513_96)),
        ("5e-324", float(5e-324)),
        ("1.7976931348623157e308", float(f64::MAX)),
        ("100000000000000000000.0", float(1e20)),
    ] {
        assert_eq!(parse(text), Ok(value), "{text}");
    }
}

#[test]
fn refusals_name_the_path() {
    for (text, message) in [
        (
            r#"{"items": [0, 1, 2, {"price": 1e400}]}"#,
            "content.items[3].price: not a finite number",
        ),
        ("-1e400", "content: not a finite number"),
        ("[18446744073709551616]", "content[0]: an integer outside -2^63 to 2^64-1"),
        (
            r#"{"a b": -9223372036854775809}"#,
            r#"content["a b"]: an integer outside -2^63 to 2^64-1"#,
        ),
        (r#"{"n": 18446744073709551617}"#, "content.n: an integer outside -2^63 to 2^64-1"),
        (r#"[[], {"a": 1, "b": 2, "a": 3}]"#, r#"content[1]: the key "a" stands twice"#),
        (r#"{"a": 1, "\u0061": 3}"#, r#"content: the key "a" stands twice"#),
        (r#"{"t": "\ud800"}"#, "content.t: text with a lone surrogate"),
        (r#""\ud800""#, "content: text with a lone surrogate"),
        (r#"["\udc00", "longer text"]"#, "content[0]: text with a lone surrogate"),
        (r#"["\ud800 longer text"]"#, "content[0]: text with a lone surrogate"),
        (r#"["\ud800\ud800\udc00"]"#, "content[0]: text with a lone surrogate"),
        (r#"["\\ud800", "\ud800"]"#, "content[1]: text with a lone surrogate"),
        ("", "not valid JSON: Unexpected end of file, a value was expected, line 1 column 1"),
        (
            "[1,\n 2",
            "not valid JSON: Array values must be followed by a comma to add a \
                     new value or a squared bracket to end the array, line 2 column 3",
        ),
    ] {
        assert_eq!(
            parse(text).map_err(|error| error.to_string()),
            Err(message.to_owned()),
            "{text}"
        );
    }
}

#[test]
fn text_that_is_no_json_is_refused() {
    for text in [
        "nul",
        "[1,]",
        "{\"a\":1,}",
        "01",
        "[01]",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "NaN",
        "Infinity",
        "'a'",
        "{a: 1}",
        "{1: 1}",
        "[1] 2",
        "1 1",
        "\"\n\"",
        "\"\\x\"",
        "\"abc",
        "[",
        "]",
        "{\"a\"",
        "{\"a\":}",
        "[1 2]",
        "// c\n1",
        r#"["\ud83d\ude00"#,
        r#""\\ud800"#,
    ] {
        let error = parse(text).expect_err(text);
        assert!(matches!(error.problem(), ContentProblem::NotJson(_)), "{text}: {error}");
    }
}

#[test]
fn escapes_are_read() {
    let read = parse(r#""\ud83d\ude00\u00e9\n\\ud800\"/\/""#).unwrap();
    assert_eq!(read, Content::text("\u{1f600}é\n\\ud800\"//"));
}

#[test]
fn depth_is_limited_without_a_stack() {
    for (start, end) in [("[", "]"), ("{\"k\":", "}")] {
        let last = if start == "[" { "[]" } else { "{}" };
        let text = |depth: usize| start.repeat(depth - 1) + last + &end.repeat(depth - 1);
        assert_eq!(parse(&text(MAX_CONTENT_DEPTH)).unwrap().depth(), MAX_CONTENT_DEPTH);
        for depth in [MAX_CONTENT_DEPTH + 1, 100_000] {
            let error = parse(&text(depth)).unwrap_err();
            assert_eq!(*error.problem(), ContentProblem::TooDeep);
            assert!(error.to_string().len() < 300, "{error}");
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(content in sample::content()) {
        prop_assert_eq!(parse(&content.to_string()), Ok(content));
    }

    #[test]
    fn any_text_is_answered(text in r#"([\[\]{},:"0-9a-z.eE+-]|\\u[dD][0-9a-f]{3}|\\){0,40}"#) {
        if let Ok(content) = parse(&text) {
            prop_assert_eq!(parse(&content.to_string()), Ok(content));
        }
    }
}
