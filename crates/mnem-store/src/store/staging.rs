//! Staging: a person's scratch area, over HEAD's state. No agent is ever served from it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::Store;
use super::engine::Engine;
use super::snapshot::{Memory, Scan, Snapshot};
use crate::backend::{ALL_ROWS, Batch, LocalTable, RowRange};
use crate::error::{Error, Hint};
use crate::id::{CommitId, NodeId, NodeVersionId};
use crate::object::MemoryNode;
use crate::state::EntryEdits;

/// What is staged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Staged {
    /// Nodes to be written.
    pub nodes: BTreeMap<NodeId, NodeVersionId>,
    /// Nodes to be removed.
    pub deletions: BTreeSet<NodeId>,
}

impl Staged {
    /// Whether nothing is staged.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.deletions.is_empty()
    }

    /// Every staged id, in order.
    pub fn ids(&self) -> BTreeSet<&NodeId> {
        self.nodes.keys().chain(&self.deletions).collect()
    }

    /// As edits of a state.
    pub fn edits(&self) -> EntryEdits {
        let nodes = self.nodes.iter().map(|(id, version)| (id.clone(), Some(*version)));
        nodes.chain(self.deletions.iter().map(|id| (id.clone(), None))).collect()
    }
}

impl Store {
    /// Stages a node for the next commit, in place of what was staged under its id.
    ///
    /// Returns the id of the node object: the one in place where that says the same.
    pub fn stage(&self, node: MemoryNode) -> Result<NodeVersionId, Error> {
        self.refuse_bound("stage")?;
        let engine = self.engine()?;
        let prepared = engine.prepare(node)?;
        engine.writer.run(|| {
            let drafts = engine.staged_under(&prepared.node.id)?;
            let current = match drafts.nodes.get(&prepared.node.id) {
                Some(version) => Some(*version),
                None => {
                    Snapshot::new(&engine, self.tip_of(&engine)?)?.version(&prepared.node.id)?
                }
            };
            let id = prepared.node.id.clone();
            let mut batch = Batch::default();
            let version = match (engine.replacement(prepared, current)?, current) {
                (Some((version, object)), _) => {
                    batch.object(object);
                    version
                }
                (None, Some(current)) => current,
                (None, None) => return Err(Error::corrupt("a node is the same as none")),
            };
            batch.row(LocalTable::Staging, id.as_str(), Some(version.as_bytes().to_vec()));
            batch.row(LocalTable::StagingTombstones, id.as_str(), None);
            engine.publish(&batch)?;
            Ok(version)
        })
    }

    /// Takes a node out of staging, be it staged to be written or removed.
    pub fn unstage(&self, id: &NodeId) -> Result<bool, Error> {
        self.refuse_bound("unstage")?;
        let engine = self.engine()?;
        engine.writer.run(|| {
            let was = !engine.staged_under(id)?.is_empty();
            let mut batch = Batch::default();
            if was {
                clear(&mut batch, [id]);
            }
            engine.publish(&batch)?;
            Ok(was)
        })
    }

    /// What is staged; on a handle that is bound to a branch nothing ever is.
    pub fn staged(&self) -> Result<Staged, Error> {
        self.staged_here(&*self.engine()?)
    }

    /// HEAD's memory with staging over it: nodes whose id begins with `prefix`, at most `limit`.
    pub fn working_memory(&self, prefix: &str, limit: Option<usize>) -> Result<Memory, Error> {
        self.scan_working_memory(prefix, None, limit)?.memory()
    }

    /// The same after an id, a piece at a time.
    pub fn scan_working_memory(
        &self,
        prefix: &str,
        after: Option<&NodeId>,
        limit: Option<usize>,
    ) -> Result<Scan, Error> {
        let engine = self.engine()?;
        let (staged, tip) = self.staged_over(&engine)?;
        let snapshot = Snapshot::new(&engine, tip)?;
        // What staging hides must not use up the limit.
        let wanted = limit.map(|limit| limit.saturating_add(staged.deletions.len()));
        let mut versions = snapshot.versions(prefix, after, wanted)?;
        if !staged.is_empty() {
            versions.retain(|(id, _)| !staged.deletions.contains(id));
            let mut working: BTreeMap<_, _> = versions.into_iter().collect();
            let added = staged.nodes.into_iter();
            let is_asked = |id: &NodeId| {
                id.as_str().starts_with(prefix) && after.is_none_or(|after| id > after)
            };
            working.extend(added.filter(|(id, _)| is_asked(id)));
            versions = working.into_iter().collect();
        }
        versions.truncate(limit.unwrap_or(usize::MAX));
        Ok(Scan::new(&engine, versions))
    }

    /// One node of working memory.
    pub fn working_node(&self, id: &NodeId) -> Result<Option<Arc<MemoryNode>>, Error> {
        let engine = self.engine()?;
        let (staged, tip) = self.staged_over(&engine)?;
        match staged.nodes.get(id) {
            Some(version) => engine.node_at(id, *version).map(Some),
            None if staged.deletions.contains(id) => Ok(None),
            None => Snapshot::new(&engine, tip)?.get(id),
        }
    }

    /// What is staged and the commit it lies over. Another thread may move HEAD meanwhile, and
    /// drafts of one branch are never shown over another.
    pub(crate) fn staged_over(&self, engine: &Engine) -> Result<(Staged, Option<CommitId>), Error> {
        let mut tip = self.tip_of(engine)?;
        loop {
            let staged = self.staged_here(engine)?;
            let now = self.tip_of(engine)?;
            if now == tip {
                return Ok((staged, tip));
            }
            tip = now;
        }
    }

    /// What is staged, as this handle sees it: a bound handle has no staging.
    pub(crate) fn staged_here(&self, engine: &Engine) -> Result<Staged, Error> {
        if self.bound().is_some() { Ok(Staged::default()) } else { engine.staged() }
    }

    /// Refuses a verb over staged changes; a bound handle has none.
    pub(crate) fn refuse_staged(
        &self,
        engine: &Engine,
        verb: &str,
        hint: Hint,
    ) -> Result<(), Error> {
        let staged = self.staged_here(engine)?;
        if staged.is_empty() {
            return Ok(());
        }
        let ids = staged.ids();
        let mut names: Vec<_> = ids.iter().take(5).map(ToString::to_string).collect();
        if ids.len() > names.len() {
            names.push(format!("and {} more", ids.len() - names.len()));
        }
        Err(Error::invalid(format!("cannot {verb} over staged changes ({})", names.join(", ")))
            .hint(hint))
    }
}

impl Engine {
    /// All that is staged. A row that was lost is an error.
    pub(crate) fn staged(&self) -> Result<Staged, Error> {
        self.staged_in(&ALL_ROWS)
    }

    /// What is staged under one id, without a look at the other drafts: for who is about to change
    /// that. A row that was lost is taken for none, and whoever reads all of them is told.
    pub(crate) fn staged_under(&self, id: &NodeId) -> Result<Staged, Error> {
        let key = || id.as_str().as_bytes().to_vec();
        self.staged_in(&(Bound::Included(key()), Bound::Included(key())))
    }

    fn staged_in(&self, range: &RowRange) -> Result<Staged, Error> {
        let view = self.objects.view()?;
        let text = |key: Vec<u8>| {
            String::from_utf8(key)
                .map(NodeId::from_stored)
                .map_err(|_| Error::corrupt("a staged node id is not UTF-8"))
        };
        let mut staged = Staged::default();
        for (key, value) in view.rows(LocalTable::Staging, range.clone())? {
            let id = text(key)?;
            let version = NodeVersionId::from_slice(&value).ok_or_else(|| {
                Error::corrupt(format!("the staged node {id:?} has no object id"))
            })?;
            staged.nodes.insert(id, version);
        }
        for (key, _) in view.rows(LocalTable::StagingTombstones, range.clone())? {
            staged.deletions.insert(text(key)?);
        }
        Ok(staged)
    }
}

/// Takes ids out of both staging tables.
pub(crate) fn clear<'a>(batch: &mut Batch, ids: impl IntoIterator<Item = &'a NodeId>) {
    for id in ids {
        batch.row(LocalTable::Staging, id.as_str(), None);
        batch.row(LocalTable::StagingTombstones, id.as_str(), None);
    }
}
