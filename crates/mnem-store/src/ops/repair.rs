//! repair: what can be read of a damaged store, in a fresh data file.
//!
//! The damaged file is read and never written; it is kept beside the new one. What follows from
//! commits is made anew, and branches go where their records say.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::finding::Finding;
use super::fsck::{Fsck, check, wrong_head};
use super::repair_original::repair_original;
use super::salvage::Salvage;
use crate::backend::Backend;
use crate::backend::disk;
use crate::backend::redb::{RedbBackend, Settings, carve};
use crate::error::{Error, ErrorKind, Hint};
use crate::id::{BranchName, CommitId};
use crate::store::config::Config;
use crate::store::engine::{Engine, Place};
use crate::store::lease::LeaseFiles;
use crate::store::leftovers::remove_leftovers;
use crate::store::switch::{Old, no_room, switch, with_room};
use crate::store::{Environment, FormatVersion, Head, STORE_DIRECTORY, Store, open};

/// How far a repair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The damaged store is being read: so many entries so far.
    Read(u64),
    /// So many entries are in the new file.
    Written(u64),
    /// The new file is being checked: so many entries so far.
    Checked(u64),
    /// The new file is whole and durable; the next step makes it the store's.
    Durable,
    /// The new file is the store's.
    Switched,
}

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// What was wrong.
    pub findings: Vec<Finding>,
    /// What is lost, now or before, and so still wrong.
    pub losses: Vec<Finding>,
    /// Objects in the new file.
    pub objects: u64,
    /// Branches that point elsewhere than before: to where, or none for one that is gone.
    pub moved: Vec<(BranchName, Option<CommitId>)>,
    /// Where HEAD was put.
    pub head: Option<BranchName>,
    /// The new data file; none where nothing more could be saved, or the old one was sound.
    pub data_file: Option<PathBuf>,
    /// The damaged data file, which is kept.
    pub kept: Option<PathBuf>,
    /// What processes had left that ended too early, and is gone.
    pub removed: Vec<PathBuf>,
}

impl Store {
    /// Saves what can be read of a damaged store. The store must be open nowhere in this process.
    ///
    /// Every object that can be read goes into a fresh data file, and the records with it; what
    /// follows from commits, and the index, are made anew, and nodes of trees that cannot be read,
    /// from the records. A branch that is not where its newest
    /// record says goes there; one whose commit is lost, or whose tree has a hole, goes to the
    /// newest of its commits that can be read and written. Commits that nothing leads to any more
    /// get a branch named `recovered-` and their id. HEAD, where it says nothing, goes to the
    /// default branch. The new file is checked and becomes the store's by one rename; the damaged
    /// one is kept. A sound store is left alone, and so is one that lacks nothing but what a repair
    /// could not save before.
    ///
    /// A file that redb does not open is read page by page: then drafts and the rows of adapters
    /// are lost, for old ones cannot be told from new. A damaged store of format version 1 becomes
    /// one of this format, as far as it can be read; a sound one is for [`Store::migrate`].
    pub fn repair(
        directory: &Path,
        environment: Environment,
        mut progress: impl FnMut(Stage),
    ) -> Result<Repair, Error> {
        let root = Self::discover(directory)?;
        let config = open::read_config(&root.join(STORE_DIRECTORY))?;
        if config.format == FormatVersion::V1 {
            return repair_original(&root, &config, &environment, &mut progress);
        }
        let store = Self::open_at(root, Environment { examine: true, ..environment })?;
        let engine = store.engine()?;
        let Place::Disk { root, .. } = &engine.place else { return Ok(Repair::default()) };
        if !engine.environment.examine {
            let what = format!("the store at {} is open in this process", root.display());
            return Err(Error::conflict(format!("{what}: close it before it is repaired")));
        }
        // With the lease, from the first look to the last: nobody writes meanwhile.
        let repaired = engine.writer.run(|| repair(&engine, root, &mut progress));
        match repaired {
            Err(error) if error.kind() == ErrorKind::CorruptStore => {
                from_pages(&engine, root, error, &mut progress)
            }
            repaired => repaired,
        }
    }
}

/// A repair where redb does not open the file, or stops in the middle: objects and records are
/// taken from its pages into a file of their own, which is then repaired.
fn from_pages(
    engine: &Engine,
    root: &Path,
    why: Error,
    progress: &mut dyn FnMut(Stage),
) -> Result<Repair, Error> {
    let directory = &root.join(STORE_DIRECTORY);
    let Some(damaged) = engine.config.engine.as_ref() else { return Err(why) };
    let damaged = directory.join(&damaged.data_file);
    let lock = LeaseFiles::open(directory)?;
    if lock.try_lock().is_err() {
        let what = format!("another process holds the store at {}", directory.display());
        return Err(Error::new(ErrorKind::Busy, what).hint(Hint::WaitOrStop));
    }
    let unique = u64::from_be_bytes(engine.environment.random()?);
    let path = directory.join(format!("carved-{unique:016x}.redb"));
    let carved = carved(&path, &damaged, engine)
        .map_err(|error| with_room(error, &path, &damaged, &engine.environment));
    let repaired = carved.and_then(|carved| {
        let Some((carved, is_head_wrong)) = carved else {
            return Err(why.hint(Hint::NothingToSave));
        };
        let carved = carved.engine()?;
        let is_head_wrong = is_head_wrong || wrong_head(&carved)?.is_some();
        let found = vec![
            Finding::File(why.to_string()),
            Finding::Row("drafts and the rows of adapters cannot be told from older ones".into()),
        ];
        let repaired = save(&carved, directory, found, progress)?;
        put_head(engine, is_head_wrong, repaired)
    });
    let _ = disk::remove(&path); // what stays is named by nothing
    tidied(root, repaired?)
}

/// Removes what processes left that ended too early.
pub(super) fn tidied(root: &Path, repair: Repair) -> Result<Repair, Error> {
    Ok(Repair { removed: remove_leftovers(root)?, ..repair })
}

/// The store that the pages of a damaged file make, in a file of its own, and whether HEAD says
/// nothing; none where nothing of a store is in the pages.
fn carved(path: &Path, damaged: &Path, engine: &Engine) -> Result<Option<(Store, bool)>, Error> {
    if !damaged.exists() {
        return Ok(None);
    }
    let backend = RedbBackend::create(path, engine.environment.random()?, Settings::default())?;
    disk::permit_like(path, damaged)
        .map_err(|error| Error::io(format!("cannot write {}", path.display()), error))?;
    if carve(damaged, &backend)? == 0 {
        return Ok(None);
    }
    let head = engine.head().ok();
    let is_head_wrong = head.is_none();
    let head = Mutex::new(head.unwrap_or_else(|| default_head(&engine.config)));
    let (config, environment) = (engine.config.clone(), engine.environment.clone());
    let place = Place::Memory { head };
    let store = Store::over(Arc::new(backend), None, place, config, environment);
    Ok(Some((store, is_head_wrong)))
}

/// HEAD where it says nothing.
pub(super) fn default_head(config: &Config) -> Head {
    Head::Attached(config.default_branch.clone())
}

fn repair(engine: &Engine, root: &Path, progress: &mut dyn FnMut(Stage)) -> Result<Repair, Error> {
    let directory = root.join(STORE_DIRECTORY);
    let Fsck { findings, bytes, .. } = check(engine, |read| progress(Stage::Read(read)))?;
    let is_head_wrong = wrong_head(engine)?.is_some();
    let repair = if findings.iter().any(is_in_data) {
        // The rows around the objects come on top: what is refused here cannot end well.
        if let Some(free) = (engine.environment.free_bytes)(&directory).filter(|free| *free < bytes)
        {
            let what = format!("a new data file in {}", directory.display());
            return Err(no_room(what, bytes, Some(free)));
        }
        save(engine, &directory, findings, progress)?
    } else {
        let losses = findings.iter().filter(|one| matches!(one, Finding::Lost(_)));
        Repair { losses: losses.cloned().collect(), findings, ..Repair::default() }
    };
    tidied(root, put_head(engine, is_head_wrong, repair)?)
}

/// Fills a new data file and makes it the store's.
pub(super) fn save(
    engine: &Engine,
    directory: &Path,
    findings: Vec<Finding>,
    progress: &mut dyn FnMut(Stage),
) -> Result<Repair, Error> {
    let progress = RefCell::new(progress);
    let tell = |stage| (*progress.borrow_mut())(stage);
    let fill = |new: &Arc<RedbBackend>| {
        let saved = Salvage::new(engine, new).run(&mut |n| tell(Stage::Written(n)))?;
        let after = checked(engine, new, &mut |n| tell(Stage::Checked(n)))?;
        if after.nodes + after.states + after.commits != saved.objects {
            return Err(Error::corrupt("the new data file does not hold what was saved"));
        }
        Ok((saved, after.findings))
    };
    let durable = || tell(Stage::Durable);
    let (environment, config) = (&engine.environment, &engine.config);
    let switched = switch(directory, config, Old::Kept, environment, fill, durable)?;
    let (path, (saved, left)) = switched;
    tell(Stage::Switched);
    // Each object stands in one entry: when so many were made again, the entries held no more.
    let entries: u64 = findings.iter().map(unread_entries).sum();
    let is_whole = saved.rebuilt == entries;
    let is_loss =
        |finding: &&Finding| is_loss(finding) && !(is_whole && unread_entries(finding) > 0);
    let lost = findings.iter().filter(is_loss).cloned();
    let left = left.into_iter().filter(|finding| !finding.is_warning());
    let losses: BTreeSet<_> = lost.chain(left).collect();
    Ok(Repair {
        findings,
        losses: losses.into_iter().collect(),
        objects: saved.objects,
        moved: saved.moved,
        head: None,
        data_file: Some(path),
        kept: Some(directory.join(config.data_file())),
        removed: Vec::new(),
    })
}

/// Puts HEAD on the default branch where it says nothing.
fn put_head(engine: &Engine, is_wrong: bool, mut repair: Repair) -> Result<Repair, Error> {
    if is_wrong {
        engine.set_head(&default_head(&engine.config))?;
        repair.head = Some(engine.config.default_branch.clone());
    }
    Ok(repair)
}

/// Whether a new data file makes it good.
fn is_in_data(finding: &Finding) -> bool {
    finding.is_repairable() && !matches!(finding, Finding::Head(_) | Finding::Leftover(_))
}

/// Whether it names something that a new data file cannot hold.
fn is_loss(finding: &Finding) -> bool {
    use Finding::{Entries, Row, Staged};
    matches!(finding, Entries { .. } | Row(_) | Staged { .. })
}

/// How many entries it says cannot be read.
fn unread_entries(finding: &Finding) -> u64 {
    match finding {
        Finding::Entries { first, last, .. } => last.saturating_sub(*first).saturating_add(1),
        _ => 0,
    }
}

/// What a check finds in the new file.
fn checked(
    engine: &Engine,
    new: &Arc<RedbBackend>,
    progress: &mut dyn FnMut(u64),
) -> Result<Fsck, Error> {
    let head = Mutex::new(default_head(&engine.config));
    let backend = Arc::clone(new) as Arc<dyn Backend>;
    let (config, environment) = (engine.config.clone(), engine.environment.clone());
    let store = Store::over(backend, None, Place::Memory { head }, config, environment);
    check(&*store.engine()?, progress)
}
