//! The command as its user meets it: what is typed, what is printed, how it ends.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod bound;
mod branches;
mod completions;
mod crossing;
mod demo;
mod docs;
mod fsck;
mod hints;
mod history;
mod input;
mod memory;
mod migrate;
mod output;
mod reading;
mod reference;
mod refused;
mod review;
mod staging;
mod stores;
mod taken_back;
mod terminal;
mod transcripts;
