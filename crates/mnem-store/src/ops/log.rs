//! log: history, newest first, in the order of the graph.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
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
    /// Where to start; where the handle is, unless any is named. Along first parents, at most one.
    pub start: Vec<CommitId>,
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

/// Commits, each with the nodes that it changed against its first parent.
type Touching<'n> = Vec<(CommitId, Vec<&'n NodeId>)>;
type Commits<'o> = Box<dyn Iterator<Item = Result<(CommitId, Arc<Commit>), Error>> + 'o>;
/// Commits, each with the nodes that it may have changed.
type Candidates<'o> =
    Box<dyn Iterator<Item = Result<(CommitId, Arc<Commit>, Vec<&'o NodeId>), Error>> + 'o>;

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
        let starts = self.starts(&engine, options)?;
        commits(&engine, starts, options)?.take(options.limit.unwrap_or(usize::MAX)).collect()
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
        let starts = self.starts(&engine, options)?;
        let limit = options.limit.unwrap_or(usize::MAX);
        let mut readable = Readable::default();
        let mut commits = commits(&engine, starts, options)?;
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
        self.nodes_log(std::slice::from_ref(id), options)
    }

    /// The history of several nodes: the commits of [`Store::node_log`] of any of them, each once,
    /// with the change of the first node that it changed. Costs the changes of these nodes, and
    /// not the history.
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
    /// let third = put(&store, "seats", "3")?;
    /// let ids = [NodeId::new("plan")?, NodeId::new("seats")?];
    /// let events = store.nodes_log(&ids, &LogOptions::default())?;
    /// assert_eq!(events.iter().map(|event| event.id).collect::<Vec<_>>(), [third, first]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn nodes_log(&self, ids: &[NodeId], options: &LogOptions) -> Result<Vec<NodeEvent>, Error> {
        let engine = self.engine()?;
        let starts = self.starts(&engine, options)?;
        let compared = if options.first_parent { 1 } else { usize::MAX };
        let commits: Candidates<'_> = match engine.changed(ids, &starts, options.first_parent)? {
            Some(found) => Box::new(
                found
                    .into_iter()
                    .map(|(id, changed)| Ok((id, engine.objects.commit(id)?, changed))),
            ),
            None => Box::new(commits(&engine, starts, options)?.map(|step| {
                let (id, commit) = step?;
                Ok((id, commit, ids.iter().collect()))
            })),
        };
        commits
            .map(|step| {
                let (commit_id, commit, ids) = step?;
                for id in ids {
                    if let Some(change) = engine.node_change(id, commit_id, &commit, compared)? {
                        return Ok(Some(NodeEvent { id: commit_id, commit, change }));
                    }
                }
                Ok(None)
            })
            .filter_map(Result::transpose)
            .take(options.limit.unwrap_or(usize::MAX))
            .collect()
    }

    fn starts(&self, engine: &Engine, options: &LogOptions) -> Result<Vec<CommitId>, Error> {
        if options.first_parent && options.start.len() > 1 {
            return Err(Error::invalid("a log along first parents starts at one commit"));
        }
        for start in &options.start {
            engine.known_commit(*start)?;
        }
        if options.start.is_empty() {
            return Ok(self.tip_of(engine)?.into_iter().collect());
        }
        Ok(options.start.clone())
    }
}

fn commits<'o>(
    engine: &'o Engine,
    starts: Vec<CommitId>,
    options: &LogOptions,
) -> Result<Commits<'o>, Error> {
    Ok(if options.first_parent {
        Box::new(FirstParents::new(&engine.objects, starts.first().copied()))
    } else {
        Box::new(Walk::new(&engine.objects, starts)?)
    })
}

impl Engine {
    /// The commits behind some starts that changed one of some nodes against their first parent,
    /// in the order of a log, and which of these each changed; none where the index does not tell.
    fn changed<'n>(
        self: &Arc<Self>,
        ids: &'n [NodeId],
        starts: &[CommitId],
        first_parent: bool,
    ) -> Result<Option<Touching<'n>>, Error> {
        let objects = &self.objects;
        let mut most = 0;
        for start in starts {
            most = most.max(index::position(objects, *start)?.generation.saturating_add(1));
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut found = BTreeMap::<_, Vec<_>>::new();
        let (mut lined, mut others) = (BTreeSet::new(), BTreeSet::new());
        for id in ids {
            let mut seen = BTreeMap::new();
            for start in starts {
                let versions = [None, self.version_at(*start, id)?];
                let on_line = index::changes_on_line(objects, *start, None, id, versions)?;
                let Some(on_line) = on_line else { return Ok(None) };
                seen.extend(on_line.iter().map(|(changed, _)| (changed.commit, changed.position)));
            }
            lined.extend(seen.keys().copied());
            if !first_parent {
                let Some(all) = index::changes_within(objects, id, most)? else { return Ok(None) };
                seen.extend(all.iter().map(|changed| (changed.commit, changed.position)));
            }
            for (commit, position) in seen {
                others.insert(commit);
                found.entry((Reverse(position.generation), commit)).or_default().push(id);
            }
        }
        others.retain(|commit| !lined.contains(commit));
        let elsewhere = not_behind(objects, others, starts)?;
        found.retain(|(_, commit), _| !elsewhere.contains(commit));
        Ok(Some(found.into_iter().map(|((_, commit), ids)| (commit, ids)).collect()))
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
