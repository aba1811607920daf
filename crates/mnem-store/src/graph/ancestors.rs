//! Whether one commit is behind another.

use super::walk::Walk;
use crate::backend::cache::Objects;
use crate::error::Error;
use crate::id::CommitId;
use crate::index::position;

/// Whether `old` is `new` or behind it.
pub fn is_ancestor(objects: &Objects, old: CommitId, new: CommitId) -> Result<bool, Error> {
    let generation = position(objects, old)?.generation;
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
