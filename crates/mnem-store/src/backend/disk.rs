//! Every call that changes the files of a store, and those that read its small ones.
//!
//! They are in one place so that a test can record them, and make any of them fail: what a
//! machine that stops leaves on its disk follows from their order. A test scans the sources for
//! calls that go past it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use redb::backends::FileBackend;

/// A call of the system, as a test sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "test-support"), allow(dead_code))] // only tests look into it
pub enum Call<'c> {
    /// Reads a file, or a part of one.
    Read(&'c Path),
    /// Makes an empty file, unless there is one.
    Create(&'c Path),
    /// Writes into a file.
    Write {
        /// The file.
        path: &'c Path,
        /// From where on, in bytes.
        offset: u64,
        /// What.
        bytes: &'c [u8],
    },
    /// Cuts a file off, or adds zeros to it.
    Length {
        /// The file.
        path: &'c Path,
        /// How long it is then, in bytes.
        length: u64,
    },
    /// Makes what is in a file durable; not its name.
    Sync(&'c Path),
    /// Gives a file or a directory another name, also over a file that has it.
    Rename {
        /// Its name.
        from: &'c Path,
        /// Its new name, in the same directory.
        to: &'c Path,
    },
    /// Removes a file.
    Remove(&'c Path),
    /// Makes an empty directory.
    CreateDirectory(&'c Path),
    /// Removes an empty directory.
    RemoveDirectory(&'c Path),
    /// Makes the names in a directory durable.
    SyncDirectory(&'c Path),
}

/// Makes a call, unless a test wants it to fail.
#[cfg(not(feature = "test-support"))]
pub(crate) fn call<T>(_: Call<'_>, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    work()
}

/// See above.
#[cfg(feature = "test-support")]
pub(crate) fn call<T>(call: Call<'_>, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    watch::through(watch::current().as_deref(), &call, work)
}

/// The storage of a data file.
#[cfg(not(feature = "test-support"))]
pub(crate) fn storage(file: FileBackend, _: &Path) -> FileBackend {
    file
}

/// See above.
#[cfg(feature = "test-support")]
pub(crate) fn storage(
    file: FileBackend,
    path: &Path,
) -> super::storage::WatchedStorage<FileBackend> {
    super::storage::WatchedStorage::new(file, path)
}

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    call(Call::Read(path), || fs::read(path))
}

/// Opens a file to read and write it, and makes it where it is missing.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    call(Call::Create(path), || {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
    })
}

/// A new file to read and write that loses its name at once: the system removes it with its last
/// handle.
pub(crate) fn nameless(path: &Path) -> io::Result<File> {
    let file = call(Call::Create(path), || {
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    })?;
    remove(path)?;
    Ok(file)
}

/// A new file that is written from its beginning on.
#[derive(Debug)]
pub(crate) struct NewFile {
    file: File,
    path: PathBuf,
    written: u64,
}

impl NewFile {
    /// Makes the file; one that exists is left alone and is an error.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = call(Call::Create(path), || File::create_new(path))?;
        Ok(Self { file, path: path.to_owned(), written: 0 })
    }

    /// Makes what was written durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        call(Call::Sync(&self.path), || self.file.sync_all())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let write = Call::Write { path: &self.path, offset: self.written, bytes };
        call(write, || self.file.write_all(bytes))?;
        self.written += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lets those use a new, still empty file who may use the one whose content it gets, and its owner.
/// Where that one is not there, or the system has other rights, nothing is changed.
pub(crate) fn permit_like(path: &Path, other: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Ok(other) = fs::metadata(other) {
        use std::os::unix::fs::PermissionsExt;
        let mode = |of: &fs::Metadata| of.permissions().mode() & 0o777;
        let wanted = mode(&other) | 0o600;
        // A disk that knows no rights of files gives all of them the same.
        if mode(&fs::metadata(path)?) != wanted {
            fs::set_permissions(path, fs::Permissions::from_mode(wanted))?;
        }
    }
    #[cfg(not(unix))]
    let _ = (path, other);
    Ok(())
}

/// Makes what is in a file durable.
pub(crate) fn sync(path: &Path) -> io::Result<()> {
    call(Call::Sync(path), || File::options().write(true).open(path)?.sync_all())
}

/// Gives a file or a directory another name in the same directory.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    call(Call::Rename { from, to }, || fs::rename(from, to))
}

/// Removes a file; true when it was there.
pub(crate) fn remove(path: &Path) -> io::Result<bool> {
    match call(Call::Remove(path), || fs::remove_file(path)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes an empty directory; one that exists is an error.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    call(Call::CreateDirectory(path), || fs::create_dir(path))
}

/// Removes an empty directory.
pub(crate) fn remove_directory(path: &Path) -> io::Result<()> {
    call(Call::RemoveDirectory(path), || fs::remove_dir(path))
}

/// Removes a directory and the files in it.
pub(crate) fn remove_files(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        remove(&entry?.path())?;
    }
    remove_directory(directory)
}

/// Makes the names in a directory durable.
#[cfg(unix)]
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    call(Call::SyncDirectory(path), || File::open(path)?.sync_all())
}

/// Elsewhere a directory cannot be synced; a rename is as durable as the system makes it.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Who looks at the calls of a thread, for tests.
#[cfg(feature = "test-support")]
pub mod watch {
    use std::cell::RefCell;
    use std::fmt::Debug;
    use std::io;
    use std::sync::Arc;

    pub use super::Call;

    /// Looks at each call.
    pub trait Watcher: Send + Sync + Debug {
        /// Before the call: an error, and it is not made.
        fn before(&self, call: &Call<'_>) -> io::Result<()>;

        /// After a call that went well: an error, and its maker believes that it did not.
        fn after(&self, call: &Call<'_>) -> io::Result<()>;
    }

    thread_local! {
        static WATCHER: RefCell<Option<Arc<dyn Watcher>>> = const { RefCell::new(None) };
    }

    /// From now on this thread's calls are looked at, and those of any thread to a data file that
    /// this thread opens.
    pub fn set(watcher: Option<Arc<dyn Watcher>>) {
        WATCHER.set(watcher);
    }

    /// Whoever looks at the calls of this thread.
    pub(crate) fn current() -> Option<Arc<dyn Watcher>> {
        // A thread that ends closes files too.
        WATCHER.try_with(|watcher| watcher.borrow().clone()).ok().flatten()
    }

    pub(crate) fn through<T>(
        watcher: Option<&dyn Watcher>,
        call: &Call<'_>,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let Some(watcher) = watcher else { return work() };
        watcher.before(call)?;
        let done = work()?;
        watcher.after(call)?;
        Ok(done)
    }
}
