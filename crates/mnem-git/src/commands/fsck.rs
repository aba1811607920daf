//! fsck: whether everything in the store agrees, and what to do where it does not.

use mnem_store::Store;
use mnem_store::ops::Stage;

use crate::context::Context;
use crate::error::{Failure, HINT_YES};
use crate::output::{Progress, confirm, has_keys};
use crate::report::fsck::{Fsck, Repair};

/// Check that everything in the store agrees, and repair it
///
/// Reads everything again, as `mnem verify` does, and compares: each commit with its record, each
/// branch with its last move, HEAD, what is staged, and the index. What is wrong is listed;
/// nothing is changed, whatever state the store is in. What is checked is a copy of the data file,
/// so that others write on meanwhile; where the disk has no room for it, they wait.
///
/// With --repair, what can be read goes into a fresh data file, branches go where they were last
/// moved, and what is lost is listed. The damaged file is kept.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Save what can be read, after asking
    #[arg(long)]
    repair: bool,
    /// Repair without asking
    #[arg(long, requires = "repair")]
    yes: bool,
    /// Say what is wrong and whether a repair helps; change nothing, as without --repair
    #[arg(long, requires = "repair", conflicts_with = "yes")]
    dry_run: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Fsck, Failure> {
    let is_repair = args.repair && !args.dry_run;
    if is_repair && !args.yes && !has_keys() {
        let what = "a repair asks before it starts, and there is no terminal to ask at";
        return Err(Failure::usage(what).hint(HINT_YES));
    }
    let (directory, environment) = (context.directory(), context.environment());
    let bar = Progress::counting("entries read");
    let found = Store::fsck_at(&directory, environment.clone(), |read| bar.at(read))?;
    drop(bar);
    let found = Fsck::from(found);
    if !is_repair || !found.is_repairable() {
        return Ok(found);
    }
    if !args.yes && !confirm(&found.question()) {
        return Ok(found);
    }
    let bar = Progress::counting("entries");
    let repaired = Store::repair(&directory, environment, |stage| match stage {
        Stage::Read(number) | Stage::Written(number) | Stage::Checked(number) => bar.at(number),
        Stage::Durable | Stage::Switched => {}
    });
    drop(bar);
    Ok(Fsck { repair: Some(Repair::from(repaired?)), ..found })
}
