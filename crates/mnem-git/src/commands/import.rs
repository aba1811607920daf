//! import: a store from an export.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use mnem_store::portable;
use mnem_store::store::STORE_DIRECTORY;

use crate::context::Context;
use crate::error::Failure;
use crate::output::{Progress, named};
use crate::report::import::Import;

/// Make a store from what `mnem export` wrote
///
/// Everything is checked before the store is there: an export that was cut short or changed is
/// refused with the number of the line, and leaves nothing. Commit ids stay the same.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The export; - is standard input
    file: PathBuf,
    /// The directory for the store, which has none yet [default: this one]
    dest: Option<PathBuf>,
}

pub fn run(context: &Context, args: Args) -> Result<Import, Failure> {
    let directory = context.new_place(args.dest);
    let mut input: Box<dyn BufRead> = if args.file.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let name = args.file.display();
        let file = File::open(&args.file)
            .map_err(|error| Failure::system(format!("cannot read {name}: {error}")))?;
        Box::new(BufReader::new(file))
    };
    let bar = Progress::counting("objects");
    let environment = context.environment();
    let (store, carried) =
        portable::import(&mut *input, &directory, environment, |read| bar.at(read))?;
    drop(bar);
    let head = store.head()?.render();
    let shown = directory.strip_prefix(".").ok().filter(|rest| *rest != Path::new(""));
    Ok(Import { path: named(shown.unwrap_or(&directory).join(STORE_DIRECTORY)), head, carried })
}
