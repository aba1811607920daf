//! write: an agent's write. One transaction, one commit, never through staging or HEAD.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::merge::{Conflict, ConflictKind};
use crate::backend::{Batch, Operation};
use crate::error::{Error, Hint, Stale};
use crate::id::{BranchName, CommitId, NodeId, NodeVersionId};
use crate::object::MemoryNode;
use crate::state::{self, EntryEdits};
use crate::store::Store;
use crate::store::engine::Engine;
use crate::store::local::{self, LocalEdit};
use crate::store::snapshot::Snapshot;
use crate::store::writer::{Prepared, Signed};

/// The message of the empty root that two agents' first branches share.
const ROOT_MESSAGE: &str = "start";

/// What a write changes: node id to the new node, or to nothing. A removal of a node that is
/// not there changes nothing.
pub type Changes = BTreeMap<NodeId, Option<MemoryNode>>;

type PreparedChanges = BTreeMap<NodeId, Option<Prepared>>;

/// Who writes, when and why.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    /// Why.
    pub message: String,
    /// Who.
    pub author: String,
    /// When, in Unix milliseconds; the store's clock when unset.
    pub time: Option<i64>,
    /// Make a commit also when nothing changes.
    pub allow_empty: bool,
    /// Refuse when, for a node that is changed, the branch no longer says what it said here.
    pub base: Option<CommitId>,
    /// Rows of an adapter that are written in the same step.
    pub local: Vec<LocalEdit>,
}

impl Meta {
    /// Who and why; the rest as by default.
    pub fn new(message: impl Into<String>, author: impl Into<String>) -> Self {
        Self { message: message.into(), author: author.into(), ..Self::default() }
    }
}

impl Store {
    /// Writes changes as one commit on this handle's branch; nothing else is committed.
    ///
    /// A write that changes nothing makes no commit and returns the current one.
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
    /// let id = NodeId::new("customer-7")?;
    /// let node = MemoryNode::note(id.clone(), Content::text("on the pro plan"));
    /// let commit = store.write(
    ///     Changes::from([(id.clone(), Some(node.clone()))]),
    ///     &Meta::new("learnt the plan", "billing-agent"),
    /// )?;
    /// // The same again changes nothing.
    /// let again = store.write(Changes::from([(id, Some(node))]), &Meta::new("again", "agent"))?;
    /// assert_eq!(again, commit);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn write(&self, changes: Changes, meta: &Meta) -> Result<CommitId, Error> {
        let engine = self.engine()?;
        let changes = engine.prepare_all(changes)?;
        engine.writer.run(|| self.land(&engine, changes, meta))
    }

    /// Reads, decides and writes in one turn: `change` sees the commit its changes land on, and
    /// no other write comes between. It must not write to the store itself, nor wait for a
    /// thread that does.
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
    /// put(&store, "visits", "1")?;
    /// let id = NodeId::new("visits")?;
    /// store.update(&Meta::new("one more", "agent"), |now| {
    ///     let before = now.get(&id)?.map_or(0, |node| node.content.as_text().map_or(0, str::len));
    ///     let node = MemoryNode::note(id.clone(), Content::text("1".repeat(before + 1)));
    ///     Ok(Changes::from([(id.clone(), Some(node))]))
    /// })?;
    /// let node = store.snapshot()?.get(&id)?.ok_or(Error::not_found("visits"))?;
    /// assert_eq!(node.content.as_text(), Some("11"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn update(
        &self,
        meta: &Meta,
        change: impl FnOnce(&Snapshot) -> Result<Changes, Error>,
    ) -> Result<CommitId, Error> {
        let written = self.update_if(meta, |snapshot| change(snapshot).map(Some))?;
        written.ok_or_else(|| Error::corrupt("an update made no commit"))
    }

    /// The same, where `change` may find that there is nothing to do: then nothing is written,
    /// not even an empty commit, and the current commit is returned, if there is one.
    pub fn update_if(
        &self,
        meta: &Meta,
        change: impl FnOnce(&Snapshot) -> Result<Option<Changes>, Error>,
    ) -> Result<Option<CommitId>, Error> {
        let engine = self.engine()?;
        engine.writer.run(|| {
            let branch = self.branch_to_write(&engine, "write")?;
            let (start, _) = self.starting_point(&engine, &branch)?;
            let changes = change(&Snapshot::new(&engine, start)?)?;
            engine.check_process()?;
            match changes {
                Some(changes) => self.land(&engine, engine.prepare_all(changes)?, meta).map(Some),
                None => Ok(start),
            }
        })
    }

    /// The conflicts behind an error of a write over a base ([`Meta::base`]): ours is what the branch
    /// said when it was refused, theirs what these changes say. None of another error.
    ///
    /// ```
    /// # use mnem_store::{Content, Environment, Error, InitOptions, MemoryNode, NodeId, Store};
    /// # use mnem_store::ops::{Changes, ConflictKind, Meta};
    /// # let store = Store::in_memory(&InitOptions::default(), Environment::fixed())?;
    /// # let plan = |text: &str| {
    /// #     let id = NodeId::new("plan")?;
    /// #     Ok::<_, Error>(Changes::from([(id.clone(), Some(MemoryNode::note(id, Content::text(text))))]))
    /// # };
    /// let base = store.write(plan("pro")?, &Meta::new("learn", "ada"))?;
    /// store.write(plan("team")?, &Meta::new("learn", "grace"))?;
    /// let (changes, meta) = (plan("solo")?, Meta { base: Some(base), ..Meta::new("learn", "ada") });
    /// let Err(error) = store.write(changes.clone(), &meta) else { panic!("it is stale") };
    /// let conflicts = store.stale_conflicts(&error, &changes)?;
    /// assert_eq!(conflicts.first().map(|it| it.kind), Some(ConflictKind::EditEdit));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn stale_conflicts(
        &self,
        error: &Error,
        changes: &Changes,
    ) -> Result<Vec<Conflict>, Error> {
        let Some(stale) = error.stale() else { return Ok(Vec::new()) };
        let engine = self.engine()?;
        let then = Snapshot::new(&engine, Some(stale.base))?;
        let now = Snapshot::new(&engine, stale.tip)?;
        let mut conflicts = Vec::new();
        for id in &stale.nodes {
            let theirs = changes.get(id).cloned().flatten().map(Arc::new);
            let (base, ours) = (then.get(id)?, now.get(id)?);
            let kind = match (&base, &ours, &theirs) {
                (_, None, None) => continue, // both removed it
                (None, ..) => ConflictKind::AddAdd,
                (_, None, _) => ConflictKind::DeleteEdit,
                (_, _, None) => ConflictKind::EditDelete,
                _ => ConflictKind::EditEdit,
            };
            let versions = [then.version(id)?, now.version(id)?, None];
            let id = id.clone();
            conflicts.push(Conflict {
                id,
                kind,
                base,
                ours,
                theirs,
                contradiction: None,
                versions,
            });
        }
        Ok(conflicts)
    }

    fn land(
        &self,
        engine: &std::sync::Arc<Engine>,
        changes: PreparedChanges,
        meta: &Meta,
    ) -> Result<CommitId, Error> {
        let branch = self.branch_to_write(engine, "write")?;
        let (start, tip) = self.starting_point(engine, &branch)?;
        let snapshot = Snapshot::new(engine, start)?;
        if let Some(base) = meta.base {
            engine.refuse_stale(&snapshot, base, changes.keys())?;
        }
        let mut batch = Batch::default();
        let mut edits = EntryEdits::new();
        let state = snapshot.state();
        for (id, node) in changes {
            let current = state.map_or(Ok(None), |root| state::get(&engine.objects, root, &id))?;
            match node {
                Some(node) => {
                    if let Some((version, object)) = engine.replacement(node, current)? {
                        batch.object(object);
                        edits.insert(id, Some(version));
                    }
                }
                None if current.is_some() => {
                    edits.insert(id, None);
                }
                None => {}
            }
        }
        local::add(&mut batch, &meta.local);
        if edits.is_empty()
            && !meta.allow_empty
            && let Some(start) = start
        {
            engine.publish(&batch)?;
            return Ok(start);
        }
        if edits.is_empty() && !meta.allow_empty {
            return Err(Error::invalid(format!(
                "nothing to commit on {branch}, which has no commit yet"
            ))
            .hint(Hint::FirstCommit));
        }
        let signed = Signed {
            message: &meta.message,
            author: &meta.author,
            time: meta.time.unwrap_or_else(|| engine.environment.clock.now()),
            operation: Operation::WRITE,
        };
        let parents = match start {
            Some(start) => vec![start],
            None => self.shared_root(engine, &mut batch, &branch, &signed)?,
        };
        let commit = engine.add_commit(&mut batch, &branch, tip, &parents, &edits, &signed)?;
        engine.publish(&batch)?;
        Ok(commit)
    }

    /// The commit that a write to a branch builds on, and the branch's own tip. They differ on
    /// a handle that is bound to a missing branch.
    pub(crate) fn starting_point(
        &self,
        engine: &Engine,
        branch: &BranchName,
    ) -> Result<(Option<CommitId>, Option<CommitId>), Error> {
        match engine.tip(branch)? {
            None if self.bound().is_some() => Ok((engine.fork_point()?, None)),
            tip => Ok((tip, tip)),
        }
    }

    /// The parents of the first commit of a store. A handle that is bound to another branch
    /// than the default one makes an empty root there to fork from, so that agents share a base.
    fn shared_root(
        &self,
        engine: &Engine,
        batch: &mut Batch,
        branch: &BranchName,
        signed: &Signed<'_>,
    ) -> Result<Vec<CommitId>, Error> {
        let default = &engine.config.default_branch;
        if self.bound().is_none() || branch == default {
            return Ok(Vec::new());
        }
        let signed = Signed { message: ROOT_MESSAGE, ..signed.clone() };
        let mut root = Batch::default();
        let id = engine.add_commit(&mut root, default, None, &[], &EntryEdits::new(), &signed)?;
        // Its record must come right after it, and it must be there before its child.
        batch.entries.splice(0..0, root.entries);
        batch.refs.extend(root.refs);
        Ok(vec![id])
    }
}

impl Engine {
    fn prepare_all(&self, changes: Changes) -> Result<PreparedChanges, Error> {
        let prepare = |(id, node): (NodeId, Option<MemoryNode>)| match node {
            Some(node) if node.id == id => Ok((id, Some(self.prepare(node)?))),
            Some(node) => {
                Err(Error::invalid(format!("the node {:?} is written under {id:?}", node.id)))
            }
            None => Ok((id, None)),
        };
        changes.into_iter().map(prepare).collect()
    }

    /// Refuses when the tip no longer says what `base` said of a node that is to be changed.
    pub(crate) fn refuse_stale<'c>(
        &self,
        tip: &Snapshot,
        base: CommitId,
        ids: impl Iterator<Item = &'c NodeId>,
    ) -> Result<(), Error> {
        self.known_commit(base)?;
        let base_snapshot = Snapshot::new(&tip.engine, Some(base))?;
        let mut nodes = Vec::new();
        for id in ids {
            let (then, now): (Option<NodeVersionId>, _) =
                (base_snapshot.version(id)?, tip.version(id)?);
            if !self.same_or_absent(then, now)? {
                nodes.push(id.clone());
            }
        }
        let Some(first) = nodes.first() else { return Ok(()) };
        let message = format!("{first:?} has changed since {}", base.short());
        let stale = Stale { base, tip: tip.commit(), nodes };
        Err(Error::conflict(message).hint(Hint::Retry).over(stale))
    }
}
