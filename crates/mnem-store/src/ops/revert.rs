//! revert: what one commit changed is taken back by a new commit; history stays.

use super::merge::{Conflict, MergeOptions, StructuralOnly};
use super::settle::{Joined, Settled, Settling};
use crate::backend::{Batch, Operation};
use crate::error::{Error, Hint};
use crate::id::{CommitId, StateId};
use crate::state::{self, EntryEdits};
use crate::store::Store;

/// What a revert came to.
#[must_use = "a revert with conflicts wrote nothing"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RevertOutcome {
    /// Nothing of what the commit changed is left to take back.
    Unchanged,
    /// A new commit on top of the branch.
    Reverted(CommitId),
    /// These were changed again since, and need an answer; nothing was written. Never empty.
    Conflicts(Vec<Conflict>),
}

impl Store {
    /// Takes back what one commit changed, on top of this handle's branch: a merge of the branch
    /// (ours) with the memory before that commit (theirs), over the memory it left (the base).
    ///
    /// Of a merge, what it changed against its first parent; of a root, all it added. Conflicts
    /// and resolutions are those of a merge.
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
    /// use mnem_store::ops::{MergeOptions, RevertOutcome};
    /// put(&store, "plan", "pro")?;
    /// put(&store, "plan", "misread")?;
    /// put(&store, "seats", "3")?;
    /// let outcome = store.revert("HEAD~1", &MergeOptions::default())?;
    /// assert!(matches!(outcome, RevertOutcome::Reverted(_)));
    /// let node = store.snapshot()?.get(&NodeId::new("plan")?)?.ok_or(Error::not_found("plan"))?;
    /// assert_eq!(node.content.as_text(), Some("pro"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn revert(&self, revision: &str, options: &MergeOptions) -> Result<RevertOutcome, Error> {
        let engine = self.engine()?;
        let id = self.resolve(revision)?;
        let branch = self.branch_to_write(&engine, "revert")?;
        let commit = engine.objects.commit(id)?;
        let before = match commit.parents.first() {
            Some(parent) => Some(engine.objects.commit(*parent)?.state),
            None => None,
        };
        let first_line = commit.message.lines().next().unwrap_or_default();
        let message = format!("revert {}: {first_line}", id.short());
        let mut settling = Settling::new(self, &engine, &branch, &StructuralOnly, options);
        settling.on_tip("revert", |settling, start, tip| {
            let start = settling.start(start, "revert")?;
            let joined = settling.without(start, Some(commit.state), before)?;
            settling.take_back(start, tip, joined, &message, Operation::REVERT)
        })
    }
}

impl Settling<'_> {
    /// The commit to build on; there must be one.
    pub(crate) fn start(&self, start: Option<CommitId>, verb: &str) -> Result<CommitId, Error> {
        start.ok_or_else(|| {
            let message = format!("nothing to {verb} on {}, which has no commit yet", self.branch);
            Error::invalid(message).hint(Hint::FirstCommit)
        })
    }

    /// What is left of the way from `before` to `after` in the memory at `start`, undone.
    pub(crate) fn without(
        &self,
        start: CommitId,
        after: Option<StateId>,
        before: Option<StateId>,
    ) -> Result<Joined, Error> {
        let objects = &self.engine.objects;
        let ours = objects.commit(start)?.state;
        let joined = self.join_over(after, ours, before)?;
        // What differs in its salt alone says what is there already.
        let mut edits = EntryEdits::new();
        for (id, new) in joined.edits {
            if !self.engine.same_or_absent(state::get(objects, ours, &id)?, new)? {
                edits.insert(id, new);
            }
        }
        Ok(Joined { edits, conflicts: joined.conflicts })
    }

    /// The commit on top of `start` that this makes.
    pub(crate) fn take_back(
        &mut self,
        start: CommitId,
        tip: Option<CommitId>,
        joined: Joined,
        message: &str,
        operation: Operation,
    ) -> Result<(Batch, RevertOutcome), Error> {
        let mut batch = Batch::default();
        let settled = match self.settle(joined, &mut batch)? {
            Settled::Edits(edits) => edits,
            Settled::Open(conflicts) => {
                return Ok((Batch::default(), RevertOutcome::Conflicts(conflicts)));
            }
        };
        // A conflict that was answered with ours changes nothing.
        let ours = self.engine.objects.commit(start)?.state;
        let mut edits = EntryEdits::new();
        for (id, new) in settled {
            if state::get(&self.engine.objects, ours, &id)? != new {
                edits.insert(id, new);
            }
        }
        if edits.is_empty() {
            return Ok((Batch::default(), RevertOutcome::Unchanged));
        }
        let commit = self.commit(&mut batch, tip, &[start], &edits, message, operation)?;
        Ok((batch, RevertOutcome::Reverted(commit)))
    }
}
