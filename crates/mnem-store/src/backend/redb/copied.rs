//! Storage that is read and never written: what is written to it stays in memory.
//!
//! redb writes to a file that it only opens: that it is open, and what it repairs after a kill.
//! A file that is examined must stay as it is, the more so when it is damaged.

use std::collections::BTreeMap;
use std::io;
use std::ops::{Bound, Range};
use std::sync::{PoisonError, RwLock};

use redb::{BackendError, StorageBackend};

/// Bytes that are kept together once one of them is written.
const BLOCK: u64 = 4096;

/// Another storage, with what was written since on top of it.
#[derive(Debug)]
pub(super) struct Copied<S> {
    below: S,
    above: RwLock<Above>,
}

#[derive(Debug)]
struct Above {
    len: u64,
    /// How much of the storage below is still seen: less once it was cut off.
    seen: u64,
    blocks: BTreeMap<u64, Box<[u8]>>,
}

impl<S: StorageBackend> Copied<S> {
    pub(super) fn new(below: S) -> io::Result<Self> {
        let len = below.len()?;
        let above = RwLock::new(Above { len, seen: len, blocks: BTreeMap::new() });
        Ok(Self { below, above })
    }
}

impl Above {
    /// Reads what lies within one block, from above or from below; nothing is zero.
    fn read(&self, below: &impl StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if let Some(block) = self.blocks.get(&(offset / BLOCK)) {
            out.copy_from_slice(block.get(within(offset, out.len())?).ok_or_else(end)?);
            return Ok(());
        }
        let there = usize::try_from(self.seen.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (stored, rest) = out.split_at_mut(there.min(out.len()));
        rest.fill(0);
        if stored.is_empty() { Ok(()) } else { below.read(offset, stored) }
    }

    fn write(&mut self, below: &impl StorageBackend, offset: u64, data: &[u8]) -> io::Result<()> {
        let number = offset / BLOCK;
        if !self.blocks.contains_key(&number) {
            let mut block = vec![0; usize::try_from(BLOCK).map_err(far)?];
            self.read(below, number * BLOCK, &mut block)?;
            self.blocks.insert(number, block.into());
        }
        let range = within(offset, data.len())?;
        let block = self.blocks.get_mut(&number).and_then(|block| block.get_mut(range));
        block.ok_or_else(end)?.copy_from_slice(data);
        Ok(())
    }
}

/// Where an offset and what follows it are in their block.
fn within(offset: u64, len: usize) -> io::Result<Range<usize>> {
    let start = usize::try_from(offset % BLOCK).map_err(far)?;
    Ok(start..start.saturating_add(len))
}

/// The parts of a range that each lie within one block: their offset, and how many bytes.
fn parts(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize)> {
    let mut at = offset;
    let mut left = len;
    std::iter::from_fn(move || {
        let room = usize::try_from(BLOCK - at % BLOCK).unwrap_or(usize::MAX);
        let (part, start) = (room.min(left), at);
        at += part as u64;
        left -= part;
        (part > 0).then_some((start, part))
    })
}

fn far(_: std::num::TryFromIntError) -> io::Error {
    io::ErrorKind::InvalidInput.into()
}

fn end() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

impl<S: StorageBackend> StorageBackend for Copied<S> {
    fn len(&self) -> io::Result<u64> {
        Ok(self.above.read().unwrap_or_else(PoisonError::into_inner).len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let above = self.above.read().unwrap_or_else(PoisonError::into_inner);
        if offset.checked_add(out.len() as u64).is_none_or(|last| last > above.len) {
            return Err(end());
        }
        let mut rest = out;
        for (at, len) in parts(offset, rest.len()) {
            let (part, more) = rest.split_at_mut(len);
            above.read(&self.below, at, part)?;
            rest = more;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let above = &mut *self.above.write().unwrap_or_else(PoisonError::into_inner);
        above.len = len;
        above.seen = above.seen.min(len);
        // What is cut off is zero should the storage grow again.
        above.blocks.split_off(&len.div_ceil(BLOCK));
        if let Some(block) = above.blocks.get_mut(&(len / BLOCK)) {
            block.get_mut(within(len, 0)?.start..).ok_or_else(end)?.fill(0);
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let above = &mut *self.above.write().unwrap_or_else(PoisonError::into_inner);
        let mut rest = data;
        for (at, len) in parts(offset, data.len()) {
            let (part, more) = rest.split_at(len);
            above.write(&self.below, at, part)?;
            rest = more;
        }
        above.len = above.len.max(offset.saturating_add(data.len() as u64));
        Ok(())
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
