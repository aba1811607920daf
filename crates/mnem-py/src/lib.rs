//! The Python binding: conversion, nothing else.

use pyo3::prelude::*;

/// The compiled part of the `mnem` package.
#[pymodule]
mod _mnem {}
