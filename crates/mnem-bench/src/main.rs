//! What the benchmarks need below the Python package: counts of what reaches the engine and the
//! disk, stores with a long history made quickly, and bare redb as a peer.
//!
//! `benchmarks/` drives it; `make bench` runs all.

#![allow(clippy::print_stdout)] // printing is what it is for

mod build;
mod counted;
mod counts;
mod history;
mod peer;

use std::error::Error;
use std::path::PathBuf;

use clap::Parser;

use crate::history::History;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Parts of the benchmarks of Mnemosyne
#[derive(Parser)]
enum Command {
    /// Count what operations read and write, and print it as JSON
    Counts,
    /// Make a store with a history
    Build {
        /// The directory of the store, made too
        path: PathBuf,
        /// How many nodes the first commit writes
        #[arg(long)]
        nodes: usize,
        /// How many commits there are in all
        #[arg(long)]
        commits: usize,
    },
    /// Serve bare redb as a peer, by lines on standard input
    Redb {
        /// The file, made new
        path: PathBuf,
        /// How many keys it holds
        #[arg(long)]
        nodes: usize,
    },
}

fn main() -> Outcome<()> {
    match Command::parse() {
        Command::Counts => counts::run(),
        Command::Build { path, nodes, commits } => build::run(&path, History::new(nodes, commits)?),
        Command::Redb { path, nodes } => peer::run(&path, nodes),
    }
}
