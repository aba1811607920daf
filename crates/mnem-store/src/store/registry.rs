//! One engine per store and process: every open of a store gets the same one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::engine::Engine;
use super::files::Identity;

/// Engines by the identity of their open `lock` file, which each keeps open: the file system
/// gives the number of a deleted file to the next one, but not while it is open.
static ENGINES: Mutex<BTreeMap<Identity, Weak<Engine>>> = Mutex::new(BTreeMap::new());

/// The registry, held while one looks an engine up and enters a new one.
pub(crate) struct Registry(MutexGuard<'static, BTreeMap<Identity, Weak<Engine>>>);

impl Registry {
    pub(crate) fn lock() -> Self {
        Self(ENGINES.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn find(&self, identity: &Identity) -> Option<Arc<Engine>> {
        self.0.get(identity).and_then(Weak::upgrade)
    }

    pub(crate) fn enter(&mut self, identity: Identity, engine: &Arc<Engine>) {
        self.0.retain(|_, engine| engine.strong_count() > 0);
        self.0.insert(identity, Arc::downgrade(engine));
    }
}
