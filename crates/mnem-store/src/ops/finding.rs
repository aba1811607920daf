//! What a check of a store can find, a kind each, with its sentence and what helps.

use std::fmt;
use std::path::PathBuf;

use crate::error::Hint;
use crate::id::{BranchName, CommitId, NodeId, ObjectId};

/// One thing that is wrong. Shown as a sentence that names what it is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// The data file as a whole is not what was written.
    File(String),
    /// Nothing of a store is in the data file: it is missing, empty, or another program's.
    Empty(String),
    /// `config` does not say what the store is.
    Config(String),
    /// Rows of the log, from this number to that, cannot be read.
    Entries {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
        /// Why not the first.
        why: String,
    },
    /// A row of another table cannot be read, or some are lost.
    Row(String),
    /// The index does not find what is there, or names what is not.
    Index(String),
    /// An object is missing, cannot be read, or says what is not so of another.
    Object(String),
    /// The same where everything else can be read: the object is nowhere, and stays lost. What a
    /// repair could not save is told so ever after.
    Lost(String),
    /// A commit has no record.
    NoRecord(CommitId),
    /// The record of a commit says what does not follow from the commit.
    Derived {
        /// The commit.
        commit: CommitId,
        /// What the record is wrong about.
        what: &'static str,
    },
    /// A branch points elsewhere than its newest record says.
    Branch {
        /// The branch.
        name: BranchName,
        /// Where it points.
        at: Option<CommitId>,
        /// Where it was moved last.
        recorded: Option<CommitId>,
    },
    /// The commit a branch points at cannot be read.
    Tip {
        /// The branch.
        name: BranchName,
        /// Why not.
        why: String,
    },
    /// HEAD says nothing, or names what is not there.
    Head(String),
    /// What is staged cannot be read.
    Staged {
        /// The node.
        id: NodeId,
        /// Why not.
        why: String,
    },
    /// One of the files by which processes take turns is not as the store makes it.
    Lease {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An object is stored twice; the first counts, and nothing is lost.
    Twice {
        /// The object.
        id: ObjectId,
        /// The number that counts.
        first: u64,
        /// The other number.
        again: u64,
    },
    /// A branch was moved at a time more than a day ahead of the store's clock.
    Ahead {
        /// The branch, or none for commits that came without a move.
        name: Option<BranchName>,
        /// The latest such time, in Unix milliseconds.
        time: i64,
    },
    /// A process that ended in the middle of something left a file or a directory, which nothing
    /// uses.
    Leftover(PathBuf),
    /// A data file with a higher number than the one in use.
    Unused(PathBuf),
    /// No copy of the data file could be made for the check: others waited for it.
    NoRoom {
        /// The data file.
        path: PathBuf,
        /// Its length, in bytes.
        wanted: u64,
        /// How many bytes are free.
        free: u64,
    },
    /// The process that had the store last was killed, or its machine stopped. What it had
    /// acknowledged is there.
    Killed {
        /// Which one.
        process: String,
    },
}

impl Finding {
    /// Whether this harms nothing.
    pub fn is_warning(&self) -> bool {
        use Finding::{Ahead, Killed, Leftover, NoRoom, Twice, Unused};
        matches!(
            self,
            Twice { .. } | Ahead { .. } | Leftover(_) | Unused(_) | NoRoom { .. } | Killed { .. }
        )
    }

    /// Whether a repair has something to do about it.
    pub fn is_repairable(&self) -> bool {
        use Finding::{Config, Empty, Lease, Leftover, Lost};
        match self {
            Leftover(_) => true,
            Empty(_) | Config(_) | Lost(_) | Lease { .. } => false,
            _ => !self.is_warning(),
        }
    }

    /// Whether some row cannot be read or found.
    pub(super) fn is_of_rows(&self) -> bool {
        matches!(self, Self::File(_) | Self::Entries { .. } | Self::Row(_) | Self::Index(_))
    }

    /// What kind of thing is wrong, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::File(_) | Self::Empty(_) => "file",
            Self::Config(_) => "config",
            Self::Entries { .. } => "entries",
            Self::Row(_) => "row",
            Self::Index(_) => "index",
            Self::Object(_) => "object",
            Self::Lost(_) => "lost",
            Self::NoRecord(_) => "no_record",
            Self::Derived { .. } => "derived",
            Self::Branch { .. } => "branch",
            Self::Tip { .. } => "tip",
            Self::Head(_) => "head",
            Self::Staged { .. } => "staged",
            Self::Lease { .. } => "lease",
            Self::Twice { .. } => "twice",
            Self::Ahead { .. } => "ahead",
            Self::Leftover(_) => "leftover",
            Self::Unused(_) => "unused",
            Self::NoRoom { .. } => "room",
            Self::Killed { .. } => "killed",
        }
    }

    /// What helps.
    pub fn hint(&self) -> Hint {
        match self {
            Self::Empty(_) => Hint::NothingToSave,
            Self::Config(_) => Hint::Config,
            Self::Lost(_) => Hint::StaysLost,
            Self::Twice { .. } => Hint::StoredTwice,
            Self::Leftover(_) => Hint::Leftover,
            Self::Unused(_) => Hint::Unused,
            Self::NoRoom { .. } => Hint::MakeRoom,
            Self::Killed { .. } => Hint::Killed,
            Self::Head(_) => Hint::MoveHead,
            Self::Staged { .. } => Hint::Unstage,
            Self::Ahead { .. } => Hint::ListMoves,
            Self::Lease { .. } => Hint::RemoveFile,
            Self::Object(_) => Hint::WriteAgain,
            _ => Hint::Repair,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(what)
            | Self::Empty(what)
            | Self::Config(what)
            | Self::Row(what)
            | Self::Index(what)
            | Self::Object(what)
            | Self::Lost(what)
            | Self::Head(what) => f.write_str(what),
            Self::Entries { first, last, why } if first == last => f.write_str(why),
            Self::Entries { first, last, why } => {
                write!(f, "the rows {first} to {last} of the table log are damaged: {why}")
            }
            Self::NoRecord(commit) => write!(f, "the commit {commit} has no record"),
            Self::Derived { commit, what } => {
                write!(f, "the record of the commit {commit} has another {what} than the commit")
            }
            Self::Branch { name, at, recorded } => {
                match at {
                    Some(at) => write!(f, "the branch {name} is at {at}")?,
                    None => write!(f, "the branch {name} is missing")?,
                }
                match recorded {
                    Some(recorded) => write!(f, ", and it was last moved to {recorded}"),
                    None => f.write_str(", and it was deleted"),
                }
            }
            Self::Tip { name, why } => {
                write!(f, "the commit of the branch {name} cannot be read: {why}")
            }
            Self::Staged { id, why } => write!(f, "the staged node {id:?} cannot be read: {why}"),
            Self::Lease { path, what } => write!(f, "{} {what}", path.display()),
            Self::Twice { id, first, again } => {
                write!(
                    f,
                    "the object {id} stands at {first} and again at {again}; the first counts"
                )
            }
            Self::Ahead { name, time } => {
                match name {
                    Some(name) => write!(f, "the branch {name} was moved")?,
                    None => f.write_str("a commit came")?,
                }
                write!(f, " at {time} ms, more than a day ahead of this machine's clock")
            }
            Self::Leftover(path) => {
                write!(f, "{} was left by a process that ended too early", path.display())
            }
            Self::Unused(path) => {
                write!(f, "{} is a newer data file than the one in use", path.display())
            }
            Self::NoRoom { path, wanted, free } => {
                let path = path.display();
                write!(
                    f,
                    "there is no room for a copy of {path} to be checked: it takes {wanted} bytes, \
                     and {free} are free; others waited until it was checked where it lies"
                )
            }
            Self::Killed { process } => {
                write!(
                    f,
                    "{process} had the store and did not close it: it was killed, or its machine stopped"
                )
            }
        }
    }
}
