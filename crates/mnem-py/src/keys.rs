//! The ids that adapters make of their keys.

#![allow(clippy::needless_pass_by_value)] // Python hands arguments over by value

use mnem_store::key;
use pyo3::prelude::*;

use crate::convert::Text;
use crate::errors::guarded;

fn parts(segments: &[Text]) -> impl Iterator<Item = &str> {
    segments.iter().map(|segment| &**segment)
}

/// The node id of a key.
#[pyfunction]
pub fn key_join(segments: Vec<Text>) -> PyResult<String> {
    guarded(|| Ok(key::join(parts(&segments))?.as_str().to_owned()))
}

/// A prefix of every id below these segments.
#[pyfunction]
pub fn key_prefix(segments: Vec<Text>) -> PyResult<String> {
    guarded(|| Ok(key::prefix(parts(&segments))))
}

/// The segments an id was made of.
#[pyfunction]
pub fn key_split(node_id: Text) -> PyResult<Option<Vec<String>>> {
    guarded(|| Ok(key::split(&node_id)))
}

/// The id of the original, where it reads as these segments.
#[pyfunction]
pub fn key_unencoded(segments: Vec<Text>) -> PyResult<Option<String>> {
    guarded(|| Ok(key::unencoded(parts(&segments)).map(|id| id.as_str().to_owned())))
}
