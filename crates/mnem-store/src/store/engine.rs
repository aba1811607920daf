//! The engine behind the handles of one store: its objects, its HEAD, its one writer.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::config::Config;
use super::environment::Environment;
use super::files::{self, Identity, Stamp};
use super::head::Head;
use super::writer::Writer;
use crate::backend::OriginalBackend;
use crate::backend::cache::Objects;
use crate::backend::disk;
use crate::error::{Error, ErrorKind, Hint};
use crate::graph::KnownBases;
use crate::id::{BranchName, CommitId};
use crate::object::Commit;

/// The directory of a store, beside the memory's owner.
pub const STORE_DIRECTORY: &str = ".mnem";

/// The file that tells one store from another, and that a process locks while it has the store.
pub(crate) const LOCK_FILE: &str = "lock";

/// What every handle of one store shares.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) place: Place,
    pub(crate) config: Config,
    pub(crate) objects: Objects,
    pub(crate) environment: Environment,
    pub(crate) writer: Writer,
    pub(crate) known_bases: KnownBases,
    /// Whether the original was killed while it wrote this.
    pub(crate) was_killed: bool,
}

/// Where a store is.
#[derive(Debug)]
pub(crate) enum Place {
    /// In a directory.
    Disk {
        /// The directory that contains `.mnem/`.
        root: PathBuf,
        /// The file of HEAD.
        head_file: PathBuf,
        /// The file in `.mnem/` that tells this store from another.
        mark: &'static str,
        /// What that file is.
        identity: Identity,
        /// HEAD as it was last read, once its file had settled.
        head: Mutex<Option<(Stamp, Head)>>,
    },
    /// Nowhere: gone with the engine.
    Memory {
        /// HEAD.
        head: Mutex<Head>,
    },
}

impl Place {
    /// The store in a directory that a file of this name and identity tells from another.
    pub(crate) fn on_disk(root: PathBuf, mark: &'static str, identity: Identity) -> Self {
        let head_file = root.join(STORE_DIRECTORY).join("HEAD");
        Self::Disk { root, head_file, mark, identity, head: Mutex::default() }
    }
}

/// The file that holds the data of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Its length, in bytes.
    pub bytes: u64,
    /// What it takes on the disk, in bytes: holes take nothing. Where the system does not tell,
    /// its length.
    pub allocated: u64,
}

impl Engine {
    /// The engine of a store of the original: it reads, and refuses to write.
    pub(crate) fn original(
        backend: OriginalBackend,
        place: Place,
        config: Config,
        environment: Environment,
    ) -> Self {
        let was_killed = backend.was_killed();
        let (objects, writer) = Writer::new(Arc::new(backend), None, environment.cache_bytes);
        let known_bases = KnownBases::default();
        let writer = match &place {
            Place::Disk { root, .. } => writer.refusing(root),
            Place::Memory { .. } => writer,
        };
        Self { place, config, objects, environment, writer, known_bases, was_killed }
    }

    pub(crate) fn head(&self) -> Result<Head, Error> {
        match &self.place {
            Place::Disk { root, head_file, mark, identity, head } => {
                if let Some(known) = self.head_at_hand() {
                    return Ok(known);
                }
                let stamp = Stamp::of(head_file).ok();
                check_place(root, mark, identity)?;
                let read = self.read_head(head_file)?;
                let settled = stamp.filter(|stamp| stamp.is_settled(self.environment.clock.now()));
                *head.lock().unwrap_or_else(PoisonError::into_inner) =
                    settled.map(|stamp| (stamp, read.clone()));
                Ok(read)
            }
            Place::Memory { head } => {
                Ok(head.lock().unwrap_or_else(PoisonError::into_inner).clone())
            }
        }
    }

    /// HEAD, where its file is the one that was last read: nothing is opened.
    pub(crate) fn head_at_hand(&self) -> Option<Head> {
        match &self.place {
            Place::Disk { head_file, head, .. } => {
                let (stamp, known) = head.try_lock().ok()?.clone()?;
                (Stamp::of(head_file).ok()? == stamp).then_some(known)
            }
            Place::Memory { head } => Some(head.try_lock().ok()?.clone()),
        }
    }

    fn read_head(&self, path: &Path) -> Result<Head, Error> {
        let text = disk::read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::corrupt(format!("{} is missing", path.display()))
            }
            // A directory, or a link that leads to itself.
            _ if fs::symlink_metadata(path).is_ok_and(|there| !there.is_file())
                && !path.is_file() =>
            {
                Error::corrupt(format!("{} is no file: {error}", path.display()))
            }
            _ => Error::io(format!("cannot read {}", path.display()), error),
        })?;
        let head = String::from_utf8(text)
            .map_err(|_| Error::corrupt("HEAD is not UTF-8"))
            .and_then(|text| Head::parse(&text))?;
        self.check_head(&head)?;
        Ok(head)
    }

    /// A branch that does not exist yet must be one that can be made.
    fn check_head(&self, head: &Head) -> Result<(), Error> {
        if let Head::Attached(branch) = head
            && BranchName::new(branch.as_str()).is_err()
            && self.tip(branch)?.is_none()
        {
            return Err(Error::corrupt(format!("HEAD names the branch {branch:?}")));
        }
        Ok(())
    }

    /// Refuses when the store is no longer at its path: deleted, or another in its place.
    pub(crate) fn check_place(&self) -> Result<(), Error> {
        match &self.place {
            Place::Disk { root, mark, identity, .. } => check_place(root, mark, identity),
            Place::Memory { .. } => Ok(()),
        }
    }

    /// Whether this process opened it: a forked child has its parent's in memory.
    pub(crate) fn is_mine(&self) -> bool {
        self.writer.is_mine()
    }

    /// Refuses in a child that was forked while a call ran: the call is the parent's.
    pub(crate) fn check_process(&self) -> Result<(), Error> {
        self.writer.check_process()
    }

    /// A commit that a caller named by its id.
    pub(crate) fn known_commit(&self, id: CommitId) -> Result<Arc<Commit>, Error> {
        self.objects
            .find_commit(id)?
            .ok_or_else(|| Error::not_found(format!("there is no commit {id}")).hint(Hint::ListLog))
    }

    /// Where its files are; none for a store in memory.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        match &self.place {
            Place::Disk { root, .. } => Some(root.join(STORE_DIRECTORY)),
            Place::Memory { .. } => None,
        }
    }

    /// How large the data file is; none for a store in memory.
    pub(crate) fn data_file(&self) -> Result<Option<DataFile>, Error> {
        let Place::Disk { root, .. } = &self.place else { return Ok(None) };
        let path = root.join(STORE_DIRECTORY).join(self.config.data_file());
        let metadata = fs::metadata(&path)
            .map_err(|error| Error::io(format!("cannot read {}", path.display()), error))?;
        let allocated = files::allocated(&metadata);
        Ok(Some(DataFile { bytes: metadata.len(), allocated }))
    }

    pub(crate) fn set_head(&self, new: &Head) -> Result<(), Error> {
        self.writer.check()?;
        match &self.place {
            Place::Disk { head_file, .. } => {
                let unique = u64::from_be_bytes(self.environment.random()?);
                files::replace(head_file, &format!("{}\n", new.render()), unique)
            }
            Place::Memory { head } => {
                *head.lock().unwrap_or_else(PoisonError::into_inner) = new.clone();
                Ok(())
            }
        }
    }
}

impl Drop for Engine {
    /// When the last handle is closed, so is the file.
    fn drop(&mut self) {
        self.writer.end();
    }
}

/// Refuses when another store, or none, is at a path.
pub(crate) fn check_place(root: &Path, mark: &str, identity: &Identity) -> Result<(), Error> {
    let path = root.join(STORE_DIRECTORY).join(mark);
    match files::identity_at(&path) {
        Ok(there) if there == *identity => Ok(()),
        Ok(_) => Err(gone(root)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(gone(root)),
        Err(error) => Err(Error::io(format!("cannot read {}", path.display()), error)),
    }
}

pub(crate) fn gone(root: &Path) -> Error {
    Error::new(ErrorKind::NoStore, format!("the store at {} is gone", root.display()))
}
