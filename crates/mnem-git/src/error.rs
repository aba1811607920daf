//! Failures: one sentence, what helps, and the exit code.

use mnem_store::{Error, ErrorKind};

/// The exit code of a question whose answer is no.
pub const NO: u8 = 1;
/// The exit code of wrong usage.
pub const USAGE: u8 = 2;
/// The exit code of everything else that goes wrong.
pub const TROUBLE: u8 = 3;

/// What helps where the engine has no hint. Words between backquotes are a command that exists.
pub const HINTS: [&str; 12] = [
    HINT_BRANCH,
    HINT_EMPTY,
    HINT_EXPORT,
    HINT_GET,
    HINT_JSON_TEXT,
    HINT_LOG,
    HINT_NEVER,
    HINT_NEW,
    HINT_SOURCE,
    HINT_TRANSCRIPT_NAME,
    HINT_USAGE,
    HINT_YES,
];
/// A command that is on no branch.
pub const HINT_BRANCH: &str = "`mnem remember ID CONTENT --branch NAME` writes to a branch; `mnem checkout NAME` switches to it";
/// Empty text is asked for.
pub const HINT_EMPTY: &str = r#"`mnem remember ID CONTENT` takes it as an argument; `mnem remember ID --content-json '""'` writes empty text"#;
/// An answer in JSON beside a stream.
pub const HINT_EXPORT: &str = "`mnem export FILE --json` writes the stream to a file";
/// A node where a revision belongs.
pub const HINT_GET: &str = "`mnem get ID` prints one memory; `mnem show REV` prints all of it";
/// Text in JSON.
pub const HINT_JSON_TEXT: &str =
    r#"in JSON, text and keys stand in double quotes: '"degraded"', '{"plan": "pro"}'"#;
/// A history of nothing.
pub const HINT_LOG: &str = "`mnem branch` lists the branches, `mnem show` the memory";
/// A content that never was.
pub const HINT_NEVER: &str =
    "`mnem get ID` prints what it says; equality is exact, so 1 is not 1.0";
/// Both an id and `--new`.
pub const HINT_NEW: &str =
    "`mnem remember --new CONTENT` makes the id; `mnem remember ID CONTENT` takes one";
/// Memories from standard input.
pub const HINT_SOURCE: &str = "`mnem import-json - --source NAME` gives it one";
/// A transcript from standard input.
pub const HINT_TRANSCRIPT_NAME: &str = "`mnem import-chat FILE --transcript NAME` gives it one";
/// A repair that nobody can be asked about.
pub const HINT_YES: &str =
    "`mnem fsck` lists what is damaged; `mnem fsck --repair --yes` repairs without asking";
/// A command line that does not parse.
pub const HINT_USAGE: &str = "`mnem --help` lists the commands";

/// Words of other tools, and what does here what they mean.
pub const OTHER_WORDS: [(&[&str], &str); 8] = [
    (&["cat", "list", "ls", "recall"], "`mnem show` lists the memory, `mnem get ID` prints one"),
    (&["put", "save", "set", "store", "write"], "`mnem remember ID CONTENT` writes a memory"),
    (&["delete", "del", "remove"], "`mnem forget ID` removes a memory with a commit"),
    (&["history"], "`mnem log` lists the commits, `mnem log ID` those of one memory"),
    (&["switch", "tag"], "`mnem branch NAME` names a commit, `mnem checkout NAME` goes there"),
    (
        &["reset", "rollback"],
        "`mnem undo` takes back the last move, `mnem restore ID REV` one memory",
    ),
    (&["stash"], "`mnem commit -m MESSAGE` keeps what is staged, `mnem unstage ID` takes it out"),
    (
        &["clone", "fetch", "pull", "push"],
        "`mnem export FILE` and `mnem import FILE PATH` carry a store",
    ),
];

/// Why a command did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub exit: u8,
    /// The code that `--json` prints: of [`ErrorKind::code`], or `usage`, or `internal`.
    pub code: &'static str,
    /// One sentence, with the id or path it concerns.
    pub message: String,
    /// What helps, when something does.
    pub hint: Option<String>,
}

impl Failure {
    /// A question whose answer is no.
    pub fn no(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { exit: NO, code: kind.code(), message: message.into(), hint: None }
    }

    /// A command line that cannot be meant.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: USAGE, code: "usage", message: message.into(), hint: None }
    }

    /// A refusal of the operating system.
    pub fn system(message: impl Into<String>) -> Self {
        Self { exit: TROUBLE, code: ErrorKind::Io.code(), message: message.into(), hint: None }
    }

    /// A fault of this program.
    pub fn panicked(reason: &str) -> Self {
        Self {
            exit: TROUBLE,
            code: "internal",
            message: format!("mnem met a fault of its own: {reason}"),
            hint: Some("please report it with the command that met it".into()),
        }
    }

    /// An argument that breaks a rule of the format: wrong usage, told in the format's words.
    pub fn argument(error: &Error) -> Self {
        Self { exit: USAGE, ..Self::of(error) }
    }

    /// The same failure with what helps.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn of(error: &Error) -> Self {
        let exit = match error.kind() {
            ErrorKind::NotFound | ErrorKind::InvalidRef | ErrorKind::Conflict => NO,
            ErrorKind::Busy
            | ErrorKind::CorruptStore
            | ErrorKind::FormatVersion
            | ErrorKind::StoreExists
            | ErrorKind::NoStore
            | ErrorKind::Io => TROUBLE,
        };
        // Content comes from the command line, a file or standard input, never from the store.
        let exit = if error.content().is_some() { USAGE } else { exit };
        Self {
            exit,
            code: error.kind().code(),
            message: error.to_string(),
            hint: error.hint_text().map(str::to_owned),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::of(&error)
    }
}
