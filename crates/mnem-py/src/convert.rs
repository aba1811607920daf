//! Content between Python objects and the core, without a detour through JSON text.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::PathBuf;

use mnem_store::object::ContentError;
use mnem_store::object::ContentProblem as Problem;
use mnem_store::object::content::{Float, Integer, MAX_CONTENT_DEPTH, Map};
use mnem_store::{Content, Error};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors::{Failure, out_of_range, wrong_type};

/// Text from Python: a `str` that UTF-8 can hold.
pub struct Text(String);

impl Text {
    pub fn into_string(self) -> String {
        self.0
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let lone = |_| Error::invalid("a text has a lone surrogate, which UTF-8 cannot hold");
        let text = object.cast::<PyString>().map_err(|_| expected("a str", &object))?;
        Ok(Self(text.to_str().map_err(lone).map_err(Failure::from)?.to_owned()))
    }
}

fn expected(what: &str, found: &Bound<'_, PyAny>) -> PyErr {
    wrong_type("", what, found, None)
}

/// A flag from Python: a `bool`, and nothing that is only true or false.
pub struct Flag(pub bool);

impl<'py> FromPyObject<'_, 'py> for Flag {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.cast::<PyBool>().map_err(|_| expected("a bool", &object))?.is_true()))
    }
}

/// How many at most. What is larger than any memory is no limit.
pub struct Limit(pub usize);

impl<'py> FromPyObject<'_, 'py> for Limit {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let refused = match object.extract::<usize>() {
            Ok(limit) => return Ok(Self(limit)),
            Err(refused) => refused,
        };
        if !refused.is_instance_of::<PyOverflowError>(object.py()) {
            return Err(expected("an int", &object));
        }
        if object.lt(0)? {
            return Err(out_of_range(&format!("must be from 0, not {}", object.str()?)));
        }
        Ok(Self(usize::MAX))
    }
}

/// A time from Python, in Unix milliseconds.
#[derive(Clone, Copy)]
pub struct Time(pub i64);

impl<'py> FromPyObject<'_, 'py> for Time {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        object.extract::<i64>().map(Self).map_err(|refused| {
            if refused.is_instance_of::<PyOverflowError>(object.py()) {
                out_of_range("must be Unix milliseconds, from -2^63 to 2^63-1")
            } else {
                expected("an int, Unix milliseconds", &object)
            }
        })
    }
}

/// A number of seconds from Python.
pub struct Seconds(pub f64);

impl<'py> FromPyObject<'_, 'py> for Seconds {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        object.extract::<f64>().map(Self).map_err(|refused| {
            if refused.is_instance_of::<PyOverflowError>(object.py()) {
                out_of_range("is larger than any number of seconds")
            } else {
                expected("a number of seconds", &object)
            }
        })
    }
}

/// A path from Python: a `str` or an `os.PathLike`.
pub struct Place(pub PathBuf);

impl<'py> FromPyObject<'_, 'py> for Place {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        object.extract::<PathBuf>().map(Self).map_err(|refused| {
            if refused.is_instance_of::<PyTypeError>(object.py()) {
                expected("a str or a path", &object)
            } else {
                Failure::from(Error::invalid(
                    "a path has a lone surrogate, which no file name holds",
                ))
                .into()
            }
        })
    }
}

/// Bytes from Python.
pub struct Bytes(PyBackedBytes);

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Bytes {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        object.extract::<PyBackedBytes>().map(Self).map_err(|_| expected("bytes", &object))
    }
}

/// What can be called.
pub struct Callable(Py<PyAny>);

impl Callable {
    pub fn bind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.0.bind(py)
    }
}

impl<'py> FromPyObject<'_, 'py> for Callable {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if !object.is_callable() {
            return Err(expected("callable", &object));
        }
        Ok(Self(object.to_owned().unbind()))
    }
}

/// Reads content out of Python objects. Subclasses of `str`, `int`, `float`, `bool`, `list`,
/// `tuple` and `dict` count as their base.
pub fn content_from_python(object: &Bound<'_, PyAny>) -> Result<Content, Failure> {
    read(object, &mut Vec::new()).map_err(|error| Error::from(error).into())
}

/// Reads one value. `above` holds the containers it stands in, which bounds the recursion and
/// finds a container that contains itself.
fn read(
    object: &Bound<'_, PyAny>,
    above: &mut Vec<*mut pyo3::ffi::PyObject>,
) -> Result<Content, ContentError> {
    // A bool is an int to Python, so it comes first.
    if object.is_none() {
        Ok(Content::Null)
    } else if let Ok(value) = object.cast::<PyBool>() {
        Ok(Content::Bool(value.is_true()))
    } else if let Ok(value) = object.cast::<PyString>() {
        Ok(Content::Text(text(value)?))
    } else if let Ok(value) = object.cast::<PyInt>() {
        Ok(Content::Integer(integer(value)?))
    } else if let Ok(value) = object.cast::<PyFloat>() {
        Ok(Content::Float(Float::new(value.value())?))
    } else if let Ok(list) = object.cast::<PyList>() {
        inside(object, above, |above| array(list.iter(), above))
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        inside(object, above, |above| array(tuple.iter(), above))
    } else if let Ok(dict) = object.cast::<PyDict>() {
        inside(object, above, |above| map(dict, above))
    } else {
        Err(Problem::UnsupportedType(type_name(object)).into())
    }
}

/// Reads a container, unless it stands in itself or too deep.
fn inside(
    container: &Bound<'_, PyAny>,
    above: &mut Vec<*mut pyo3::ffi::PyObject>,
    read: impl FnOnce(&mut Vec<*mut pyo3::ffi::PyObject>) -> Result<Content, ContentError>,
) -> Result<Content, ContentError> {
    if above.contains(&container.as_ptr()) {
        return Err(Problem::Cycle.into());
    }
    if above.len() == MAX_CONTENT_DEPTH {
        return Err(Problem::TooDeep.into());
    }
    above.push(container.as_ptr());
    let content = read(above);
    above.pop();
    content
}

fn array<'py>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    above: &mut Vec<*mut pyo3::ffi::PyObject>,
) -> Result<Content, ContentError> {
    items
        .enumerate()
        .map(|(index, item)| read(&item, above).map_err(|error| error.under_index(index)))
        .collect::<Result<_, _>>()
        .map(Content::Array)
}

fn map(
    dict: &Bound<'_, PyDict>,
    above: &mut Vec<*mut pyo3::ffi::PyObject>,
) -> Result<Content, ContentError> {
    let mut entries = Vec::with_capacity(dict.len());
    for (key, value) in dict.iter() {
        let key = key_text(&key)?;
        let value = read(&value, above).map_err(|error| error.under_key(&key))?;
        entries.push((key, value));
    }
    Map::new(entries).map(Content::Map)
}

/// A key as the text that `json.dumps` makes of it.
fn key_text(key: &Bound<'_, PyAny>) -> Result<String, ContentError> {
    // The base's repr: a subclass, as an enum is, may print itself otherwise.
    fn repr<T: pyo3::PyTypeInfo>(key: &Bound<'_, PyAny>) -> Result<String, ContentError> {
        key.py()
            .get_type::<T>()
            .call_method1("__repr__", (key,))
            .and_then(|text| text.extract())
            .map_err(|_| Problem::UnsupportedKey(type_name(key)).into())
    }
    if let Ok(key) = key.cast::<PyString>() {
        text(key)
    } else if key.is_none() {
        Ok("null".into())
    } else if let Ok(key) = key.cast::<PyBool>() {
        Ok(key.is_true().to_string())
    } else if key.is_instance_of::<PyInt>() {
        repr::<PyInt>(key)
    } else if let Ok(number) = key.cast::<PyFloat>() {
        Float::new(number.value())?;
        repr::<PyFloat>(key)
    } else {
        Err(Problem::UnsupportedKey(type_name(key)).into())
    }
}

fn text(text: &Bound<'_, PyString>) -> Result<String, ContentError> {
    Ok(text.to_str().map_err(|_| Problem::LoneSurrogate)?.to_owned())
}

fn integer(value: &Bound<'_, PyInt>) -> Result<Integer, ContentError> {
    if let Ok(value) = value.extract::<i64>() {
        return Ok(value.into());
    }
    value.extract::<u64>().map(Integer::from).map_err(|_| Problem::IntegerOutOfRange.into())
}

fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "value".into(), |name| name.to_string())
}

/// The keys of maps as Python has them: memories of one kind have the same keys, and share them.
#[derive(Default)]
pub struct Keys<'py> {
    known: RefCell<BTreeMap<String, Bound<'py, PyString>>>,
    /// How many are shared: keys may be data too.
    most: usize,
}

impl<'py> Keys<'py> {
    /// The longest key that is shared, in bytes.
    const LONGEST: usize = 64;

    /// For many maps.
    pub fn of_many() -> Self {
        Self { most: 256, ..Self::default() }
    }

    fn get(&self, py: Python<'py>, key: &str) -> Bound<'py, PyString> {
        if self.most == 0 || key.len() > Self::LONGEST {
            return PyString::new(py, key);
        }
        let mut known = self.known.borrow_mut();
        if let Some(known) = known.get(key) {
            return known.clone();
        }
        let made = PyString::new(py, key);
        if known.len() < self.most {
            known.insert(key.to_owned(), made.clone());
        }
        made
    }
}

/// Makes Python objects of content: `None`, `bool`, `int`, `float`, `str`, `list`, `dict`.
pub fn content_to_python<'py>(
    py: Python<'py>,
    content: &Content,
    keys: &Keys<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match content {
        Content::Null => py.None().into_bound(py),
        Content::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Content::Integer(value) => match i64::try_from(value.get()) {
            Ok(small) => small.into_pyobject(py)?.into_any(),
            Err(_) => value.get().into_pyobject(py)?.into_any(),
        },
        Content::Float(value) => PyFloat::new(py, value.get()).into_any(),
        Content::Text(text) => PyString::new(py, text).into_any(),
        Content::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(content_to_python(py, item, keys)?)?;
            }
            list.into_any()
        }
        Content::Map(map) => {
            let dict = PyDict::new(py);
            for (key, value) in map.iter() {
                dict.set_item(keys.get(py, key), content_to_python(py, value, keys)?)?;
            }
            dict.into_any()
        }
    })
}
