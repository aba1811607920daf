//! Content: a JSON value that can be stored, and the rules that make it so.
//!
//! The three kinds of number stay apart: `1`, `1.0` and `true` are three values, and so are
//! `0.0` and `-0.0`. Two contents are equal when their canonical bytes are.

use std::cmp::Ordering;
use std::fmt;

use half::f16;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// The deepest nesting of arrays and maps that is written; a scalar has depth 0, `[]` depth 1.
pub const MAX_CONTENT_DEPTH: usize = 128;

/// The largest content that is written, in bytes of its encoding.
pub const MAX_CONTENT_BYTES: usize = 64 * 1024 * 1024;

/// The smallest and the largest integer of the format.
pub const INTEGER_RANGE: std::ops::RangeInclusive<i128> = -(1 << 63)..=(1 << 64) - 1;

/// A JSON value within the rules of the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An exact integer.
    Integer(Integer),
    /// A finite double.
    Float(Float),
    /// Text.
    Text(String),
    /// A list.
    Array(Vec<Content>),
    /// A map with text keys.
    Map(Map),
}

/// An integer from -2^63 to 2^64-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Integer(i128);

impl Integer {
    /// Checks the range.
    pub fn new(value: i128) -> Result<Self, ContentProblem> {
        if INTEGER_RANGE.contains(&value) {
            Ok(Self(value))
        } else {
            Err(ContentProblem::IntegerOutOfRange)
        }
    }

    /// The value.
    pub const fn get(self) -> i128 {
        self.0
    }

    /// The number that the encoding holds: the value, or -1 minus it when it is negative.
    fn argument(self) -> u64 {
        let argument = if self.0 < 0 { -1 - self.0 } else { self.0 };
        u64::try_from(argument).unwrap_or(u64::MAX)
    }
}

impl From<i64> for Integer {
    fn from(value: i64) -> Self {
        Self(value.into())
    }
}

impl From<u64> for Integer {
    fn from(value: u64) -> Self {
        Self(value.into())
    }
}

/// A finite double. Equality is of bits, so that `-0.0` is not `0.0`.
#[derive(Clone, Copy, Debug)]
pub struct Float(f64);

impl Float {
    /// Checks that the value is finite.
    pub fn new(value: f64) -> Result<Self, ContentProblem> {
        if value.is_finite() { Ok(Self(value)) } else { Err(ContentProblem::NotFinite) }
    }

    /// The value.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The bytes of the shortest of the three IEEE 754 formats that holds the value exactly:
    /// 2, 4 or 8.
    pub fn width(self) -> usize {
        let exact = |shorter: f64| shorter.to_bits() == self.0.to_bits();
        #[allow(clippy::cast_possible_truncation)] // the comparison is what finds out
        if exact(f16::from_f64(self.0).to_f64()) {
            2
        } else if exact(f64::from(self.0 as f32)) {
            4
        } else {
            8
        }
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Float {}

/// A map from text to content, in canonical order: shorter keys first, then by bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map(Vec<(String, Content)>);

impl Map {
    /// Sorts the entries; two equal keys are refused.
    pub fn new(mut entries: Vec<(String, Content)>) -> Result<Self, ContentError> {
        entries.sort_by(|(a, _), (b, _)| key_order(a, b));
        let twice = entries.windows(2).find_map(|pair| match pair {
            [(a, _), (b, _)] if a == b => Some(a.clone()),
            _ => None,
        });
        match twice {
            Some(key) => Err(ContentProblem::DuplicateKey(key).into()),
            None => Ok(Self(entries)),
        }
    }

    /// Entries that are known to be in canonical order without a duplicate.
    pub(crate) fn from_sorted(entries: Vec<(String, Content)>) -> Self {
        debug_assert!(entries.is_sorted_by(|(a, _), (b, _)| key_order(a, b).is_lt()));
        Self(entries)
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Content> {
        let at = self.0.binary_search_by(|(k, _)| key_order(k, key)).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// The entries, in canonical order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Content)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The entries, taken out.
    pub fn into_entries(self) -> Vec<(String, Content)> {
        self.0
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The size of a header with this argument: it is in the shortest form.
fn argument_size(argument: u64) -> usize {
    match argument {
        0..=23 => 1,
        24..=0xff => 2,
        0x100..=0xffff => 3,
        0x1_0000..=0xffff_ffff => 5,
        _ => 9,
    }
}

fn text_size(text: &str) -> usize {
    argument_size(text.len() as u64) + text.len()
}

/// The order of map keys: that of their encoded form (RFC 8949, 4.2.1), so length first.
pub fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

impl Content {
    /// Text content.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The nesting of arrays and maps: 0 for a scalar.
    pub fn depth(&self) -> usize {
        let mut deepest = 0;
        let mut todo = vec![(self, 0)];
        while let Some((content, above)) = todo.pop() {
            match content {
                Self::Array(items) => todo.extend(items.iter().map(|item| (item, above + 1))),
                Self::Map(map) => todo.extend(map.iter().map(|(_, item)| (item, above + 1))),
                _ => continue,
            }
            deepest = deepest.max(above + 1);
        }
        deepest
    }

    /// Checks the limits of what is written: [`MAX_CONTENT_DEPTH`] and [`MAX_CONTENT_BYTES`].
    ///
    /// What is read, or carried over from an older store, is bound by neither.
    pub fn check_writable(&self) -> Result<(), ContentError> {
        let size = self.encoded_size()?;
        if size > MAX_CONTENT_BYTES {
            return Err(ContentProblem::TooLarge(size).into());
        }
        Ok(())
    }

    /// The length of the encoding in bytes, without encoding. Content that nests deeper than
    /// [`MAX_CONTENT_DEPTH`] is refused with the path to where it does.
    pub fn encoded_size(&self) -> Result<usize, ContentError> {
        self.measure(MAX_CONTENT_DEPTH)
    }

    /// The length of the encoding in bytes, of content that nests at most `room` levels; the
    /// recursion ends there.
    fn measure(&self, room: usize) -> Result<usize, ContentError> {
        let size = match self {
            Self::Null | Self::Bool(_) => 1,
            Self::Integer(value) => argument_size(value.argument()),
            Self::Float(value) => 1 + value.width(),
            Self::Text(text) => text_size(text),
            Self::Array(items) => {
                let room = room.checked_sub(1).ok_or(ContentProblem::TooDeep)?;
                let mut size = argument_size(items.len() as u64);
                for (index, item) in items.iter().enumerate() {
                    size += item.measure(room).map_err(|error| error.under_index(index))?;
                }
                size
            }
            Self::Map(map) => {
                let room = room.checked_sub(1).ok_or(ContentProblem::TooDeep)?;
                let mut size = argument_size(map.len() as u64);
                for (key, value) in map.iter() {
                    let value = value.measure(room).map_err(|error| error.under_key(key))?;
                    size += text_size(key) + value;
                }
                size
            }
        };
        Ok(size)
    }

    /// The map, when the content is one.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The text, when the content is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for Content {
    /// The content as one line of JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => {
                match (i64::try_from(value.get()), u64::try_from(value.get())) {
                    (Ok(value), _) => serializer.serialize_i64(value),
                    (_, Ok(value)) => serializer.serialize_u64(value),
                    _ => Err(serde::ser::Error::custom("integer out of range")),
                }
            }
            Self::Float(value) => serializer.serialize_f64(value.get()),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut array = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    array.serialize_element(item)?;
                }
                array.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries.iter() {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// Which rule of content is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentProblem {
    /// NaN or an infinity.
    #[error("not a finite number")]
    NotFinite,
    /// An integer below -2^63 or above 2^64-1.
    #[error("an integer outside -2^63 to 2^64-1")]
    IntegerOutOfRange,
    /// Nested more than [`MAX_CONTENT_DEPTH`] deep.
    #[error("nested more than {MAX_CONTENT_DEPTH} arrays and maps deep")]
    TooDeep,
    /// Larger than [`MAX_CONTENT_BYTES`] once encoded.
    #[error("{0} bytes once encoded, more than {MAX_CONTENT_BYTES}")]
    TooLarge(usize),
    /// One map has a key twice.
    #[error("the key {0:?} stands twice")]
    DuplicateKey(String),
    /// A value of a type that JSON does not have.
    #[error(
        "a value of type {0} cannot be stored; content is null, a boolean, a number, text, a list or a map"
    )]
    UnsupportedType(String),
    /// A map key of a type that JSON cannot make text of.
    #[error("a value of type {0} cannot be a key; keys are text, a number, a boolean or null")]
    UnsupportedKey(String),
    /// Text with a lone surrogate, which UTF-8 cannot hold.
    #[error("text with a lone surrogate")]
    LoneSurrogate,
    /// A container that contains itself.
    #[error("a container that contains itself")]
    Cycle,
    /// Text that is no JSON.
    #[error("not valid JSON: {0}")]
    NotJson(String),
}

/// A broken rule of content, and the path to the value that breaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentError {
    path: String,
    problem: ContentProblem,
}

impl ContentError {
    /// The same error, seen from the map that holds the value under `key`.
    #[must_use]
    pub fn under_key(mut self, key: &str) -> Self {
        let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let step = if plain && !key.is_empty() { format!(".{key}") } else { format!("[{key:?}]") };
        self.path.insert_str(0, &step);
        self
    }

    /// The same error, seen from the list that holds the value at `index`.
    #[must_use]
    pub fn under_index(mut self, index: usize) -> Self {
        self.path.insert_str(0, &format!("[{index}]"));
        self
    }

    /// Which rule is broken.
    pub fn problem(&self) -> &ContentProblem {
        &self.problem
    }

    /// Whether the value has a type that cannot be stored at all.
    pub fn is_type_error(&self) -> bool {
        matches!(
            self.problem,
            ContentProblem::UnsupportedType(_) | ContentProblem::UnsupportedKey(_)
        )
    }
}

impl From<ContentProblem> for ContentError {
    fn from(problem: ContentProblem) -> Self {
        Self { path: String::new(), problem }
    }
}

impl fmt::Display for ContentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Text that is no JSON has no values yet; its error says line and column.
        if matches!(self.problem, ContentProblem::NotJson(_)) {
            return self.problem.fmt(f);
        }
        // A path as deep as the limit would bury the message.
        let steps: Vec<char> = self.path.chars().collect();
        match steps.get(..200) {
            Some(start) if steps.len() > 200 => {
                write!(f, "content{}…: {}", start.iter().collect::<String>(), self.problem)
            }
            _ => write!(f, "content{}: {}", self.path, self.problem),
        }
    }
}

impl std::error::Error for ContentError {}
