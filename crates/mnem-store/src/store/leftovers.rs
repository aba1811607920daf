//! What processes leave that end in the middle of something, told from what is in use.
//!
//! Everything is known by its name, which has sixteen random digits or belongs to whoever has the
//! lease. In `.mnem/` all of it is made with the lease: who has that knows that nobody uses what is
//! there. A store that is being made stands beside, and its maker keeps its `lock` locked from
//! before the data file is there.

use std::fs::{self, File};
use std::io::{self, ErrorKind as IoKind};
use std::path::{Path, PathBuf};

use super::engine::{LOCK_FILE, STORE_DIRECTORY};
use super::lease::{HOLDER_FILE, WANT_FILE};
use super::open::{CONFIG_FILE, DATA_FILE, HEAD_FILE};
use super::switch::{UNFINISHED, number};
use crate::backend::disk;
use crate::error::Error;

/// The files and directories that nothing uses in a store's directory and beside it. The caller has
/// the lease.
pub(crate) fn leftovers(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let directory = root.join(STORE_DIRECTORY);
    let inside = matching(&directory, |name| {
        digits(name, "HEAD.tmp-").is_some_and(str::is_empty)
            || ["carved-", "copy-"].iter().any(|start| digits(name, start) == Some(".redb"))
            || name == "config.new"
            || name.ends_with(UNFINISHED) && number(name.trim_end_matches(UNFINISHED)) > 0
    });
    let inside = inside.map_err(|error| cannot_read(&directory, error))?;
    let beside = matching(root, is_new_store).map_err(|error| cannot_read(root, error))?;
    let beside = beside.into_iter().filter(|path| !is_being_made(path));
    Ok(inside.into_iter().chain(beside).collect())
}

/// Removes those of which it is certain that no process uses them, and says which. The caller has
/// the lease.
pub(crate) fn remove_leftovers(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut removed = Vec::new();
    for path in leftovers(root)? {
        let gone = if path.is_dir() { remove_new_store(&path) } else { disk::remove(&path) };
        if gone.map_err(|error| Error::io(format!("cannot remove {}", path.display()), error))? {
            removed.push(path);
        }
    }
    Ok(removed)
}

/// Removes what is left in a directory of stores that were never finished. What cannot be removed
/// harms nothing, and stays.
pub(crate) fn remove_new_stores(root: &Path) {
    for path in matching(root, is_new_store).unwrap_or_default() {
        let _ = remove_new_store(&path);
    }
}

/// Data files with a higher number than the one in use: of a repair or a migration that stopped,
/// or the store itself, where `config` came back from an older copy.
pub(crate) fn newer_data_files(directory: &Path, in_use: &str) -> Result<Vec<PathBuf>, Error> {
    let is_later = |name: &str| number(name) > number(in_use);
    matching(directory, is_later).map_err(|error| cannot_read(directory, error))
}

/// Data files beside the one in use.
pub(crate) fn other_data_files(directory: &Path, in_use: &str) -> Result<Vec<PathBuf>, Error> {
    let is_other = |name: &str| number(name) > 0 && name != in_use;
    matching(directory, is_other).map_err(|error| cannot_read(directory, error))
}

fn cannot_read(directory: &Path, error: io::Error) -> Error {
    Error::io(format!("cannot read {}", directory.display()), error)
}

/// What is in a directory under names of this kind, in their order. Links are none of ours.
fn matching(directory: &Path, is_it: impl Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let is_named = entry.file_name().to_str().is_some_and(&is_it);
        if is_named && !entry.file_type()?.is_symlink() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// What comes after a beginning and sixteen hexadecimal digits.
fn digits<'n>(name: &'n str, start: &str) -> Option<&'n str> {
    let (digits, rest) = name.strip_prefix(start)?.split_at_checked(16)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(rest)
}

/// Whether this is how a store is named that is being made.
fn is_new_store(name: &str) -> bool {
    digits(name, &format!("{STORE_DIRECTORY}.new-")).is_some_and(str::is_empty)
}

/// Whether a process that lives makes the store in a directory.
fn is_being_made(path: &Path) -> bool {
    File::open(path.join(LOCK_FILE)).is_ok_and(|lock| lock.try_lock().is_err())
}

/// Removes a store that was never finished, if it is certain that nobody makes it: the data file,
/// which is made under the lock, is there, and the lock is free. True when it was removed.
fn remove_new_store(path: &Path) -> io::Result<bool> {
    let Ok(lock) = File::open(path.join(LOCK_FILE)) else { return Ok(false) };
    if !path.join(DATA_FILE).is_file() || lock.try_lock().is_err() {
        return Ok(false);
    }
    for name in [CONFIG_FILE, HEAD_FILE, WANT_FILE, HOLDER_FILE, DATA_FILE, LOCK_FILE] {
        disk::remove(&path.join(name))?;
    }
    match disk::remove_directory(path) {
        Err(error) if error.kind() == IoKind::DirectoryNotEmpty => Ok(false),
        removed => removed.map(|()| true),
    }
}
