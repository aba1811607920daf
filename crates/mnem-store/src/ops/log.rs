//! log: history, newest first, in the order of the graph.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::diff::{ChangeKind, NodeChange};
use crate::error::{Error, ErrorKind};
use crate::graph::{FirstParents, Walk, not_behind};
use crate::id::{CommitId, NodeId};
use crate::index;
use crate::object::Commit;
use crate::store::Store;
use crate::store::engine::Engine;

/// Which commits a log shows.
#[derive(Clone, Debug, Default)]
pub struct LogOptions {
    /// Where to start; where the handle is, unless set.
    pub start: Option<CommitId>,
    /// Follow first parents alone.
    pub first_parent: bool,
    /// How many commits at most.
    pub limit: Option<usize>,
}

/// A commit that changed one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEvent {
    /// The commit's id.
    pub id: CommitId,
    /// The commit.
    pub commit: Arc<Commit>,
    /// What it made of the node; before, it is what the first parent that had it says.
    pub change: NodeChange,
}

/// What can be read of a history.
#[derive(Debug, Default)]
pub struct Readable {
    /// The commits, in the order of a log.
    pub commits: Vec<(CommitId, Arc<Commit>)>,
    /// Why a commit cannot be read, for each such.
    pub lost: Vec<Error>,
}

type Commits<'o> = Box<dyn Iterator<Item = Result<(CommitId, Arc<Commit>), Error>> + 'o>;

impl Store {
    /// The history from a commit, or from where this handle is: a child before its parents, HEAD
    /// first. On a branch without a commit there is none.
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
    /// use mnem_store::ops::log::LogOptions;
    /// put(&store, "a", "1")?;
    /// let second = put(&store, "a", "2")?;
    /// let newest = store.log(&LogOptions { limit: Some(1), ..LogOptions::default() })?;
    /// assert_eq!(newest.first().map(|(id, _)| *id), Some(second));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn log(&self, options: &LogOptions) -> Result<Vec<(CommitId, Arc<Commit>)>, Error> {
        let engine = self.engine()?;
        let start = self.start(&engine, options)?;
        commits(&engine, start, options)?.take(options.limit.unwrap_or(usize::MAX)).collect()
    }

    /// What can be read of [`Store::log`] in a damaged store, and for each commit that cannot, why:
    /// what stands behind it is shown where another line leads to it.
    ///
    /// ```
    /// # use mnem_store::{Environment, Error, InitOptions, Store};
    /// use mnem_store::ops::log::LogOptions;
    /// let store = Store::in_memory(&InitOptions::default(), Environment::fixed())?;
    /// let readable = store.readable_log(&LogOptions::default())?;
    /// assert!(readable.commits.is_empty() && readable.lost.is_empty());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn readable_log(&self, options: &LogOptions) -> Result<Readable, Error> {
        let engine = self.engine()?;
        let start = self.start(&engine, options)?;
        let limit = options.limit.unwrap_or(usize::MAX);
        let mut readable = Readable::default();
        let mut commits = commits(&engine, start, options)?;
        while readable.commits.len() < limit
            && let Some(step) = commits.next()
        {
            match step {
                Ok(commit) => readable.commits.push(commit),
                Err(error) if error.kind() == ErrorKind::CorruptStore => readable.lost.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(readable)
    }

    /// The history of one node: the commits of [`Store::log`] that made it say what none of
    /// their parents says, or removed it where every parent had it. So a merge stands here only
    /// when it made a value of its own. Along first parents alone, a commit is compared with its
    /// first parent.
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
    /// use mnem_store::ops::log::LogOptions;
    /// let first = put(&store, "plan", "pro")?;
    /// put(&store, "owner", "ada")?;
    /// let third = put(&store, "plan", "team")?;
    /// let events = store.node_log(&NodeId::new("plan")?, &LogOptions::default())?;
    /// assert_eq!(events.iter().map(|event| event.id).collect::<Vec<_>>(), [third, first]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn node_log(&self, id: &NodeId, options: &LogOptions) -> Result<Vec<NodeEvent>, Error> {
        let engine = self.engine()?;
        let start = self.start(&engine, options)?;
        let limit = options.limit.unwrap_or(usize::MAX);
        let compared = if options.first_parent { 1 } else { usize::MAX };
        let commits: Commits<'_> = match engine.changed(id, start, options.first_parent)? {
            Some(ids) => Box::new(ids.into_iter().map(|id| Ok((id, engine.objects.commit(id)?)))),
            None => commits(&engine, start, options)?,
        };
        commits
            .map(|step| {
                let (commit_id, commit) = step?;
                let change = engine.node_change(id, commit_id, &commit, compared)?;
                Ok(change.map(|change| NodeEvent { id: commit_id, commit, change }))
            })
            .filter_map(Result::transpose)
            .take(limit)
            .collect()
    }

    fn start(&self, engine: &Engine, options: &LogOptions) -> Result<Option<CommitId>, Error> {
        match options.start {
            Some(start) => engine.known_commit(start).map(|_| Some(start)),
            None => self.tip_of(engine),
        }
    }
}

fn commits<'o>(
    engine: &'o Engine,
    start: Option<CommitId>,
    options: &LogOptions,
) -> Result<Commits<'o>, Error> {
    Ok(if options.first_parent {
        Box::new(FirstParents::new(&engine.objects, start))
    } else {
        Box::new(Walk::new(&engine.objects, start)?)
    })
}

impl Engine {
    /// The commits behind a start that changed a node against their first parent, in the order
    /// of a log; none where the index does not tell.
    fn changed(
        self: &Arc<Self>,
        id: &NodeId,
        start: Option<CommitId>,
        first_parent: bool,
    ) -> Result<Option<Vec<CommitId>>, Error> {
        let (objects, Some(start)) = (&self.objects, start) else { return Ok(None) };
        let versions = [None, self.version_at(start, id)?];
        let on_line = index::changes_on_line(objects, start, None, id, versions)?;
        let Some(on_line) = on_line else { return Ok(None) };
        let mut found: Vec<_> = on_line.into_iter().map(|(changed, _)| changed).collect();
        if !first_parent {
            let most = index::position(objects, start)?.generation;
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let Some(all) = index::changes_within(objects, id, most.saturating_add(1))? else {
                return Ok(None);
            };
            let lined: BTreeSet<_> = found.iter().map(|changed| changed.commit).collect();
            let mut others = all;
            others.retain(|changed| !lined.contains(&changed.commit));
            let ids = others.iter().map(|changed| changed.commit).collect();
            let elsewhere = not_behind(objects, ids, Some(start))?;
            others.retain(|changed| !elsewhere.contains(&changed.commit));
            found.append(&mut others);
        }
        found.sort_by_key(|changed| (Reverse(changed.position.generation), changed.commit));
        Ok(Some(found.into_iter().map(|changed| changed.commit).collect()))
    }

    /// What a commit made of a node that none of its first `compared` parents says.
    fn node_change(
        self: &Arc<Self>,
        id: &NodeId,
        commit_id: CommitId,
        commit: &Commit,
        compared: usize,
    ) -> Result<Option<NodeChange>, Error> {
        let new = self.version_at(commit_id, id)?;
        let mut old = None;
        for parent in commit.parents.iter().take(compared) {
            let before = self.version_at(*parent, id)?;
            if self.same_or_absent(before, new)? {
                return Ok(None);
            }
            old = old.or(before);
        }
        let kind = match (old, new) {
            (None, None) => return Ok(None), // a root without it
            (None, Some(_)) => ChangeKind::Added,
            (Some(_), Some(_)) => ChangeKind::Modified,
            (Some(_), None) => ChangeKind::Removed,
        };
        let load = |version| self.node_at(id, version);
        let (old, new) = (old.map(load).transpose()?, new.map(load).transpose()?);
        Ok(Some(NodeChange { id: id.clone(), kind, old, new }))
    }
}
