//! Storage that can be taken away from a database that must not be closed.

use std::io;
use std::ops::Bound;

use redb::{BackendError, StorageBackend};

use crate::backend::descriptor::Descriptor;

/// What redb is given. Once it is taken away, every call fails, and the file and its lock are
/// free, whatever becomes of the database.
#[derive(Debug)]
pub(super) struct Detachable<S>(Descriptor<S>);

/// Takes storage away from its database.
pub(super) struct Storage(Box<dyn Fn() + Send + Sync>);

impl Storage {
    pub(super) fn detach(&self) {
        (self.0)();
    }
}

impl<S: StorageBackend> Detachable<S> {
    pub(super) fn open<E>(open: impl FnOnce() -> Result<S, E>) -> Result<(Self, Storage), E> {
        let storage = Descriptor::open(open)?;
        let handle = storage.clone();
        // Dropping it frees the file in any case.
        let detach = move || handle.take(|storage| drop(storage.close()));
        Ok((Self(storage), Storage(Box::new(detach))))
    }

    fn with<T, E: From<io::Error>>(&self, call: impl FnOnce(&S) -> Result<T, E>) -> Result<T, E> {
        let done = self.0.with(call);
        done.unwrap_or_else(|| Err(io::Error::from(io::ErrorKind::NotConnected).into()))
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
