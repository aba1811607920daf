//! migrate: a store of the original becomes one that can be written.

use mnem_store::Store;
use mnem_store::ops::Phase;
use mnem_store::store::FormatVersion;

use crate::context::Context;
use crate::error::Failure;
use crate::output::Progress;
use crate::report::migrate::{Migrate, Outcome};

/// Bring a store of mnem-agents 0.0.7 to the format of this release
///
/// Every object is verified and copied into a fresh data file, which takes the place of the old
/// one when it is complete. Commit ids, branches, HEAD and what is staged stay as they are.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Say what would happen and how much room it takes; change nothing
    #[arg(long)]
    pub dry_run: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Migrate, Failure> {
    let mut bar: Option<(Phase, Progress)> = None;
    let progress = |phase, done| {
        let (shown, progress) = match bar.take() {
            Some(current) if current.0 == phase => current,
            _ => (phase, Progress::counting(doing(phase))),
        };
        progress.at(done);
        bar = Some((shown, progress));
    };
    let environment = context.environment();
    let migrated = Store::migrate(&context.directory(), &environment, args.dry_run, progress)?;
    let outcome = if migrated.from == FormatVersion::CURRENT {
        Outcome::NothingToDo
    } else if migrated.changed {
        Outcome::Migrated
    } else {
        Outcome::WouldMigrate
    };
    Ok(Migrate {
        store: migrated.root.display().to_string(),
        outcome,
        from_version: migrated.from.number(),
        to_version: FormatVersion::CURRENT.number(),
        commits: migrated.commits,
        states: migrated.states,
        nodes: migrated.nodes,
        trees: migrated.trees,
        branches: migrated.branches,
        staged: migrated.staged,
        old_bytes: migrated.old_bytes,
        new_bytes: migrated.new_bytes,
        removed_old: migrated.removed_old,
    })
}

fn doing(phase: Phase) -> &'static str {
    match phase {
        Phase::Objects => "objects read",
        Phase::Commits => "commits copied",
        Phase::Verify => "objects verified",
        Phase::Switch => "switched",
    }
}
