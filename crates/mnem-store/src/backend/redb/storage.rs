//! Storage that can be taken away from a database that must not be closed, and that is written
//! again after a sync that failed.
//!
//! A system that fails to write a page may drop it, show it as written until it needs the memory,
//! and say at the next sync that all is well. What is built on such a page is lost with it. So
//! after a sync that failed every byte is written again before anything else is acknowledged.

use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::{BackendError, StorageBackend};

use crate::backend::descriptor::Descriptor;

/// How many bytes are written again at a time.
const CHUNK: usize = 1 << 20;

/// Whether a sync failed, and what it was to make durable was not written again since. Of a file,
/// however often it is opened.
pub(super) type Dropped = Arc<AtomicBool>;

/// What redb is given. Once it is taken away, every call fails, and the file and its lock are
/// free, whatever becomes of the database.
#[derive(Debug)]
pub(super) struct Detachable<S> {
    storage: Descriptor<S>,
    dropped: Dropped,
    /// Whether the database is open, so that its file is as long as it should be.
    is_open: Arc<AtomicBool>,
}

/// The storage of a database, reached past it.
pub(super) struct Storage {
    inner: Box<dyn Reached>,
    dropped: Dropped,
    is_open: Arc<AtomicBool>,
}

trait Reached: Send + Sync {
    fn detach(&self);
    fn write_again(&self) -> io::Result<()>;
}

impl Storage {
    /// Takes the storage away from its database.
    pub(super) fn detach(&self) {
        self.inner.detach();
    }

    /// From now on nothing is read beyond the end of the file but by a damaged number of a page.
    /// Such a page is empty, which redb finds out: after an error of its storage it would read
    /// nothing any more, and what is whole could not be told from what is damaged.
    pub(super) fn is_open(&self) {
        self.is_open.store(true, Ordering::SeqCst);
    }

    /// After a sync that failed, makes everything durable that is read here. The database must not
    /// write meanwhile.
    pub(super) fn write_dropped(&self) -> io::Result<()> {
        if self.dropped.load(Ordering::SeqCst) {
            self.inner.write_again()?;
            self.dropped.store(false, Ordering::SeqCst);
        }
        Ok(())
    }
}

impl<S: StorageBackend> Reached for Descriptor<S> {
    fn detach(&self) {
        // Dropping it frees the file in any case.
        self.take(|storage| drop(storage.close()));
    }

    fn write_again(&self) -> io::Result<()> {
        let again = |storage: &S| {
            let length = storage.len()?;
            let mut bytes = vec![0; CHUNK];
            for offset in (0..length).step_by(CHUNK) {
                bytes.truncate(usize::try_from(length - offset).unwrap_or(CHUNK));
                storage.read(offset, &mut bytes)?;
                storage.write(offset, &bytes)?;
            }
            storage.sync_data()
        };
        self.with(again).unwrap_or_else(|| Err(io::ErrorKind::NotConnected.into()))
    }
}

impl<S: StorageBackend> Detachable<S> {
    pub(super) fn open<E>(
        dropped: &Dropped,
        open: impl FnOnce() -> Result<S, E>,
    ) -> Result<(Self, Storage), E> {
        let storage = Descriptor::open(open)?;
        let left = Storage {
            inner: Box::new(storage.clone()),
            dropped: Arc::clone(dropped),
            is_open: Arc::default(),
        };
        let (dropped, is_open) = (Arc::clone(dropped), Arc::clone(&left.is_open));
        Ok((Self { storage, dropped, is_open }, left))
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
        let synced = self.with(S::sync_data);
        if synced.is_err() {
            self.dropped.store(true, Ordering::SeqCst);
        }
        synced
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
