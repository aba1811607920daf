//! Storage that can be taken away from a database that must not be closed.

use std::fmt::Debug;
use std::io;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock};

use redb::{BackendError, StorageBackend};

/// What redb is given. Once it is taken away, every call fails, and the file and its lock are
/// free, whatever becomes of the database.
#[derive(Debug)]
pub(super) struct Detachable<S>(Arc<RwLock<Option<S>>>);

/// Takes storage away from its database.
pub(super) struct Storage(Box<dyn Fn() + Send + Sync>);

impl Storage {
    pub(super) fn detach(&self) {
        (self.0)();
    }
}

impl<S: StorageBackend> Detachable<S> {
    pub(super) fn new(storage: S) -> (Self, Storage) {
        let shared = Arc::new(RwLock::new(Some(storage)));
        let handle = Arc::clone(&shared);
        let detach = move || {
            if let Some(storage) = handle.write().unwrap_or_else(PoisonError::into_inner).take() {
                let _ = storage.close(); // dropping it frees the file in any case
            }
        };
        (Self(shared), Storage(Box::new(detach)))
    }

    fn with<T, E: From<io::Error>>(&self, call: impl FnOnce(&S) -> Result<T, E>) -> Result<T, E> {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            Some(storage) => call(storage),
            None => Err(io::Error::from(io::ErrorKind::NotConnected).into()),
        }
    }
}

impl<S: StorageBackend> StorageBackend for Detachable<S> {
    fn len(&self) -> io::Result<u64> {
        self.with(S::len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.with(|storage| storage.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|storage| storage.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with(S::sync_data)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(|storage| storage.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.with(S::close)
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.with(|storage| storage.try_lock_range(start, end))
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.with(|storage| storage.unlock_range(start, end))
    }
}
