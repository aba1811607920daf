//! One engine per store and process: every open of a store gets the same one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::engine::Engine;
use super::files::Identity;

/// Engines by the identity of their open `lock` file, which each keeps open: the file system
/// gives the number of a deleted file to the next one, but not while it is open.
/// A forked child has engines of its own.
static ENGINES: Mutex<Engines> = Mutex::new(BTreeMap::new());

/// By process and identity.
type Engines = BTreeMap<(u32, Identity), Weak<Engine>>;

/// The registry, held while one looks an engine up and enters a new one.
pub(crate) struct Registry(MutexGuard<'static, Engines>);

impl Registry {
    pub(crate) fn lock() -> Self {
        Self(ENGINES.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn find(&self, identity: &Identity) -> Option<Arc<Engine>> {
        self.0.get(&(std::process::id(), identity.clone())).and_then(Weak::upgrade)
    }

    /// In a forked child: forgets every engine without ending one. They are its parent's.
    pub(crate) fn leak_all(&mut self) {
        let engines = std::mem::take(&mut *self.0);
        engines.values().filter_map(Weak::upgrade).for_each(std::mem::forget);
    }

    pub(crate) fn enter(&mut self, identity: Identity, engine: &Arc<Engine>) {
        self.0.retain(|_, engine| engine.strong_count() > 0);
        self.0.insert((std::process::id(), identity), Arc::downgrade(engine));
    }
}
