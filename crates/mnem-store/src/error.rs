//! What can go wrong: one error type, its kinds, and hints that name a command.

use std::fmt::{self, Write};

use crate::id::{CommitId, NodeId};
use crate::object::content::ContentError;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// What went wrong, in one sentence, with the id or path it concerns.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<Hint>,
    content: Option<ContentError>,
    stale: Option<Box<Stale>>,
    source: Option<Source>,
}

/// What a write was refused over: its base is stale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The commit that the write began from.
    pub base: CommitId,
    /// Where the branch is.
    pub tip: Option<CommitId>,
    /// The nodes that the write changes and of which the branch says something else by now.
    pub nodes: Vec<NodeId>,
}

/// The kinds of error. Exit codes and Python classes are chosen by these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// A node, commit or object that was asked for is not there.
    NotFound,
    /// The request itself is not valid: a name, a revision, content, or its state forbids it.
    InvalidRef,
    /// The branch moved, or the write would overwrite a change its caller has not seen.
    Conflict,
    /// Another process held the store for longer than the caller was willing to wait.
    Busy,
    /// What is stored is not what was written.
    CorruptStore,
    /// The store has a format that this release does not read or write.
    FormatVersion,
    /// A store already exists at or above this path.
    StoreExists,
    /// There is no store at or above this path.
    NoStore,
    /// The operating system refused: disk, permissions, a closed handle.
    Io,
}

impl ErrorKind {
    /// Every kind; bindings test that each has a face of its own.
    pub const ALL: [Self; 9] = [
        Self::NotFound,
        Self::InvalidRef,
        Self::Conflict,
        Self::Busy,
        Self::CorruptStore,
        Self::FormatVersion,
        Self::StoreExists,
        Self::NoStore,
        Self::Io,
    ];

    /// The code that adapters and `--json` print.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::InvalidRef => "invalid_ref",
            Self::Conflict => "conflict",
            Self::Busy => "busy",
            Self::CorruptStore => "corrupt_store",
            Self::FormatVersion => "format_version",
            Self::StoreExists => "store_exists",
            Self::NoStore => "no_store",
            Self::Io => "store_io",
        }
    }
}

macro_rules! hints {
    ($($name:ident => $text:literal,)*) => {
        /// What helps. Words between backquotes are a command that exists: a test runs each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // the text beside each name is its documentation
        pub enum Hint { $($name,)* }

        impl Hint {
            /// Every hint.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The hint as printed after `hint:`.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

hints! {
    Init => "`mnem init PATH` makes a store",
    Directory => "a store is a directory: `mnem init PATH`",
    OtherStore => "name a directory outside it, or use the store that is there with `mnem status`",
    ListLog => "`mnem log --oneline` lists the commits",
    TimeForm => "`mnem show 'main@{2026-10-17T18:29:55+02:00}'` names a time; without an offset it is in UTC",
    ListMoves => "`mnem reflog` lists the moves of a branch",
    ListBranches => "`mnem branch` lists the branches",
    BranchNames => "names may have letters, digits, '-', '_', '.' and '/': `mnem branch NAME`",
    ListNodes => "`mnem show` lists the memory",
    FirstCommit => "`mnem remember ID CONTENT` makes the first commit",
    StageSomething => "`mnem add ID CONTENT` stages a node; `mnem remember ID CONTENT` writes one at once",
    ListStaged => "`mnem status` lists what is staged",
    StartBranch => "`mnem checkout -b NAME` starts a branch here",
    CommitOrDiscard => "`mnem commit -m MESSAGE` keeps the staged changes; `mnem checkout REV --discard` drops them",
    CommitStaged => "`mnem commit -m MESSAGE` keeps the staged changes; `mnem status` lists them",
    SwitchFirst => "`mnem checkout BRANCH` switches to another branch first",
    Resolve => "`mnem merge BRANCH --resolve ID=ours` (theirs, base, delete), or `--strategy ours`",
    ConflictsOnly => "without resolutions the conflicts are listed: `mnem merge BRANCH`, `mnem revert COMMIT`",
    AllowUnrelated => "`mnem merge BRANCH --allow-unrelated` merges it over the empty memory",
    Fsck => "`mnem fsck` lists what is damaged",
    Repair => "`mnem fsck --repair` saves what can be read",
    NothingToSave => "bring the data file back from a copy; `mnem import FILE PATH` makes a store of an export",
    StaysLost => "`mnem remember ID CONTENT` writes a lost memory again; the rest is only in a copy of the store, or in an export: `mnem import FILE PATH`",
    StoredTwice => "nothing is lost: the first one counts; `mnem verify` reads it",
    Config => "bring `config` back from a copy, or take the one of a new store, `mnem init PATH`; its last line names the data file, `store.redb`, or `store.N.redb` after a repair or a migration, and `mnem fsck` says whether it is the right one",
    Leftover => "`mnem fsck --repair` removes it once it is sure that no process uses it",
    Killed => "nothing that was acknowledged is lost; the next command puts the data file in order: `mnem status`",
    OtherProgram => "name another directory: `mnem init PATH` makes a store there, `mnem -C PATH status` looks at one",
    Unused => "what a repair or a migration left that stopped can be removed; where `config` came back from an older copy, this may be the store: name it in the last line of `config` and ask `mnem fsck`",
    RemoveFile => "nothing in it is needed: stop what uses the store and remove it, and the next command makes it anew: `mnem status`",
    MakeRoom => "make room on the disk, or move the store to a larger one; `mnem stats` says how large it is",
    WriteAgain => "`mnem fsck --repair` saves what can be read; `mnem remember ID CONTENT` writes a lost memory again",
    MoveHead => "`mnem checkout BRANCH` moves HEAD; `mnem fsck --repair` puts it on the default branch",
    Unstage => "`mnem unstage ID` drops a draft",
    Retry => "read the branch again and retry: `mnem log -n 1`",
    Upgrade => "a newer release of mnem reads this store; `mnem --version` names this one",
    Migrate => "`mnem migrate` brings the store to the format of this release; ids stay, and nothing is lost",
    ExportAgain => "`mnem export FILE`, at the store it came from, writes it again",
    ExportToPipe => "`mnem export -` writes to standard output",
    OtherTranscript => "`mnem import-chat FILE --transcript NAME` under another name keeps both",
    WaitOrStop => "wait for the other process to finish, or stop it",
    CheckPermissions => "check that the path is right, that it can be read and written, and that the disk has room",
    AllowNetwork => "move the store to a disk of this machine; where no other machine uses it, MNEM_ALLOW_NETWORK=1 allows it: `mnem status`",
    Reopen => "open the store again",
    ListFlips => "without `--good` every flip is listed: `mnem bisect --node ID --equals JSON`",
}

impl Error {
    /// An error of this kind with this sentence.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = one_line(message.into());
        Self { kind, message, hint: None, content: None, stale: None, source: None }
    }

    /// A node, commit or object that is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// A request that is not valid.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRef, message)
    }

    /// A write that would overwrite what its caller has not seen.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// Stored bytes that are not what was written.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::CorruptStore, message).hint(Hint::Fsck)
    }

    /// A refusal of the operating system while doing something to a path.
    pub fn io(doing: impl fmt::Display, source: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, format!("{doing}: {source}"))
            .hint(Hint::CheckPermissions)
            .caused_by(source)
    }

    /// The same error with a hint.
    #[must_use]
    pub fn hint(mut self, hint: Hint) -> Self {
        self.hint = Some(hint);
        self
    }

    /// The same error with what caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Source>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same error with what is stale.
    #[must_use]
    pub(crate) fn over(mut self, stale: Stale) -> Self {
        self.stale = Some(Box::new(stale));
        self
    }

    /// The same sentence for another who waited for the same thing.
    pub(crate) fn repeat(&self) -> Self {
        let (content, stale) = (self.content.clone(), self.stale.clone());
        Self { hint: self.hint, content, stale, ..Self::new(self.kind, self.message.clone()) }
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What helps, when something does.
    pub fn hint_text(&self) -> Option<&'static str> {
        self.hint.map(Hint::text)
    }

    /// What is stale, when a write was refused over its base; `Store::stale_conflicts` makes
    /// conflicts of it.
    pub fn stale(&self) -> Option<&Stale> {
        self.stale.as_deref()
    }

    /// The rule of content that was broken, and where, when that is what went wrong.
    pub fn content(&self) -> Option<&ContentError> {
        self.content.as_ref()
    }
}

/// A sentence with its control characters as escapes, as JSON writes them: it may quote what anybody
/// wrote, and whoever prints it may have a terminal.
fn one_line(sentence: String) -> String {
    if !sentence.contains(char::is_control) {
        return sentence;
    }
    let mut line = String::with_capacity(sentence.len());
    for character in sentence.chars() {
        match character {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            other if other.is_control() => {
                let _ = write!(line, "\\u{:04x}", u32::from(other)); // into a String
            }
            other => line.push(other),
        }
    }
    line
}

impl From<ContentError> for Error {
    fn from(error: ContentError) -> Self {
        let mut whole = Self::invalid(error.to_string());
        whole.content = Some(error);
        whole
    }
}
