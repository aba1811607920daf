//! blame: which commit set what a node says, and from what.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::{Error, Hint};
use crate::graph::Walk;
use crate::id::{CommitId, NodeId, NodeVersionId};
use crate::index;
use crate::object::{Commit, MemoryNode};
use crate::store::Store;
use crate::store::engine::Engine;
use crate::store::snapshot::Snapshot;

/// Where a belief came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame {
    /// The commit that set it; of a removed node, the commit that removed it.
    pub commit: CommitId,
    /// The node as that commit set it; of a removed node, what it removed.
    pub node: Arc<MemoryNode>,
    /// The node's event time, else the commit's time, in Unix milliseconds; of a removed node
    /// always the commit's.
    pub time: i64,
    /// Whether the node is gone.
    pub removed: bool,
}

impl Store {
    /// Follows a node's value back to the commit that wrote it, through merges to the side that
    /// brought it. Of a node that is gone, answers the commit that removed it.
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
    /// let wrong = put(&store, "plan", "enterprise")?;
    /// put(&store, "owner", "ada")?;
    /// let blame = store.blame(&NodeId::new("plan")?, None)?;
    /// assert_eq!((blame.commit, blame.removed), (wrong, false));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn blame(&self, id: &NodeId, at: Option<&str>) -> Result<Blame, Error> {
        let start = self.resolve_or_head(at)?;
        let engine = self.engine()?;
        let walk = Blaming { engine: &engine, id };
        let found = match engine.version_at(start, id)? {
            Some(version) => walk.writer(start, version),
            None => walk.remover(start),
        }?;
        found.ok_or_else(|| {
            Error::invalid(format!("blame: {id:?} is not in memory at {start}, nor was it before"))
                .hint(Hint::ListNodes)
        })
    }
}

impl Engine {
    /// Which version of a node is current at a commit.
    pub(crate) fn version_at(
        self: &Arc<Self>,
        commit: CommitId,
        id: &NodeId,
    ) -> Result<Option<NodeVersionId>, Error> {
        Snapshot::new(self, Some(commit))?.version(id)
    }
}

struct Blaming<'b> {
    engine: &'b Arc<Engine>,
    id: &'b NodeId,
}

impl Blaming<'_> {
    fn commit(&self, id: CommitId) -> Result<Arc<Commit>, Error> {
        self.engine.objects.commit(id)
    }

    /// The newest commit behind one, along first parents, that made the node what it is there,
    /// where the index tells.
    fn last_change(
        &self,
        at: CommitId,
        version: Option<NodeVersionId>,
    ) -> Result<Option<CommitId>, Error> {
        index::last_change(&self.engine.objects, at, self.id, version)
    }

    fn writer(&self, mut at: CommitId, mut version: NodeVersionId) -> Result<Option<Blame>, Error> {
        // Asked once for each line of first parents, where it does not tell.
        let mut ask = true;
        'back: loop {
            if ask && let Some(change) = self.last_change(at, Some(version))? {
                at = change;
            } else {
                ask = false;
            }
            let commit = self.commit(at)?;
            for (number, parent) in commit.parents.iter().enumerate() {
                let before = self.engine.version_at(*parent, self.id)?;
                if let Some(before) = before
                    && self.engine.same(before, version)?
                {
                    ask |= number > 0;
                    (at, version) = (*parent, before);
                    continue 'back;
                }
            }
            let node = self.engine.node_at(self.id, version)?;
            let time = node.event_time.unwrap_or(commit.time);
            return Ok(Some(Blame { commit: at, node, time, removed: false }));
        }
    }

    /// Absence follows a parent only if the node was removed somewhere in that parent's history;
    /// else the commit at hand removed it, if a parent had it.
    fn remover(&self, mut at: CommitId) -> Result<Option<Blame>, Error> {
        // Filled at the first merge; on a single line absence has one way to go.
        let mut existed: Option<BTreeSet<CommitId>> = None;
        if index::never_changed(&self.engine.objects, at, self.id)? {
            return Ok(None);
        }
        let mut ask = true;
        'back: loop {
            if ask && let Some(change) = self.last_change(at, None)? {
                at = change;
            } else {
                ask = false;
            }
            let commit = self.commit(at)?;
            let mut had = None;
            for (number, parent) in commit.parents.iter().enumerate() {
                match self.engine.version_at(*parent, self.id)? {
                    Some(version) => had = had.or(Some(version)),
                    None if commit.parents.len() == 1 => {
                        at = *parent;
                        continue 'back;
                    }
                    None => {
                        let existed = match &mut existed {
                            Some(existed) => existed,
                            none => none.insert(self.existed_behind(at)?),
                        };
                        if existed.contains(parent) {
                            ask |= number > 0;
                            at = *parent;
                            continue 'back;
                        }
                    }
                }
            }
            let Some(version) = had else { return Ok(None) };
            let node = self.engine.node_at(self.id, version)?;
            return Ok(Some(Blame { commit: at, node, time: commit.time, removed: true }));
        }
    }

    /// The commits behind a start at which the node is there, or was there before.
    fn existed_behind(&self, start: CommitId) -> Result<BTreeSet<CommitId>, Error> {
        let mut commits =
            Walk::new(&self.engine.objects, [start])?.collect::<Result<Vec<_>, _>>()?;
        let mut existed = BTreeSet::new();
        // Parents first.
        while let Some((id, commit)) = commits.pop() {
            if commit.parents.iter().any(|parent| existed.contains(parent))
                || self.engine.version_at(id, self.id)?.is_some()
            {
                existed.insert(id);
            }
        }
        Ok(existed)
    }
}
