//! The entries of a damaged store on their way into a fresh file, with what follows from them made
//! anew, and branches put where they belong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::backend::cache::Objects;
use crate::backend::redb::RedbBackend;
use crate::backend::{
    Backend, Batch, ChangeSet, Derived, Entry, Expected, Flaw, Found, LocalTable, Number,
    Operation, Record,
};
use crate::codec::Encoded;
use crate::error::{Error, ErrorKind};
use crate::graph::FirstParents;
use crate::id::{BranchName, CommitId, NodeId, NodeVersionId, ObjectId};
use crate::index::{Position, below, changes_of};
use crate::object::{Commit, Object};
use crate::state::{self, EntryEdits};
use crate::store::engine::Engine;

/// Who repairs, in the records of branches that a repair moved.
const AUTHOR: &str = "mnem fsck";
/// What branches are called that a repair made for commits which no branch led to any more.
const RECOVERED: &str = "recovered-";
/// How many entries are written at a time, at most.
const BATCH_ENTRIES: usize = 4_096;
/// How many bytes of objects are written at a time, about.
const BATCH_BYTES: usize = 8 << 20;

/// What was saved.
#[derive(Default)]
pub(super) struct Saved {
    /// Objects that are in the new file.
    pub(super) objects: u64,
    /// How many of them could not be read, and were made again.
    pub(super) rebuilt: u64,
    /// Branches that stand elsewhere than before.
    pub(super) moved: Vec<(BranchName, Option<CommitId>)>,
}

/// A damaged store on its way into a new file. What it keeps is which objects it has seen, where
/// commits stand, branches, and the entries of one state.
pub(super) struct Salvage<'e> {
    engine: &'e Engine,
    new: Objects,
    batch: Batch,
    bytes: usize,
    entries: u64,
    objects: BTreeSet<ObjectId>,
    positions: BTreeMap<CommitId, Position>,
    /// The commit that the next entry is the record of.
    fresh: Option<(CommitId, Commit)>,
    /// The last entry that cannot be read.
    gap: Option<u64>,
    /// Whether an entry of the commit that comes next cannot be read.
    is_torn: bool,
    /// The commits that follow such entries, in the order of the log.
    torn: Vec<CommitId>,
    branches: BTreeMap<BranchName, CommitId>,
    /// Where the newest record of a branch moved it.
    newest: BTreeMap<BranchName, (u64, Option<CommitId>)>,
    /// Commits that neither a record nor a child names.
    unnamed: BTreeSet<CommitId>,
}

impl<'e> Salvage<'e> {
    pub(super) fn new(engine: &'e Engine, new: &Arc<RedbBackend>) -> Self {
        let new = Arc::clone(new) as Arc<dyn Backend>;
        Self {
            engine,
            new: Objects::new(new, engine.environment.cache_bytes),
            batch: Batch::default(),
            bytes: 0,
            entries: 0,
            objects: BTreeSet::new(),
            positions: BTreeMap::new(),
            fresh: None,
            gap: None,
            is_torn: false,
            torn: Vec::new(),
            branches: BTreeMap::new(),
            newest: BTreeMap::new(),
            unnamed: BTreeSet::new(),
        }
    }

    pub(super) fn run(mut self, progress: &mut dyn FnMut(u64)) -> Result<Saved, Error> {
        let mut ended = Ok(());
        let engine = self.engine;
        engine.objects.backend().inspect(&mut |found| {
            if ended.is_ok() {
                ended = self.take(found);
                progress(self.entries);
            }
        })?;
        ended?;
        self.end_commit()?;
        self.publish()?;
        let rebuilt = self.rebuild_states()?;
        let moved = self.restore_branches()?;
        self.publish()?;
        Ok(Saved { objects: self.objects.len() as u64, rebuilt, moved })
    }

    fn take(&mut self, found: Found) -> Result<(), Error> {
        match found {
            Found::Entry(_, Entry::Object(object)) => {
                self.end_commit()?;
                if self.objects.insert(object.id()) {
                    if let Object::Commit(commit) = decoded(&object)? {
                        for parent in &commit.parents {
                            self.unnamed.remove(parent);
                        }
                        if std::mem::take(&mut self.is_torn) {
                            self.torn.push(object.id().into());
                        }
                        self.fresh = Some((object.id().into(), commit));
                    }
                    self.bytes += object.bytes().len();
                    self.batch.object(object);
                    self.added()?;
                }
            }
            Found::Entry(number, Entry::Record(record)) => self.record(number, record)?,
            Found::Reference(name, commit) => _ = self.branches.insert(name, commit),
            Found::Row(table, (key, value)) => {
                self.end_commit()?;
                if self.is_kept(table, &key, &value)? {
                    self.bytes += key.len() + value.len();
                    self.batch.row(table, key, Some(value));
                    self.added()?;
                }
            }
            Found::Flaw(Flaw::Entry(Number(number), _)) => {
                self.gap = Some(number);
                self.is_torn = true;
            }
            Found::Flaw(_) => {}
        }
        Ok(())
    }

    /// Publishes what has come together, if it is enough. A commit waits for its record.
    fn added(&mut self) -> Result<(), Error> {
        self.entries += 1;
        let rows = self.batch.entries.len() + self.batch.rows.len();
        let is_enough = rows >= BATCH_ENTRIES || self.bytes >= BATCH_BYTES;
        if is_enough && self.fresh.is_none() { self.publish() } else { Ok(()) }
    }

    fn publish(&mut self) -> Result<(), Error> {
        self.bytes = 0;
        Ok(self.new.backend().publish(&std::mem::take(&mut self.batch))?)
    }

    /// A commit whose record is lost gets one as a commit has that came without a move.
    fn end_commit(&mut self) -> Result<(), Error> {
        let Some((id, commit)) = self.fresh.take() else { return Ok(()) };
        self.unnamed.insert(id);
        let derived = self.derive(id, &commit, None)?;
        self.batch.record(Record::without_a_move(id, &commit, Operation::REPAIR, derived));
        self.added()
    }

    fn record(&mut self, Number(number): Number, mut record: Record) -> Result<(), Error> {
        if self.fresh.as_ref().is_some_and(|(id, _)| record.new != Some(*id)) {
            self.end_commit()?;
        }
        record.derived = match self.fresh.take() {
            Some((id, commit)) => Some(self.derive(id, &commit, record.derived.take())?),
            None => None,
        };
        for named in record.old.iter().chain(&record.new) {
            self.unnamed.remove(named);
        }
        if let Some(branch) = &record.branch {
            self.newest.insert(branch.clone(), (number, record.new));
        }
        self.batch.record(record);
        self.added()
    }

    /// What follows from a commit; where what it follows from is lost, what its record said, and
    /// at last as if it had no parents.
    fn derive(
        &mut self,
        id: CommitId,
        commit: &Commit,
        recorded: Option<Derived>,
    ) -> Result<Derived, Error> {
        let known = &self.positions;
        let parents: Option<Vec<_>> =
            commit.parents.iter().map(|id| Some((*id, *known.get(id)?))).collect();
        let lost = || Error::corrupt("a commit is lost");
        let followed = parents.and_then(|parents| {
            below(parents.into_iter(), |id| known.get(&id).copied().ok_or_else(lost)).ok()
        });
        let (generation, height, skip, changes) = match recorded {
            Some(Derived { generation, height, skip, changes }) => {
                (generation, height, skip, changes)
            }
            None => (0, 0, None, ChangeSet::new()),
        };
        let position = followed.unwrap_or(Position { generation, height, skip });
        self.positions.insert(id, position);
        // Unless something it takes to know that is lost.
        let changes = found(changes_of(&self.engine.objects, commit))?.unwrap_or(changes);
        let Position { generation, height, skip } = position;
        Ok(Derived { generation, height, skip, changes })
    }

    /// Whether a row says something still: a draft whose node is lost does not.
    fn is_kept(&self, table: LocalTable, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        if table != LocalTable::Staging {
            return Ok(true);
        }
        let id = NodeId::from_stored(String::from_utf8_lossy(key));
        match NodeVersionId::from_slice(value) {
            Some(version) => Ok(found(self.engine.node_at(&id, version))?.is_some()),
            None => Ok(false),
        }
    }

    /// Makes the tree nodes again that stood in the entries which cannot be read: records say which
    /// entries a state has, and these decide its nodes. The hash of the root says whether it is so.
    fn rebuild_states(&mut self) -> Result<u64, Error> {
        let read = self.objects.len();
        let mut known = (None, EntryEdits::new());
        for id in std::mem::take(&mut self.torn) {
            let Some(entries) = self.entries_of(id, &mut known)? else { continue };
            let Some(commit) = found(self.engine.objects.commit(id))? else { continue };
            let edited = state::edit(&self.engine.objects, None, entries)?;
            if edited.root != commit.state {
                continue;
            }
            for object in edited.objects {
                if self.objects.insert(object.id()) {
                    self.bytes += object.bytes().len();
                    self.batch.object(object);
                    self.added()?;
                }
            }
        }
        self.publish()?;
        Ok((self.objects.len() - read) as u64)
    }

    /// The entries of the state of a commit, from the change sets of its line, read on from those
    /// of a commit below it; none where one is lost.
    fn entries_of<'k>(
        &self,
        id: CommitId,
        known: &'k mut (Option<CommitId>, EntryEdits),
    ) -> Result<Option<&'k EntryEdits>, Error> {
        let view = self.new.view()?;
        let mut line = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next.filter(|_| next != known.0) {
            let Some((_, record)) = view.record(&id)? else { return Ok(None) };
            let Some(commit) = found(self.engine.objects.commit(id))? else { return Ok(None) };
            line.push(record.changes().clone());
            next = commit.parents.first().copied();
        }
        let (at, entries) = known;
        if next.is_none() {
            entries.clear();
        }
        for (node, change) in line.into_iter().rev().flatten() {
            match change.new {
                Some(version) => entries.insert(node, Some(version)),
                None => entries.remove(&node),
            };
        }
        *at = Some(id);
        Ok(Some(entries))
    }

    /// Puts every branch where it belongs, and says which were moved.
    fn restore_branches(&mut self) -> Result<Vec<(BranchName, Option<CommitId>)>, Error> {
        let mut moved = Vec::new();
        let names: BTreeSet<_> = self.branches.keys().chain(self.newest.keys()).cloned().collect();
        for name in names {
            let at = self.branches.get(&name).copied();
            let record = self.newest.get(&name).copied();
            // A record that is lost may have been the newest.
            let is_newest = |(number, _): &(u64, _)| self.gap.is_none_or(|gap| gap < *number);
            let wanted = match record {
                Some((_, recorded)) if record.as_ref().is_some_and(is_newest) => recorded,
                Some((_, recorded)) => at.or(recorded),
                None => at,
            };
            let new = match wanted {
                Some(commit) => self.standing(&name, commit)?,
                None => None,
            };
            self.settle(&name, record.and_then(|(_, recorded)| recorded), new);
            if new != at {
                moved.push((name, new));
            }
        }
        for commit in std::mem::take(&mut self.unnamed) {
            if self.batch.refs.iter().all(|edit| edit.new != Some(commit)) {
                let name = BranchName::from_stored(format!("{RECOVERED}{commit}"));
                self.settle(&name, None, Some(commit));
                moved.push((name, Some(commit)));
            }
        }
        Ok(moved)
    }

    /// The commit a branch can stand at: the one it was moved to, or the newest before it with a
    /// whole tree. Nodes may be missing, for they can be written again; a tree with a hole cannot
    /// be edited there. Where no tree is whole, the newest commit that is there.
    fn standing(&self, name: &BranchName, wanted: CommitId) -> Result<Option<CommitId>, Error> {
        let is_there = |commit: &CommitId| self.objects.contains(&(*commit).into());
        let objects = &self.new;
        let is_whole = |commit: CommitId| {
            let whole = objects.commit(commit).and_then(|c| state::verify(objects, c.state));
            Ok::<_, Error>(found(whole)?.is_some())
        };
        if is_whole(wanted)? {
            return Ok(Some(wanted));
        }
        let mut newest = Some(wanted).filter(is_there);
        let view = self.new.view()?;
        let mut before = None;
        loop {
            let page = view.records(Some(name), before, 64)?;
            let Some((number, _)) = page.last() else { break };
            before = Some(*number);
            for commit in page.into_iter().filter_map(|(_, record)| record.new) {
                if is_whole(commit)? {
                    return Ok(Some(commit));
                }
                newest = newest.or(Some(commit).filter(is_there));
            }
        }
        // Records may be lost, and the original kept none.
        for step in FirstParents::new(objects, newest) {
            let Some((commit, _)) = found(step)? else { break };
            if is_whole(commit)? {
                return Ok(Some(commit));
            }
        }
        Ok(newest)
    }

    /// Makes a branch, with a record unless its newest says so already.
    fn settle(&mut self, name: &BranchName, recorded: Option<CommitId>, new: Option<CommitId>) {
        if recorded != new {
            let moved = self.engine.moved(name, recorded, new, Operation::REPAIR, AUTHOR);
            self.batch.record(moved);
        }
        if new.is_some() {
            self.batch.reference(name.clone(), Expected::Absent, new);
        }
    }
}

fn decoded(object: &Encoded) -> Result<Object, Error> {
    let decoded = Encoded::decode(object.bytes());
    let (_, object) = decoded.map_err(|error| Error::corrupt(error.to_string()))?;
    Ok(object)
}

/// An answer, or none where what it takes is damaged or missing.
fn found<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.kind() == ErrorKind::CorruptStore => Ok(None),
        Err(error) => Err(error),
    }
}
