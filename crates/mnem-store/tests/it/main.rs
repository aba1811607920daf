//! The integration tests of the engine, as one binary: one module for one subject.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![allow(clippy::panic, clippy::unreachable, clippy::needless_pass_by_value)]

mod atomic;
mod backend;
mod bad_input;
mod bisect;
mod blame;
mod budget;
mod chat;
mod codec;
mod content;
mod copy_on_write;
mod cost;
mod criss_cross;
mod damage;
mod fsck;
mod golden_vectors;
mod hex;
mod histories;
mod json;
mod key;
mod lease;
mod log;
mod merge_chaos;
mod merge_table;
mod model;
mod move_back;
mod node_log;
mod objects;
mod open;
mod patience;
mod places;
mod portable;
mod position;
mod questions;
mod refused;
mod repair;
mod revision;
mod sample;
mod staging;
mod state;
mod statistics;
mod store;
mod support;
mod verify;
mod writers;
