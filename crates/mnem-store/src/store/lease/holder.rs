//! What `holder` says: who has the store, what it does, and a count of the writes.

use std::fs::File;
use std::path::Path;

use crate::store::files;

/// How long `holder` is once somebody has held the store.
pub(crate) const HOLDER_BYTES: u64 = 128;

/// The line in `holder`.
pub(super) struct Holder {
    /// Raised at each acquire and before each write is answered.
    pub(super) counter: u64,
    pub(super) state: HolderState,
    pub(super) pid: u32,
    pub(super) host: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HolderState {
    Holding,
    /// The data file of a killed process is walked, which may take long.
    Repairing,
    /// The store was let go.
    Free,
}

impl HolderState {
    const ALL: [Self; 3] = [Self::Holding, Self::Repairing, Self::Free];

    const fn word(self) -> &'static str {
        match self {
            Self::Holding => "holding",
            Self::Repairing => "repairing",
            Self::Free => "free",
        }
    }
}

impl Holder {
    /// Written without a sync: it says what a process that lives does.
    pub(super) fn write(&self, file: &File, path: &Path) {
        let host: String = self.host.chars().filter(char::is_ascii_graphic).take(64).collect();
        let line = format!("{:016x} {} {} {host}", self.counter, self.state.word(), self.pid);
        // What cannot be written here is missed by readers alone: they take the lease.
        let _ = files::write_at_start(file, path, format!("{line:<127}\n").as_bytes());
    }

    pub(super) fn read(file: &File) -> Option<Self> {
        let mut bytes = [0; 128];
        let length = files::read_at_start(file, &mut bytes).ok()?;
        let text = str::from_utf8(bytes.get(..length)?).ok()?;
        let mut words = text.split_whitespace();
        let counter = u64::from_str_radix(words.next()?, 16).ok()?;
        let word = words.next()?;
        Some(Self {
            counter,
            state: HolderState::ALL.into_iter().find(|state| state.word() == word)?,
            pid: words.next()?.parse().ok()?,
            host: words.next().unwrap_or("this machine").to_owned(),
        })
    }
}
