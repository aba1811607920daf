//! Open files that a forked child gives up, since they are its parent's.
//!
//! A child has a copy of each open file, which shares its locks: were it kept, a lock would
//! outlive the parent. So every file is reached through a [`Descriptor`], whose content the child
//! drops. That closes the child's copy and unlocks nothing.
//!
//! A fork waits at the gate until no other thread is inside a call of the system, or looks at
//! what the child will need: the child finds no lock taken by a thread that it does not have.

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

/// Entered for one call of the system, or one look at a handle. Nothing is waited for inside, the
/// lock of Python least of all: who forks waits with it.
static GATE: RwLock<()> = RwLock::new(());

/// What is open. Reached inside the gate alone.
static OPEN: Mutex<Vec<Weak<dyn GiveUp>>> = Mutex::new(Vec::new());

/// Enters the gate. It must not be entered twice: who forks may wait in between.
pub(crate) fn enter() -> RwLockReadGuard<'static, ()> {
    GATE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until nobody is inside the gate, and keeps it shut.
pub(crate) fn shut() -> RwLockWriteGuard<'static, ()> {
    GATE.write().unwrap_or_else(PoisonError::into_inner)
}

/// In a forked child, with the gate shut: drops every open file.
pub(crate) fn give_up_all() {
    let open = std::mem::take(&mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner));
    open.iter().filter_map(Weak::upgrade).for_each(|descriptor| descriptor.give_up());
}

trait GiveUp: Send + Sync {
    fn give_up(&self);
}

/// An open file, or what holds one, until it is taken away. Clones are the same.
#[derive(Debug)]
pub(crate) struct Descriptor<T>(Arc<RwLock<Option<T>>>);

impl<T: Send + Sync + 'static> Descriptor<T> {
    /// What a call opens.
    pub(crate) fn open<E>(open: impl FnOnce() -> Result<T, E>) -> Result<Self, E> {
        let _gate = enter();
        let slot = Arc::new(RwLock::new(Some(open()?)));
        let mut all = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.strong_count() > 0);
        let weak: Weak<RwLock<Option<T>>> = Arc::downgrade(&slot);
        all.push(weak);
        Ok(Self(slot))
    }

    /// Makes one call with it; none once it was taken away.
    pub(crate) fn with<R>(&self, call: impl FnOnce(&T) -> R) -> Option<R> {
        let _gate = enter();
        self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(call)
    }

    /// Takes it away, for one last call.
    pub(crate) fn take(&self, last: impl FnOnce(T)) {
        let _gate = enter();
        if let Some(taken) = self.0.write().unwrap_or_else(PoisonError::into_inner).take() {
            last(taken);
        }
    }
}

impl<T> Clone for Descriptor<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Send + Sync> GiveUp for RwLock<Option<T>> {
    fn give_up(&self) {
        self.write().unwrap_or_else(PoisonError::into_inner).take();
    }
}
