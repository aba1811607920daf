//! Bytes as hexadecimal digits, and the data files that hold them.

use std::fmt::Write;

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

pub fn unhex(text: &str) -> Vec<u8> {
    assert_eq!(text.len() % 2, 0, "an odd number of digits: {text}");
    let pairs = (0..text.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The rows of a data file of `docs/format/`, each a map of texts.
pub fn rows(file: &str) -> Vec<serde_json::Map<String, serde_json::Value>> {
    let path = format!("{}/../../docs/format/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A field of a row.
pub fn field<'a>(row: &'a serde_json::Map<String, serde_json::Value>, name: &str) -> &'a str {
    row.get(name).and_then(|value| value.as_str()).unwrap_or_else(|| panic!("{name} in {row:?}"))
}
