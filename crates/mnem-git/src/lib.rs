//! The `mnem` command. A library with a thin main, so that the wheel ships the command too.
//!
//! [`cli`] says what may be typed, `commands` computes a report for each verb, `report` says how
//! it reads, and [`output`] is the only place that prints.

pub mod cli;
mod commands;
pub mod context;
pub mod error;
mod input;
pub mod output;
pub mod report;
mod run;
pub mod system;

pub use run::run;
