//! diff: what changed between two memories. Costs what changed, not what is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::backend::{Change, ChangeSet};
use crate::error::Error;
use crate::id::{CommitId, NodeId, StateId};
use crate::object::MemoryNode;
use crate::state;
use crate::store::Store;
use crate::store::engine::Engine;
use crate::store::snapshot::Snapshot;
use crate::store::staging::Staged;

/// A memory to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffTarget {
    /// The empty memory.
    Nothing,
    /// Memory at a commit.
    Commit(CommitId),
    /// HEAD's memory with staging over it.
    Working,
}

/// How a node changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// It says something else.
    Modified,
    /// It is gone.
    Removed,
}

impl ChangeKind {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Removed => "removed",
        }
    }
}

impl Change {
    /// How the node changed.
    pub fn kind(&self) -> ChangeKind {
        match (self.old, self.new) {
            (None, _) => ChangeKind::Added,
            (Some(_), Some(_)) => ChangeKind::Modified,
            (Some(_), None) => ChangeKind::Removed,
        }
    }
}

/// A change of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChange {
    /// The node.
    pub id: NodeId,
    /// How it changed.
    pub kind: ChangeKind,
    /// Before.
    pub old: Option<Arc<MemoryNode>>,
    /// After.
    pub new: Option<Arc<MemoryNode>>,
}

impl Store {
    /// What changed between two memories, in the order of the ids. Versions that differ in
    /// their salt alone are no change.
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
    /// use mnem_store::ops::{ChangeKind, DiffTarget};
    /// let first = put(&store, "plan", "pro")?;
    /// let second = put(&store, "plan", "team")?;
    /// let changes = store.diff(DiffTarget::Commit(first), DiffTarget::Commit(second))?;
    /// assert_eq!(changes.len(), 1);
    /// assert!(changes.iter().all(|change| change.kind == ChangeKind::Modified));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn diff(&self, from: DiffTarget, to: DiffTarget) -> Result<Vec<NodeChange>, Error> {
        let engine = self.engine()?;
        self.diff_versions(from, to)?
            .into_iter()
            .map(|(id, change)| {
                let load = |version| engine.node_at(&id, version);
                let (old, new) =
                    (change.old.map(load).transpose()?, change.new.map(load).transpose()?);
                Ok(NodeChange { kind: change.kind(), id, old, new })
            })
            .collect()
    }

    pub(crate) fn diff_versions(
        &self,
        from: DiffTarget,
        to: DiffTarget,
    ) -> Result<ChangeSet, Error> {
        let engine = self.engine()?;
        let is_working = from == DiffTarget::Working || to == DiffTarget::Working;
        let (staged, tip) =
            if is_working { self.staged_over(&engine)? } else { (Staged::default(), None) };
        let state = |target| match target {
            DiffTarget::Nothing => Ok(None),
            DiffTarget::Commit(commit) => {
                engine.known_commit(commit).map(|commit| Some(commit.state))
            }
            DiffTarget::Working => Ok(Snapshot::new(&engine, tip)?.state()),
        };
        let (from_state, to_state) = (state(from)?, state(to)?);
        let mut changes = ChangeSet::new();
        for change in state::diff(&engine.objects, from_state, to_state) {
            let change = change?;
            changes.insert(change.id, Change { old: change.old, new: change.new });
        }
        for (target, is_new) in [(from, false), (to, true)] {
            if target == DiffTarget::Working {
                lay_staging(&engine, &staged, &mut changes, from_state, is_new)?;
            }
        }
        let mut kept = ChangeSet::new();
        for (id, change) in changes {
            if !engine.same_or_absent(change.old, change.new)? {
                kept.insert(id, change);
            }
        }
        Ok(kept)
    }
}

/// Lays staging over one side of changes between two states.
fn lay_staging(
    engine: &Engine,
    staged: &Staged,
    changes: &mut BTreeMap<NodeId, Change>,
    from: Option<StateId>,
    is_new: bool,
) -> Result<(), Error> {
    for (id, version) in staged.edits() {
        let before = if let Some(change) = changes.get(&id) {
            *change
        } else {
            // Not among the changes: the same on both sides.
            let version = from.map_or(Ok(None), |state| state::get(&engine.objects, state, &id))?;
            Change { old: version, new: version }
        };
        let laid = if is_new {
            Change { new: version, ..before }
        } else {
            Change { old: version, ..before }
        };
        changes.insert(id, laid);
    }
    Ok(())
}
