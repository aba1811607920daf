//! The Python binding: conversion, nothing else.
//!
//! Each call converts its arguments, runs the core without the GIL, and makes the dataclasses of
//! `mnem.types` of the answer. A panic of the core is an exception like any other.

mod convert;
mod errors;
mod keys;
mod open;
mod snapshot;
mod store;
mod types;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The compiled part of the `mnem` package.
#[pymodule]
mod _mnem {
    use std::ffi::OsString;

    use mnem_git::system;
    use mnem_store::store::fork;
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::errors::{error_codes, panic_on_purpose};
    #[pymodule_export]
    use crate::keys::{key_join, key_prefix, key_split, key_unencoded};
    #[pymodule_export]
    use crate::open::{import_store, in_memory, init, migrate, open, repair};
    #[pymodule_export]
    use crate::snapshot::PySnapshot;
    #[pymodule_export]
    use crate::store::PyStore;

    use crate::errors::guarded;

    /// A panic becomes an exception, with its message; the default hook would print it as well.
    /// The hook is this library's alone: other extensions have a standard library of their own.
    #[pymodule_init]
    #[allow(clippy::unnecessary_wraps)] // as PyO3 asks
    fn quiet(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        std::panic::set_hook(Box::new(|_| {}));
        Ok(())
    }

    // What Python does around a fork, on the thread that forks. The interpreter is kept: nobody
    // who is waited for needs it.

    /// Waits until the process can be forked.
    #[pyfunction]
    fn before_fork() {
        fork::before();
    }

    /// Lets the other threads go on.
    #[pyfunction]
    fn after_fork_in_parent() {
        fork::after_in_parent();
    }

    /// Gives up what is the parent's.
    #[pyfunction]
    fn after_fork_in_child() {
        fork::after_in_child();
    }

    /// The version of the release.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// A node id that no other node has; ids made later sort later.
    #[pyfunction]
    fn new_id() -> PyResult<String> {
        guarded(|| Ok(system::environment().new_node_id()?.as_str().to_owned()))
    }

    /// Runs the `mnem` command with these words, its own name first; returns its exit code.
    #[pyfunction]
    fn run_command(py: Python<'_>, words: Vec<OsString>) -> PyResult<u8> {
        guarded(|| Ok(py.detach(|| mnem_git::run(words))))
    }
}
