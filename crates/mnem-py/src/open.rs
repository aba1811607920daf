//! How a store comes to be open: made, opened, imported, in memory.

#![allow(clippy::needless_pass_by_value)] // Python hands arguments over by value

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mnem_git::system;
use mnem_store::ops::Repair;
use mnem_store::{BranchName, Environment, Error, Hint, InitOptions, Store, portable};
use pyo3::prelude::*;

use crate::convert::{Flag, Place, Seconds, Text};
use crate::errors::{Signals, guarded};
use crate::store::PyStore;
use crate::types;

/// A timeout that no clock overflows on.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

fn init_options(default_branch: Option<Text>, reproducible: bool) -> Result<InitOptions, Error> {
    let mut options = InitOptions { reproducible, ..InitOptions::default() };
    if let Some(name) = default_branch {
        options.default_branch = BranchName::new(name.into_string())?;
    }
    Ok(options)
}

fn environment(allow_network: bool) -> Environment {
    let mut environment = system::environment();
    environment.waiting = Arc::new(Signals);
    environment.allow_network |= allow_network;
    environment
}

/// Makes a store in a directory and opens it.
#[pyfunction]
pub fn init(
    py: Python<'_>,
    path: Place,
    default_branch: Option<Text>,
    reproducible: Flag,
    allow_network: Flag,
) -> PyResult<PyStore> {
    guarded(|| {
        let options = init_options(default_branch, reproducible.0)?;
        let environment = environment(allow_network.0);
        Ok(PyStore(py.detach(|| Store::init(&path.0, &options, environment))?))
    })
}

/// Makes a store in a directory from an export, and opens it.
#[pyfunction]
pub fn import_store(py: Python<'_>, src: Place, dest: Place) -> PyResult<PyStore> {
    guarded(|| {
        if dest.0.as_os_str() == ":memory:" {
            let message = "an export is imported into a directory, not into memory";
            return Err(Error::invalid(message).hint(Hint::Directory).into());
        }
        let (store, _) = py.detach(|| {
            let file = File::open(&src.0).map_err(|error| cannot_read(&src.0, error))?;
            portable::import(&mut BufReader::new(file), &dest.0, environment(false), |_| ())
        })?;
        Ok(PyStore(store))
    })
}

/// A file that a caller named and that cannot be read.
pub fn cannot_read(path: &Path, error: io::Error) -> Error {
    Error::io(format!("cannot read {}", path.display()), error)
}

/// The same environment, where calls wait this many seconds for another process.
fn patient(environment: Environment, busy_timeout: f64) -> Result<Environment, Error> {
    if busy_timeout.is_nan() || busy_timeout < 0.0 {
        return Err(Error::invalid(format!(
            "busy_timeout must be a number of seconds from 0, not {busy_timeout}"
        )));
    }
    let busy_timeout = Duration::try_from_secs_f64(busy_timeout)
        .map_or(LONGEST_TIMEOUT, |timeout| timeout.min(LONGEST_TIMEOUT));
    Ok(Environment { busy_timeout, ..environment })
}

/// Opens the store at a directory or above it; waits this many seconds for another process.
#[pyfunction]
pub fn open(
    py: Python<'_>,
    path: Place,
    busy_timeout: Seconds,
    allow_network: Flag,
) -> PyResult<PyStore> {
    guarded(|| {
        let environment = patient(environment(allow_network.0), busy_timeout.0)?;
        Ok(PyStore(py.detach(|| Store::open(&path.0, environment))?))
    })
}

/// Brings the store at a directory or above it to the current format; waits as `open` does.
#[pyfunction]
pub fn migrate(
    py: Python<'_>,
    path: Place,
    dry_run: Flag,
    busy_timeout: Seconds,
) -> PyResult<Bound<'_, PyAny>> {
    guarded(|| {
        let environment = patient(environment(false), busy_timeout.0)?;
        let migrated = py.detach(|| Store::migrate(&path.0, &environment, dry_run.0, |_, _| {}))?;
        Ok(types::migrated_to_python(py, &migrated)?)
    })
}

/// Saves what can be read of the damaged store at a directory or above it; a dry run only looks.
#[pyfunction]
pub fn repair(
    py: Python<'_>,
    path: Place,
    dry_run: Flag,
    busy_timeout: Seconds,
) -> PyResult<Bound<'_, PyAny>> {
    guarded(|| {
        let environment = patient(environment(false), busy_timeout.0)?;
        let repaired = py.detach(|| {
            if dry_run.0 {
                let found = Store::fsck_at(&path.0, environment, |_| {})?;
                return Ok(Repair { findings: found.findings, ..Repair::default() });
            }
            Store::repair(&path.0, environment, |_| {})
        })?;
        Ok(types::repaired_to_python(py, &repaired)?)
    })
}

/// Makes a store in memory.
#[pyfunction]
pub fn in_memory(
    py: Python<'_>,
    default_branch: Option<Text>,
    reproducible: Flag,
) -> PyResult<PyStore> {
    guarded(|| {
        let options = init_options(default_branch, reproducible.0)?;
        Ok(PyStore(py.detach(|| Store::in_memory(&options, environment(false)))?))
    })
}
