//! The file as redb 2 sees it: what it writes, when it repairs, stays in memory.

use std::io;

use redb2::StorageBackend;

use crate::backend::redb::CopyOnWrite;

#[derive(Debug)]
pub(super) struct Storage(pub(super) CopyOnWrite);

impl StorageBackend for Storage {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len())
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        // Asked first: a damaged file may name any length, and that much would be allocated.
        if offset.checked_add(len as u64).is_none_or(|end| end > self.0.len()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; len];
        self.0.read_at(offset, &mut bytes)?;
        Ok(bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len);
        Ok(())
    }

    fn sync_data(&self, _eventual: bool) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, data)
    }
}
