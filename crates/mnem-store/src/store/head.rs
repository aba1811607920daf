//! HEAD: the branch one is on, or the commit one looks at.

use crate::error::Error;
use crate::id::{BranchName, CommitId};

/// Where one is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// On a branch, which may have no commit yet. The next commit moves it.
    Attached(BranchName),
    /// At a commit. Nothing can be committed from here.
    Detached(CommitId),
}

impl Head {
    /// The file's line, without the newline; also what the SDK's `head()` returns.
    pub fn render(&self) -> String {
        match self {
            Self::Attached(branch) => format!("ref: {branch}"),
            Self::Detached(commit) => commit.to_string(),
        }
    }

    /// Reads the file's text: one line, with or without a newline.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let line = text.strip_suffix('\n').unwrap_or(text);
        match line.strip_prefix("ref: ") {
            Some(name) if !name.is_empty() && !name.contains(char::is_control) => {
                Ok(Self::Attached(BranchName::from_stored(name)))
            }
            Some(_) => Err(Error::corrupt(format!("HEAD names the branch {line:?}"))),
            None => line.parse().map(Self::Detached).map_err(|_| {
                let start: String = line.chars().take(40).collect();
                Error::corrupt(format!("HEAD holds {start:?}, neither a branch nor a commit id"))
            }),
        }
    }
}
