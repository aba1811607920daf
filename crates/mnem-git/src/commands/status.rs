//! status: where HEAD is and what is staged.

use std::collections::BTreeMap;

use mnem_store::ops::DiffTarget;
use mnem_store::{Head, Store};

use crate::context::Context;
use crate::error::Failure;
use crate::report::shapes::Commit;
use crate::report::status::{Staged, Status, Tip};

/// Show where HEAD is and what is staged
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// List every branch instead: who made its commit, and how long ago
    #[arg(long)]
    all_branches: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Status, Failure> {
    let store = context.open()?;
    let branches = if args.all_branches { Some(tips(&store)?) } else { None };
    let head = store.head_commit()?;
    let commit = match head {
        Some(id) => Some(Commit::new(id, &*store.commit_object(id)?)),
        None => None,
    };
    let from = head.map_or(DiffTarget::Nothing, DiffTarget::Commit);
    let changes: BTreeMap<_, _> = store
        .diff(from, DiffTarget::Working)?
        .into_iter()
        .map(|change| (change.id, change.kind))
        .collect();
    let staged = store
        .staged()?
        .ids()
        .into_iter()
        .map(|id| Staged { id: id.clone(), kind: changes.get(id).copied() })
        .collect();
    let branch = match store.head()? {
        Head::Attached(branch) => Some(branch.to_string()),
        Head::Detached(_) => None,
    };
    Ok(Status { branch, commit, staged, branches })
}

fn tips(store: &Store) -> Result<Vec<Tip>, Failure> {
    let now = store.environment()?.clock.now();
    let mut tips = Vec::new();
    for (name, id) in store.branches()? {
        let commit = Commit::new(id, &*store.commit_object(id)?);
        let age = now.saturating_sub(commit.time);
        tips.push(Tip { name: name.to_string(), age, commit });
    }
    Ok(tips)
}
