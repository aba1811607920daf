//! A store on disk with a long history, made quickly: commits are built in memory and published
//! many at a time.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use mnem_store::backend::redb::{RedbBackend, Settings};
use mnem_store::backend::{Backend, BackendError, Batch, Found, MemoryBackend, PublishError, View};
use mnem_store::{Environment, InitOptions, Store};

use crate::Outcome;
use crate::history::History;

/// How many batches become one, as when many writers wait for one another.
const TOGETHER: usize = 256;

/// Makes the store.
pub fn run(path: &Path, history: History) -> Outcome<()> {
    let options = InitOptions::default();
    Store::init(path, &options, Environment::fixed())?.close();
    let file = RedbBackend::open(&path.join(".mnem").join("store.redb"), Settings::default())?;
    let relay = Arc::new(Relay { memory: MemoryBackend::new(), waiting: Mutex::default(), file });
    let shared = Arc::clone(&relay) as Arc<dyn Backend>;
    let store = Store::over_backend(shared, &options, Environment::fixed());
    history.write(&store)?;
    relay.flush()?;
    relay.file.release();
    Ok(())
}

/// Answers from memory, and passes on what is published.
#[derive(Debug)]
struct Relay {
    memory: MemoryBackend,
    waiting: Mutex<Vec<Batch>>,
    file: RedbBackend,
}

impl Relay {
    fn flush(&self) -> Result<(), PublishError> {
        let mut whole = Batch::default();
        let waiting =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        for batch in waiting {
            whole.entries.extend(batch.entries);
            whole.rows.extend(batch.rows);
            for edit in batch.refs {
                // A branch that moves again still starts from where the first batch found it.
                match whole.refs.iter_mut().find(|moved| moved.name == edit.name) {
                    Some(moved) => moved.new = edit.new,
                    None => whole.refs.push(edit),
                }
            }
        }
        self.file.publish(&whole)
    }
}

impl Backend for Relay {
    fn name(&self) -> &'static str {
        self.memory.name()
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        self.memory.view()
    }

    fn publish(&self, batch: &Batch) -> Result<(), PublishError> {
        self.memory.publish(batch)?;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(batch.clone());
        let full = waiting.len() >= TOGETHER;
        drop(waiting);
        if full { self.flush() } else { Ok(()) }
    }

    fn damage(&self) -> Option<String> {
        self.memory.damage()
    }

    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError> {
        self.memory.inspect(tell)
    }
}
