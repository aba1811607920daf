//! merge: join another line of memory into this one, node by node; what both changed apart is
//! a conflict, and nothing is written until each has an answer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::settle::{Settled, Settling};
use crate::backend::{Batch, Operation};
use crate::error::{Error, Hint};
use crate::graph::{is_ancestor, merge_bases};
use crate::id::{CommitId, NodeId, NodeVersionId};
use crate::object::MemoryNode;
use crate::store::Store;

/// A node that both sides changed, apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The node.
    pub id: NodeId,
    /// What each side did.
    pub kind: ConflictKind,
    /// Where they last agreed; none when the node was not there, or when they last agreed in
    /// several places and those disagree.
    pub base: Option<Arc<MemoryNode>>,
    /// This branch; none when it removed the node.
    pub ours: Option<Arc<MemoryNode>>,
    /// The other line; none when it removed the node.
    pub theirs: Option<Arc<MemoryNode>>,
    /// Why a resolver says that the two sides contradict each other, when it does.
    pub contradiction: Option<String>,
    pub(crate) versions: [Option<NodeVersionId>; 3],
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

/// How to merge, or to take something back: answers mean the same in both.
#[derive(Clone, Debug, Default)]
pub struct MergeOptions {
    /// Answers by node id. An id that is no conflict is refused.
    pub resolutions: BTreeMap<NodeId, Resolution>,
    /// The answer to the rest.
    pub strategy: Option<Strategy>,
    /// Merge also a line that shares no commit with this branch, over the empty memory.
    pub allow_unrelated: bool,
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
        let mut settling = Settling::new(self, &engine, &branch, resolver, options);
        settling.on_tip("merge", |settling, start, tip| {
            settling.merge(start, tip, theirs, their_commit)
        })
    }

    /// What [`Store::merge`] would come to now, refusals included. Nothing is written: the commit
    /// that [`MergeOutcome::Merged`] names here is one that no store has.
    pub fn plan_merge(&self, theirs: &str, options: &MergeOptions) -> Result<MergeOutcome, Error> {
        let engine = self.engine()?;
        let their_commit = self.resolve(theirs)?;
        let branch = self.branch_to_write(&engine, "merge")?;
        self.refuse_staged(&engine, "merge", Hint::CommitStaged)?;
        let (start, tip) = self.starting_point(&engine, &branch)?;
        let mut settling = Settling::new(self, &engine, &branch, &StructuralOnly, options);
        Ok(settling.merge(start, tip, theirs, their_commit)?.1)
    }
}

impl Settling<'_> {
    /// Merges into the commit to build on, which is the branch's own tip unless the branch is
    /// missing.
    fn merge(
        &mut self,
        start: Option<CommitId>,
        tip: Option<CommitId>,
        name: &str,
        theirs: CommitId,
    ) -> Result<(Batch, MergeOutcome), Error> {
        let objects = &self.engine.objects;
        let planned = match start {
            None => self.fast_forward(tip, theirs),
            Some(ours) if is_ancestor(objects, theirs, ours)? => {
                (Batch::default(), MergeOutcome::UpToDate)
            }
            Some(ours) if is_ancestor(objects, ours, theirs)? => self.fast_forward(tip, theirs),
            Some(ours) => return self.join(ours, tip, name, theirs),
        };
        // No conflict: at first every resolution is a stray one; on a retry none is needed.
        self.is_answered(&[])?;
        Ok(planned)
    }

    fn fast_forward(&self, tip: Option<CommitId>, theirs: CommitId) -> (Batch, MergeOutcome) {
        let batch = self.move_branch(tip, Some(theirs), Operation::FAST_FORWARD);
        (batch, MergeOutcome::FastForwarded(theirs))
    }

    fn join(
        &mut self,
        ours: CommitId,
        tip: Option<CommitId>,
        name: &str,
        theirs: CommitId,
    ) -> Result<(Batch, MergeOutcome), Error> {
        let state = |commit| self.engine.objects.commit(commit).map(|commit| commit.state);
        let bases = merge_bases(&self.engine.objects, ours, theirs)?;
        let joined = match bases.as_slice() {
            [base] => self.join_over(Some(state(*base)?), state(ours)?, Some(state(theirs)?))?,
            [] if self.options.allow_unrelated => {
                self.join_over(None, state(ours)?, Some(state(theirs)?))?
            }
            [] => {
                return Err(Error::invalid(format!(
                    "cannot merge {name}: it shares no commit with {}",
                    self.branch
                ))
                .hint(Hint::AllowUnrelated));
            }
            _ => self.join_over_several(bases, state(ours)?, state(theirs)?)?,
        };
        let mut batch = Batch::default();
        let edits = match self.settle(joined, &mut batch)? {
            Settled::Edits(edits) => edits,
            Settled::Open(conflicts) => {
                return Ok((Batch::default(), MergeOutcome::Conflicts(conflicts)));
            }
        };
        let message = format!("merge {name} into {}", self.branch);
        let parents = [ours, theirs];
        let operation = Operation::MERGE;
        let commit = self.commit(&mut batch, tip, &parents, &edits, &message, operation)?;
        Ok((batch, MergeOutcome::Merged(commit)))
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.kind.as_str())
    }
}
