//! fsck: whether everything in a store agrees: objects, commits and their records, branches,
//! HEAD, what is staged, the index, the files beside the data.
//!
//! Nothing is changed, and damage ends nothing: what is wrong is listed, and the rest is read on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::verify::Problems;
use crate::backend::original::holds_objects;
use crate::backend::redb::{Pages, holds_rows};
use crate::backend::{Derived, Entry, Flaw, Found, LocalRow, LocalTable, Number, Record};
use crate::codec::Encoded;
use crate::error::{Error, ErrorKind};
use crate::id::{BranchName, CommitId, NodeId, NodeVersionId};
use crate::index;
use crate::object::Object;
use crate::store::copied::{Copied, Shortage};
use crate::store::engine::{Engine, LOCK_FILE, Place};
use crate::store::lease::{HOLDER_BYTES, HOLDER_FILE, WANT_FILE};
use crate::store::leftovers::{leftovers, newer_data_files, other_data_files};
use crate::store::{Environment, FormatVersion, Head, STORE_DIRECTORY, Store, open};

/// How far ahead of the store's clock the time of a record may be, in milliseconds: a day.
const AHEAD: i64 = 24 * 60 * 60 * 1_000;

/// What a check came upon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fsck {
    /// Memory nodes that were read.
    pub nodes: u64,
    /// State objects that were read.
    pub states: u64,
    /// Commits that were read.
    pub commits: u64,
    /// Records that were read.
    pub records: u64,
    /// Branches that were followed.
    pub branches: u64,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// In the objects, of which a repair makes new ones.
    pub(super) bytes: u64,
}

impl Fsck {
    /// Whether nothing is damaged; warnings do no harm.
    pub fn is_sound(&self) -> bool {
        self.findings.iter().all(Finding::is_warning)
    }

    /// Whether a repair has something to do.
    pub fn is_repairable(&self) -> bool {
        self.findings.iter().any(Finding::is_repairable)
    }
}

impl Store {
    /// Reads everything that is stored and checks that it agrees: every object as
    /// [`Store::verify`] does, the record of every commit against the commit, every branch
    /// against its newest record, HEAD, what is staged, the index, and the files beside the data.
    /// What is wrong is listed; nothing is changed.
    ///
    /// What is checked is the store as it was when this began: its data file is copied, beside
    /// itself, and others write on meanwhile. Where there is no room for a copy they wait.
    ///
    /// `progress` is called with the number of objects and records read so far.
    ///
    /// ```
    /// # use mnem_store::{BranchName, Content, Environment, Error, InitOptions, MemoryNode, NodeId, Store};
    /// # use mnem_store::ops::{Changes, Meta};
    /// # let store = Store::in_memory(&InitOptions::default(), Environment::fixed())?;
    /// # let put = |store: &Store, name: &str, text: &str| {
    /// #     let id = NodeId::new(name)?;
    /// #     let node = MemoryNode::note(id.clone(), Content::text(text));
    /// #     store.write(Changes::from([(id, Some(node))]), &Meta::new(text, "agent"))
    /// # };
    /// put(&store, "a", "1")?;
    /// let found = store.fsck(|_| ())?;
    /// assert_eq!((found.commits, found.records, found.branches), (1, 1, 1));
    /// assert!(found.findings.is_empty());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn fsck(&self, progress: impl FnMut(u64)) -> Result<Fsck, Error> {
        let engine = self.engine()?;
        let shortage = engine.shortage();
        let copied = if shortage.is_none() { engine.copied()? } else { None };
        let mut found = match copied {
            Some(Copied { store, head, leftovers }) => {
                let found =
                    check_with(&*store.engine()?, head, engine.directory(), leftovers, progress)?;
                with_killed(found, &engine)
            }
            None => check(&engine, progress)?,
        };
        let told = |Shortage { path, wanted, free }| Finding::NoRoom { path, wanted, free };
        found.findings.extend(shortage.map(told));
        Ok(found)
    }

    /// The same of a store that may be too damaged to be opened: then that is what is found.
    pub fn fsck_at(
        directory: &Path,
        environment: Environment,
        progress: impl FnMut(u64),
    ) -> Result<Fsck, Error> {
        let environment = Environment { examine: true, ..environment };
        match Self::open(directory, environment).and_then(|store| store.fsck(progress)) {
            Err(error) if error.kind() == ErrorKind::CorruptStore => {
                let findings = vec![unopened(directory, &error)?];
                Ok(Fsck { findings, ..Fsck::default() })
            }
            found => found,
        }
    }
}

/// Why a store cannot be opened.
fn unopened(directory: &Path, why: &Error) -> Result<Finding, Error> {
    let directory = Store::discover(directory)?.join(STORE_DIRECTORY);
    let Ok(config) = open::read_config(&directory) else {
        return Ok(Finding::Config(why.to_string()));
    };
    let data = directory.join(config.data_file());
    let others = other_data_files(&directory, config.data_file())?;
    if !data.exists()
        && let Some(other) = others.first()
    {
        let there = other.display();
        let what =
            format!("config names {}, which is missing, and {there} is there", data.display());
        return Ok(Finding::Config(what));
    }
    let holds = Pages::of(&data).and_then(|pages| match config.format {
        FormatVersion::V1 => holds_objects(pages),
        FormatVersion::V2 => holds_rows(pages),
    });
    match holds {
        Ok(true) => Ok(Finding::File(why.to_string())),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(format!("cannot read {}", data.display()), error))
        }
        Ok(false) | Err(_) => Ok(Finding::Empty(why.to_string())),
    }
}

/// Checks a store as it is read.
pub(crate) fn check(engine: &Engine, progress: impl FnMut(u64)) -> Result<Fsck, Error> {
    let leftovers = match &engine.place {
        Place::Disk { root, .. } => leftovers(root)?,
        Place::Memory { .. } => Vec::new(),
    };
    let found = check_with(engine, engine.head(), engine.directory(), leftovers, progress)?;
    Ok(with_killed(found, engine))
}

/// The same with who did not close the store.
fn with_killed(mut found: Fsck, engine: &Engine) -> Fsck {
    found.findings.extend(engine.writer.killed().map(|process| Finding::Killed { process }));
    found
}

/// Checks a store, one row after the other; what it keeps of them are the branches. HEAD is
/// this, the files beside the data are in that directory, and nothing uses these.
fn check_with(
    engine: &Engine,
    head: Result<Head, Error>,
    directory: Option<PathBuf>,
    leftovers: Vec<PathBuf>,
    mut progress: impl FnMut(u64),
) -> Result<Fsck, Error> {
    let mut check = Check::new(engine);
    check.findings.extend(leftovers.into_iter().map(Finding::Leftover));
    let mut ended = Ok(());
    let mut read = 0;
    engine.objects.backend().damage().into_iter().for_each(|what| check.add(Finding::File(what)));
    engine.objects.backend().inspect(&mut |found| {
        if ended.is_err() {
            return;
        }
        if matches!(found, Found::Entry(..)) {
            read += 1;
            progress(read);
        }
        ended = check.take(found);
    })?;
    ended?;
    check.finish(head, directory)
}

struct Check<'e> {
    engine: &'e Engine,
    counts: Fsck,
    findings: BTreeSet<Finding>,
    problems: Problems,
    /// Rows of the log that cannot be read, up to the last one seen.
    gap: Option<(u64, u64, String)>,
    /// The last row of the log that cannot be read: what was moved before it may have been moved
    /// by it.
    last_gap: Option<u64>,
    /// The commit that the next entry must be the record of.
    fresh: Option<CommitId>,
    branches: BTreeMap<BranchName, CommitId>,
    newest: BTreeMap<BranchName, (u64, Option<CommitId>)>,
    ahead: BTreeMap<Option<BranchName>, i64>,
    now: i64,
}

impl<'e> Check<'e> {
    fn new(engine: &'e Engine) -> Self {
        Self {
            engine,
            counts: Fsck::default(),
            findings: BTreeSet::new(),
            problems: Problems::default(),
            gap: None,
            last_gap: None,
            fresh: None,
            branches: BTreeMap::new(),
            newest: BTreeMap::new(),
            ahead: BTreeMap::new(),
            now: engine.environment.clock.now(),
        }
    }

    fn add(&mut self, finding: Finding) {
        self.findings.insert(finding);
    }

    fn take(&mut self, found: Found) -> Result<(), Error> {
        match found {
            Found::Entry(_, Entry::Object(object)) => self.object(&object),
            Found::Entry(number, Entry::Record(record)) => self.record(number, &record),
            Found::Reference(name, commit) => {
                self.counts.branches += 1;
                if let Some(why) = damage(self.engine.objects.commit(commit))? {
                    self.add(Finding::Tip { name: name.clone(), why });
                }
                self.branches.insert(name, commit);
                Ok(())
            }
            Found::Row(table, row) => self.row(table, row),
            Found::Flaw(flaw) => {
                self.flaw(flaw);
                Ok(())
            }
        }
    }

    fn flaw(&mut self, flaw: Flaw) {
        match flaw {
            Flaw::Entry(Number(number), why) => {
                self.fresh = None;
                self.last_gap = Some(number);
                match &mut self.gap {
                    Some((_, last, _)) if *last + 1 == number => *last = number,
                    _ => {
                        self.end_gap();
                        self.gap = Some((number, number, why));
                    }
                }
            }
            Flaw::Row(what) => self.add(Finding::Row(what)),
            Flaw::Index(what) => self.add(Finding::Index(what)),
            Flaw::Twice { id, first, again } => {
                self.add(Finding::Twice { id, first: first.0, again: again.0 });
            }
        }
    }

    fn end_gap(&mut self) {
        if let Some((first, last, why)) = self.gap.take() {
            self.add(Finding::Entries { first, last, why });
        }
    }

    /// Whether this is a store of the original: that kept no records, and its processes take
    /// turns at the data file itself.
    fn is_original(&self) -> bool {
        self.engine.config.format == FormatVersion::V1
    }

    /// A commit that the entry after it is no record of.
    fn end_commit(&mut self) {
        let fresh = self.fresh.take();
        if let Some(commit) = fresh.filter(|_| !self.is_original()) {
            self.add(Finding::NoRecord(commit));
        }
    }

    fn object(&mut self, encoded: &Encoded) -> Result<(), Error> {
        self.end_commit();
        self.counts.bytes += encoded.bytes().len() as u64;
        let Some((_, object)) = self.problems.found(reread(encoded))? else { return Ok(()) };
        match &object {
            Object::Node(_) => self.counts.nodes += 1,
            Object::State(_) => self.counts.states += 1,
            Object::Commit(_) => {
                self.counts.commits += 1;
                self.fresh = Some(encoded.id().into());
            }
        }
        self.engine.check_references(&object, &mut self.problems)
    }

    fn record(&mut self, Number(number): Number, record: &Record) -> Result<(), Error> {
        self.counts.records += 1;
        if self.fresh.is_some() && self.fresh != record.new {
            self.end_commit();
        }
        let fresh = self.fresh.take();
        if record.time.saturating_sub(AHEAD) > self.now {
            let latest = self.ahead.entry(record.branch.clone()).or_insert(record.time);
            *latest = record.time.max(*latest);
        }
        if let Some(branch) = &record.branch {
            self.newest.insert(branch.clone(), (number, record.new));
        }
        match (record.new, &record.derived) {
            (Some(commit), Some(derived)) => self.derived(commit, derived),
            (Some(commit), None) if fresh.is_some() && self.last_gap != Some(number + 1) => {
                self.add(Finding::Derived { commit, what: "position" });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Compares what a record says of its commit with what follows from the commit.
    fn derived(&mut self, id: CommitId, recorded: &Derived) -> Result<(), Error> {
        let expected = self.engine.objects.commit(id);
        let expected = expected.and_then(|commit| index::follows(&self.engine.objects, &commit));
        let Some(expected) = self.problems.found(expected)? else { return Ok(()) };
        for (what, differs) in [
            ("generation", expected.generation != recorded.generation),
            ("height", expected.height != recorded.height),
            ("skip link", expected.skip != recorded.skip),
            ("change set", expected.changes != recorded.changes),
        ] {
            if differs {
                self.add(Finding::Derived { commit: id, what });
            }
        }
        Ok(())
    }

    fn row(&mut self, table: LocalTable, (key, value): LocalRow) -> Result<(), Error> {
        if !matches!(table, LocalTable::Staging | LocalTable::StagingTombstones) {
            return Ok(());
        }
        let id = NodeId::from_stored(String::from_utf8_lossy(&key));
        let why = match (table, NodeVersionId::from_slice(&value)) {
            (LocalTable::Staging, Some(version)) => damage(self.engine.node_at(&id, version))?,
            (LocalTable::Staging, None) => Some("it has no object id".into()),
            _ => None,
        };
        if let Some(why) = why {
            self.add(Finding::Staged { id, why });
        }
        Ok(())
    }

    fn finish(
        mut self,
        head: Result<Head, Error>,
        directory: Option<PathBuf>,
    ) -> Result<Fsck, Error> {
        self.end_gap();
        self.end_commit();
        let names: BTreeSet<_> = self.branches.keys().chain(self.newest.keys()).cloned().collect();
        for name in names {
            let Some((number, recorded)) = self.newest.get(&name).copied() else { continue };
            let at = self.branches.get(&name).copied();
            if at != recorded && self.last_gap.is_none_or(|gap| gap < number) {
                self.add(Finding::Branch { name, at, recorded });
            }
        }
        if let Some(what) = wrong(head, self.engine)? {
            self.add(Finding::Head(what));
        }
        if let Some(directory) = directory {
            let unused = newer_data_files(&directory, self.engine.config.data_file())?;
            self.findings.extend(unused.into_iter().map(Finding::Unused));
            if !self.is_original() {
                self.findings.extend(wrong_files(&directory)?);
            }
        }
        for (name, time) in std::mem::take(&mut self.ahead) {
            self.add(Finding::Ahead { name, time });
        }
        // Where every row can be read, what is in none of them is nowhere.
        // Of the original's, a repair makes a store that can be written, whatever it lacks.
        let is_lost = !self.is_original() && !self.findings.iter().any(Finding::is_of_rows);
        let kind = if is_lost { Finding::Lost } else { Finding::Object };
        self.findings.extend(self.problems.into_sentences().into_iter().map(kind));
        Ok(Fsck { findings: self.findings.into_iter().collect(), ..self.counts })
    }
}

/// The object of an entry: its id was made from these bytes, so only its form is left to check.
fn reread(encoded: &Encoded) -> Result<(Encoded, Object), Error> {
    Encoded::decode(encoded.bytes()).map_err(|error| {
        Error::corrupt(format!("the object {} cannot be read: {error}", encoded.id()))
    })
}

/// Why something cannot be read, where it is damaged or missing. Any other error ends the check.
fn damage<T>(found: Result<T, Error>) -> Result<Option<String>, Error> {
    match found {
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::CorruptStore => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}

/// What is wrong with HEAD.
pub(super) fn wrong_head(engine: &Engine) -> Result<Option<String>, Error> {
    wrong(engine.head(), engine)
}

fn wrong(head: Result<Head, Error>, engine: &Engine) -> Result<Option<String>, Error> {
    match head {
        Ok(Head::Attached(_)) => Ok(None),
        Ok(Head::Detached(commit)) => {
            let why = damage(engine.objects.commit(commit))?;
            Ok(why.map(|why| format!("HEAD is at {commit}, which cannot be read: {why}")))
        }
        Err(error) => damage::<()>(Err(error)),
    }
}

/// The files by which processes take turns: no more than their names matters of two, and the
/// third says who has the store.
fn wrong_files(directory: &Path) -> Result<Vec<Finding>, Error> {
    let mut wrong = Vec::new();
    for (name, lengths) in
        [(LOCK_FILE, [0, 0]), (WANT_FILE, [0, 0]), (HOLDER_FILE, [0, HOLDER_BYTES])]
    {
        let path = directory.join(name);
        let what = match fs::metadata(&path) {
            Ok(file) if !file.is_file() => "is no file",
            Ok(file) if !lengths.contains(&file.len()) => "holds what no store wrote",
            Ok(_) => continue,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "is missing",
            Err(error) => {
                return Err(Error::io(format!("cannot read {}", path.display()), error));
            }
        };
        wrong.push(Finding::Lease { path, what });
    }
    Ok(wrong)
}
