//! From one data file of a store to another: one rename of `config` is the moment.
//!
//! Before it the store is what it was, after it what it is to be, wherever a machine stops: the
//! new file is whole and durable first, and the old one goes last.

use std::path::Path;

use super::config::Config;
use super::engine::STORE_DIRECTORY;
use super::files;
use super::open::CONFIG_FILE;
use crate::error::Error;

/// A data file that is complete, closed, and not in use yet.
#[derive(Debug)]
pub(crate) struct NewFile<'n> {
    /// The `config` that names it.
    pub(crate) config: &'n Config,
    /// The name of the file that is in use until now.
    pub(crate) old: &'n str,
}

/// Puts a new data file in use, and removes the old one unless it is to be kept. Who calls this
/// keeps everybody else off the old file.
///
/// After an error the store is what it was, or, when the error is that the old file could not
/// be removed, what it is to be: `config` tells.
pub(crate) fn switch(root: &Path, new: &NewFile<'_>, keep_old: bool) -> Result<(), Error> {
    let directory = root.join(STORE_DIRECTORY);
    if let Some(engine) = &new.config.engine {
        let data = directory.join(&engine.data_file);
        files::sync(&data)
            .and_then(|()| files::sync_directory(&directory))
            .map_err(|error| Error::io(format!("cannot write {}", data.display()), error))?;
    }
    files::replace_alone(&directory.join(CONFIG_FILE), &new.config.render())?;
    if keep_old { Ok(()) } else { remove(root, new.old).map(drop) }
}

/// Removes a data file that is not in use; true when it was there.
pub(crate) fn remove(root: &Path, name: &str) -> Result<bool, Error> {
    let directory = root.join(STORE_DIRECTORY);
    let path = directory.join(name);
    let removed = files::remove(&path).and_then(|was| {
        if was {
            files::sync_directory(&directory)?;
        }
        Ok(was)
    });
    removed.map_err(|error| Error::io(format!("cannot remove {}", path.display()), error))
}

/// The name of the data file that comes after one: `store.redb`, `store.2.redb`, `store.3.redb`.
/// It follows from the old name, so that who begins again finds what a stopped attempt left.
pub(crate) fn next_name(old: &str) -> String {
    let number = old.strip_prefix("store.").and_then(|rest| rest.strip_suffix(".redb"));
    let number = number.and_then(|number| number.parse::<u32>().ok()).unwrap_or(1);
    format!("store.{}.redb", number.saturating_add(1))
}
