//! Counts and ratios of the engine, printed.
//!
//! The replay reads recorded runs of an agent into one store (`MNEM_TAU_BENCH` names the file,
//! else the transcript in `examples/` is read many times over); a SQLite database in WAL mode
//! that syncs every commit stores the same texts in the same run, as the floor. Times are of this
//! machine; the counts are of the engine.

#![allow(clippy::print_stdout)] // printing is what it is for

mod counted;
mod floor;
mod history;
mod replay;
mod sizes;

use std::error::Error;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    if let [verb, commits] = words.as_slice()
        && verb == "history"
    {
        return history::run(commits.parse()?);
    }
    // Beside the build, not in a memory file system: an fsync must mean something.
    let place = tempfile::Builder::new().prefix("mnem-bench-").tempdir_in("target")?;
    replay::run(place.path())?;
    sizes::run(place.path())
}
