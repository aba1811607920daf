//! The handle of an open store.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::engine::{Engine, Place};
use super::environment::Environment;
use super::format::FormatVersion;
use super::head::Head;
use super::lease;
use crate::backend::descriptor;
use crate::error::{Error, ErrorKind, Hint};
use crate::id::{BranchName, CommitId};

/// A handle of an open store. Cheap; may be used from any thread; closes with its last use.
///
/// A handle follows HEAD, or is bound to one branch ([`Store::on`]): then it reads and writes
/// that branch, has no staging and never moves HEAD.
#[derive(Debug)]
pub struct Store {
    engine: RwLock<Option<Arc<Engine>>>,
    root: Option<PathBuf>,
    bound: Option<BranchName>,
    /// How long its calls wait for another process.
    busy_timeout: Duration,
}

impl Store {
    pub(crate) fn of(
        engine: Arc<Engine>,
        bound: Option<BranchName>,
        busy_timeout: Duration,
    ) -> Self {
        let root = match &engine.place {
            Place::Disk { root, .. } => Some(root.clone()),
            Place::Memory { .. } => None,
        };
        Self { engine: RwLock::new(Some(engine)), root, bound, busy_timeout }
    }

    /// The same store, bound to a branch.
    pub(crate) fn bind(&self, engine: Arc<Engine>, branch: BranchName) -> Self {
        Self::of(engine, Some(branch), self.busy_timeout)
    }

    pub(crate) fn engine(&self) -> Result<Arc<Engine>, Error> {
        lease::be_patient(self.busy_timeout);
        let found = {
            let _gate = descriptor::enter();
            self.engine.read().unwrap_or_else(PoisonError::into_inner).clone()
        };
        match found {
            Some(engine) if engine.is_mine() => Ok(engine),
            Some(parents) => self.open_in_child(&parents),
            None => {
                let message = "this handle of the store is closed";
                Err(Error::new(ErrorKind::Io, message).hint(Hint::Reopen))
            }
        }
    }

    /// The engine, where it can be had without opening anything.
    pub(crate) fn engine_at_hand(&self) -> Option<Arc<Engine>> {
        lease::be_patient(self.busy_timeout);
        let _gate = descriptor::enter();
        let found = self.engine.try_read().ok()?.clone()?;
        if found.is_mine() {
            Some(found)
        } else {
            forget(Some(found));
            None
        }
    }

    /// In a forked child: an engine of its own for the store that the parent has open.
    fn open_in_child(&self, parents: &Arc<Engine>) -> Result<Arc<Engine>, Error> {
        let environment =
            Environment { busy_timeout: self.busy_timeout, ..parents.environment.clone() };
        let engine = match &parents.place {
            Place::Disk { root, .. } => Self::open_at(root.clone(), environment)?.engine()?,
            Place::Memory { .. } => return Ok(Arc::clone(parents)),
        };
        parents.check_place()?;
        let _gate = descriptor::enter();
        let mut slot = self.engine.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread of the child may have been here, or have closed the handle.
        if slot.as_ref().is_some_and(|there| Arc::ptr_eq(there, parents)) {
            forget(slot.replace(Arc::clone(&engine)));
        }
        Ok(engine)
    }

    /// Closes this handle. Other handles of the store stay open. Closing twice does nothing.
    pub fn close(&self) {
        let engine = {
            let _gate = descriptor::enter();
            self.engine.write().unwrap_or_else(PoisonError::into_inner).take()
        };
        // It may end here, outside the gate.
        forget(engine);
    }

    /// The directory that contains `.mnem/`; none for a store in memory.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// The branch this handle is bound to.
    pub fn bound(&self) -> Option<&BranchName> {
        self.bound.as_ref()
    }

    /// The version of the store's format.
    pub fn format_version(&self) -> Result<FormatVersion, Error> {
        Ok(self.engine()?.config.format)
    }

    /// Whether this is a store of the original whose writer was killed, or, once something of it
    /// was read, one opened to be examined that was not closed. Everything that was acknowledged
    /// is there. An open to write puts the file in order.
    pub fn was_killed(&self) -> Result<bool, Error> {
        let engine = self.engine()?;
        Ok(engine.was_killed || engine.writer.killed().is_some())
    }

    /// The branch a fresh HEAD names.
    pub fn default_branch(&self) -> Result<BranchName, Error> {
        Ok(self.engine()?.config.default_branch.clone())
    }

    /// The environment the engine was given.
    pub fn environment(&self) -> Result<Environment, Error> {
        Ok(self.engine()?.environment.clone())
    }

    /// How many threads wait for their turn to write, for tests.
    #[cfg(feature = "test-support")]
    pub fn waiting_writers(&self) -> Result<usize, Error> {
        Ok(self.engine()?.writer.waiting())
    }

    /// Whether a thread has its turn to write, for tests.
    #[cfg(feature = "test-support")]
    pub fn is_writing(&self) -> Result<bool, Error> {
        Ok(self.engine()?.writer.is_taken())
    }

    /// Where this handle is: its branch when it is bound to one, else HEAD.
    pub fn head(&self) -> Result<Head, Error> {
        self.head_of(&*self.engine()?)
    }

    pub(crate) fn head_of(&self, engine: &Engine) -> Result<Head, Error> {
        match &self.bound {
            Some(branch) => engine.check_place().map(|()| Head::Attached(branch.clone())),
            None => engine.head(),
        }
    }

    /// The commit this handle is at; none on a branch without a commit. A handle that is bound to
    /// a missing branch is where that branch will be made: at the default branch's tip.
    pub fn head_commit(&self) -> Result<Option<CommitId>, Error> {
        let engine = self.engine()?;
        self.tip_of(&engine)
    }

    pub(crate) fn tip_of(&self, engine: &Engine) -> Result<Option<CommitId>, Error> {
        match self.head_of(engine)? {
            Head::Attached(branch) => Ok(self.starting_point(engine, &branch)?.0),
            Head::Detached(commit) => Ok(Some(commit)),
        }
    }

    /// The branch a commit from here moves. Refused on a detached HEAD, and where nothing can be
    /// written.
    pub(crate) fn branch_to_write(&self, engine: &Engine, verb: &str) -> Result<BranchName, Error> {
        engine.writer.check()?;
        match self.head_of(engine)? {
            Head::Attached(branch) => Ok(branch),
            Head::Detached(commit) => Err(Error::invalid(format!(
                "cannot {verb} from a detached HEAD (at {}); check out a branch first",
                commit.short()
            ))
            .hint(Hint::StartBranch)),
        }
    }

    /// Refuses what needs HEAD or staging on a handle that is bound to a branch.
    pub(crate) fn refuse_bound(&self, verb: &str) -> Result<(), Error> {
        match &self.bound {
            None => Ok(()),
            Some(branch) => Err(Error::invalid(format!(
                "cannot {verb} on a handle that is bound to the branch {branch}; it has no staging and no HEAD"
            ))),
        }
    }
}

/// Lets go of an engine; one of a parent process must not end here.
fn forget(engine: Option<Arc<Engine>>) {
    if let Some(engine) = engine {
        if engine.is_mine() { drop(engine) } else { std::mem::forget(engine) }
    }
}
