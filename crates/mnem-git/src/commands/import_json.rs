//! import-json: a file of JSON becomes memory.

use std::path::PathBuf;

use mnem_store::portable::plain::JsonFile;
use mnem_store::{Error, ErrorKind};

use crate::context::{Author, Context};
use crate::error::{Failure, HINT_SOURCE, USAGE};
use crate::input::read_bytes;
use crate::report::import_json::{ImportJson, SkippedLine};

/// Read memories from a file of JSON, as one commit
///
/// The file is an object of ids and contents, or what the reference memory server of the Model
/// Context Protocol keeps: an entity or a relation on each line. There, a damaged line is
/// reported and the others are read. Reading a file again changes nothing.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The file; - is standard input
    file: PathBuf,
    /// What each memory names as its source [default: the file's name]
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    #[command(flatten)]
    author: Author,
}

pub fn run(context: &Context, args: Args) -> Result<ImportJson, Failure> {
    let name = args.file.file_name().and_then(|name| name.to_str()).filter(|name| *name != "-");
    let source = args
        .source
        .or_else(|| name.map(str::to_owned))
        .ok_or_else(|| Failure::usage("the file has no name").hint(HINT_SOURCE))?;
    let (shown, bytes) = read_bytes(&args.file)?;
    // A file that is refused makes no branch.
    let file = JsonFile::read(&bytes).map_err(|error| named(&shown, error))?;
    let (store, new_branch) = context.open_to_write(&args.author)?;
    let meta = context.meta(format!("import {source}"), &args.author);
    let report = file.write(&store, &source, &meta)?;
    let skipped = report
        .skipped
        .into_iter()
        .map(|skipped| SkippedLine { line: skipped.line, reason: skipped.reason });
    Ok(ImportJson {
        source,
        form: report.form.as_str(),
        read: report.read,
        written: report.written,
        skipped: skipped.collect(),
        head: report.head,
        // Where nothing was ever written, nothing was made either.
        new_branch: new_branch.filter(|_| report.head.is_some()),
    })
}

/// The failure of a file: told with its name, and wrong usage, where the file is what is wrong.
fn named(file: &str, error: Error) -> Failure {
    let is_of_file = error.kind() == ErrorKind::InvalidRef && error.hint_text().is_none();
    let failure = Failure::from(error);
    if is_of_file {
        Failure { exit: USAGE, message: format!("{file}: {}", failure.message), ..failure }
    } else {
        failure
    }
}
