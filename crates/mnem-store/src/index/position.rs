//! Where a commit stands in the graph, from records where they answer.

use std::collections::BTreeMap;

use crate::backend::cache::Objects;
use crate::backend::{Change, ChangeSet, Derived, Position, Skip};
use crate::error::{Error, ErrorKind};
use crate::id::CommitId;
use crate::object::Commit;
use crate::state;

/// Where a commit stands: from its record, else by walking until records answer.
pub fn position(objects: &Objects, commit: CommitId) -> Result<Position, Error> {
    if let Some(position) = objects.known_position(commit) {
        return Ok(position);
    }
    let view = objects.view()?;
    let mut known: BTreeMap<CommitId, Position> = BTreeMap::new();
    let mut open = vec![commit];
    while let Some(&id) = open.last() {
        if known.contains_key(&id) {
            open.pop();
            continue;
        }
        let recorded = match objects.known_position(id) {
            Some(position) => Some(position),
            None => view.position(&id)?,
        };
        if let Some(position) = recorded {
            objects.know_position(id, position);
            known.insert(id, position);
            continue;
        }
        let parents = &objects.commit(id)?.parents;
        let waiting: Vec<_> = parents.iter().filter(|p| !known.contains_key(*p)).copied().collect();
        if waiting.is_empty() {
            let of = |parent: &CommitId| known.get(parent).map(|position| (*parent, *position));
            let position = below(parents.iter().filter_map(of), |id| {
                known.get(&id).copied().map_or_else(|| position(objects, id), Ok)
            })?;
            objects.know_walked(id, position);
            known.insert(id, position);
        } else {
            open.extend(waiting);
        }
    }
    known
        .remove(&commit)
        .ok_or_else(|| Error::corrupt(format!("the history of {commit} has no end")))
}

/// What the record of a new commit holds beside its move. `new_root` is a parent that is not
/// stored yet and has none of its own.
pub fn derive(
    objects: &Objects,
    parents: &[CommitId],
    new_root: Option<CommitId>,
    changes: ChangeSet,
) -> Result<Derived, Error> {
    let of = |id: CommitId| {
        if Some(id) == new_root {
            Ok(Position { generation: 0, height: 0, skip: None })
        } else {
            position(objects, id)
        }
    };
    let positions =
        parents.iter().map(|id| Ok((*id, of(*id)?))).collect::<Result<Vec<_>, Error>>()?;
    let Position { generation, height, skip } = below(positions.into_iter(), of)?;
    Ok(Derived { generation, height, skip, changes })
}

/// What the record of a stored commit holds beside its move.
pub fn follows(objects: &Objects, commit: &Commit) -> Result<Derived, Error> {
    derive(objects, &commit.parents, None, changes_of(objects, commit)?)
}

/// What a commit changed against its first parent, as the objects say it.
pub fn changes_of(objects: &Objects, commit: &Commit) -> Result<ChangeSet, Error> {
    let before = match commit.parents.first() {
        Some(parent) => Some(objects.commit(*parent)?.state),
        None => None,
    };
    state::diff(objects, before, Some(commit.state))
        .map(|change| change.map(|it| (it.id, Change { old: it.old, new: it.new })))
        .collect()
}

/// The position of a commit with these parents, first parent first.
///
/// Skew-binary jump pointers (Myers, "An applicative random-access stack", 1983): where the
/// parent's jump and the jump from there span equally many commits, the new jump spans both.
pub(crate) fn below(
    parents: impl Iterator<Item = (CommitId, Position)>,
    of: impl Fn(CommitId) -> Result<Position, Error>,
) -> Result<Position, Error> {
    let (mut generation, mut height, mut skip) = (0, 0, None);
    for (number, (id, parent)) in parents.enumerate() {
        generation = generation.max(parent.generation.saturating_add(1));
        if number > 0 {
            continue;
        }
        height = parent.height.saturating_add(1);
        let to_parent = Skip { height: parent.height, commit: id };
        skip = Some(match parent.skip {
            None => to_parent,
            Some(first) => match jump_of(of(first.commit))? {
                Some(second)
                    if parent.height.saturating_sub(first.height)
                        == first.height.saturating_sub(second.height) =>
                {
                    second
                }
                _ => to_parent,
            },
        });
    }
    Ok(Position { generation, height, skip })
}

/// The jump from a commit; none from one that is lost, for a jump saves steps and no more.
fn jump_of(position: Result<Position, Error>) -> Result<Option<Skip>, Error> {
    match position {
        Err(error) if error.kind() == ErrorKind::CorruptStore => Ok(None),
        position => Ok(position?.skip),
    }
}
