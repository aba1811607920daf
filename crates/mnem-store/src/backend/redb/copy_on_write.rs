//! Storage that is read and never changed: what is written to it is kept in memory.
//!
//! A store on a disk that cannot be written is read through it, one of the original, and one that
//! is examined, also when its writer was killed: an engine repairs what it opens, and here it may.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use redb::{BackendError, StorageBackend};

/// The unit that is kept, in bytes.
const PAGE: u64 = 4096;

/// Storage as it was when this was made, and over it what was written since, in memory.
///
/// Beside redb's trait it has the same four calls for another engine.
#[derive(Debug)]
pub struct CopyOnWrite<S = ReadOnlyFile> {
    below: S,
    changes: RwLock<Changes>,
}

#[derive(Debug)]
struct Changes {
    len: u64,
    /// What lies below from here on is not read any more.
    shown: u64,
    /// By number, each whole.
    pages: BTreeMap<u64, Box<[u8]>>,
}

impl CopyOnWrite {
    /// Storage over a file that is open for reading, and is not locked here.
    pub fn new(file: File) -> io::Result<Self> {
        Self::over(ReadOnlyFile(file))
    }
}

impl<S: StorageBackend> CopyOnWrite<S> {
    /// The same over other storage.
    pub fn over(below: S) -> io::Result<Self> {
        let len = below.len()?;
        let changes = RwLock::new(Changes { len, shown: len, pages: BTreeMap::new() });
        Ok(Self { below, changes })
    }

    /// How many bytes there are.
    pub fn len(&self) -> u64 {
        self.reading().len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills a buffer with the bytes from an offset on; an error when they end before it is full.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.reading().read(&self.below, offset, out)
    }

    /// Writes bytes at an offset; what lies between the end and it becomes zeros.
    pub fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.writing().write(&self.below, offset, data)
    }

    /// Cuts the bytes off at a length, or adds zeros up to it.
    pub fn set_len(&self, len: u64) {
        self.writing().set_len(len);
    }

    /// Forgets what was written.
    pub(crate) fn forget(&self) -> io::Result<()> {
        let len = self.below.len()?;
        *self.writing() = Changes { len, shown: len, pages: BTreeMap::new() };
        Ok(())
    }

    /// Fills a buffer with what lies below from an offset on, whatever was written since.
    pub(crate) fn read_below(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.below.read(offset, out)
    }

    fn reading(&self) -> RwLockReadGuard<'_, Changes> {
        self.changes.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> RwLockWriteGuard<'_, Changes> {
        self.changes.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Changes {
    fn read(&self, below: &impl StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = end_of(offset, out)?;
        if end > self.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // What lies below, up to where it is shown, then zeros, and the kept pages over both.
        let (from_below, zeros) = split(out, self.shown.saturating_sub(offset));
        if !from_below.is_empty() {
            below.read(offset, from_below)?;
        }
        zeros.fill(0);
        for (number, page) in self.pages.range(offset / PAGE..end.div_ceil(PAGE)) {
            let start = number * PAGE;
            let (_, page) = split_ref(page, offset.saturating_sub(start));
            let (_, place) = split(out, start.saturating_sub(offset));
            place.iter_mut().zip(page).for_each(|(to, from)| *to = *from);
        }
        Ok(())
    }

    fn write(&mut self, below: &impl StorageBackend, offset: u64, data: &[u8]) -> io::Result<()> {
        let end = end_of(offset, data)?;
        if data.is_empty() {
            return Ok(());
        }
        // First every page, then the data: nothing is half written when one cannot be read.
        for number in offset / PAGE..end.div_ceil(PAGE) {
            if !self.pages.contains_key(&number) {
                let mut page = vec![0; usize::try_from(PAGE).unwrap_or_default()];
                let start = number * PAGE;
                let (held, _) = split(&mut page, self.len.saturating_sub(start));
                if !held.is_empty() {
                    self.read(below, start, held)?;
                }
                self.pages.insert(number, page.into());
            }
        }
        self.len = self.len.max(end);
        for (number, page) in self.pages.range_mut(offset / PAGE..end.div_ceil(PAGE)) {
            let start = number * PAGE;
            let (_, place) = split(page, offset.saturating_sub(start));
            let (_, data) = split_ref(data, start.saturating_sub(offset));
            place.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
        }
        Ok(())
    }

    fn set_len(&mut self, len: u64) {
        self.len = len;
        self.shown = self.shown.min(len);
        self.pages.split_off(&len.div_ceil(PAGE));
        // The rest of the last page must be zeros should the bytes grow again.
        if let Some(page) = self.pages.get_mut(&(len / PAGE)) {
            split(page, len % PAGE).1.fill(0);
        }
    }
}

fn end_of(offset: u64, bytes: &[u8]) -> io::Result<u64> {
    let end = u64::try_from(bytes.len()).ok().and_then(|len| offset.checked_add(len));
    end.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// The bytes before and from a place that may lie beyond them.
fn split(bytes: &mut [u8], at: u64) -> (&mut [u8], &mut [u8]) {
    let at = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    bytes.split_at_mut(at)
}

fn split_ref(bytes: &[u8], at: u64) -> (&[u8], &[u8]) {
    let at = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    bytes.split_at(at)
}

#[cfg(unix)]
fn read_exact_at(file: &File, out: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut out: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !out.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_read(file, out, offset)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        out = out.split_at_mut(count).1;
        offset += count as u64;
    }
    Ok(())
}

/// What reaches no disk needs no sync.
impl<S: StorageBackend> StorageBackend for CopyOnWrite<S> {
    fn len(&self) -> io::Result<u64> {
        Ok(Self::len(self))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_at(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Self::set_len(self, len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write_at(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.below.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.below.try_lock_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.below.unlock_range(start, end)
    }
}

/// A file that is open for reading. redb is given no lock to take: whoever opened it holds one.
#[derive(Debug)]
pub struct ReadOnlyFile(pub(crate) File);

impl StorageBackend for ReadOnlyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        read_exact_at(&self.0, out, offset)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}
