//! Errors of the core as Python exceptions, through the one table in `mnem.errors`.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mnem_store::object::ContentError;
use mnem_store::{Error, ErrorKind, Waiting};
use pyo3::intern;
use pyo3::prelude::*;

/// What a call of the binding fails with.
#[derive(Debug)]
pub enum Failure {
    /// An error of the core.
    Core(Error),
    /// What Python raised, in a conversion or in a callable that was passed in; it comes out as
    /// it is.
    Python(PyErr),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        // What ended a wait is what Python has to see.
        INTERRUPT.take().map_or(Self::Core(error), Self::Python)
    }
}

thread_local! {
    static INTERRUPT: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// Whether nobody wants what this thread does, of one that works for another.
    static GIVEN_UP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Says that this thread works for another, which looks after the signals of Python, and may wait
/// for this one with Python's lock held. It sets the flag when it wants no more.
pub fn work_for_another(given_up: Arc<AtomicBool>) {
    GIVEN_UP.set(Some(given_up));
}

/// Lets Python handle its signals while a call waits: Ctrl-C ends the wait.
#[derive(Debug)]
pub struct Signals;

impl Waiting for Signals {
    #[allow(clippy::redundant_closure_for_method_calls)] // the method is of one lifetime only
    fn check(&self) -> Result<(), Error> {
        if let Some(given_up) = GIVEN_UP.with_borrow(Clone::clone) {
            if given_up.load(Ordering::SeqCst) {
                return Err(Error::new(ErrorKind::Io, "nobody wants this any more"));
            }
            return Ok(());
        }
        Python::attach(|py| py.check_signals()).map_err(|raised| {
            INTERRUPT.set(Some(raised));
            Error::new(ErrorKind::Io, "the call was interrupted while it waited")
        })
    }

    fn repairing(&self, _: f64) {}
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Core(error) => {
                let wrong_type = error.content().is_some_and(ContentError::is_type_error);
                exception(error.kind().code(), &error.to_string(), error.hint_text(), wrong_type)
            }
            Failure::Python(error) => error,
        }
    }
}

/// The exception that `mnem.errors` makes of an error; should it fail to, what it raised.
fn exception(code: &str, message: &str, hint: Option<&str>, wrong_type: bool) -> PyErr {
    Python::attach(|py| {
        py.import(intern!(py, "mnem.errors"))
            .and_then(|errors| errors.getattr(intern!(py, "_exception")))
            .and_then(|make| make.call1((code, message, hint, wrong_type)))
            .map_or_else(|error| error, PyErr::from_value)
    })
}

/// An argument, or a part of one, of a type that is not taken. The glue of the binding tells the error which
/// argument it is, as a note.
pub fn wrong_type(
    what: &str,
    expected: &str,
    found: &Bound<'_, PyAny>,
    hint: Option<&str>,
) -> PyErr {
    let found = found.get_type().name().map_or_else(|_| "another type".into(), |it| it.to_string());
    let found = if found == "NoneType" { "None".into() } else { found };
    let message = format!("{what}must be {expected}, not {found}");
    exception(ErrorKind::InvalidRef.code(), &message, hint, true)
}

/// A number that is outside what an argument takes.
pub fn out_of_range(message: &str) -> PyErr {
    Python::attach(|py| {
        py.import(intern!(py, "mnem.errors"))
            .and_then(|errors| errors.getattr(intern!(py, "_out_of_range")))
            .and_then(|make| make.call1((message,)))
            .map_or_else(|error| error, PyErr::from_value)
    })
}

/// Runs one call of the binding: a panic is an exception like any other.
pub fn guarded<T>(call: impl FnOnce() -> Result<T, Failure>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(PyErr::from),
        Err(panic) => {
            let message = format!("internal error: {}", panic_message(panic.as_ref()));
            Err(exception("internal", &message, None, false))
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "a panic without a message"
    }
}

/// The code of every kind of error; `mnem.errors` has a class for each.
#[pyfunction]
pub fn error_codes() -> Vec<&'static str> {
    ErrorKind::ALL.iter().map(|kind| kind.code()).collect()
}

/// Panics, so that a test can see what becomes of it.
#[pyfunction]
pub fn panic_on_purpose(message: String) -> PyResult<()> {
    guarded(|| std::panic::panic_any(message))
}
