//! migrate: a store of the original becomes one that can be written.
//!
//! Its data is copied, never changed in place: every object is verified on its way into a fresh
//! data file, which is verified as a whole, and then put in use by one rename. History is not
//! rewritten: every object keeps its bytes and its id. What is added is what later writes build
//! on: a record for each commit, the indexes, and the tree of each branch's memory.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::backend::{
    ALL_ROWS, Backend, Batch, Entry, Expected, LocalTable, Operation, Outcome, Record, RedbBackend,
};
use crate::codec::Encoded;
use crate::error::{Error, ErrorKind};
use crate::id::CommitId;
use crate::index;
use crate::object::Kind;
use crate::state::{self, EntryEdits};
use crate::store::config::Config;
use crate::store::engine::{Engine, Place, STORE_DIRECTORY};
use crate::store::environment::Environment;
use crate::store::lease::LeaseFiles;
use crate::store::original::{Access, DATA_FILE, DataFile};
use crate::store::registry::Registry;
use crate::store::switch::{self, Old, switch};
use crate::store::{FormatVersion, Store, files, network, open};

/// A batch is published once it has this many entries,
const BATCH_ENTRIES: usize = 16_384;
/// or this many bytes of objects.
const BATCH_BYTES: u64 = 16 << 20;

/// What the copy takes beside the objects themselves, in bytes: for each object its rows, and
/// for the file as a whole.
const ROOM_PER_OBJECT: u64 = 256;
const ROOM_FOR_FILE: u64 = 1 << 20;

/// What a migration is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Reads and verifies the nodes and states, and copies them unless it is a trial.
    Objects,
    /// Puts each commit after its parents, with its record.
    Commits,
    /// Reads everything again from the copy.
    Verify,
    /// Puts the copy in use.
    Switch,
}

/// What a migration did, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The directory that contains `.mnem/`.
    pub root: PathBuf,
    /// The version that the store had.
    pub from: FormatVersion,
    /// Whether it has another now.
    pub changed: bool,
    /// Commits, each with the id it had.
    pub commits: u64,
    /// States, as they were stored.
    pub states: u64,
    /// Versions of memory nodes.
    pub nodes: u64,
    /// State objects that are new: the trees of the branches' memory.
    pub trees: u64,
    /// Branches that point at a commit.
    pub branches: u64,
    /// Staged nodes and removals.
    pub staged: u64,
    /// The length of the old data file, in bytes.
    pub old_bytes: u64,
    /// What the new data file takes on the disk, in bytes; of a trial, what it takes at most.
    pub new_bytes: u64,
    /// Whether the old data file was removed that a migration had left which was stopped.
    pub removed_old: bool,
}

impl Store {
    /// Brings the store at a directory, or the nearest one above it, to the current format.
    /// With `is_trial` nothing is changed, and the answer says what would be.
    ///
    /// Nobody else may have the store open, this process included. A store of the current format
    /// is left as it is. Whatever goes wrong, and wherever the machine stops, the store is what
    /// it was or what it is to be.
    ///
    /// `progress` is called with the phase and the number of objects it has done.
    ///
    /// ```
    /// # use mnem_store::backend::original::OriginalWriter;
    /// # use mnem_store::{BranchName, Content, Environment, MemoryNode, NodeId, Store};
    /// # let directory = tempfile::tempdir()?;
    /// # let writer = OriginalWriter::create(directory.path())?;
    /// # let plan = MemoryNode::note(NodeId::new("plan")?, Content::text("pro"));
    /// # let commit = writer.commit(&BranchName::new("main")?, &[], &[plan], "note", 1)?;
    /// # drop(writer);
    /// let place = directory.path();
    /// let migrated = Store::migrate(place, &Environment::fixed(), false, |_, _| ())?;
    /// assert_eq!((migrated.changed, migrated.commits), (true, 1));
    /// let store = Store::open(place, Environment::fixed())?;
    /// assert_eq!(store.head_commit()?, Some(commit));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn migrate(
        directory: &Path,
        environment: &Environment,
        is_trial: bool,
        mut progress: impl FnMut(Phase, u64),
    ) -> Result<Migrated, Error> {
        let root = Self::discover(directory)?;
        let data_directory = root.join(STORE_DIRECTORY);
        let config = open::read_config(&data_directory)?;
        network::check(&data_directory, environment)?;
        if config.format == FormatVersion::CURRENT {
            let removed_old = !is_trial && remove_left(&root, &config, environment)?;
            return Ok(Migrated { removed_old, ..Migrated::of(&root, config.format) });
        }
        let Some(data) = DataFile::find(&root)? else {
            return Self::migrate(directory, environment, is_trial, progress);
        };
        let identity = data.identity.clone();
        if !is_trial && Registry::lock().find(&identity).is_some() {
            let message = format!(
                "the store at {} is open in this process; close it before it is migrated",
                root.display()
            );
            return Err(Error::new(ErrorKind::Busy, message));
        }
        let access = if is_trial { Access::Shared } else { Access::Alone };
        let Some(backend) = data.open(access, config.format, environment)? else {
            return Self::migrate(directory, environment, is_trial, progress);
        };
        let place = Place::on_disk(root.clone(), DATA_FILE, identity);
        let old = Arc::new(Engine::original(backend, place, config.clone(), environment.clone()));
        let done = Migrated::of(&root, config.format);
        if is_trial {
            return Copy::new(&old, None, done, &mut progress).run();
        }
        let salted = config.salts_from_now_on();
        let config = Config { format: FormatVersion::CURRENT, salted, ..config };
        let progress = RefCell::new(progress);
        let tell = |phase, done| (*progress.borrow_mut())(phase, done);
        let fill = |new: &Arc<RedbBackend>| {
            let done =
                Copy::new(&old, Some(new), done, &mut |phase, done| tell(phase, done)).run()?;
            check(&old, new, &config, &mut |phase, done| tell(phase, done))?;
            Ok(done)
        };
        let durable = || tell(Phase::Switch, 0);
        let (path, done) =
            switch(&data_directory, &config, Old::Removed, environment, fill, durable)?;
        // Whoever opens the store makes what is missing; on a disk that cannot be written, nobody.
        let _ = LeaseFiles::open(&data_directory);
        tell(Phase::Switch, 1);
        let metadata = std::fs::metadata(&path)
            .map_err(|error| Error::io(format!("cannot read {}", path.display()), error))?;
        Ok(Migrated { changed: true, new_bytes: files::allocated(&metadata), ..done })
    }
}

impl Migrated {
    fn of(root: &Path, from: FormatVersion) -> Self {
        Self {
            root: root.to_owned(),
            from,
            changed: false,
            commits: 0,
            states: 0,
            nodes: 0,
            trees: 0,
            branches: 0,
            staged: 0,
            old_bytes: 0,
            new_bytes: 0,
            removed_old: false,
        }
    }
}

/// Removes the old data file where a migration was stopped after its switch. A file that is in
/// use, that others have open, or that is no store of the original stays.
fn remove_left(root: &Path, config: &Config, environment: &Environment) -> Result<bool, Error> {
    let is_in_use = config.engine.as_ref().is_none_or(|engine| engine.data_file == DATA_FILE);
    let Some(data) = DataFile::find(root)?.filter(|_| !is_in_use) else { return Ok(false) };
    match data.open(Access::Alone, config.format, environment) {
        Ok(Some(backend)) if backend.view()?.references().is_ok() => {
            switch::remove(&root.join(STORE_DIRECTORY), DATA_FILE)
        }
        _ => Ok(false),
    }
}

/// Reads the copy as any store is read, and compares it with what was copied.
fn check(
    old: &Arc<Engine>,
    backend: &Arc<RedbBackend>,
    config: &Config,
    progress: &mut dyn FnMut(Phase, u64),
) -> Result<(), Error> {
    let differs = |what: String| Err(Error::corrupt(format!("the migrated copy {what}")));
    let place = Place::Memory { head: Mutex::new(old.head()?) };
    let shared = Arc::clone(backend) as Arc<dyn Backend>;
    let copy = Store::over(shared, None, place, config.clone(), old.environment.clone());
    if let Some(problem) = copy.verify(|read| progress(Phase::Verify, read))?.problems.first() {
        return differs(format!("is not sound: {problem}"));
    }
    old.each_object(|id, _| match backend.view()?.object(&id)? {
        Outcome::Present(_) => Ok(()),
        Outcome::Absent | Outcome::Erased => differs(format!("lacks the object {id}")),
    })?;
    let (before, after) = (old.objects.view()?, backend.view()?);
    if before.references()? != after.references()? {
        return differs("has other branches".into());
    }
    for table in [LocalTable::Staging, LocalTable::StagingTombstones] {
        if before.rows(table, ALL_ROWS)? != after.rows(table, ALL_ROWS)? {
            return differs(format!("has another table {}", table.as_str()));
        }
    }
    Ok(())
}

/// One pass over an old store, into a new file or, for a trial, into nothing.
struct Copy<'c> {
    old: &'c Arc<Engine>,
    new: Option<&'c RedbBackend>,
    progress: &'c mut dyn FnMut(Phase, u64),
    batch: Batch,
    batch_bytes: u64,
    /// Of all objects and change sets.
    bytes: u64,
    done: Migrated,
}

impl<'c> Copy<'c> {
    fn new(
        old: &'c Arc<Engine>,
        new: Option<&'c RedbBackend>,
        done: Migrated,
        progress: &'c mut dyn FnMut(Phase, u64),
    ) -> Self {
        Self { old, new, progress, batch: Batch::default(), batch_bytes: 0, bytes: 0, done }
    }

    fn run(mut self) -> Result<Migrated, Error> {
        let commits = self.objects()?;
        self.commits(&commits)?;
        self.trees()?;
        self.rows()?;
        self.flush()?;
        self.done.old_bytes = self.old.data_file()?.map_or(0, |file| file.bytes);
        let Migrated { commits, states, nodes, trees, .. } = self.done;
        let objects = commits + states + nodes + trees;
        // Pages of a tree that grows are half full at worst.
        self.done.new_bytes = 2 * (self.bytes + ROOM_PER_OBJECT * objects) + ROOM_FOR_FILE;
        Ok(self.done)
    }

    /// Copies nodes and states; returns the commits, parents first.
    fn objects(&mut self) -> Result<Vec<CommitId>, Error> {
        let old = self.old;
        let mut commits = BTreeSet::new();
        let mut read = 0;
        old.each_object(|id, _| {
            let (encoded, _) = old
                .objects
                .encoded(id)?
                .ok_or_else(|| Error::corrupt(format!("the object {id} is listed but missing")))?;
            match encoded.kind() {
                Kind::Commit => _ = commits.insert(CommitId::from(id)),
                Kind::State => self.done.states += 1,
                Kind::Node => self.done.nodes += 1,
            }
            if encoded.kind() != Kind::Commit {
                self.object(encoded)?;
            }
            read += 1;
            (self.progress)(Phase::Objects, read);
            Ok(())
        })?;
        let placed = commits.into_iter().map(|id| {
            let generation = index::position(&old.objects, id)?.generation;
            Ok((generation, id))
        });
        let mut placed = placed.collect::<Result<Vec<_>, Error>>()?;
        placed.sort_unstable();
        Ok(placed.into_iter().map(|(_, id)| id).collect())
    }

    /// Copies commits, each with the record that says where it stands and what it changed.
    fn commits(&mut self, ids: &[CommitId]) -> Result<(), Error> {
        let objects = &self.old.objects;
        for id in ids {
            let commit = objects.commit(*id)?;
            let derived = index::follows(objects, &commit)?;
            let names = derived.changes.keys().map(|node| 80 + node.as_str().len() as u64);
            self.bytes += names.sum::<u64>();
            let record = Record::without_a_move(*id, &commit, Operation::MIGRATE, derived);
            self.object(Encoded::commit((*commit).clone()).1)?;
            self.batch.record(record);
            self.done.commits += 1;
            (self.progress)(Phase::Commits, self.done.commits);
        }
        Ok(())
    }

    /// Builds the tree of each branch's memory, so that the first write need not store it.
    fn trees(&mut self) -> Result<(), Error> {
        let tips = self.old.objects.view()?.references()?;
        self.done.branches = tips.len() as u64;
        let mut states = BTreeSet::new();
        for tip in tips.into_values() {
            states.insert(self.old.objects.commit(tip)?.state);
        }
        for root in states {
            for object in state::edit(&self.old.objects, Some(root), &EntryEdits::new())?.objects {
                self.done.trees += 1;
                self.object(object)?;
            }
        }
        Ok(())
    }

    /// Copies what is staged, and where the branches point.
    fn rows(&mut self) -> Result<(), Error> {
        let view = self.old.objects.view()?;
        for table in [LocalTable::Staging, LocalTable::StagingTombstones] {
            for (key, value) in view.rows(table, ALL_ROWS)? {
                self.batch.row(table, key, Some(value));
                self.done.staged += 1;
            }
        }
        for (name, tip) in view.references()? {
            self.batch.reference(name, Expected::Absent, Some(tip));
        }
        Ok(())
    }

    fn object(&mut self, object: Encoded) -> Result<(), Error> {
        // Not between a commit and its record: this is called before a commit.
        if self.batch.entries.len() >= BATCH_ENTRIES || self.batch_bytes >= BATCH_BYTES {
            self.flush()?;
        }
        let bytes = object.bytes().len() as u64;
        self.bytes += bytes;
        self.batch_bytes += bytes;
        self.batch.entries.push(Entry::Object(object));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        match self.new {
            Some(backend) => Ok(backend.publish(&batch)?),
            None => Ok(()),
        }
    }
}
