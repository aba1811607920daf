//! The line of first parents behind a commit, by height.

use super::position;
use crate::backend::cache::Objects;
use crate::error::Error;
use crate::id::CommitId;

/// The commit of this height on the line of first parents from `tip`; none where the line begins
/// above it, or ends below. Follows skip links: reads grow with the logarithm of the distance.
pub fn at_height(objects: &Objects, tip: CommitId, height: u64) -> Result<Option<CommitId>, Error> {
    let mut at = tip;
    loop {
        let position = position(objects, at)?;
        if position.height <= height {
            return Ok((position.height == height).then_some(at));
        }
        at = match position.skip.filter(|skip| skip.height >= height) {
            Some(skip) => skip.commit,
            None => match objects.commit(at)?.parents.first() {
                Some(parent) => *parent,
                None => return Ok(None),
            },
        };
    }
}

/// Whether a commit is on the line of first parents from `tip`.
pub fn is_on_line(objects: &Objects, commit: CommitId, tip: CommitId) -> Result<bool, Error> {
    let height = position(objects, commit)?.height;
    Ok(at_height(objects, tip, height)? == Some(commit))
}

/// Whether the line of first parents from `tip` has records back to its root: then what no record
/// says did not happen on it.
pub fn is_recorded(objects: &Objects, tip: CommitId) -> Result<bool, Error> {
    let Some(root) = at_height(objects, tip, 0)? else { return Ok(false) };
    Ok(objects.view()?.position(&root)?.is_some())
}
