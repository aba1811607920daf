//! Storage that can be taken away from a database that must not be closed.

use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::{BackendError, StorageBackend};

use crate::backend::descriptor::Descriptor;

/// What redb is given. Once it is taken away, every call fails, and the file and its lock are
/// free, whatever becomes of the database.
#[derive(Debug)]
pub(super) struct Detachable<S> {
    storage: Descriptor<S>,
    /// Whether the database is open, so that its file is as long as it should be.
    is_open: Arc<AtomicBool>,
}

/// What is left to us of the storage of a database.
pub(super) struct Storage {
    detach: Box<dyn Fn() + Send + Sync>,
    is_open: Arc<AtomicBool>,
}

impl Storage {
    /// Takes it away from the database.
    pub(super) fn detach(&self) {
        (self.detach)();
    }

    /// From now on nothing is read beyond the end of the file but by a damaged number of a page.
    /// Such a page is empty, which redb finds out: after an error of its storage it would read
    /// nothing any more, and what is whole could not be told from what is damaged.
    pub(super) fn is_open(&self) {
        self.is_open.store(true, Ordering::SeqCst);
    }
}

impl<S: StorageBackend> Detachable<S> {
    pub(super) fn open<E>(open: impl FnOnce() -> Result<S, E>) -> Result<(Self, Storage), E> {
        let storage = Descriptor::open(open)?;
        let handle = storage.clone();
        // Dropping it frees the file in any case.
        let detach = move || handle.take(|storage| drop(storage.close()));
        let is_open = Arc::new(AtomicBool::new(false));
        let left = Storage { detach: Box::new(detach), is_open: Arc::clone(&is_open) };
        Ok((Self { storage, is_open }, left))
    }

    fn with<T, E: From<io::Error>>(&self, call: impl FnOnce(&S) -> Result<T, E>) -> Result<T, E> {
        let done = self.storage.with(call);
        done.unwrap_or_else(|| Err(io::Error::from(io::ErrorKind::NotConnected).into()))
    }
}

impl<S: StorageBackend> StorageBackend for Detachable<S> {
    fn len(&self) -> io::Result<u64> {
        self.with(S::len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match self.with(|storage| storage.read(offset, out)) {
            Err(error)
                if error.kind() == io::ErrorKind::UnexpectedEof
                    && self.is_open.load(Ordering::SeqCst) =>
            {
                out.fill(0);
                Ok(())
            }
            read => read,
        }
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
