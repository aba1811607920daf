//! merge: join another line of memory into this one, node by node; what both changed apart is
//! a conflict, and nothing is written until each has an answer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::backend::{Batch, Expected, Operation};
use crate::codec::Encoded;
use crate::error::{Error, ErrorKind, Hint};
use crate::graph::{is_ancestor, merge_bases};
use crate::id::{BranchName, CommitId, NodeId, NodeVersionId, StateId};
use crate::object::MemoryNode;
use crate::state::{self, EntryEdits, Merged};
use crate::store::Store;
use crate::store::engine::Engine;
use crate::store::writer::Signed;

/// A node that both sides changed, apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The node.
    pub id: NodeId,
    /// What each side did.
    pub kind: ConflictKind,
    /// Where they last agreed; none when the node was not there.
    pub base: Option<Arc<MemoryNode>>,
    /// This branch; none when it removed the node.
    pub ours: Option<Arc<MemoryNode>>,
    /// The other line; none when it removed the node.
    pub theirs: Option<Arc<MemoryNode>>,
    versions: [Option<NodeVersionId>; 3],
}

/// What each side did, ours first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConflictKind {
    /// Both changed it.
    EditEdit,
    /// We removed it, they changed it.
    DeleteEdit,
    /// We changed it, they removed it.
    EditDelete,
    /// Both added it.
    AddAdd,
}

impl ConflictKind {
    /// The kind as printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EditEdit => "edit/edit",
            Self::DeleteEdit => "delete/edit",
            Self::EditDelete => "edit/delete",
            Self::AddAdd => "add/add",
        }
    }
}

/// An answer to a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// What this branch says.
    Ours,
    /// What the other line says.
    Theirs,
    /// What both said before; there must be such a thing.
    Base,
    /// The node is removed.
    Delete,
    /// Something else; its id must be the conflict's.
    Set(Box<MemoryNode>),
}

/// An answer to every conflict that has no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// What this branch says.
    Ours,
    /// What the other line says.
    Theirs,
}

/// Something that may settle conflicts by what they say. Called without any lock held, once per
/// conflict that has no explicit resolution; again when the branch moved meanwhile.
pub trait Resolver {
    /// Looks at one conflict.
    fn resolve(&self, store: &Store, conflict: &Conflict) -> Result<Verdict, Error>;
}

/// What a resolver says of a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is settled so.
    Resolved(Resolution),
    /// The two sides contradict each other. No strategy settles that; an explicit resolution does.
    Contradiction(String),
    /// Nothing to add.
    Unresolved,
}

/// The resolver that settles nothing: every conflict goes to the strategy or the caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct StructuralOnly;

impl Resolver for StructuralOnly {
    fn resolve(&self, _: &Store, _: &Conflict) -> Result<Verdict, Error> {
        Ok(Verdict::Unresolved)
    }
}

/// How to merge.
#[derive(Clone, Debug, Default)]
pub struct MergeOptions {
    /// Answers by node id. An id that is no conflict is refused.
    pub resolutions: BTreeMap<NodeId, Resolution>,
    /// The answer to the rest.
    pub strategy: Option<Strategy>,
    /// The message; `merge THEIRS into BRANCH` when unset.
    pub message: Option<String>,
    /// Who merges.
    pub author: String,
    /// When, in Unix milliseconds; the store's clock when unset.
    pub time: Option<i64>,
}

/// What a merge came to.
#[must_use = "a merge with conflicts wrote nothing"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The other line is behind this branch already.
    UpToDate,
    /// This branch was behind the other line and moved forward to it.
    FastForwarded(CommitId),
    /// A new commit with two parents, ours first.
    Merged(CommitId),
    /// These need an answer; nothing was written. Never empty.
    Conflicts(Vec<Conflict>),
}

impl Store {
    /// Merges a revision into this handle's branch.
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
    /// use mnem_store::ops::{MergeOptions, MergeOutcome, Resolution};
    /// put(&store, "plan", "enterprise")?;
    /// let side = store.on(&BranchName::new("side")?, "agent")?;
    /// put(&side, "plan", "pro")?;
    /// put(&store, "plan", "team")?;
    /// let MergeOutcome::Conflicts(conflicts) = store.merge("side", &MergeOptions::default())? else {
    ///     unreachable!("both changed it")
    /// };
    /// assert_eq!(conflicts.len(), 1);
    /// let options = MergeOptions {
    ///     resolutions: [(NodeId::new("plan")?, Resolution::Theirs)].into(),
    ///     ..MergeOptions::default()
    /// };
    /// assert!(matches!(store.merge("side", &options)?, MergeOutcome::Merged(_)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn merge(&self, theirs: &str, options: &MergeOptions) -> Result<MergeOutcome, Error> {
        self.merge_with(theirs, &StructuralOnly, options)
    }

    /// The same with a resolver between the explicit resolutions and the strategy.
    pub fn merge_with(
        &self,
        theirs: &str,
        resolver: &dyn Resolver,
        options: &MergeOptions,
    ) -> Result<MergeOutcome, Error> {
        let engine = self.engine()?;
        let their_commit = self.resolve(theirs)?;
        let branch = self.branch_to_write(&engine, "merge")?;
        let mut merging = Merging::new(self, &engine, &branch, theirs, resolver, options);
        loop {
            self.refuse_staged(&engine, "merge", Hint::CommitStaged)?;
            let (_, tip) = self.starting_point(&engine, &branch)?;
            // Everything but the publish is done without the writer's turn: a resolver may take
            // long. A branch that moved meanwhile is merged anew.
            let planned = merging.plan(tip, their_commit)?;
            let (batch, outcome) = match planned {
                Planned::Write(batch, outcome) => (batch, outcome),
                Planned::Nothing(outcome) => return Ok(outcome),
            };
            let published = engine.writer.run(|| {
                self.refuse_staged(&engine, "merge", Hint::CommitStaged)?;
                engine.publish(&batch)
            });
            match published {
                Ok(()) => return Ok(outcome),
                Err(error)
                    if error.kind() == ErrorKind::Conflict && engine.tip(&branch)? != tip => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What [`Store::merge`] would come to now, refusals included. Nothing is written: the commit
    /// that [`MergeOutcome::Merged`] names here is one that no store has.
    pub fn plan_merge(&self, theirs: &str, options: &MergeOptions) -> Result<MergeOutcome, Error> {
        let engine = self.engine()?;
        let their_commit = self.resolve(theirs)?;
        let branch = self.branch_to_write(&engine, "merge")?;
        self.refuse_staged(&engine, "merge", Hint::CommitStaged)?;
        let (_, tip) = self.starting_point(&engine, &branch)?;
        Merging::new(self, &engine, &branch, theirs, &StructuralOnly, options)
            .plan(tip, their_commit)
            .map(|planned| match planned {
                Planned::Write(_, outcome) | Planned::Nothing(outcome) => outcome,
            })
    }
}

struct Merging<'m> {
    store: &'m Store,
    engine: &'m Arc<Engine>,
    branch: &'m BranchName,
    theirs: &'m str,
    resolver: &'m dyn Resolver,
    options: &'m MergeOptions,
    /// What the conflicts were that the caller's resolutions answer, once the first attempt
    /// has looked.
    seen: Option<BTreeMap<NodeId, [Option<NodeVersionId>; 3]>>,
}

enum Planned {
    Write(Batch, MergeOutcome),
    Nothing(MergeOutcome),
}

impl<'m> Merging<'m> {
    fn new(
        store: &'m Store,
        engine: &'m Arc<Engine>,
        branch: &'m BranchName,
        theirs: &'m str,
        resolver: &'m dyn Resolver,
        options: &'m MergeOptions,
    ) -> Self {
        Self { store, engine, branch, theirs, resolver, options, seen: None }
    }

    fn plan(&mut self, tip: Option<CommitId>, theirs: CommitId) -> Result<Planned, Error> {
        let objects = &self.engine.objects;
        let planned = match tip {
            None => self.fast_forward(None, theirs),
            Some(ours) if is_ancestor(objects, theirs, ours)? => {
                Planned::Nothing(MergeOutcome::UpToDate)
            }
            Some(ours) if is_ancestor(objects, ours, theirs)? => {
                self.fast_forward(Some(ours), theirs)
            }
            Some(ours) => return self.join(ours, theirs),
        };
        // No conflict: at first every resolution is a stray one; on a retry none is needed.
        self.is_answered(&[])?;
        Ok(planned)
    }

    fn fast_forward(&self, tip: Option<CommitId>, theirs: CommitId) -> Planned {
        let mut batch = Batch::default();
        let record = self.engine.moved(
            self.branch,
            tip,
            Some(theirs),
            Operation::FAST_FORWARD,
            &self.options.author,
        );
        batch.record(record);
        batch.reference(self.branch.clone(), Expected::of(tip), Some(theirs));
        Planned::Write(batch, MergeOutcome::FastForwarded(theirs))
    }

    fn join(&mut self, ours: CommitId, theirs: CommitId) -> Result<Planned, Error> {
        let objects = &self.engine.objects;
        let base = match merge_bases(objects, ours, theirs)?.as_slice() {
            [base] => *base,
            [] => {
                return Err(Error::invalid(format!(
                    "cannot merge {}: it shares no commit with {}",
                    self.theirs, self.branch
                ))
                .hint(Hint::ListLog));
            }
            bases => {
                let names: Vec<_> = bases.iter().map(CommitId::short).collect();
                return Err(Error::invalid(format!(
                    "cannot merge {}: it and {} last agreed in several places ({})",
                    self.theirs,
                    self.branch,
                    names.join(", ")
                ))
                .hint(Hint::MergeOneSideFirst));
            }
        };
        let state = |commit| objects.commit(commit).map(|commit| commit.state);
        let (mut edits, conflicts) = self.entries(state(base)?, state(ours)?, state(theirs)?)?;

        let mut batch = Batch::default();
        let unresolved = self.settle(conflicts, &mut edits, &mut batch)?;
        if !unresolved.is_empty() {
            return Ok(Planned::Nothing(MergeOutcome::Conflicts(unresolved)));
        }
        let message = match &self.options.message {
            Some(message) => message.clone(),
            None => format!("merge {} into {}", self.theirs, self.branch),
        };
        let signed = Signed {
            message: &message,
            author: &self.options.author,
            time: self.options.time.unwrap_or_else(|| self.engine.environment.clock.now()),
            operation: Operation::MERGE,
        };
        let commit = self.engine.add_commit(
            &mut batch,
            self.branch,
            Some(ours),
            &[ours, theirs],
            &edits,
            &signed,
        )?;
        Ok(Planned::Write(batch, MergeOutcome::Merged(commit)))
    }

    /// What follows from the three states: edits of ours, and conflicts.
    fn entries(
        &self,
        base: StateId,
        ours: StateId,
        theirs: StateId,
    ) -> Result<(EntryEdits, Vec<Conflict>), Error> {
        let engine = self.engine;
        let same = |a, b| engine.same(a, b);
        let mut edits = EntryEdits::new();
        let mut conflicts = Vec::new();
        for merged in state::merge(&engine.objects, Some(base), Some(ours), Some(theirs), &same) {
            match merged? {
                Merged::Take { id, value } => {
                    edits.insert(id, value);
                }
                Merged::Conflict { id, base, ours, theirs } => {
                    let load = |version: Option<NodeVersionId>| {
                        version.map(|version| engine.node_at(&id, version)).transpose()
                    };
                    let kind = match (base, ours, theirs) {
                        (None, ..) => ConflictKind::AddAdd,
                        (_, None, _) => ConflictKind::DeleteEdit,
                        (_, _, None) => ConflictKind::EditDelete,
                        _ => ConflictKind::EditEdit,
                    };
                    conflicts.push(Conflict {
                        kind,
                        base: load(base)?,
                        ours: load(ours)?,
                        theirs: load(theirs)?,
                        versions: [base, ours, theirs],
                        id,
                    });
                }
            }
        }
        Ok((edits, conflicts))
    }

    /// Answers conflicts: by the caller's resolution, then the resolver, then the strategy.
    fn settle(
        &mut self,
        conflicts: Vec<Conflict>,
        edits: &mut EntryEdits,
        batch: &mut Batch,
    ) -> Result<Vec<Conflict>, Error> {
        if !self.is_answered(&conflicts)? {
            return Ok(conflicts);
        }
        let mut unresolved = Vec::new();
        for conflict in conflicts {
            let explicit = self.options.resolutions.get(&conflict.id).cloned();
            let verdict = match explicit {
                Some(resolution) => Verdict::Resolved(resolution),
                None => self.resolver.resolve(self.store, &conflict)?,
            };
            let resolution = match (verdict, self.options.strategy) {
                (Verdict::Resolved(resolution), _) => resolution,
                (Verdict::Unresolved, Some(Strategy::Ours)) => Resolution::Ours,
                (Verdict::Unresolved, Some(Strategy::Theirs)) => Resolution::Theirs,
                (Verdict::Unresolved, None) | (Verdict::Contradiction(_), _) => {
                    unresolved.push(conflict);
                    continue;
                }
            };
            let value = self.apply(&conflict, resolution, batch)?;
            edits.insert(conflict.id, value);
        }
        Ok(unresolved)
    }

    /// Whether the caller's resolutions answer these conflicts. At first each must name one; on
    /// a retry, what it answers must be what it answered then.
    fn is_answered(&mut self, conflicts: &[Conflict]) -> Result<bool, Error> {
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
            Resolution::Base => Err(Error::invalid(format!(
                "{id:?} has no base to go back to: both sides added it"
            ))
            .hint(Hint::Resolve)),
            Resolution::Set(node) if node.id != *id => Err(Error::invalid(format!(
                "the resolution of {id:?} is a node with the id {:?}",
                node.id
            ))),
            Resolution::Set(node) => {
                let node = self.engine.prepare(*node)?;
                // A side that says the same already is kept.
                for version in [ours, theirs, base].into_iter().flatten() {
                    if self.engine.node_at(id, version)?.same(&node) {
                        return Ok(Some(version));
                    }
                }
                let (version, object) = Encoded::node(node);
                batch.object(object);
                Ok(Some(version))
            }
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.kind.as_str())
    }
}
