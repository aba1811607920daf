//! The commits that changed a node, from the records that name it.
//!
//! An answer is used only where it holds together: what a change left is what the next one found,
//! from end to end, as the objects say it. Otherwise, and where records do not go back to the root,
//! there is no answer, and the plain walk over the objects gives it.

use super::line::{at_height, is_on_line, is_recorded};
use super::position;
use crate::backend::cache::Objects;
use crate::backend::{BackendError, Number, Position, Stands};
use crate::error::Error;
use crate::id::{CommitId, NodeId, NodeVersionId};
use crate::state;

/// How many records are read at once.
const PAGE: usize = 32;
/// How many changes on other lines are passed over before the walk is the shorter way.
const PASSED_OVER: usize = 256;

/// A commit that an index says changed a node against its first parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The commit.
    pub commit: CommitId,
    /// Where it stands.
    pub position: Position,
}

/// A change, and the version it left; none where it removed the node.
pub type Point = (Changed, Option<NodeVersionId>);

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
        let Some(page) = told(objects, node, before, PAGE)? else { return Ok(None) };
        for (number, stands) in &page {
            let Some((commit, _)) = stands else { return Ok(None) };
            // A commit is numbered after those behind it, so the first on the line is the newest.
            if is_on_line(objects, *commit, tip)? {
                let made = version_at(objects, Some(*commit), node)?;
                return Ok((made == version).then_some(*commit));
            }
            before = Some(*number);
        }
        if page.len() < PAGE {
            break;
        }
    }
    Ok(None)
}

/// Whether no commit of a recorded history behind `tip`, or anywhere, changed a node.
pub fn never_changed(objects: &Objects, tip: CommitId, node: &NodeId) -> Result<bool, Error> {
    let told = told(objects, node, None, 1)?;
    Ok(told.is_some_and(|changes| changes.is_empty()) && is_recorded(objects, tip)?)
}

/// Every commit on the line of first parents (`above`, `tip`] that changed a node, newest first,
/// and what it made of it. The node says `last` at `tip`; it says `first` at `above`, which is on
/// the line, or before the root where none is given. None where the index does not tell, or names
/// more changes than the line has commits.
pub fn changes_on_line(
    objects: &Objects,
    tip: CommitId,
    above: Option<CommitId>,
    node: &NodeId,
    [first, last]: [Option<NodeVersionId>; 2],
) -> Result<Option<Vec<Point>>, Error> {
    let top = position(objects, tip)?.height;
    let floor = above.map(|id| position(objects, id)).transpose()?.map(|above| above.height);
    let longest = usize::try_from(top.saturating_add(1)).unwrap_or(usize::MAX);
    let Some(all) = changes_within(objects, node, longest)? else { return Ok(None) };
    let mut found = Vec::new();
    let mut cursor = tip;
    for changed in all {
        let beyond = |height| floor.is_some_and(|floor| height <= floor);
        let height = changed.position.height;
        if height > top || beyond(height) {
            continue;
        }
        if height > position(objects, cursor)?.height {
            cursor = tip;
        }
        let Some(at) = at_height(objects, cursor, height)? else { return Ok(None) };
        cursor = at;
        if at == changed.commit {
            found.push(changed);
        }
    }
    let mut expected = last;
    let mut points = Vec::with_capacity(found.len());
    for changed in found {
        let parent = objects.commit(changed.commit)?.parents.first().copied();
        let new = version_at(objects, Some(changed.commit), node)?;
        if new != expected {
            return Ok(None);
        }
        expected = version_at(objects, parent, node)?;
        points.push((changed, new));
    }
    let is_whole = expected == first && is_recorded(objects, tip)?;
    Ok(is_whole.then_some(points))
}

/// What the index says; none where it is damaged.
fn told(
    objects: &Objects,
    node: &NodeId,
    before: Option<Number>,
    limit: usize,
) -> Result<Option<Vec<Stands>>, Error> {
    match objects.view()?.changed(node, before, limit) {
        Ok(told) => Ok(Some(told)),
        Err(BackendError::Corrupt(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Which version of a node is current at a commit; before the root none is.
fn version_at(
    objects: &Objects,
    commit: Option<CommitId>,
    node: &NodeId,
) -> Result<Option<NodeVersionId>, Error> {
    match commit {
        Some(commit) => state::get(objects, objects.commit(commit)?.state, node),
        None => Ok(None),
    }
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
        let Some(page) = told(objects, node, before, PAGE)? else { return Ok(None) };
        for (number, stands) in &page {
            let Some((commit, position)) = *stands else { return Ok(None) };
            found.push(Changed { commit, position });
            before = Some(*number);
        }
        if found.len() > most {
            return Ok(None);
        }
        if page.len() < PAGE {
            return Ok(Some(found));
        }
    }
}
