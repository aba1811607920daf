//! Another data file in the place of a store's, by one rename.
//!
//! A file under a new name is filled, checked and made durable; then `config`, which names the
//! data file, is replaced. A stop before that leaves the store as it was, beside a file that
//! nothing names; a stop after it leaves the new store. The caller holds the lease.

use std::fs::{self, File};
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
    /// It is removed. What cannot be removed stays, and harms nothing.
    #[allow(dead_code)] // what a migration will ask for
    Removed,
}

/// Fills a new data file and makes it the store's: `config` is what the store's will say, but for
/// the engine. Until `fill` has answered nothing of the store has changed, and when it refuses,
/// the new file is removed.
pub(crate) fn switch<T>(
    directory: &Path,
    config: &Config,
    old: Old,
    environment: &Environment,
    fill: impl FnOnce(&Arc<RedbBackend>) -> Result<T, Error>,
    is_durable: impl FnOnce(),
) -> Result<(PathBuf, T), Error> {
    let unique = u64::from_be_bytes(environment.random()?);
    let name = format!("store-{unique:016x}.redb");
    let path = directory.join(&name);
    let filled = RedbBackend::create(&path, environment.random()?, Settings::default())
        .map_err(Error::from)
        .and_then(|backend| {
            let backend = Arc::new(backend);
            let filled = fill(&backend)?;
            backend.release();
            Ok(filled)
        })
        .and_then(|filled| {
            let durable = File::open(&path).and_then(|file| file.sync_all());
            durable
                .and_then(|()| files::sync_directory(directory))
                .map_err(|error| Error::io(format!("cannot write {}", path.display()), error))?;
            Ok(filled)
        });
    let filled = match filled {
        Ok(filled) => filled,
        Err(error) => {
            let _ = fs::remove_file(&path); // the first error is the one to tell
            return Err(error);
        }
    };
    is_durable();
    let new = Config { engine: Some(Engine::current(&name)), ..config.clone() };
    files::replace(&directory.join(CONFIG_FILE), &new.render(), unique)?;
    if let (Old::Removed, Some(engine)) = (old, &config.engine) {
        let _ = fs::remove_file(directory.join(&engine.data_file));
        let _ = files::sync_directory(directory);
    }
    Ok((path, filled))
}
