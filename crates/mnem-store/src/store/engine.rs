//! The engine behind the handles of one store: its objects, its HEAD, its one writer.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::config::Config;
use super::environment::Environment;
use super::files;
use super::head::Head;
use super::writer::Writer;
use crate::backend::cache::Objects;
use crate::error::{Error, ErrorKind};

/// The directory of a store, beside the memory's owner.
pub const STORE_DIRECTORY: &str = ".mnem";

/// What every handle of one store shares.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) place: Place,
    pub(crate) config: Config,
    pub(crate) objects: Objects,
    pub(crate) environment: Environment,
    pub(crate) writer: Writer,
}

/// Where a store is.
#[derive(Debug)]
pub(crate) enum Place {
    /// In a directory.
    Disk {
        /// The directory that contains `.mnem/`.
        root: PathBuf,
        /// Kept open: see [`super::registry`].
        _lock: fs::File,
    },
    /// Nowhere: gone with the engine.
    Memory {
        /// HEAD.
        head: Mutex<Head>,
    },
}

impl Engine {
    pub(crate) fn head(&self) -> Result<Head, Error> {
        match &self.place {
            Place::Disk { root, .. } => {
                let path = head_path(root);
                let text = fs::read(&path).map_err(|error| match error.kind() {
                    std::io::ErrorKind::NotFound if !root.join(STORE_DIRECTORY).exists() => {
                        Error::new(
                            ErrorKind::NoStore,
                            format!("the store at {} is gone", root.display()),
                        )
                    }
                    std::io::ErrorKind::NotFound => {
                        Error::corrupt(format!("{} is missing", path.display()))
                    }
                    _ => Error::io(format!("cannot read {}", path.display()), error),
                })?;
                Head::parse(&String::from_utf8_lossy(&text))
            }
            Place::Memory { head } => {
                Ok(head.lock().unwrap_or_else(PoisonError::into_inner).clone())
            }
        }
    }

    pub(crate) fn set_head(&self, new: &Head) -> Result<(), Error> {
        match &self.place {
            Place::Disk { root, .. } => {
                let unique = u64::from_be_bytes(self.environment.random()?);
                files::replace(&head_path(root), &format!("{}\n", new.render()), unique)
            }
            Place::Memory { head } => {
                *head.lock().unwrap_or_else(PoisonError::into_inner) = new.clone();
                Ok(())
            }
        }
    }
}

fn head_path(root: &Path) -> PathBuf {
    root.join(STORE_DIRECTORY).join("HEAD")
}
