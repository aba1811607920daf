//! Opening a store of the original: its data file is locked by us and read where it lies.

use std::fs::{File, TryLockError};
use std::io::ErrorKind as IoKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::engine::STORE_DIRECTORY;
use super::environment::Environment;
use super::files::{self, Identity};
use super::format::FormatVersion;
use super::lease::LOOK;
use super::open;
use crate::backend::OriginalBackend;
use crate::backend::descriptor::Descriptor;
use crate::backend::redb::CopyOnWrite;
use crate::error::{Error, ErrorKind, Hint};

/// The data file of every store of the original.
pub(crate) const DATA_FILE: &str = "store.redb";

/// A data file up to this size has every page checked when it is opened: what redb says of
/// branches and staging carries no checksum of ours.
const CHECKED_BYTES: u64 = 4 * 1024 * 1024;
/// How long to sleep between two tries while another process holds the file.
const RETRY: Duration = Duration::from_millis(2);

/// Who else may have the data file open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Others who read.
    Shared,
    /// Nobody.
    Alone,
}

/// A data file, not locked yet.
#[derive(Debug)]
pub(crate) struct DataFile {
    root: PathBuf,
    path: PathBuf,
    pub(crate) identity: Identity,
}

impl DataFile {
    /// Finds the file of a store; makes none. None where it is gone with the old format.
    pub(crate) fn find(root: &Path) -> Result<Option<Self>, Error> {
        let path = root.join(STORE_DIRECTORY).join(DATA_FILE);
        match files::identity_at(&path) {
            Ok(identity) => Ok(Some(Self { root: root.to_owned(), path, identity })),
            Err(error) if error.kind() != IoKind::NotFound => {
                Err(Error::io(format!("cannot read {}", path.display()), error))
            }
            Err(_) if format(root)? != FormatVersion::V1 => Ok(None),
            Err(_) => Err(Error::corrupt(format!("{} is missing", path.display()))),
        }
    }

    /// Locks the file and opens it. None where it was migrated while this waited.
    pub(crate) fn open(
        &self,
        access: Access,
        expected: FormatVersion,
        environment: &Environment,
    ) -> Result<Option<OriginalBackend>, Error> {
        let Some(storage) = self.lock(access, expected, environment)? else { return Ok(None) };
        let bytes = storage.with(CopyOnWrite::len).unwrap_or_default();
        let checked = bytes <= CHECKED_BYTES || access == Access::Alone || environment.examine;
        Ok(Some(OriginalBackend::open(storage, self.name(), checked)?))
    }

    /// How messages name the file.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Locks the file. The original keeps its lock for as long as it has the store open. None where
    /// the file, or the store's format, is no longer the one that is expected: it was migrated
    /// while this waited.
    pub(crate) fn lock(
        &self,
        access: Access,
        expected: FormatVersion,
        environment: &Environment,
    ) -> Result<Option<Descriptor<CopyOnWrite>>, Error> {
        let begun = Instant::now();
        let mut looked = begun;
        let storage = loop {
            match Descriptor::open(|| self.locked(access)) {
                Ok(storage) => break storage,
                Err(TryLockError::Error(error)) if error.kind() == IoKind::NotFound => {
                    return Self::find(&self.root).map(|_| None);
                }
                Err(TryLockError::Error(error)) => {
                    return Err(Error::io(format!("cannot open {}", self.path.display()), error));
                }
                Err(TryLockError::WouldBlock) if begun.elapsed() >= environment.busy_timeout => {
                    return Err(self.busy(environment));
                }
                Err(TryLockError::WouldBlock) => thread::sleep(RETRY),
            }
            if looked.elapsed() >= LOOK {
                environment.waiting.check()?;
                looked = Instant::now();
            }
        };
        if files::identity_at(&self.path).ok().as_ref() != Some(&self.identity)
            || format(&self.root)? != expected
        {
            return Ok(None);
        }
        Ok(Some(storage))
    }

    /// Opens the file with its lock, or not at all.
    fn locked(&self, access: Access) -> Result<CopyOnWrite, TryLockError> {
        let file = File::open(&self.path).map_err(TryLockError::Error)?;
        match access {
            Access::Shared => file.try_lock_shared()?,
            Access::Alone => file.try_lock()?,
        }
        CopyOnWrite::new(file).map_err(TryLockError::Error)
    }

    fn busy(&self, environment: &Environment) -> Error {
        let message = format!(
            "another process holds the store at {}; waited {:.1} s",
            self.root.display(),
            environment.busy_timeout.as_secs_f64()
        );
        Error::new(ErrorKind::Busy, message).hint(Hint::WaitOrStop)
    }
}

/// The version that a store has now.
fn format(root: &Path) -> Result<FormatVersion, Error> {
    Ok(open::read_config(&root.join(STORE_DIRECTORY))?.format)
}
