//! Another data file in the place of a store's, by one rename.
//!
//! A file is filled, checked and made durable; then it gets the next name that is free, and
//! `config`, which names the data file, is replaced. Wherever a machine stops, the store is what it
//! was before that and what it is to be after it. The caller keeps everybody else off the store.
//!
//! No file with the name of a data file is ever written over: `config` may have come back from an
//! older copy, and then such a file is the store.

use std::error::Error as _;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::config::{Config, Engine};
use super::environment::Environment;
use super::files;
use super::open::CONFIG_FILE;
use super::original;
use crate::backend::disk;
use crate::backend::redb::{RedbBackend, Settings};
use crate::error::{Error, ErrorKind, Hint};

/// What a data file is called beside its name until it is whole.
pub(crate) const UNFINISHED: &str = ".new";

/// What becomes of the file that a store no longer uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Old {
    /// It stays where it is.
    Kept,
    /// It is removed.
    Removed,
}

/// Fills a new data file and makes it the store's: `config` is what the store's will say, but for
/// the engine, which is still that of the file in use, or none in a store of the original.
///
/// Until `fill` has answered nothing of the store has changed, and when it refuses, the new file
/// is removed. After another error the store is what it was, or, when the error is that the old
/// file could not be removed, what it is to be: `config` tells.
pub(crate) fn switch<T>(
    directory: &Path,
    config: &Config,
    old: Old,
    environment: &Environment,
    fill: impl FnOnce(&Arc<RedbBackend>) -> Result<T, Error>,
    is_durable: impl FnOnce(),
) -> Result<(PathBuf, T), Error> {
    let in_use = config.data_file();
    let name = next_name(directory, in_use);
    let path = directory.join(&name);
    // What an attempt left that was stopped.
    let unfinished = format!("{name}{UNFINISHED}");
    remove(directory, &unfinished)?;
    let beside = directory.join(unfinished);
    let filled = filled(directory, &beside, in_use, environment, fill).map_err(|error| {
        let told = with_room(error, &path, &directory.join(in_use), environment);
        let _ = files::remove(&beside); // the first error is the one to tell
        told
    })?;
    files::rename(&beside, &path)
        .and_then(|()| files::sync_directory(directory))
        .map_err(|error| Error::io(format!("cannot write {}", path.display()), error))?;
    is_durable();
    let new = Config { engine: Some(Engine::current(&name)), ..config.clone() };
    files::replace_alone(&directory.join(CONFIG_FILE), &new.render())?;
    if old == Old::Removed {
        remove(directory, in_use)?;
    }
    Ok((path, filled))
}

/// Makes the new file, closed and durable when this returns.
fn filled<T>(
    directory: &Path,
    path: &Path,
    in_use: &str,
    environment: &Environment,
    fill: impl FnOnce(&Arc<RedbBackend>) -> Result<T, Error>,
) -> Result<T, Error> {
    let backend = RedbBackend::create(path, environment.random()?, Settings::default())?;
    disk::permit_like(path, &directory.join(in_use))
        .map_err(|error| Error::io(format!("cannot write {}", path.display()), error))?;
    let backend = Arc::new(backend);
    let filled = fill(&backend)?;
    backend.release();
    files::sync(path)
        .and_then(|()| files::sync_directory(directory))
        .map_err(|error| Error::io(format!("cannot write {}", path.display()), error))?;
    Ok(filled)
}

/// Removes a data file that is not in use; true when it was there.
pub(crate) fn remove(directory: &Path, name: &str) -> Result<bool, Error> {
    let path = directory.join(name);
    let removed = files::remove(&path).and_then(|was| {
        if was {
            files::sync_directory(directory)?;
        }
        Ok(was)
    });
    removed.map_err(|error| Error::io(format!("cannot remove {}", path.display()), error))
}

/// The same error, and where the disk was full, how much it lacks.
pub(crate) fn with_room(error: Error, new: &Path, old: &Path, environment: &Environment) -> Error {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let is_full = source.is_some_and(|it| matches!(it.kind(), StorageFull | QuotaExceeded));
    let wanted = std::fs::metadata(old).map(|old| files::allocated(&old));
    match wanted {
        Ok(wanted) if is_full => {
            let free = (environment.free_bytes)(new.parent().unwrap_or(new));
            no_room(new.display(), wanted, free).caused_by(error)
        }
        _ => error,
    }
}

/// Why a file cannot be made: it takes about so many bytes, and so many are free.
pub(crate) fn no_room(what: impl Display, wanted: u64, free: Option<u64>) -> Error {
    let free = free.map_or_else(|| "no more".into(), |free| format!("{free}"));
    let message = format!(
        "there is no room for {what}: it takes about {wanted} bytes, and {free} are free; the store \
         is what it was"
    );
    Error::new(ErrorKind::Io, message).hint(Hint::MakeRoom)
}

/// The name of the data file that comes after one, unless there is a file of that name:
/// `store.redb`, `store.2.redb`, `store.3.redb`.
fn next_name(directory: &Path, old: &str) -> String {
    let mut number = number(old).max(1);
    loop {
        number = number.saturating_add(1);
        let name = format!("store.{number}.redb");
        if number == u32::MAX || !directory.join(&name).exists() {
            return name;
        }
    }
}

/// The number in the name of a data file, 1 for the first; 0 where it is no such name.
pub(crate) fn number(name: &str) -> u32 {
    if name == original::DATA_FILE {
        return 1;
    }
    let number = name.strip_prefix("store.").and_then(|rest| rest.strip_suffix(".redb"));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
