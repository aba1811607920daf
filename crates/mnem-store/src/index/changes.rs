//! The commits that changed a node, from the records that name it.
//!
//! An answer is used only where it holds together: what a change left is what the next one
//! found, from end to end. Otherwise, and where records do not go back to the root, there is no
//! answer, and the plain walk over the objects gives it.

use super::line::{at_height, is_on_line, is_recorded};
use super::position;
use crate::backend::cache::Objects;
use crate::backend::{Change, Number, Record};
use crate::error::Error;
use crate::id::{CommitId, NodeId, NodeVersionId};

/// How many records are read at once.
const PAGE: usize = 32;
/// How many changes on other lines are passed over before the walk is the shorter way.
const PASSED_OVER: usize = 256;

/// A commit that changed a node against its first parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The commit.
    pub commit: CommitId,
    /// Where it stands.
    pub generation: u64,
    /// How many first parents it has.
    pub height: u64,
    /// What it made of the node.
    pub change: Change,
}

impl Changed {
    fn of((_, record): &(Number, Record), node: &NodeId) -> Option<Self> {
        let derived = record.derived.as_ref()?;
        let change = *derived.changes.get(node)?;
        Some(Self {
            commit: record.new?,
            generation: derived.generation,
            height: derived.height,
            change,
        })
    }
}

/// The newest commit on the line of first parents from `tip` that changed a node which says
/// `version` at `tip`. None where the index does not tell.
pub fn last_change(
    objects: &Objects,
    tip: CommitId,
    node: &NodeId,
    version: Option<NodeVersionId>,
) -> Result<Option<CommitId>, Error> {
    let mut before = None;
    for _ in 0..PASSED_OVER / PAGE {
        let page = objects.view()?.changes(node, before, PAGE)?;
        for entry in &page {
            let Some(changed) = Changed::of(entry, node) else { return Ok(None) };
            // A commit is numbered after those behind it, so the first on the line is the newest.
            if is_on_line(objects, changed.commit, tip)? {
                return Ok((changed.change.new == version).then_some(changed.commit));
            }
            before = Some(entry.0);
        }
        if page.len() < PAGE {
            break;
        }
    }
    Ok(None)
}

/// Whether no commit of a recorded history behind `tip`, or anywhere, changed a node.
pub fn never_changed(objects: &Objects, tip: CommitId, node: &NodeId) -> Result<bool, Error> {
    Ok(objects.view()?.changes(node, None, 1)?.is_empty() && is_recorded(objects, tip)?)
}

/// Every commit on the line of first parents (`above`, `tip`] that changed a node, newest first:
/// it says `last` at `tip`, and `first` at `above`, which is on the line, or before its root.
/// None where the index does not tell, or names more changes than the line has commits.
pub fn changes_on_line(
    objects: &Objects,
    tip: CommitId,
    above: Option<CommitId>,
    node: &NodeId,
    [first, last]: [Option<NodeVersionId>; 2],
) -> Result<Option<Vec<Changed>>, Error> {
    let top = position(objects, tip)?.height;
    let floor = above.map(|id| position(objects, id)).transpose()?.map(|above| above.height);
    let longest = usize::try_from(top.saturating_add(1)).unwrap_or(usize::MAX);
    let Some(all) = changes_within(objects, node, longest)? else { return Ok(None) };
    let mut found = Vec::new();
    let mut cursor = tip;
    for changed in all {
        let beyond = |height| floor.is_some_and(|floor| height <= floor);
        if changed.height > top || beyond(changed.height) {
            continue;
        }
        if changed.height > position(objects, cursor)?.height {
            cursor = tip;
        }
        let Some(at) = at_height(objects, cursor, changed.height)? else { return Ok(None) };
        cursor = at;
        if at == changed.commit {
            found.push(changed);
        }
    }
    let mut expected = last;
    for changed in &found {
        if changed.change.new != expected {
            return Ok(None);
        }
        expected = changed.change.old;
    }
    let is_whole = expected == first && is_recorded(objects, tip)?;
    Ok(is_whole.then_some(found))
}

/// Every commit anywhere that changed a node, newest first; none where there are more than so
/// many.
pub fn changes_within(
    objects: &Objects,
    node: &NodeId,
    most: usize,
) -> Result<Option<Vec<Changed>>, Error> {
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let page = objects.view()?.changes(node, before, PAGE)?;
        for entry in &page {
            let Some(changed) = Changed::of(entry, node) else { return Ok(None) };
            found.push(changed);
            before = Some(entry.0);
        }
        if found.len() > most {
            return Ok(None);
        }
        if page.len() < PAGE {
            return Ok(Some(found));
        }
    }
}
