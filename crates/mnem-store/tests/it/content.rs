//! The limits of content that is written, each at its edge and one past it.

use mnem_store::codec::canonical::encode_content;
use mnem_store::object::content::{
    ContentProblem, Float, INTEGER_RANGE, Integer, MAX_CONTENT_BYTES, MAX_CONTENT_DEPTH, Map,
};
use mnem_store::object::{Content, ContentError};
use proptest::prelude::*;

use crate::codec::nested;
use crate::sample;

fn problem(result: Result<(), ContentError>) -> ContentProblem {
    result.unwrap_err().problem().clone()
}

#[test]
fn depth_is_limited() {
    assert_eq!(nested(MAX_CONTENT_DEPTH).depth(), MAX_CONTENT_DEPTH);
    assert_eq!(nested(MAX_CONTENT_DEPTH).check_writable(), Ok(()));
    let error = nested(MAX_CONTENT_DEPTH + 1).check_writable();
    assert_eq!(problem(error), ContentProblem::TooDeep);
}

#[test]
fn depth_names_the_path() {
    let deep = Content::Array(vec![Content::Null, nested(MAX_CONTENT_DEPTH - 1)]);
    let map = |key: &str, value| Content::Map(Map::new(vec![(key.to_owned(), value)]).unwrap());
    assert_eq!(map("a b", deep.clone()).depth(), MAX_CONTENT_DEPTH + 1);
    let error = map("a b", deep).check_writable().unwrap_err().to_string();
    assert!(error.starts_with("content[\"a b\"][1]"), "{error}");
    assert!(error.ends_with("nested more than 128 arrays and maps deep"), "{error}");
}

#[test]
fn size_is_limited() {
    // Text of this length has a header of five bytes.
    let text = |size: usize| Content::text("x".repeat(size - 5));
    assert_eq!(encode_content(&text(MAX_CONTENT_BYTES)).len(), MAX_CONTENT_BYTES);
    assert_eq!(text(MAX_CONTENT_BYTES).check_writable(), Ok(()));
    let error = problem(text(MAX_CONTENT_BYTES + 1).check_writable());
    assert_eq!(error, ContentProblem::TooLarge(MAX_CONTENT_BYTES + 1));
}

proptest! {
    #[test]
    fn size_is_that_of_the_encoding(content in sample::content()) {
        prop_assert_eq!(content.encoded_size(), Ok(encode_content(&content).len()));
    }
}

#[test]
fn integers_have_a_range() {
    for edge in [*INTEGER_RANGE.start(), *INTEGER_RANGE.end()] {
        assert_eq!(Integer::new(edge).unwrap().get(), edge);
    }
    for past in [INTEGER_RANGE.start() - 1, INTEGER_RANGE.end() + 1] {
        assert_eq!(Integer::new(past), Err(ContentProblem::IntegerOutOfRange));
    }
}

#[test]
fn floats_are_finite() {
    for value in [f64::MAX, f64::MIN, 5e-324] {
        assert_eq!(Float::new(value).unwrap().get().to_bits(), value.to_bits());
    }
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(Float::new(value), Err(ContentProblem::NotFinite));
    }
}

#[test]
fn a_map_has_a_key_once() {
    let entries = |keys: [&str; 3]| keys.map(|key| (key.to_owned(), Content::Null)).to_vec();
    let map = Map::new(entries(["bb", "c", "a"])).unwrap();
    assert_eq!(map.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["a", "c", "bb"]);
    let error = Map::new(entries(["a", "b", "a"])).unwrap_err();
    assert_eq!(*error.problem(), ContentProblem::DuplicateKey("a".into()));
}
