//! How nodes and commits are put together for the writer.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::backend::{Batch, Change, ChangeSet, Entry, Expected, Operation, Record};
use crate::codec::Encoded;
use crate::error::{Error, ErrorKind};
use crate::id::{BranchName, CommitId, NodeId, NodeVersionId};
use crate::index;
use crate::object::{Commit, MemoryNode};
use crate::state::{self, EntryEdits};
use crate::store::engine::Engine;

/// A node that is about to be stored: checked, and encoded before its writer waits for a turn.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) node: MemoryNode,
    version: NodeVersionId,
    object: Encoded,
}

/// Who makes a commit, when, and why.
#[derive(Clone, Debug)]
pub(crate) struct Signed<'a> {
    pub(crate) message: &'a str,
    pub(crate) author: &'a str,
    pub(crate) time: i64,
    pub(crate) operation: Operation,
}

impl Engine {
    /// Checks a node that is about to be stored, salts it where the store is salted, and encodes
    /// it.
    pub(crate) fn prepare(&self, mut node: MemoryNode) -> Result<Prepared, Error> {
        NodeId::new(node.id.as_str())?;
        node.content.check_writable()?;
        node.salt = if self.config.salted { Some(self.environment.random()?) } else { None };
        let (version, object) = Encoded::node(&node);
        Ok(Prepared { object: object.fresh(node.salt.is_some()), node, version })
    }

    /// The edit that puts a prepared node in place of a version, with the object to store; none
    /// when the version in place says the same already. One that cannot be read says nothing, so
    /// that a lost memory can be written again.
    pub(crate) fn replacement(
        &self,
        prepared: Prepared,
        current: Option<NodeVersionId>,
    ) -> Result<Option<(NodeVersionId, Encoded)>, Error> {
        let is_same = match current
            .map(|current| self.node_at(&prepared.node.id, current))
            .transpose()
        {
            Ok(current) => current.is_some_and(|current| current.same(&prepared.node)),
            Err(error) if matches!(error.kind(), ErrorKind::CorruptStore | ErrorKind::NotFound) => {
                false
            }
            Err(error) => return Err(error),
        };
        Ok((!is_same).then(|| self.place(prepared)))
    }

    /// The version of a prepared node, and the object to store.
    pub(crate) fn place(&self, prepared: Prepared) -> (NodeVersionId, Encoded) {
        let Prepared { node, version, object } = prepared;
        self.objects.draft_node(&object, Arc::new(node));
        (version, object)
    }

    /// Adds a commit with these edits on its first parent's state, its record and the move of
    /// its branch. The objects of new nodes are in the batch already.
    pub(crate) fn add_commit(
        &self,
        batch: &mut Batch,
        branch: &BranchName,
        tip: Option<CommitId>,
        parents: &[CommitId],
        edits: &EntryEdits,
        signed: &Signed<'_>,
    ) -> Result<CommitId, Error> {
        // A parent in the batch itself is the empty root that a first write forks from.
        let new_root = parents.iter().copied().find(|parent| {
            let is_parent = |entry: &Entry| matches!(entry, Entry::Object(object) if object.id() == (*parent).into());
            batch.entries.iter().any(is_parent)
        });
        let before = match parents.first() {
            Some(parent) if new_root.is_none() => Some(self.objects.commit(*parent)?.state),
            _ => None,
        };
        let fresh: BTreeSet<NodeVersionId> = batch
            .entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Object(object) if object.is_fresh() => Some(object.id().into()),
                _ => None,
            })
            .collect();
        let is_fresh = |version| fresh.contains(&version);
        let edited = state::edit_with(&self.objects, before, edits, is_fresh)?;
        let pairs = edits.iter().zip(edited.before).filter(|((_, new), old)| *new != old);
        let changes: ChangeSet =
            pairs.map(|((id, new), old)| (id.clone(), Change { old, new: *new })).collect();
        let is_fresh = edited.objects.last().is_some_and(Encoded::is_fresh);
        for (object, node) in edited.objects.into_iter().zip(edited.nodes) {
            self.objects.draft_state(&object, node);
            batch.object(object);
        }
        let commit = Arc::new(Commit {
            parents: parents.to_vec(),
            state: edited.root,
            message: signed.message.to_owned(),
            author: signed.author.to_owned(),
            time: signed.time,
        });
        let (id, object) = Encoded::commit(&*commit);
        // Two writers may make one commit; the second only moves its branch to it.
        let is_there = !is_fresh && self.objects.find_commit(id)?.is_some();
        let derived = if is_there {
            None
        } else {
            let derived = index::derive(&self.objects, parents, new_root, changes)?;
            self.objects.know_position(id, derived.position());
            self.objects.draft_commit(&object, commit);
            Some(derived)
        };
        batch.object(object.fresh(is_fresh));
        batch.record(Record {
            derived,
            ..self.moved(branch, tip, Some(id), signed.operation.clone(), signed.author)
        });
        batch.reference(branch.clone(), Expected::of(tip), Some(id));
        Ok(id)
    }

    /// The record of a branch's move to a commit that is there already.
    pub(crate) fn moved(
        &self,
        branch: &BranchName,
        old: Option<CommitId>,
        new: Option<CommitId>,
        operation: Operation,
        author: &str,
    ) -> Record {
        Record {
            branch: Some(branch.clone()),
            old,
            new,
            operation,
            author: author.to_owned(),
            time: self.environment.clock.now(),
            derived: None,
        }
    }

    /// Publishes a batch with the group of its turn, unless it is empty: it is durable once the
    /// turn has been answered.
    pub(crate) fn publish(&self, batch: &Batch) -> Result<(), Error> {
        if batch.is_empty() {
            return Ok(());
        }
        self.check_place()?;
        Ok(self.objects.backend().publish(batch)?)
    }

    /// Publishes a batch now, and what was built before it in the group: durable on return.
    pub(crate) fn publish_now(&self, batch: &Batch) -> Result<(), Error> {
        self.publish(batch)?;
        self.writer.publish_group()
    }
}
