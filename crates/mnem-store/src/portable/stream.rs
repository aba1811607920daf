//! The stream that a whole store crosses a border as: one JSON document a line
//! (`docs/format/export.md`).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::id::{ObjectId, hex_value};

/// The name of the stream's schema, in its first line.
pub const SCHEMA: &str = "mnem.export";

/// The version of the stream that is written and read.
pub const VERSION: u32 = 1;

/// The longest line, in bytes, its end not counted. An object of half of that does not fit.
pub const MAX_LINE_BYTES: usize = 256 << 20;

/// What of a store is not in the stream, as its first line says.
pub const LEFT_OUT: [&str; 3] = ["local rows", "reflog", "staging"];

/// What a stream held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carried {
    /// Memory node versions.
    pub nodes: u64,
    /// State objects.
    pub states: u64,
    /// Commits.
    pub commits: u64,
    /// Branches.
    pub branches: u64,
}

impl Carried {
    /// How many objects there were.
    pub fn objects(&self) -> u64 {
        self.nodes.saturating_add(self.states).saturating_add(self.commits)
    }

    pub(super) fn add(&mut self, kind: crate::object::Kind) {
        match kind {
            crate::object::Kind::Node => self.nodes += 1,
            crate::object::Kind::State => self.states += 1,
            crate::object::Kind::Commit => self.commits += 1,
        }
    }
}

/// One line. They stand in this order.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line<'l> {
    /// The first.
    Header {
        schema: Cow<'l, str>,
        version: u32,
        format_version: u64,
        default_branch: Cow<'l, str>,
        salted: bool,
        left_out: Vec<Cow<'l, str>>,
    },
    /// After everything that it names.
    Object {
        kind: Cow<'l, str>,
        id: Cow<'l, str>,
        /// The canonical bytes, in hexadecimal digits.
        #[serde(borrow)]
        bytes: Cow<'l, str>,
    },
    /// In the order of their names.
    Branch { name: Cow<'l, str>, commit: Cow<'l, str> },
    /// A branch, or a commit.
    Head {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<Cow<'l, str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<Cow<'l, str>>,
    },
    /// The last: what there was, and the BLAKE3 of all lines before, their ends included.
    End { counts: Carried, blake3: Cow<'l, str> },
}

impl Line<'_> {
    /// The line's text, with its end.
    pub(super) fn render(&self) -> Result<Vec<u8>, Error> {
        let mut text = serde_json::to_vec(self)
            .map_err(|error| Error::io("cannot write an export", error.into()))?;
        text.push(b'\n');
        Ok(text)
    }
}

/// The hash of the lines so far.
#[derive(Debug, Default)]
pub(super) struct Seal(blake3::Hasher);

impl Seal {
    pub(super) fn add(&mut self, line: &[u8]) {
        self.0.update(line);
    }

    pub(super) fn id(&self) -> ObjectId {
        ObjectId::from_bytes(*self.0.finalize().as_bytes())
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

/// The bytes that an even number of lowercase digits stands for.
pub(super) fn unhex(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Some(hex_value(*high)? << 4 | hex_value(*low)?);
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}
