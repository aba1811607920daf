//! What the targets do: the functions that `cargo test` runs over the inputs of `corpus/` and
//! `regressions/`, taken from the engine's own tests.
#![allow(dead_code, unused_imports)] // the tests themselves are not built here
#![allow(clippy::pedantic)]

#[path = "../../crates/mnem-store/tests/it"]
mod it {
    pub mod fuzz;
    pub mod hex;
    pub mod histories;
    pub mod model;
    pub mod questions;
    pub mod support;
    pub mod sweep;
}

pub use it::{fuzz, histories};
use it::{hex, model, questions, support, sweep};
