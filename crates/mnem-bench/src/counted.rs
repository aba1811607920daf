//! A store of which every call, object, byte and sync is counted. Its disk is in memory, and
//! time and randomness are the same in every run, so the counts are too.

use std::sync::{Arc, Mutex, PoisonError};

use mnem_store::backend::Backend;
use mnem_store::backend::counting::{Counting, Counts};
use mnem_store::backend::redb::{RedbBackend, Settings};
use mnem_store::backend::storage::{CountingStorage, CrashStorage, StorageCounts};
use mnem_store::{Environment, InitOptions, Store};

use crate::Outcome;

/// The disk, and what is counted about it.
pub struct Counted {
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
    /// An empty disk.
    pub fn new() -> Outcome<Self> {
        let storage = Arc::new(Mutex::new(StorageCounts::default()));
        let disk = CrashStorage::default();
        let open = {
            let storage = Arc::clone(&storage);
            move || Ok(CountingStorage::new(disk.clone(), Arc::clone(&storage)))
        };
        let engine =
            Arc::new(RedbBackend::create_on("memory", open, [7; 16], Settings::default())?);
        let backend = Arc::new(Counting::new(Arc::clone(&engine)));
        Ok(Self { backend, engine, storage })
    }

    /// A handle that has nothing in its cache.
    pub fn store(&self) -> Store {
        let shared = Arc::clone(&self.backend) as Arc<dyn Backend>;
        Store::over_backend(shared, &InitOptions::default(), Environment::fixed())
    }

    /// What was counted; counts from zero again.
    pub fn take(&self) -> Taken {
        let storage =
            std::mem::take(&mut *self.storage.lock().unwrap_or_else(PoisonError::into_inner));
        Taken { engine: self.backend.take(), storage }
    }

    /// How many bytes of the file are in use, as redb counts its pages.
    pub fn allocated(&self) -> Outcome<u64> {
        Ok(self.engine.allocated_bytes()?)
    }
}
