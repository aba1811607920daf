//! What merge, revert and undo share: three memories joined on the exact tip, each conflict
//! answered, and the whole done anew when the branch moved meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::merge::{Conflict, ConflictKind, MergeOptions, Resolution, Resolver, Strategy, Verdict};
use crate::backend::{Batch, Expected, Operation};
use crate::error::{Error, ErrorKind, Hint};
use crate::graph::VirtualBase;
use crate::id::{BranchName, CommitId, NodeId, NodeVersionId, StateId};
use crate::state::{self, Agreed, EntryChange, EntryEdits, Merged};
use crate::store::Store;
use crate::store::engine::Engine;
use crate::store::writer::Signed;

pub(crate) struct Settling<'m> {
    store: &'m Store,
    pub(crate) engine: &'m Arc<Engine>,
    pub(crate) branch: &'m BranchName,
    resolver: &'m dyn Resolver,
    pub(crate) options: &'m MergeOptions,
    /// What the conflicts were that the caller's resolutions answer, once the first attempt
    /// has looked.
    seen: Option<BTreeMap<NodeId, [Option<NodeVersionId>; 3]>>,
}

/// What follows from three memories: edits of ours, and conflicts.
#[derive(Default)]
pub(crate) struct Joined {
    pub(crate) edits: EntryEdits,
    pub(crate) conflicts: Vec<Conflict>,
}

pub(crate) enum Settled {
    /// Every conflict has its answer among these.
    Edits(EntryEdits),
    /// These have none.
    Open(Vec<Conflict>),
}

impl<'m> Settling<'m> {
    pub(crate) fn new(
        store: &'m Store,
        engine: &'m Arc<Engine>,
        branch: &'m BranchName,
        resolver: &'m dyn Resolver,
        options: &'m MergeOptions,
    ) -> Self {
        Self { store, engine, branch, resolver, options, seen: None }
    }

    /// Publishes what `plan` makes of the commit to build on and the branch's own tip; nothing
    /// when that is an empty batch.
    pub(crate) fn on_tip<T>(
        &mut self,
        verb: &str,
        mut plan: impl FnMut(&mut Self, Option<CommitId>, Option<CommitId>) -> Result<(Batch, T), Error>,
    ) -> Result<T, Error> {
        let (store, engine) = (self.store, self.engine);
        loop {
            store.refuse_staged(engine, verb, Hint::CommitStaged)?;
            let (start, tip) = store.starting_point(engine, self.branch)?;
            // Everything but the publish is done without the writer's turn: a resolver may take
            // long. A branch that moved meanwhile is looked at anew.
            let (batch, outcome) = plan(self, start, tip)?;
            if batch.is_empty() {
                return Ok(outcome);
            }
            let published = engine.writer.run(|| {
                store.refuse_staged(engine, verb, Hint::CommitStaged)?;
                engine.publish(&batch)
            });
            match published {
                Ok(()) => return Ok(outcome),
                Err(error)
                    if error.kind() == ErrorKind::Conflict && engine.tip(self.branch)? != tip => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The batch that moves the branch to a commit that is there, or to none.
    pub(crate) fn move_branch(
        &self,
        tip: Option<CommitId>,
        new: Option<CommitId>,
        operation: Operation,
    ) -> Batch {
        let mut batch = Batch::default();
        batch.record(self.engine.moved(self.branch, tip, new, operation, &self.options.author));
        batch.reference(self.branch.clone(), Expected::of(tip), new);
        batch
    }

    /// Adds a commit by this caller; `message` stands in for one of theirs.
    pub(crate) fn commit(
        &self,
        batch: &mut Batch,
        tip: Option<CommitId>,
        parents: &[CommitId],
        edits: &EntryEdits,
        message: &str,
        operation: Operation,
    ) -> Result<CommitId, Error> {
        let signed = Signed {
            message: self.options.message.as_deref().unwrap_or(message),
            author: &self.options.author,
            time: self.options.time.unwrap_or_else(|| self.engine.environment.clock.now()),
            operation,
        };
        self.engine.add_commit(batch, self.branch, tip, parents, edits, &signed)
    }

    /// Joins over one base; none is the empty memory.
    pub(crate) fn join_over(
        &self,
        base: Option<StateId>,
        ours: StateId,
        theirs: Option<StateId>,
    ) -> Result<Joined, Error> {
        let engine = self.engine;
        let same = |a, b| engine.same(a, b);
        let mut joined = Joined::default();
        for merged in state::merge(&engine.objects, base, Some(ours), theirs, &same) {
            match merged? {
                Merged::Take { id, value } => {
                    joined.edits.insert(id, value);
                }
                Merged::Conflict { id, base, ours, theirs } => {
                    joined.conflicts.push(self.conflict(id, Agreed::On(base), ours, theirs)?);
                }
            }
        }
        Ok(joined)
    }

    /// Joins over several bases. What the sides say alike needs none, so only what differs
    /// between them is looked at.
    pub(crate) fn join_over_several(
        &self,
        bases: Vec<CommitId>,
        ours: StateId,
        theirs: StateId,
    ) -> Result<Joined, Error> {
        let engine = self.engine;
        let same = |a, b| engine.same(a, b);
        let mut virtual_base = VirtualBase::new(&engine.objects, &engine.known_bases, &same, bases);
        let mut joined = Joined::default();
        for change in state::diff(&engine.objects, Some(ours), Some(theirs)) {
            let EntryChange { id, old: ours, new: theirs } = change?;
            let base = virtual_base.of(&id)?;
            match state::three_way(base, Agreed::On(ours), Agreed::On(theirs), &same)? {
                Agreed::On(value) if value == ours => {}
                Agreed::On(value) => {
                    joined.edits.insert(id, value);
                }
                Agreed::Disputed => {
                    joined.conflicts.push(self.conflict(id, base, ours, theirs)?);
                }
            }
        }
        Ok(joined)
    }

    fn conflict(
        &self,
        id: NodeId,
        base: Agreed,
        ours: Option<NodeVersionId>,
        theirs: Option<NodeVersionId>,
    ) -> Result<Conflict, Error> {
        let kind = match (base, ours, theirs) {
            (Agreed::On(None), ..) => ConflictKind::AddAdd,
            (_, None, _) => ConflictKind::DeleteEdit,
            (_, _, None) => ConflictKind::EditDelete,
            _ => ConflictKind::EditEdit,
        };
        let base = match base {
            Agreed::On(base) => base,
            Agreed::Disputed => None,
        };
        let load = |version: Option<NodeVersionId>| {
            version.map(|version| self.engine.node_at(&id, version)).transpose()
        };
        Ok(Conflict {
            kind,
            base: load(base)?,
            ours: load(ours)?,
            theirs: load(theirs)?,
            contradiction: None,
            versions: [base, ours, theirs],
            id,
        })
    }

    /// Answers conflicts: by the caller's resolution, then the resolver, then the strategy.
    pub(crate) fn settle(&mut self, joined: Joined, batch: &mut Batch) -> Result<Settled, Error> {
        let Joined { mut edits, conflicts } = joined;
        if !self.is_answered(&conflicts)? {
            return Ok(Settled::Open(conflicts));
        }
        let mut unresolved = Vec::new();
        for mut conflict in conflicts {
            let explicit = self.options.resolutions.get(&conflict.id).cloned();
            let verdict = match explicit {
                Some(resolution) => Verdict::Resolved(resolution),
                None => self.resolver.resolve(self.store, &conflict)?,
            };
            let resolution = match (verdict, self.options.strategy) {
                (Verdict::Resolved(resolution), _) => resolution,
                (Verdict::Unresolved, Some(Strategy::Ours)) => Resolution::Ours,
                (Verdict::Unresolved, Some(Strategy::Theirs)) => Resolution::Theirs,
                (Verdict::Unresolved, None) => {
                    unresolved.push(conflict);
                    continue;
                }
                (Verdict::Contradiction(why), _) => {
                    conflict.contradiction = Some(why);
                    unresolved.push(conflict);
                    continue;
                }
            };
            let value = self.apply(&conflict, resolution, batch)?;
            edits.insert(conflict.id, value);
        }
        Ok(if unresolved.is_empty() { Settled::Edits(edits) } else { Settled::Open(unresolved) })
    }

    /// Whether the caller's resolutions answer these conflicts. At first each must name one; on
    /// a retry, what it answers must be what it answered then.
    pub(crate) fn is_answered(&mut self, conflicts: &[Conflict]) -> Result<bool, Error> {
        let wanted = &self.options.resolutions;
        let answered: BTreeMap<_, _> = conflicts
            .iter()
            .filter(|conflict| wanted.contains_key(&conflict.id))
            .map(|conflict| (conflict.id.clone(), conflict.versions))
            .collect();
        if let Some(seen) = &self.seen {
            return Ok(*seen == answered);
        }
        if let Some(stray) = wanted.keys().find(|id| !answered.contains_key(*id)) {
            return Err(Error::invalid(format!(
                "resolution given for {stray:?}, which is not a conflict"
            ))
            .hint(Hint::ConflictsOnly));
        }
        self.seen = Some(answered);
        Ok(true)
    }

    fn apply(
        &self,
        conflict: &Conflict,
        resolution: Resolution,
        batch: &mut Batch,
    ) -> Result<Option<NodeVersionId>, Error> {
        let [base, ours, theirs] = conflict.versions;
        let id = &conflict.id;
        match resolution {
            Resolution::Ours => Ok(ours),
            Resolution::Theirs => Ok(theirs),
            Resolution::Delete => Ok(None),
            Resolution::Base if base.is_some() => Ok(base),
            Resolution::Base => {
                let why = match conflict.kind {
                    ConflictKind::AddAdd => "both sides added it",
                    _ => "the sides last agreed in several places, and those disagree",
                };
                Err(Error::invalid(format!("{id:?} has no base to go back to: {why}"))
                    .hint(Hint::Resolve))
            }
            Resolution::Set(node) if node.id != *id => Err(Error::invalid(format!(
                "the resolution of {id:?} is a node with the id {:?}",
                node.id
            ))),
            Resolution::Set(node) => {
                let prepared = self.engine.prepare(*node)?;
                // A side that says the same already is kept.
                for version in [ours, theirs, base].into_iter().flatten() {
                    if self.engine.node_at(id, version)?.same(&prepared.node) {
                        return Ok(Some(version));
                    }
                }
                batch.object(prepared.object);
                Ok(Some(prepared.version))
            }
        }
    }
}
