//! The base of two lines that last agreed in several places: a virtual one, made up node by node.

use std::collections::BTreeMap;
use std::sync::Arc;

use quick_cache::sync::Cache;

use super::merge_bases_of;
use crate::backend::cache::Objects;
use crate::error::Error;
use crate::id::{CommitId, NodeId, NodeVersionId};
use crate::state::{self, Agreed, Same, three_way};

/// Merge bases, by generation, then id.
pub type Bases = Arc<[CommitId]>;

/// How many answers are kept for the next merge.
const KNOWN: usize = 16_384;

/// What virtual bases said of a node. Kept from merge to merge: lines that merge each other
/// after every step ask for the answer of the step before, and without it for every one.
#[derive(Debug)]
pub struct KnownBases(Cache<(Bases, NodeId), Agreed>);

impl Default for KnownBases {
    fn default() -> Self {
        Self(Cache::new(KNOWN))
    }
}

/// The virtual base of one merge.
pub struct VirtualBase<'a> {
    objects: &'a Objects,
    known: &'a KnownBases,
    same: Same<'a>,
    bases: Bases,
    /// The bases of the first bases of a list, by their number, and the one after them.
    deeper: BTreeMap<(Bases, usize), Bases>,
}

enum Folded {
    Into(Agreed),
    Needs(Bases),
}

impl<'a> VirtualBase<'a> {
    /// The virtual base over these bases.
    pub fn new(
        objects: &'a Objects,
        known: &'a KnownBases,
        same: Same<'a>,
        bases: Vec<CommitId>,
    ) -> Self {
        Self { objects, known, same, bases: bases.into(), deeper: BTreeMap::new() }
    }

    /// What the two lines last agreed on for a node: what all bases say, else what a merge of
    /// the bases, one after the other, says over their own virtual base. Of no base, nothing.
    ///
    /// Reads the node's place in the bases, and goes deeper only where those disagree.
    pub fn of(&mut self, id: &NodeId) -> Result<Agreed, Error> {
        let mut found: BTreeMap<Bases, Agreed> = BTreeMap::new();
        // Every deeper list is behind the one that needs it, so this ends.
        let mut open = vec![Arc::clone(&self.bases)];
        while let Some(bases) = open.last().map(Arc::clone) {
            let key = (bases, id.clone());
            let folded = match self.known.0.get(&key) {
                Some(known) => Folded::Into(known),
                None => self.fold(&key.0, id, &found)?,
            };
            match folded {
                Folded::Needs(deeper) => open.push(deeper),
                Folded::Into(agreed) => {
                    open.pop();
                    found.insert(Arc::clone(&key.0), agreed);
                    if key.0.len() > 1 {
                        self.known.0.insert(key, agreed);
                    }
                }
            }
        }
        found.remove(&self.bases).ok_or_else(|| Error::corrupt("a history has no end"))
    }

    fn fold(
        &mut self,
        bases: &Bases,
        id: &NodeId,
        found: &BTreeMap<Bases, Agreed>,
    ) -> Result<Folded, Error> {
        let mut folded = Agreed::On(None);
        for (number, next) in bases.iter().enumerate() {
            let next = self.version(*next, id)?;
            if number == 0 {
                folded = next;
                continue;
            }
            // What is equal needs no base.
            let equal = three_way(Agreed::Disputed, folded, next, self.same)?;
            if let Agreed::On(_) = equal {
                folded = equal;
                continue;
            }
            let deeper = self.deeper(bases, number)?;
            let Some(base) = found.get(&deeper) else { return Ok(Folded::Needs(deeper)) };
            folded = three_way(*base, folded, next, self.same)?;
            if let Agreed::Disputed = folded {
                // Equal to nothing, it stays whatever the next bases say.
                break;
            }
        }
        Ok(Folded::Into(folded))
    }

    fn version(&self, commit: CommitId, id: &NodeId) -> Result<Agreed, Error> {
        let state = self.objects.commit(commit)?.state;
        let version: Option<NodeVersionId> = state::get(self.objects, state, id)?;
        Ok(Agreed::On(version))
    }

    /// The bases of what a merge of the first `number` bases would be, and the next one.
    fn deeper(&mut self, bases: &Bases, number: usize) -> Result<Bases, Error> {
        let key = (Arc::clone(bases), number);
        if let Some(deeper) = self.deeper.get(&key) {
            return Ok(Arc::clone(deeper));
        }
        let (merged, next) = bases.split_at(number);
        let deeper: Bases = match next.first() {
            Some(next) => merge_bases_of(self.objects, merged, *next)?.into(),
            None => Arc::from([]),
        };
        self.deeper.insert(key, Arc::clone(&deeper));
        Ok(deeper)
    }
}
