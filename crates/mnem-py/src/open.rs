//! How a store comes to be open: made, opened, imported, in memory.

#![allow(clippy::needless_pass_by_value)] // Python hands arguments over by value

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mnem_git::system;
use mnem_store::ops::Repair;
use mnem_store::{BranchName, Environment, Error, InitOptions, Store, portable};
use pyo3::prelude::*;

use crate::convert::Text;
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
    path: PathBuf,
    default_branch: Option<Text>,
    reproducible: bool,
    allow_network: bool,
) -> PyResult<PyStore> {
    guarded(|| {
        let options = init_options(default_branch, reproducible)?;
        let environment = environment(allow_network);
        Ok(PyStore(py.detach(|| Store::init(&path, &options, environment))?))
    })
}

/// Makes a store in a directory from an export, and opens it.
#[pyfunction]
pub fn import_store(py: Python<'_>, source: PathBuf, path: PathBuf) -> PyResult<PyStore> {
    guarded(|| {
        let (store, _) = py.detach(|| {
            let file = File::open(&source).map_err(|error| cannot_read(&source, error))?;
            portable::import(&mut BufReader::new(file), &path, system::environment(), |_| ())
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
    path: PathBuf,
    busy_timeout: f64,
    allow_network: bool,
) -> PyResult<PyStore> {
    guarded(|| {
        let environment = patient(environment(allow_network), busy_timeout)?;
        Ok(PyStore(py.detach(|| Store::open(&path, environment))?))
    })
}

/// Brings the store at a directory or above it to the current format; waits as `open` does.
#[pyfunction]
pub fn migrate(
    py: Python<'_>,
    path: PathBuf,
    dry_run: bool,
    busy_timeout: f64,
) -> PyResult<Bound<'_, PyAny>> {
    guarded(|| {
        let environment = patient(environment(false), busy_timeout)?;
        let migrated = py.detach(|| Store::migrate(&path, &environment, dry_run, |_, _| {}))?;
        Ok(types::migrated_to_python(py, &migrated)?)
    })
}

/// Saves what can be read of the damaged store at a directory or above it; a dry run only looks.
#[pyfunction]
pub fn repair(
    py: Python<'_>,
    path: PathBuf,
    dry_run: bool,
    busy_timeout: f64,
) -> PyResult<Bound<'_, PyAny>> {
    guarded(|| {
        let environment = patient(environment(false), busy_timeout)?;
        let repaired = py.detach(|| {
            if dry_run {
                let found = Store::fsck_at(&path, environment, |_| {})?;
                return Ok(Repair { findings: found.findings, ..Repair::default() });
            }
            Store::repair(&path, environment, |_| {})
        })?;
        Ok(types::repaired_to_python(py, &repaired)?)
    })
}

/// Makes a store in memory.
#[pyfunction]
pub fn in_memory(
    py: Python<'_>,
    default_branch: Option<Text>,
    reproducible: bool,
) -> PyResult<PyStore> {
    guarded(|| {
        let options = init_options(default_branch, reproducible)?;
        Ok(PyStore(py.detach(|| Store::in_memory(&options, environment(false)))?))
    })
}
