//! time travel: memory as it was at any commit, and what each commit changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::diff::{ChangeKind, DiffTarget};
use crate::error::Error;
use crate::id::{CommitId, NodeId};
use crate::object::Commit;
use crate::store::Store;
use crate::store::snapshot::Snapshot;

impl Store {
    /// Committed memory where this handle is: what agents read.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        let engine = self.engine()?;
        let tip = self.tip_of(&engine)?;
        Snapshot::new(&engine, tip)
    }

    /// Memory at a revision.
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
    /// put(&store, "plan", "team")?;
    /// let then = store.snapshot_at("HEAD~1")?.get(&NodeId::new("plan")?)?;
    /// assert_eq!(then.and_then(|node| node.content.as_text().map(str::to_owned)).as_deref(), Some("pro"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn snapshot_at(&self, revision: &str) -> Result<Snapshot, Error> {
        let commit = self.resolve(revision)?;
        Snapshot::new(&self.engine()?, Some(commit))
    }

    /// A commit; `NotFound` when there is none with this id.
    pub fn commit_object(&self, id: CommitId) -> Result<Arc<Commit>, Error> {
        self.engine()?.known_commit(id)
    }

    /// The nodes a commit changed against its first parent, and how.
    pub fn changed_by(&self, commit: CommitId) -> Result<BTreeMap<NodeId, ChangeKind>, Error> {
        let engine = self.engine()?;
        if let Some(written) = engine.objects.written_by(commit) {
            return Ok(written.iter().map(|(id, change)| (id.clone(), change.kind())).collect());
        }
        let parent = engine.known_commit(commit)?.parents.first().copied();
        let from = parent.map_or(DiffTarget::Nothing, DiffTarget::Commit);
        let changes = self.diff_versions(from, DiffTarget::Commit(commit))?;
        Ok(changes.into_iter().map(|(id, change)| (id, change.kind())).collect())
    }
}
