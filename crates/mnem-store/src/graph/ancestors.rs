//! Whether one commit is behind another.

use std::collections::BTreeSet;

use super::walk::Walk;
use crate::backend::cache::Objects;
use crate::error::Error;
use crate::id::CommitId;
use crate::index::{is_on_line, position};

/// Up to so many generations apart, a walk is no longer than a look along first parents.
const WALKED: u64 = 64;

/// Whether `old` is `new` or behind it.
pub fn is_ancestor(objects: &Objects, old: CommitId, new: CommitId) -> Result<bool, Error> {
    let generation = position(objects, old)?.generation;
    let distance = position(objects, new)?.generation.saturating_sub(generation);
    if distance > WALKED && is_on_line(objects, old, new)? {
        return Ok(true);
    }
    for step in Walk::new(objects, [new])? {
        let (id, _) = step?;
        if id == old {
            return Ok(true);
        }
        // The walk goes down in generations; below that of `old` it cannot come.
        if position(objects, id)?.generation < generation {
            return Ok(false);
        }
    }
    Ok(false)
}

/// Those of some commits that are neither among `tips` nor behind one, found in one walk.
pub fn not_behind(
    objects: &Objects,
    mut commits: BTreeSet<CommitId>,
    tips: &[CommitId],
) -> Result<BTreeSet<CommitId>, Error> {
    if commits.is_empty() {
        return Ok(commits);
    }
    let generations = commits.iter().map(|id| Ok(position(objects, *id)?.generation));
    let lowest = generations.collect::<Result<BTreeSet<u64>, Error>>()?.into_iter().next();
    for step in Walk::new(objects, tips.iter().copied())? {
        let (id, _) = step?;
        commits.remove(&id);
        // The walk goes down in generations; below the lowest there is nothing to find.
        if commits.is_empty() || Some(position(objects, id)?.generation) < lowest {
            break;
        }
    }
    Ok(commits)
}
