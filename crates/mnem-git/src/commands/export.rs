//! export: the whole store as a stream, or memory at a point as plain JSON.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::io;
use std::path::PathBuf;

use mnem_store::portable::export::to_file;
use mnem_store::portable::stream::LEFT_OUT;
use mnem_store::{Error, Store};

use crate::context::Context;
use crate::error::{Failure, HINT_EXPORT};
use crate::output::{Progress, named, raw_stdout};
use crate::report::export::{Export, Stream};

/// Write the whole store to a file, or memory at a point as plain JSON
///
/// The file has every commit that a branch or HEAD reaches, and `mnem import` makes the same
/// store of it. The reflog, what is staged and the local rows of adapters stay behind. With --at
/// it has one object instead, of ids and contents, which `mnem import-json` reads.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The file, which is replaced when it is there; - is standard output [default with --at: -]
    #[arg(required_unless_present = "at")]
    file: Option<PathBuf>,
    /// Write memory as it was at a revision, for people
    #[arg(long, value_name = "REV")]
    at: Option<String>,
}

pub fn run(context: &Context, args: Args) -> Result<Export, Failure> {
    let file = args.file.filter(|path| path.as_os_str() != "-");
    if context.json && file.is_none() && args.at.is_none() {
        return Err(
            Failure::usage("the stream and the answer both want standard output").hint(HINT_EXPORT)
        );
    }
    let store = context.open()?;
    match args.at {
        Some(revision) => memory(&store, file, &revision),
        None => stream(&store, file),
    }
}

fn stream(store: &Store, file: Option<PathBuf>) -> Result<Export, Failure> {
    let bar = Progress::counting("objects");
    let carried = match &file {
        Some(path) => store.export_to(path, |written| bar.at(written))?,
        None => match store.export(&mut raw_stdout(), |written| bar.at(written)) {
            // Whoever reads has enough, and hears no more.
            Err(error) if is_closed_pipe(&error) => return Ok(Export::default()),
            carried => carried?,
        },
    };
    let left_out = LEFT_OUT.to_vec();
    let file = file.map(named);
    Ok(Export { file, stream: Some(Stream { carried, left_out }), ..Export::default() })
}

fn is_closed_pipe(error: &Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|source| source.kind() == io::ErrorKind::BrokenPipe)
}

fn memory(store: &Store, file: Option<PathBuf>, revision: &str) -> Result<Export, Failure> {
    let commit = store.resolve(revision)?;
    let memory = store.snapshot_at(&commit.to_string())?.memory("", None)?;
    let contents: BTreeMap<_, _> =
        memory.into_iter().map(|(id, node)| (id.to_string(), node.content.clone())).collect();
    let export = Export { commit: Some(commit), memory: Some(contents), ..Export::default() };
    if let (Some(path), Some(text)) = (&file, export.plain()) {
        to_file(path, store.environment()?.random()?, |out| {
            let failed = |error| Error::io(format!("cannot write {}", path.display()), error);
            out.write_all(text.as_bytes()).map_err(failed)
        })?;
    }
    Ok(Export { file: file.map(named), ..export })
}
