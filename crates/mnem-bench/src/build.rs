//! A store on disk with a long history, made without a sync for each commit.

use std::fs::File;
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use mnem_store::backend::Backend;
use mnem_store::backend::redb::{RedbBackend, Settings};
use mnem_store::{Environment, InitOptions, Store};
use redb::StorageBackend;
use redb::backends::FileBackend;

use crate::Outcome;
use crate::history::History;

/// Makes the store and syncs it once.
pub fn run(path: &Path, history: History) -> Outcome<()> {
    let options = InitOptions::default();
    Store::init(path, &options, Environment::fixed())?.close();
    let data = path.join(".mnem").join("store.redb");
    let open = {
        let data = data.clone();
        move || {
            let file = File::options().read(true).write(true).open(&data)?;
            FileBackend::new(file).map(Unsynced).map_err(io::Error::other)
        }
    };
    let name = data.display().to_string();
    let engine = Arc::new(RedbBackend::open_on(name, open, Settings::default())?);
    let shared = Arc::clone(&engine) as Arc<dyn Backend>;
    let store = Store::over_backend(shared, &options, Environment::fixed());
    history.write(&store, || ())?;
    drop(store);
    engine.release();
    File::open(&data)?.sync_all()?;
    Ok(())
}

/// A file whose syncs do nothing.
#[derive(Debug)]
struct Unsynced(FileBackend);

impl StorageBackend for Unsynced {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }

    fn try_lock_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, redb::BackendError> {
        self.0.try_lock_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), redb::BackendError> {
        self.0.unlock_range(start, end)
    }
}
