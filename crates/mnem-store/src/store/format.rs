//! The versions of the format, and what each decides.

use crate::error::{Error, ErrorKind, Hint};

/// A version of the format that this release knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FormatVersion {
    /// Written by the original: flat states, a redb 2 file.
    V1,
    /// Written by this release: states as trees, salts, records.
    V2,
}

impl FormatVersion {
    /// The version that is written.
    pub const CURRENT: Self = Self::V2;

    /// Every version that is read.
    pub const ALL: [Self; 2] = [Self::V1, Self::V2];

    /// The number in `config`.
    pub const fn number(self) -> u64 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }
}

impl TryFrom<u64> for FormatVersion {
    type Error = Error;

    fn try_from(number: u64) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|version| version.number() == number).ok_or_else(|| {
            Error::new(
                ErrorKind::FormatVersion,
                format!(
                    "this store has format version {number}; this release reads up to {}",
                    Self::CURRENT.number()
                ),
            )
            .hint(Hint::Upgrade)
        })
    }
}
