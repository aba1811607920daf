//! A store on disk of which every call, object, byte and sync is counted.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use mnem_git::system;
use mnem_store::backend::counting::{Counting, Counts};
use mnem_store::backend::redb::{RedbBackend, Settings};
use mnem_store::backend::storage::{CountingStorage, StorageCounts};
use mnem_store::{InitOptions, Store};
use redb::backends::FileBackend;

use crate::Outcome;

/// A store and its counters.
pub struct Counted {
    pub store: Store,
    backend: Arc<Counting<Arc<RedbBackend>>>,
    engine: Arc<RedbBackend>,
    storage: Arc<Mutex<StorageCounts>>,
}

/// What was counted since the counters were last taken.
pub struct Taken {
    pub engine: Counts,
    pub storage: StorageCounts,
}

impl Counted {
    /// Makes a store in a new file.
    pub fn new(path: &Path) -> Outcome<Self> {
        let storage = Arc::new(Mutex::new(StorageCounts::default()));
        let open = {
            let (path, storage) = (path.to_owned(), Arc::clone(&storage));
            move || {
                let file = File::options()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(&path)?;
                let file = FileBackend::new(file).map_err(std::io::Error::other)?;
                Ok(CountingStorage::new(file, Arc::clone(&storage)))
            }
        };
        let name = path.display().to_string();
        let engine = Arc::new(RedbBackend::create_on(name, open, [7; 16], Settings::default())?);
        let backend = Arc::new(Counting::new(Arc::clone(&engine)));
        let store =
            Store::over_backend(backend.clone(), &InitOptions::default(), system::environment());
        Ok(Self { store, backend, engine, storage })
    }

    /// What was counted; counts from zero again.
    pub fn take(&self) -> Taken {
        let storage =
            std::mem::take(&mut *self.storage.lock().unwrap_or_else(PoisonError::into_inner));
        Taken { engine: self.backend.take(), storage }
    }

    /// How many bytes of the file are in use.
    pub fn allocated(&self) -> Outcome<u64> {
        Ok(self.engine.allocated_bytes()?)
    }
}
