//! JSON text as content, under the rules of content.
//!
//! An event parser reads it, so that a number arrives as its digits and a key that stands
//! twice is seen; a parser into values would lose both.

use json_event_parser::{JsonEvent, JsonSyntaxError, SliceJsonParser};

use crate::object::content::{
    Content, ContentError, ContentProblem, Float, Integer, MAX_CONTENT_DEPTH, Map,
};

/// Reads one JSON value (RFC 8259).
///
/// A number without fraction and exponent is an integer, also `-0`; any other is the double
/// nearest to it. Refused, with the path to the value: integers outside -2^63 to 2^64-1,
/// numbers too large for a double, a key that stands twice in one map, a lone surrogate,
/// more than [`MAX_CONTENT_DEPTH`] levels, and text that is no JSON.
///
/// ```
/// # use mnem_store::portable::json::parse;
/// assert_ne!(parse("1"), parse("1.0"));
/// let error = parse(r#"{"items": [{"price": 1e400}]}"#).unwrap_err();
/// assert_eq!(error.to_string(), "content.items[0].price: not a finite number");
/// ```
pub fn parse(text: &str) -> Result<Content, ContentError> {
    parse_within(text, MAX_CONTENT_DEPTH)
}

/// The same with another limit of levels.
pub(super) fn parse_within(text: &str, levels: usize) -> Result<Content, ContentError> {
    let mut open = Vec::new();
    build(text, levels, &mut open).map_err(|error| open.iter().rev().fold(error, Open::above))
}

/// A container that is being read.
enum Open<'a> {
    Array(Vec<Content>),
    Map(Vec<(String, Content)>, std::borrow::Cow<'a, str>),
}

impl Open<'_> {
    /// The error of a value in this container, seen from the container.
    fn above(error: ContentError, open: &Self) -> ContentError {
        match open {
            Self::Array(items) => error.under_index(items.len()),
            Self::Map(_, key) => error.under_key(key),
        }
    }
}

fn build<'a>(
    text: &'a str,
    levels: usize,
    open: &mut Vec<Open<'a>>,
) -> Result<Content, ContentError> {
    let mut parser = SliceJsonParser::new(text.as_bytes());
    let mut next = || parser.parse_next().map_err(|error| syntax(text, &error));
    loop {
        let value = match next()? {
            JsonEvent::Null => Content::Null,
            JsonEvent::Boolean(value) => Content::Bool(value),
            JsonEvent::Number(digits) => number(&digits)?,
            JsonEvent::String(text) => Content::text(text),
            JsonEvent::StartArray | JsonEvent::StartObject if open.len() >= levels => {
                return Err(ContentProblem::TooDeep.into());
            }
            JsonEvent::StartArray => {
                open.push(Open::Array(Vec::new()));
                continue;
            }
            JsonEvent::StartObject => {
                open.push(Open::Map(Vec::new(), "".into()));
                continue;
            }
            JsonEvent::ObjectKey(name) => {
                if let Some(Open::Map(_, key)) = open.last_mut() {
                    *key = name;
                }
                continue;
            }
            JsonEvent::EndArray | JsonEvent::EndObject => match open.pop() {
                Some(Open::Array(items)) => Content::Array(items),
                Some(Open::Map(entries, _)) => Content::Map(Map::new(entries)?),
                None => return Err(ContentProblem::NotJson("nothing to close".into()).into()),
            },
            JsonEvent::Eof => return Err(ContentProblem::NotJson("no value".into()).into()),
        };
        match open.last_mut() {
            Some(Open::Array(items)) => items.push(value),
            Some(Open::Map(entries, key)) => entries.push((key.to_string(), value)),
            // The parser refuses whatever follows the value.
            None => return next().map(|_| value),
        }
    }
}

fn number(digits: &str) -> Result<Content, ContentProblem> {
    if digits.contains(['.', 'e', 'E']) {
        let value = digits.parse().map_err(|_| ContentProblem::NotJson(digits.into()))?;
        Float::new(value).map(Content::Float)
    } else {
        // Digits that do not fit here do not fit the format either.
        let value = digits.parse().map_err(|_| ContentProblem::IntegerOutOfRange)?;
        Integer::new(value).map(Content::Integer)
    }
}

fn syntax(text: &str, error: &JsonSyntaxError) -> ContentError {
    let place = error.location();
    let byte = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
    // The parser reports a lone surrogate near the end of the text as an early end, at the
    // quotation mark that opens the string.
    let in_string = text.as_bytes().get(byte(place.start.offset)) == Some(&b'"');
    match lone_surrogate(text) {
        Some(at) if at < byte(place.end.offset) || in_string => {
            ContentProblem::LoneSurrogate.into()
        }
        _ => ContentProblem::NotJson(format!(
            "{}, line {} column {}",
            error.message(),
            place.start.line + 1,
            place.start.column + 1
        ))
        .into(),
    }
}

/// The offset of the first escaped half of a surrogate pair without its other half.
fn lone_surrogate(text: &str) -> Option<usize> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut at = 0;
    loop {
        at += text.get(at..)?.find('\\')?;
        match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => return Some(at),
            _ => at += 2,
        }
    }
}
