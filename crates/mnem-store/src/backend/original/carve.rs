//! Objects taken straight from the pages of an old file, whatever redb 2 says of it.
//!
//! Each object is believed by its own id, whatever stands around it, so the live ones and those in
//! pages that were given up are as good as each other. Rows of branches carry no checksum: a row
//! counts where it names a commit that is there, and of several the one that is furthest on, since
//! what the original wrote never went back.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::file::OriginalBackend;
use crate::backend::redb::{Pages, RedbBackend};
use crate::backend::{ALL_ROWS, Backend, BackendError, Batch, Expected, LocalTable, PublishError};
use crate::codec::Encoded;
use crate::id::{BranchName, CommitId, ObjectId};
use crate::object::Object;

/// How many objects are written at a time, and how many bytes.
const BATCH: (usize, usize) = (4_096, 8 << 20);

/// What is in the pages.
#[derive(Default)]
struct Found {
    /// Where each object is.
    objects: BTreeMap<ObjectId, (u64, usize)>,
    /// The parents of each commit.
    commits: BTreeMap<CommitId, Vec<CommitId>>,
    /// Names with what they may have named.
    names: Vec<(BranchName, CommitId)>,
}

/// Fills an empty backend with what is in the pages of an old file: nodes and states, then commits,
/// each after its parents, then branches, and what is staged where redb still reads those tables.
/// Returns how many objects there are.
pub(crate) fn carve(
    mut pages: Pages<'_>,
    tables: Option<&OriginalBackend>,
    into: &RedbBackend,
) -> Result<u64, BackendError> {
    let found = found(&mut pages)?;
    let generations = generations(&found.commits);
    let mut order: Vec<_> = generations.iter().map(|(id, generation)| (*generation, *id)).collect();
    order.sort_unstable();
    let is_commit = |id: &ObjectId| found.commits.contains_key(&CommitId::from(*id));
    let objects = found.objects.keys().copied().filter(|id| !is_commit(id));
    let mut batch = Batch::default();
    let mut bytes = 0;
    for id in objects.chain(order.into_iter().map(|(_, id)| ObjectId::from(id))) {
        let Some((at, length)) = found.objects.get(&id) else { continue };
        if let Ok((object, _)) = Encoded::decode(&pages.read(*at, *length)?) {
            bytes += length;
            batch.object(object);
        }
        if batch.entries.len() >= BATCH.0 || bytes >= BATCH.1 {
            bytes = 0;
            publish(into, &mut batch)?;
        }
    }
    let furthest = |name: &BranchName| {
        let named = found.names.iter().filter(|(other, _)| other == name).map(|(_, id)| *id);
        named.max_by_key(|id| (generations.get(id).copied(), *id))
    };
    let live = tables.and_then(|tables| tables.view().ok()?.references().ok());
    let names: BTreeSet<BranchName> = match &live {
        Some(live) => live.keys().cloned().collect(),
        None => found.names.iter().map(|(name, _)| name.clone()).collect(),
    };
    for name in names {
        let live = live.as_ref().and_then(|live| live.get(&name).copied());
        let tip = live.filter(|tip| found.commits.contains_key(tip)).or_else(|| furthest(&name));
        if tip.is_some() {
            batch.reference(name, Expected::Absent, tip);
        }
    }
    for table in [LocalTable::Staging, LocalTable::StagingTombstones] {
        let staged = tables.and_then(|tables| tables.view().ok()?.rows(table, ALL_ROWS).ok());
        for (key, value) in staged.into_iter().flatten() {
            batch.row(table, key, Some(value));
        }
    }
    publish(into, &mut batch)?;
    Ok(found.objects.len() as u64)
}

/// Whether any object can be read in the pages of an old file.
pub(crate) fn holds_objects(mut pages: Pages<'_>) -> io::Result<bool> {
    for page in pages.all() {
        for pair in pages.leaf(page, None)? {
            if object(&mut pages, &pair.key, pair.value)?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn found(pages: &mut Pages<'_>) -> io::Result<Found> {
    let mut found = Found::default();
    let mut names = BTreeSet::new();
    for page in pages.all() {
        for pair in pages.leaf(page, None)? {
            if let Some((id, object)) = object(pages, &pair.key, pair.value)? {
                found.objects.insert(id, pair.value);
                if let Object::Commit(commit) = object {
                    found.commits.insert(id.into(), commit.parents);
                }
            }
        }
        for pair in pages.leaf(page, Some(32))? {
            let value = pages.read(pair.value.0, pair.value.1)?;
            if let (Ok(name), Some(id)) =
                (String::from_utf8(pair.key), ObjectId::from_slice(&value))
                && let Ok(name) = BranchName::new(name)
            {
                names.insert((name, CommitId::from(id)));
            }
        }
    }
    // What is staged is written alike, and names nodes.
    found.names = names.into_iter().filter(|(_, id)| found.commits.contains_key(id)).collect();
    Ok(found)
}

/// An object, where a row is one.
fn object(
    pages: &mut Pages<'_>,
    key: &[u8],
    (at, length): (u64, usize),
) -> io::Result<Option<(ObjectId, Object)>> {
    let Some(id) = ObjectId::from_slice(key) else { return Ok(None) };
    let decoded = Encoded::decode(&pages.read(at, length)?);
    let is_it = |(encoded, _): &(Encoded, Object)| encoded.id() == id;
    Ok(decoded.ok().filter(is_it).map(|(_, object)| (id, object)))
}

/// How far each commit is from the first, by what is there.
fn generations(commits: &BTreeMap<CommitId, Vec<CommitId>>) -> BTreeMap<CommitId, u64> {
    let mut known: BTreeMap<CommitId, u64> = BTreeMap::new();
    for start in commits.keys() {
        if known.contains_key(start) {
            continue;
        }
        let mut open = vec![*start];
        while let Some(id) = open.last().copied() {
            let parents = commits.get(&id).into_iter().flatten();
            let parents: Vec<_> = parents.filter(|parent| commits.contains_key(parent)).collect();
            let before = open.len();
            open.extend(parents.iter().copied().filter(|parent| !known.contains_key(parent)));
            if open.len() == before {
                let last = parents.iter().filter_map(|parent| known.get(parent)).max();
                known.insert(id, last.map_or(0, |last| last + 1));
                open.pop();
            }
        }
    }
    known
}

fn publish(into: &RedbBackend, batch: &mut Batch) -> Result<(), BackendError> {
    match into.publish(&std::mem::take(batch)) {
        Ok(()) => Ok(()),
        Err(PublishError::Backend(error)) => Err(error),
        Err(error @ PublishError::Moved { .. }) => Err(BackendError::Corrupt(error.to_string())),
    }
}
