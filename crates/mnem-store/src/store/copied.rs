//! A store as it is at one moment: a copy of its data file, to be read for as long as it takes
//! while others write on.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::engine::{Engine, Place};
use super::leftovers::leftovers;
use super::{Head, STORE_DIRECTORY, Store};
use crate::backend::disk;
use crate::backend::redb::{ReadOnlyFile, RedbBackend, Settings};
use crate::error::{Error, ErrorKind};

/// What a store holds at one moment.
pub(crate) struct Copied {
    /// Its data, to be examined. Gone when this is dropped.
    pub(crate) store: Store,
    /// HEAD.
    pub(crate) head: Result<Head, Error>,
    /// What nothing uses.
    pub(crate) leftovers: Vec<PathBuf>,
}

/// Why no copy of a file is made: it is larger than what is free.
pub(crate) struct Shortage {
    pub(crate) path: PathBuf,
    pub(crate) wanted: u64,
    pub(crate) free: u64,
}

impl Engine {
    /// What a copy of the data file lacks.
    pub(crate) fn shortage(&self) -> Option<Shortage> {
        let Place::Disk { root, .. } = &self.place else { return None };
        let directory = root.join(STORE_DIRECTORY);
        let path = directory.join(self.config.data_file());
        let wanted = path.metadata().ok()?.len();
        let free = (self.environment.free_bytes)(&directory)?;
        (free < wanted).then_some(Shortage { path, wanted, free })
    }

    /// The store as it is now. Nobody writes while the file is copied. None of a store in memory
    /// or of the original, or where no copy can be made: the disk is full or read-only.
    pub(crate) fn copied(&self) -> Result<Option<Copied>, Error> {
        let (Place::Disk { root, .. }, Some(engine)) = (&self.place, &self.config.engine) else {
            return Ok(None);
        };
        let directory = root.join(STORE_DIRECTORY);
        let data = directory.join(&engine.data_file);
        let unique = u64::from_be_bytes(self.environment.random()?);
        let beside = directory.join(format!("copy-{unique:016x}.redb"));
        if !self.writer.is_writable() {
            return Ok(None);
        }
        let read = || Ok::<_, Error>((copy(&data, &beside).ok(), leftovers(root)?));
        let (head, copied) = match self.writer.run(|| Ok((self.head(), read()))) {
            Ok(copied) => copied,
            Err(error) if error.kind() == ErrorKind::CorruptStore => return Ok(None),
            // Also a wait that was interrupted: it is not begun anew.
            Err(error) => return Err(error),
        };
        let (Some(file), leftovers) = copied? else { return Ok(None) };
        let settings = Settings { examine: true, check_pages: true, ..Settings::default() };
        let name = data.display().to_string();
        let open = move || Ok(ReadOnlyFile(file.try_clone()?));
        let backend = Arc::new(RedbBackend::open_on(name, open, settings)?);
        let place =
            Place::Memory { head: Mutex::new(Head::Attached(self.config.default_branch.clone())) };
        let (config, environment) = (self.config.clone(), self.environment.clone());
        let store = Store::over(backend, None, place, config, environment);
        Ok(Some(Copied { store, head, leftovers }))
    }
}

/// A copy of a file, without a name.
fn copy(from: &Path, beside: &Path) -> io::Result<File> {
    let mut copy = disk::nameless(beside)?;
    io::copy(&mut File::open(from)?, &mut copy)?;
    Ok(copy)
}
