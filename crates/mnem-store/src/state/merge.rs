//! Three-way merge of entries: a join of what both sides changed against one base.

use std::cmp::Ordering;
use std::iter::Peekable;

use super::Nodes;
use super::diff::{Diff, EntryChange, diff};
use crate::error::Error;
use crate::id::{NodeId, NodeVersionId, StateId};

/// Whether two versions of a node are the same memory although their ids differ.
pub type Same<'a> = &'a dyn Fn(NodeVersionId, NodeVersionId) -> Result<bool, Error>;

/// What one side of a merge says of an id, or what two lines last agreed on.
#[derive(Clone, Copy, Debug)]
pub enum Agreed {
    /// This version, or that the id is not there.
    On(Option<NodeVersionId>),
    /// Nothing: several bases disagree. Equal to nothing, not to another such disagreement either.
    Disputed,
}

/// The merge of one id, the same from either side: what both say, or what the one says that
/// left the base; else the sides are in dispute.
pub fn three_way(
    base: Agreed,
    ours: Agreed,
    theirs: Agreed,
    same: Same<'_>,
) -> Result<Agreed, Error> {
    let equal = |a, b| match (a, b) {
        (Agreed::On(Some(a)), Agreed::On(Some(b))) if a != b => same(a, b),
        (Agreed::On(a), Agreed::On(b)) => Ok(a == b),
        _ => Ok(false),
    };
    if let (Agreed::On(one), Agreed::On(other)) = (ours, theirs)
        && equal(ours, theirs)?
    {
        // Both directions of a merge must choose the same of two ids.
        return Ok(match base {
            Agreed::On(base) if one == base || other == base => Agreed::On(base),
            _ => Agreed::On(one.min(other)),
        });
    }
    if equal(ours, base)? {
        Ok(theirs)
    } else if equal(theirs, base)? {
        Ok(ours)
    } else {
        Ok(Agreed::Disputed)
    }
}

/// What a merge makes of an id, where that is not what ours already has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// The result has this version; `None`: the result does not have the id.
    Take {
        /// The node.
        id: NodeId,
        /// Its version in the result.
        value: Option<NodeVersionId>,
    },
    /// Both sides changed it, and not to the same.
    Conflict {
        /// The node.
        id: NodeId,
        /// Its version in the base.
        base: Option<NodeVersionId>,
        /// Its version in ours.
        ours: Option<NodeVersionId>,
        /// Its version in theirs.
        theirs: Option<NodeVersionId>,
    },
}

/// Merges two states over a base, `None` being the empty state: every id where the result is
/// not what ours has, in the order of ids. `same` is asked only about versions of one id that
/// are there and differ. Reads what either side changed, not what is stored.
pub fn merge<'a>(
    nodes: &'a dyn Nodes,
    base: Option<StateId>,
    ours: Option<StateId>,
    theirs: Option<StateId>,
    same: Same<'a>,
) -> Merge<'a> {
    Merge {
        ours: diff(nodes, base, ours).peekable(),
        theirs: diff(nodes, base, theirs).peekable(),
        same,
        failed: false,
    }
}

/// A running merge, made by [`merge`]. It ends after the first error.
pub struct Merge<'a> {
    ours: Peekable<Diff<'a>>,
    theirs: Peekable<Diff<'a>>,
    same: Same<'a>,
    failed: bool,
}

impl Merge<'_> {
    fn step(&mut self) -> Result<Option<Merged>, Error> {
        loop {
            let order = match (self.ours.peek(), self.theirs.peek()) {
                (None, None) => return Ok(None),
                (Some(Ok(ours)), Some(Ok(theirs))) => ours.id.cmp(&theirs.id),
                (Some(Err(_)), _) | (Some(_), None) => Ordering::Less,
                (_, Some(_)) => Ordering::Greater,
            };
            let ours = if order.is_le() { self.ours.next().transpose()? } else { None };
            let theirs = if order.is_ge() { self.theirs.next().transpose()? } else { None };
            // A side without a change has what the base has.
            let (id, base, ours, theirs) = match (ours, theirs) {
                (None, None) => return Ok(None),
                (Some(EntryChange { id, old, new }), None) => (id, old, new, old),
                (None, Some(EntryChange { id, old, new })) => (id, old, old, new),
                (Some(EntryChange { id, old, new }), Some(theirs)) => (id, old, new, theirs.new),
            };
            match self.merged(id, base, ours, theirs)? {
                Merged::Take { value, .. } if value == ours => {}
                merged => return Ok(Some(merged)),
            }
        }
    }

    fn merged(
        &self,
        id: NodeId,
        base: Option<NodeVersionId>,
        ours: Option<NodeVersionId>,
        theirs: Option<NodeVersionId>,
    ) -> Result<Merged, Error> {
        let [before, one, other] = [base, ours, theirs].map(Agreed::On);
        Ok(match three_way(before, one, other, self.same)? {
            Agreed::On(value) => Merged::Take { id, value },
            Agreed::Disputed => Merged::Conflict { id, base, ours, theirs },
        })
    }
}

impl Iterator for Merge<'_> {
    type Item = Result<Merged, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        step.transpose()
    }
}
