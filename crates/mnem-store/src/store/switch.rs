//! Another data file in the place of a store's, by one rename.
//!
//! A file under the next name is filled, checked and made durable; then `config`, which names the
//! data file, is replaced. Wherever a machine stops, the store is what it was before that rename
//! and what it is to be after it. The caller keeps everybody else off the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::config::{Config, Engine};
use super::environment::Environment;
use super::files;
use super::open::CONFIG_FILE;
use crate::backend::redb::{RedbBackend, Settings};
use crate::error::Error;

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
    let name = next_name(in_use);
    let path = directory.join(&name);
    // What an attempt left that was stopped.
    remove(directory, &name)?;
    let filled = filled(directory, &path, environment, fill).inspect_err(|_| {
        let _ = files::remove(&path); // the first error is the one to tell
    })?;
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
    environment: &Environment,
    fill: impl FnOnce(&Arc<RedbBackend>) -> Result<T, Error>,
) -> Result<T, Error> {
    let backend = RedbBackend::create(path, environment.random()?, Settings::default())?;
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

/// The name of the data file that comes after one: `store.redb`, `store.2.redb`, `store.3.redb`.
/// It follows from the old name, so that who begins again finds what a stopped attempt left.
fn next_name(old: &str) -> String {
    let number = old.strip_prefix("store.").and_then(|rest| rest.strip_suffix(".redb"));
    let number = number.and_then(|number| number.parse::<u32>().ok()).unwrap_or(1);
    format!("store.{}.redb", number.saturating_add(1))
}
