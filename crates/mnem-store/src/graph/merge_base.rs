//! The commits where two lines of history last agreed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::backend::cache::Objects;
use crate::error::Error;
use crate::id::CommitId;
use crate::index::position;

const OURS: u8 = 1;
const THEIRS: u8 = 2;
/// Behind a common ancestor that was found already.
const STALE: u8 = 4;

/// The best common ancestors of two commits: common, and behind no other common one.
///
/// Sorted by generation, then id. Reads down to the generation of the lowest of them.
pub fn merge_bases(
    objects: &Objects,
    ours: CommitId,
    theirs: CommitId,
) -> Result<Vec<CommitId>, Error> {
    merge_bases_of(objects, &[ours], theirs)
}

/// The same, where ours is what a merge of these commits would be.
pub fn merge_bases_of(
    objects: &Objects,
    ours: &[CommitId],
    theirs: CommitId,
) -> Result<Vec<CommitId>, Error> {
    let mut marks: BTreeMap<CommitId, u8> = BTreeMap::new();
    let mut queue: BinaryHeap<(u64, Reverse<CommitId>)> = BinaryHeap::new();
    let mut bases = Vec::new();
    let ours = ours.iter().map(|id| (*id, OURS));
    for (id, mark) in ours.chain([(theirs, THEIRS)]) {
        let before = marks.entry(id).or_insert(0);
        if *before == 0 {
            queue.push((position(objects, id)?.generation, Reverse(id)));
        }
        *before |= mark;
    }
    // Generations fall along the queue, so a commit is popped once, with all its marks.
    let mut fresh = queue.len();
    while fresh > 0 {
        let Some((generation, Reverse(id))) = queue.pop() else { break };
        let mut mark = marks.get(&id).copied().unwrap_or(0);
        fresh = fresh.saturating_sub(usize::from(mark & STALE == 0));
        if mark == OURS | THEIRS {
            bases.push((generation, id));
            mark |= STALE;
        }
        for parent in &objects.commit(id)?.parents {
            let entry = marks.entry(*parent).or_insert(0);
            let before = *entry;
            *entry |= mark;
            if before == 0 {
                queue.push((position(objects, *parent)?.generation, Reverse(*parent)));
                fresh += usize::from(mark & STALE == 0);
            } else if before & STALE == 0 && mark & STALE != 0 {
                fresh = fresh.saturating_sub(1);
            }
        }
    }
    bases.sort_unstable();
    Ok(bases.into_iter().map(|(_, id)| id).collect())
}
