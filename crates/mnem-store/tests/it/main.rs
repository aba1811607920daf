//! The integration tests of the engine, as one binary: one module for one subject.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![allow(clippy::panic, clippy::unreachable, clippy::needless_pass_by_value)]

mod backend;
mod chat;
mod codec;
mod content;
mod golden_vectors;
mod hex;
mod json;
mod refused;
mod sample;
mod state;
mod store;
mod support;
