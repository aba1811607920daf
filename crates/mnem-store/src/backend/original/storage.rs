//! The file as redb 2 sees it: what it writes, when it repairs, stays in memory.

use std::io;

use redb2::StorageBackend;

use crate::backend::descriptor::Descriptor;
use crate::backend::redb::CopyOnWrite;

/// A file that a forked child gives up.
#[derive(Debug)]
pub(super) struct Storage(pub(super) Descriptor<CopyOnWrite>);

impl Storage {
    fn with<T>(&self, call: impl FnOnce(&CopyOnWrite) -> io::Result<T>) -> io::Result<T> {
        self.0.with(call).unwrap_or_else(|| Err(io::ErrorKind::NotConnected.into()))
    }

    /// Fills a buffer with the bytes from an offset on.
    pub(super) fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.with(|file| file.read_at(offset, out))
    }
}

impl StorageBackend for Storage {
    fn len(&self) -> io::Result<u64> {
        self.with(|file| Ok(file.len()))
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.with(|file| {
            // Asked first: a damaged file may name any length, and that much would be allocated.
            if offset.checked_add(len as u64).is_none_or(|end| end > file.len()) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut bytes = vec![0; len];
            file.read_at(offset, &mut bytes)?;
            Ok(bytes)
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|file| {
            file.set_len(len);
            Ok(())
        })
    }

    fn sync_data(&self, _eventual: bool) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(|file| file.write_at(offset, data))
    }
}
