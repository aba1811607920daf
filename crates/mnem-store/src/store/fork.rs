//! A process that forks while it has stores open.
//!
//! The child has the parent's memory, but of its threads only the one that forked, and copies of
//! the parent's open files. So a fork waits until no other thread opens a store, looks at a handle
//! or is inside a call of the system; and the child closes the copies, forgets the parent's
//! engines and opens its own, under the same handles, when they are next used.
//!
//! Whoever forks calls [`before`] and then [`after_in_parent`] or [`after_in_child`], on the
//! thread that forks. A store in memory stays what it was at the fork; it must not be in use by
//! another thread at that moment.
//!
//! ```
//! use mnem_store::store::fork;
//!
//! fork::before();
//! // Here the process forks.
//! fork::after_in_parent();
//! ```

use std::cell::RefCell;
use std::sync::RwLockWriteGuard;

use super::lease;
use super::registry::Registry;
use crate::backend::descriptor;

/// What is held over a fork, in the order in which it is taken.
struct Held {
    registry: Registry,
    _gate: RwLockWriteGuard<'static, ()>,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// Waits, for one call of the system at most, until the process can be forked.
pub fn before() {
    let registry = Registry::lock();
    let gate = descriptor::shut();
    HELD.set(Some(Held { registry, _gate: gate }));
}

/// Lets the other threads go on.
pub fn after_in_parent() {
    HELD.take();
}

/// Gives up what is the parent's.
pub fn after_in_child() {
    if let Some(mut held) = HELD.take() {
        descriptor::give_up_all();
        held.registry.leak_all();
        lease::forget_views();
    }
}
