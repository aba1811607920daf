//! Storage for tests: what redb writes is counted, made to fail, and cut off by a crash.

use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use super::disk::watch::{self, Call, Watcher};

/// The storage of a data file whose calls whoever opened it looks at.
#[derive(Debug)]
pub struct WatchedStorage<S> {
    inner: S,
    path: PathBuf,
    watcher: Option<Arc<dyn Watcher>>,
}

impl<S: StorageBackend> WatchedStorage<S> {
    /// Storage in a file, looked at by whoever looks at this thread's calls.
    pub(crate) fn new(inner: S, path: &Path) -> Self {
        Self { inner, path: path.to_owned(), watcher: watch::current() }
    }

    fn through<T>(&self, call: Call<'_>, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        watch::through(self.watcher.as_deref(), &call, work)
    }
}

impl<S: StorageBackend> StorageBackend for WatchedStorage<S> {
    fn len(&self) -> io::Result<u64> {
        self.through(Call::Read(&self.path), || self.inner.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.through(Call::Read(&self.path), || self.inner.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let call = Call::Length { path: &self.path, length: len };
        self.through(call, || self.inner.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.through(Call::Sync(&self.path), || self.inner.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let call = Call::Write { path: &self.path, offset, bytes: data };
        self.through(call, || self.inner.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, redb::BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), redb::BackendError> {
        self.inner.unlock_range(start, end)
    }
}

/// What reached a storage since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StorageCounts {
    /// Calls that read.
    pub reads: u64,
    /// Calls that make what was written durable.
    pub syncs: u64,
    /// Calls that write.
    pub writes: u64,
    /// Bytes in those.
    pub bytes_written: u64,
}

/// Counts what reaches another storage.
#[derive(Debug)]
pub struct CountingStorage<S> {
    inner: S,
    counts: Arc<Mutex<StorageCounts>>,
}

impl<S> CountingStorage<S> {
    /// Adds what reaches `inner` to `counts`.
    pub fn new(inner: S, counts: Arc<Mutex<StorageCounts>>) -> Self {
        Self { inner, counts }
    }
}

impl<S: StorageBackend> StorageBackend for CountingStorage<S> {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        locked(&self.counts).reads += 1;
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        locked(&self.counts).syncs += 1;
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut counts = locked(&self.counts);
        counts.writes += 1;
        counts.bytes_written += data.len() as u64;
        drop(counts);
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, redb::BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), redb::BackendError> {
        self.inner.unlock_range(start, end)
    }
}

/// A disk in memory that can fail a call, and stop for good at a sync as a machine does that
/// loses power. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct CrashStorage(Arc<Mutex<Disk>>);

#[derive(Default)]
struct Disk {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// What was done since the last sync, in order.
    unsynced: Vec<Change>,
    syncs: u64,
    changes: u64,
    stop_at_sync: Option<u64>,
    fail_at_change: Option<u64>,
    is_stopped: bool,
}

#[derive(Clone)]
enum Change {
    Length(usize),
    Bytes(usize, Vec<u8>),
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("len", &self.live.len()).finish_non_exhaustive()
    }
}

impl CrashStorage {
    /// A disk that holds these bytes, durably.
    pub fn new(bytes: Vec<u8>) -> Self {
        let disk = Disk { durable: bytes.clone(), live: bytes, ..Disk::default() };
        Self(Arc::new(Mutex::new(disk)))
    }

    /// How many syncs were asked for.
    pub fn syncs(&self) -> u64 {
        locked(&self.0).syncs
    }

    /// How many writes, syncs and changes of length were asked for.
    pub fn changes(&self) -> u64 {
        locked(&self.0).changes
    }

    /// From the n-th sync on, counted from 1, nothing reaches the disk and every call fails.
    pub fn stop_at_sync(&self, sync: u64) {
        locked(&self.0).stop_at_sync = Some(sync);
    }

    /// Fails the n-th write, sync or change of length, counted from 1, and only that.
    pub fn fail_at_change(&self, change: u64) {
        locked(&self.0).fail_at_change = Some(change);
    }

    /// The bytes as they are read.
    pub fn bytes(&self) -> Vec<u8> {
        locked(&self.0).live.clone()
    }

    /// The disk after a crash now: what was synced, and of the changes since then those of
    /// which `survives`, asked with their place in order and how many there are, says so.
    #[must_use]
    pub fn crash(&self, survives: impl Fn(usize, usize) -> bool) -> Self {
        let disk = locked(&self.0);
        let mut bytes = disk.durable.clone();
        for (place, change) in disk.unsynced.iter().enumerate() {
            if survives(place, disk.unsynced.len()) {
                change.apply(&mut bytes);
            }
        }
        Self::new(bytes)
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Length(len) => bytes.resize(*len, 0),
            Self::Bytes(offset, data) => {
                let end = offset + data.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                if let Some(target) = bytes.get_mut(*offset..end) {
                    target.copy_from_slice(data);
                }
            }
        }
    }
}

impl Disk {
    fn count(&mut self) -> io::Result<()> {
        self.changes += 1;
        if self.is_stopped {
            Err(io::Error::other("the disk has stopped"))
        } else if self.fail_at_change == Some(self.changes) {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }

    fn change(&mut self, change: Change) -> io::Result<()> {
        self.count()?;
        change.apply(&mut self.live);
        self.unsynced.push(change);
        Ok(())
    }
}

impl StorageBackend for CrashStorage {
    fn len(&self) -> io::Result<u64> {
        Ok(locked(&self.0).live.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let disk = locked(&self.0);
        if disk.is_stopped {
            return Err(io::Error::other("the disk has stopped"));
        }
        let offset = address(offset)?;
        let range = offset..offset.saturating_add(out.len());
        out.copy_from_slice(disk.live.get(range).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        locked(&self.0).change(Change::Length(address(len)?))
    }

    fn sync_data(&self) -> io::Result<()> {
        let disk = &mut *locked(&self.0);
        disk.syncs += 1;
        if disk.stop_at_sync.is_some_and(|sync| disk.syncs >= sync) {
            disk.is_stopped = true;
        }
        disk.count()?;
        for change in disk.unsynced.drain(..) {
            change.apply(&mut disk.durable);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        locked(&self.0).change(Change::Bytes(address(offset)?, data.to_vec()))
    }
}

fn address(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
