//! status: where HEAD is and what is staged.

use std::collections::BTreeMap;

use mnem_store::Head;
use mnem_store::ops::DiffTarget;

use crate::context::Context;
use crate::error::Failure;
use crate::report::shapes::Commit;
use crate::report::status::{Staged, Status};

/// Show where HEAD is and what is staged
#[derive(Clone, Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _: &Args) -> Result<Status, Failure> {
    let store = context.open()?;
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
    Ok(Status { branch, commit, staged })
}
