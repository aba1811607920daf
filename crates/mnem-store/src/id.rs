//! Names of things: object ids by kind, node ids, branch names.
//!
//! Ids of different kinds are different types, so that a commit id cannot be passed where a
//! state id is meant. A [`NodeId`] and a [`BranchName`] are checked where they are made for
//! writing; what an older store already holds is read through `from_stored`, unchecked.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Hint};

/// The longest node id that is written, in bytes of UTF-8.
pub const MAX_NODE_ID_BYTES: usize = 1_024;

/// The shortest hexadecimal prefix that may stand for an id.
pub const MIN_PREFIX_DIGITS: usize = 4;

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 32]);

        impl $name {
            /// The id made of these 32 bytes.
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// The id made of this slice, when it has 32 bytes.
            pub fn from_slice(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self)
            }

            /// The 32 bytes of the id.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }

            /// The first twelve hexadecimal digits, as people read it.
            pub fn short(&self) -> String {
                self.to_string().chars().take(12).collect()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        /// All of it: what tests compare as text must not agree where ids differ.
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = Error;

            /// Reads exactly 64 lowercase hexadecimal digits.
            fn from_str(text: &str) -> Result<Self, Error> {
                parse_hex(text).map(Self).ok_or_else(|| {
                    Error::invalid(format!("{text:?} is not an id of 64 lowercase hexadecimal digits"))
                })
            }
        }
    };
}

id_type! {
    /// The BLAKE3 hash of an object's canonical bytes.
    ObjectId
}
id_type! {
    /// The id of a commit object.
    CommitId
}
id_type! {
    /// The id of a state object: the root of a tree, or one of its nodes.
    StateId
}
id_type! {
    /// The id of a memory node object: one version of one node.
    NodeVersionId
}

macro_rules! object_id_from {
    ($($name:ident)*) => {$(
        impl From<$name> for ObjectId {
            fn from(id: $name) -> Self {
                Self(id.0)
            }
        }

        impl From<ObjectId> for $name {
            fn from(id: ObjectId) -> Self {
                Self(id.0)
            }
        }
    )*};
}
object_id_from!(CommitId StateId NodeVersionId);

impl ObjectId {
    /// The smallest and the largest id that begin with these hexadecimal digits, which may be
    /// odd in number; `None` when they are no hexadecimal digits or more than 64.
    pub fn prefix_range(digits: &str) -> Option<std::ops::RangeInclusive<Self>> {
        if digits.len() > 64 {
            return None;
        }
        let low = parse_hex(&format!("{digits:0<64}"))?;
        let high = parse_hex(&format!("{digits:f<64}"))?;
        Some(Self(low)..=Self(high))
    }

    /// Every id there is, as a range.
    pub const fn all() -> std::ops::RangeInclusive<Self> {
        Self([0; 32])..=Self([0xff; 32])
    }
}

fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = hex_value(*high)? << 4 | hex_value(*low)?;
    }
    Some(bytes)
}

pub(crate) fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// The name of a memory: what stays the same while its content changes.
///
/// Ordered by its bytes, which is the order of every listing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(String);

impl NodeId {
    /// Checks an id that is about to be written: 1 to [`MAX_NODE_ID_BYTES`] bytes, no NUL.
    ///
    /// ```
    /// # use mnem_store::NodeId;
    /// assert!(NodeId::new("customer-4821").is_ok());
    /// assert!(NodeId::new("").is_err());
    /// ```
    pub fn new(id: impl Into<String>) -> Result<Self, Error> {
        let id = id.into();
        if id.is_empty() {
            return Err(Error::invalid("a node id must not be empty"));
        }
        if id.len() > MAX_NODE_ID_BYTES {
            let start: String = id.chars().take(40).collect();
            return Err(Error::invalid(format!(
                "the node id {start:?}… has {} bytes, more than {MAX_NODE_ID_BYTES}",
                id.len()
            )));
        }
        if id.contains('\0') {
            return Err(Error::invalid(format!("the node id {id:?} contains a NUL character")));
        }
        Ok(Self(id))
    }

    /// An id that a store already holds; older stores had no limits.
    pub fn from_stored(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for NodeId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// The name of a branch.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchName(String);

impl BranchName {
    /// Checks a name that is about to be written.
    ///
    /// Letters, digits, `-`, `_`, `.` and `/`; neither end is `/` or `.`; no `..`; not `HEAD`;
    /// not 64 hexadecimal digits, which would hide a commit (`docs/format/`, "Branches").
    pub fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        let problem = if name.is_empty() {
            "must not be empty"
        } else if name == "HEAD" {
            "is reserved"
        } else if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
            "must not contain whitespace or control characters"
        } else if !name.chars().all(|c| c.is_alphanumeric() || "-_./".contains(c)) {
            "may contain letters, digits, '-', '_', '.' and '/' only"
        } else if name.starts_with(['/', '.']) || name.ends_with(['/', '.']) {
            "must not begin or end with '/' or '.'"
        } else if name.contains("..") {
            "must not contain '..'"
        } else if name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit()) {
            "must not look like a commit id"
        } else {
            return Ok(Self(name));
        };
        Err(Error::invalid(format!("the branch name {name:?} {problem}")).hint(Hint::BranchNames))
    }

    /// A name that a store already holds; older stores allowed a few more.
    pub fn from_stored(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
