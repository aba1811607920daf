//! Two ways through history: every commit in log order, and the chain of first parents.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use crate::backend::cache::{Objects, Scanning};
use crate::error::Error;
use crate::id::CommitId;
use crate::index::position;
use crate::object::Commit;

/// Every commit behind a start, in log order.
///
/// A child comes before its parents; among the ready, the later generation comes first, then
/// the smaller commit id. A child's generation is above its parents', so the order by
/// generation is one. Time never decides. After an error it goes on with what does not depend on it.
pub struct Walk<'o> {
    objects: &'o Objects,
    scanning: Scanning<'o>,
    ready: BinaryHeap<(u64, Reverse<CommitId>)>,
    seen: BTreeSet<CommitId>,
    /// Why parents of the last commit cannot be followed: told after it.
    broken: Vec<Error>,
}

impl<'o> Walk<'o> {
    /// Starts at these commits.
    pub fn new(
        objects: &'o Objects,
        starts: impl IntoIterator<Item = CommitId>,
    ) -> Result<Self, Error> {
        let (ready, seen) = (BinaryHeap::new(), BTreeSet::new());
        let (scanning, broken) = (objects.scanning(), Vec::new());
        let mut walk = Self { objects, scanning, ready, seen, broken };
        for start in starts {
            walk.push(start)?;
        }
        Ok(walk)
    }

    fn push(&mut self, id: CommitId) -> Result<(), Error> {
        if self.seen.insert(id) {
            self.ready.push((position(self.objects, id)?.generation, Reverse(id)));
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Option<(CommitId, Arc<Commit>)>, Error> {
        if let Some(error) = self.broken.pop() {
            return Err(error);
        }
        let Some((_, Reverse(id))) = self.ready.pop() else { return Ok(None) };
        let commit = self.scanning.commit(id)?;
        for parent in &commit.parents {
            if let Err(error) = self.push(*parent) {
                self.broken.push(error);
            }
        }
        Ok(Some((id, commit)))
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<(CommitId, Arc<Commit>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

/// A commit and its first parents, newest first.
pub struct FirstParents<'o> {
    scanning: Scanning<'o>,
    next: Option<CommitId>,
}

impl<'o> FirstParents<'o> {
    /// Starts at this commit.
    pub fn new(objects: &'o Objects, start: Option<CommitId>) -> Self {
        Self { scanning: objects.scanning(), next: start }
    }
}

impl Iterator for FirstParents<'_> {
    type Item = Result<(CommitId, Arc<Commit>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let id = self.next.take()?;
        match self.scanning.commit(id) {
            Ok(commit) => {
                self.next = commit.parents.first().copied();
                Some(Ok((id, commit)))
            }
            Err(error) => Some(Err(error)),
        }
    }
}
