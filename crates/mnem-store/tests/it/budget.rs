//! What a write of one node costs, as counts: the budget that the gate holds.

use std::sync::{Arc, Mutex};

use mnem_store::backend::counting::Counting;
use mnem_store::backend::redb::{RedbBackend, Settings};
use mnem_store::backend::storage::{CountingStorage, CrashStorage, StorageCounts};
use mnem_store::ops::{Changes, Meta};
use mnem_store::{Content, InitOptions, MemoryNode, NodeId, Store};

use crate::support::environment;

struct Counted {
    store: Store,
    backend: Arc<Counting<Arc<RedbBackend>>>,
    engine: Arc<RedbBackend>,
    storage: Arc<Mutex<StorageCounts>>,
}

fn entry(number: usize, version: usize) -> (NodeId, Option<MemoryNode>) {
    let id = NodeId::new(format!("session:{number:010}")).unwrap();
    let text = format!("fact {number}, version {version}, {}", "y".repeat(40));
    (id.clone(), Some(MemoryNode::note(id, Content::text(text))))
}

fn filled(nodes: usize) -> Counted {
    let storage = Arc::new(Mutex::new(StorageCounts::default()));
    let disk = CrashStorage::default();
    let open = {
        let storage = Arc::clone(&storage);
        move || Ok(CountingStorage::new(disk.clone(), Arc::clone(&storage)))
    };
    let engine =
        Arc::new(RedbBackend::create_on("memory", open, [7; 16], Settings::default()).unwrap());
    let backend = Arc::new(Counting::new(Arc::clone(&engine)));
    let store = Store::over_backend(backend.clone(), &InitOptions::default(), environment());
    let fill: Changes = (0..nodes).map(|number| entry(number, 0)).collect();
    store.write(fill, &Meta::new("fill", "tester")).unwrap();
    Counted { store, backend, engine, storage }
}

impl Counted {
    fn write(&self, number: usize, version: usize) {
        let changes = Changes::from([entry(number, version)]);
        self.store.write(changes, &Meta::new("write", "tester")).unwrap();
    }

    fn syncs(&self) -> u64 {
        std::mem::take(&mut *self.storage.lock().unwrap()).syncs
    }
}

#[test]
fn a_write_at_100_000_nodes_is_one_sync_and_at_most_eight_objects() {
    let counted = filled(100_000);
    let (mut objects, mut syncs) = (Vec::new(), Vec::new());
    counted.syncs();
    for write in 0..300 {
        counted.backend.take();
        // A step that is odd and large visits nodes all over the memory.
        counted.write(write * 7_919 % 100_000, write + 1);
        objects.push(counted.backend.take().objects_inserted);
        syncs.push(counted.syncs());
    }
    objects.sort_unstable();
    assert!(objects[150] <= 8, "median of {objects:?}");
    // One more where the file grows.
    assert!(syncs.iter().all(|syncs| (1..=2).contains(syncs)), "{syncs:?}");
    assert!(syncs.iter().filter(|syncs| **syncs == 2).count() <= 3, "{syncs:?}");
}

#[test]
fn a_commit_grows_a_small_store_by_at_most_three_kilobytes() {
    const COMMITS: usize = 10_000;
    let counted = filled(100);
    let before = counted.engine.allocated_bytes().unwrap();
    for write in 0..COMMITS {
        counted.write(write * 7_919 % 100, write + 1);
    }
    let grown = counted.engine.allocated_bytes().unwrap() - before;
    assert!(grown <= 3 * 1_024 * COMMITS as u64, "{} bytes a commit", grown / COMMITS as u64);
}
