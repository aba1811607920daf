//! The small files of the lease, open.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::backend::disk;
use crate::error::Error;
use crate::store::engine::LOCK_FILE;
use crate::store::files::{self, Identity};

pub(crate) const WANT_FILE: &str = "want";
pub(crate) const HOLDER_FILE: &str = "holder";

/// `lock`, `want` and `holder`. Where they cannot be written they are open for reading, and so
/// is the store.
#[derive(Debug)]
pub(crate) struct LeaseFiles {
    lock: File,
    want: File,
    pub(super) holder: File,
    lock_path: PathBuf,
    pub(super) is_read_only: bool,
}

impl LeaseFiles {
    /// Opens those of a store's directory; takes no lock.
    pub(crate) fn open(directory: &Path) -> Result<Self, Error> {
        match Self::open_as(directory, false) {
            Err((_, error)) if is_denied(&error) => Self::open_as(directory, true),
            opened => opened,
        }
        .map_err(|(path, error)| Error::io(format!("cannot open {}", path.display()), error))
    }

    fn open_as(directory: &Path, is_read_only: bool) -> Result<Self, (PathBuf, io::Error)> {
        let open = |name| {
            let path = directory.join(name);
            // An old store may lack one.
            let opened = if is_read_only { File::open(&path) } else { disk::open_or_create(&path) };
            opened.map_err(|error| (path, error))
        };
        let (lock, want, holder) = (open(LOCK_FILE)?, open(WANT_FILE)?, open(HOLDER_FILE)?);
        Ok(Self { lock, want, holder, lock_path: directory.join(LOCK_FILE), is_read_only })
    }

    /// What tells the store from every other, while this is open.
    pub(crate) fn identity(&self) -> Result<Identity, Error> {
        files::identity(&self.lock, &self.lock_path)
            .map_err(|error| Error::io(format!("cannot read {}", self.lock_path.display()), error))
    }

    pub(super) fn holder_path(&self) -> PathBuf {
        self.lock_path.with_file_name(HOLDER_FILE)
    }

    /// Those who only read share the store with each other.
    pub(crate) fn try_lock(&self) -> Result<(), TryLockError> {
        if self.is_read_only { self.lock.try_lock_shared() } else { self.lock.try_lock() }
    }

    pub(super) fn unlock(&self) {
        // An unlock that fails leaves the lock to the end of the process; nothing else helps.
        let _ = self.lock.unlock();
    }

    /// Asks the holder for the store; whether somebody asked before makes no difference.
    pub(super) fn want(&self) -> bool {
        self.want.try_lock().is_ok()
    }

    pub(super) fn want_no_more(&self) {
        let _ = self.want.unlock();
    }

    /// Whether another process waits for the store.
    pub(super) fn is_wanted(&self) -> bool {
        match self.want.try_lock_shared() {
            Ok(()) => {
                self.want_no_more();
                false
            }
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
        }
    }
}

fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
}
