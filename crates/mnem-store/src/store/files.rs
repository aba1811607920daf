//! The small files of a store, written so that a reader never sees half of one.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::backend::disk::{Call, NewFile, call};
pub(crate) use crate::backend::disk::{remove, rename, sync, sync_directory};
use crate::error::Error;

/// Replaces a file: a sibling is written, synced and renamed over it, then the directory synced.
pub(crate) fn replace(path: &Path, text: &str, unique: u64) -> Result<(), Error> {
    replace_through(path, &path.with_extension(format!("tmp-{unique:016x}")), text)
}

/// The same through a sibling of this name, for who alone may replace the file: what a stopped
/// attempt left goes first.
pub(crate) fn replace_alone(path: &Path, text: &str) -> Result<(), Error> {
    let beside = path.with_extension("new");
    remove(&beside)
        .map_err(|error| Error::io(format!("cannot remove {}", beside.display()), error))?;
    replace_through(path, &beside, text)
}

fn replace_through(path: &Path, beside: &Path, text: &str) -> Result<(), Error> {
    let written = write_synced(beside, text.as_bytes())
        .and_then(|()| rename(beside, path))
        .and_then(|()| path.parent().map_or(Ok(()), sync_directory));
    written.map_err(|error| {
        let _ = remove(beside); // the first error is the one to tell
        Error::io(format!("cannot write {}", path.display()), error)
    })
}

/// Writes a new file and syncs it.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(bytes)?;
    file.sync()
}

/// What an open file is, apart from its name: equal under any path. While it is open, no other
/// file has its identity. The path is for systems that do not tell.
#[cfg(unix)]
pub(crate) fn identity(file: &File, _: &Path) -> std::io::Result<Identity> {
    file.metadata().map(|metadata| Identity::of(&metadata))
}

/// The same of the file that is at a path now.
#[cfg(unix)]
pub(crate) fn identity_at(path: &Path) -> std::io::Result<Identity> {
    fs::metadata(path).map(|metadata| Identity::of(&metadata))
}

/// Device and inode.
#[cfg(unix)]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity(u64, u64);

#[cfg(unix)]
impl Identity {
    fn of(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self(metadata.dev(), metadata.ino())
    }
}

/// Elsewhere the path with its links resolved is the best that the standard library tells.
#[cfg(not(unix))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity(std::path::PathBuf);

/// See [`Identity`].
#[cfg(not(unix))]
pub(crate) fn identity(_: &File, path: &Path) -> std::io::Result<Identity> {
    identity_at(path)
}

/// See [`Identity`].
#[cfg(not(unix))]
pub(crate) fn identity_at(path: &Path) -> std::io::Result<Identity> {
    path.canonicalize().map(Identity)
}

/// What a file is and when it last changed: while this is the same, and some time had passed
/// since that change when it was taken, the file holds what it held.
#[cfg(unix)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    identity: Identity,
    bytes: u64,
    changed: (i64, i64),
}

#[cfg(unix)]
impl Stamp {
    /// The stamp of the file at a path.
    pub(crate) fn of(path: &Path) -> std::io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(std::io::ErrorKind::InvalidInput.into()); // a pipe holds nothing
        }
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Ok(Self { identity: Identity::of(&metadata), bytes: metadata.len(), changed })
    }

    /// Whether the last change is so far back, at this Unix time in milliseconds, that another
    /// would show: a file system's clock is coarse, and numbers of files come again.
    pub(crate) fn is_settled(&self, now: i64) -> bool {
        const SETTLED_AFTER: i64 = 1_000;
        let (seconds, nanoseconds) = self.changed;
        let changed = seconds.saturating_mul(1_000).saturating_add(nanoseconds / 1_000_000);
        changed.saturating_add(SETTLED_AFTER) < now
    }
}

/// Elsewhere the standard library tells too little to know a file again by.
#[cfg(not(unix))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp;

#[cfg(not(unix))]
impl Stamp {
    pub(crate) fn of(_: &Path) -> std::io::Result<Self> {
        Ok(Self)
    }

    pub(crate) fn is_settled(&self, _: i64) -> bool {
        false
    }
}

/// How many bytes of disk a file takes.
#[cfg(unix)]
pub(crate) fn allocated(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.blocks() * 512 // the unit of st_blocks, whatever the disk's blocks are
}

/// Elsewhere the length is what the standard library tells.
#[cfg(not(unix))]
pub(crate) fn allocated(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

/// Writes over the beginning of the file at a path, which is read at any time.
pub(crate) fn write_at_start(file: &File, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    call(Call::Write { path, offset: 0, bytes }, || write_at(file, bytes))
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, 0)
}

/// Reads the beginning of a file, and says how much there was.
#[cfg(unix)]
pub(crate) fn read_at_start(file: &File, bytes: &mut [u8]) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, 0)
}

#[cfg(windows)]
fn write_at(file: &File, bytes: &[u8]) -> std::io::Result<()> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, 0).map(drop)
}

/// See above.
#[cfg(windows)]
pub(crate) fn read_at_start(file: &File, bytes: &mut [u8]) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, 0)
}
