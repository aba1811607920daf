//! init: a new store.

use std::path::{Path, PathBuf};

use mnem_store::store::config::DEFAULT_BRANCH;
use mnem_store::store::{FormatVersion, STORE_DIRECTORY};
use mnem_store::{BranchName, InitOptions, Store};

use crate::context::Context;
use crate::error::Failure;
use crate::output::named;
use crate::report::init::Init;

/// Create a new memory store
///
/// Makes `.mnem/` in a directory. Every other command looks for it there and above.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The directory; it is made when it does not exist [default: this one]
    path: Option<PathBuf>,
    /// The branch to begin on
    #[arg(long, value_name = "NAME", default_value = DEFAULT_BRANCH)]
    default_branch: String,
    /// Leave out the salts, so that ids depend on what is written alone
    #[arg(long)]
    reproducible: bool,
}

pub fn run(context: &Context, args: Args) -> Result<Init, Failure> {
    let directory = context.new_place(args.path);
    let default_branch =
        BranchName::new(args.default_branch).map_err(|error| Failure::argument(&error))?;
    let options = InitOptions { default_branch, reproducible: args.reproducible };
    Store::init(&directory, &options, context.environment())?;
    // `./my-agent` reads as `my-agent`, `.` stays.
    let shown = directory.strip_prefix(".").ok().filter(|rest| *rest != Path::new(""));
    Ok(Init {
        path: named(shown.unwrap_or(&directory).join(STORE_DIRECTORY)),
        branch: options.default_branch.to_string(),
        format_version: FormatVersion::CURRENT.number(),
        reproducible: options.reproducible,
    })
}
