//! Branches: names for commits, moved by compare-and-swap.

use std::collections::BTreeMap;

use super::Store;
use super::engine::Engine;
use super::head::Head;
use crate::backend::{Batch, Expected, Operation};
use crate::error::{Error, Hint};
use crate::id::{BranchName, CommitId};

impl Store {
    /// Every branch and the commit it points at.
    pub fn branches(&self) -> Result<BTreeMap<BranchName, CommitId>, Error> {
        Ok(self.engine()?.objects.view()?.references()?)
    }

    /// Makes a branch at a revision, or where this handle is. HEAD stays.
    pub fn create_branch(
        &self,
        name: &BranchName,
        start: Option<&str>,
        author: &str,
    ) -> Result<CommitId, Error> {
        BranchName::new(name.as_str())?;
        let engine = self.engine()?;
        let start = match start {
            Some(revision) => self.resolve(revision)?,
            None => self.tip_of(&engine)?.ok_or_else(|| {
                Error::invalid(format!(
                    "cannot make the branch {name}: there is no commit to start it at"
                ))
                .hint(Hint::FirstCommit)
            })?,
        };
        engine.writer.run(|| engine.publish(&engine.new_branch(name, start, author)?))?;
        Ok(start)
    }

    /// Deletes a branch; its commits stay. False when there is no such branch.
    ///
    /// Refused for the branch HEAD is on and for the last one.
    pub fn delete_branch(&self, name: &BranchName, author: &str) -> Result<bool, Error> {
        let engine = self.engine()?;
        engine.writer.run(|| {
            let branches = engine.objects.view()?.references()?;
            let Some(tip) = branches.get(name).copied() else { return Ok(false) };
            if engine.head()? == Head::Attached(name.clone()) {
                return Err(Error::invalid(format!(
                    "cannot delete {name}: it is the current branch"
                ))
                .hint(Hint::SwitchFirst));
            }
            if branches.len() == 1 {
                return Err(Error::invalid(format!("cannot delete {name}: it is the last branch"))
                    .hint(Hint::ListBranches));
            }
            let mut batch = Batch::default();
            batch.record(engine.moved(name, Some(tip), None, Operation::DELETE, author));
            batch.reference(name.clone(), Expected::At(tip), None);
            engine.publish(&batch)?;
            Ok(true)
        })
    }

    /// A handle that is bound to a branch: it reads and writes that branch and never moves HEAD.
    ///
    /// A missing branch is made at the default branch's tip, or where HEAD is when somebody has
    /// deleted that one; where there is no commit yet, the first write makes both branches.
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
    /// put(&store, "plan", "pro")?;
    /// let agent = store.on(&BranchName::new("agent-a")?, "agent-a")?;
    /// put(&agent, "guess", "wants team")?;
    /// assert_eq!(agent.snapshot()?.count()?, 2);
    /// assert_eq!(store.snapshot()?.count()?, 1);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn on(&self, name: &BranchName, author: &str) -> Result<Self, Error> {
        let engine = self.engine()?;
        let exists = |engine: &Engine| Ok::<_, Error>(engine.tip(name)?.is_some());
        if !exists(&engine)? {
            BranchName::new(name.as_str())?;
            engine.writer.run(|| match engine.fork_point()? {
                // Another may have made it while this waited for its turn.
                Some(_) if exists(&engine)? => Ok(()),
                Some(tip) => engine.publish(&engine.new_branch(name, tip, author)?),
                None => Ok(()),
            })?;
        }
        Ok(self.bind(engine, name.clone()))
    }
}

impl Engine {
    /// Where a branch that is missing forks from: the default branch, or HEAD where somebody has
    /// deleted that one. None when there is no commit to fork from.
    pub(crate) fn fork_point(&self) -> Result<Option<CommitId>, Error> {
        match (self.tip(&self.config.default_branch)?, self.head()?) {
            (Some(tip), _) => Ok(Some(tip)),
            (None, Head::Attached(branch)) => self.tip(&branch),
            (None, Head::Detached(commit)) => Ok(Some(commit)),
        }
    }

    /// The commit a branch points at.
    pub(crate) fn tip(&self, name: &BranchName) -> Result<Option<CommitId>, Error> {
        Ok(self.objects.view()?.reference(name)?)
    }

    /// What makes a branch, which must not exist.
    pub(crate) fn new_branch(
        &self,
        name: &BranchName,
        start: CommitId,
        author: &str,
    ) -> Result<Batch, Error> {
        self.refuse_branch(name)?;
        let mut batch = Batch::default();
        batch.record(self.moved(name, None, Some(start), Operation::BRANCH, author));
        batch.reference(name.clone(), Expected::Absent, Some(start));
        Ok(batch)
    }

    /// Refuses the name of a branch that exists.
    pub(crate) fn refuse_branch(&self, name: &BranchName) -> Result<(), Error> {
        match self.tip(name)? {
            None => Ok(()),
            Some(_) => Err(Error::invalid(format!("the branch {name} already exists"))
                .hint(Hint::ListBranches)),
        }
    }
}
