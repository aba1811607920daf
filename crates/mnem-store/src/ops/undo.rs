//! undo: the last move of a branch is taken back; history stays.

use super::merge::{Conflict, MergeOptions, StructuralOnly};
use super::revert::RevertOutcome;
use super::settle::Settling;
use crate::backend::{Batch, Operation, Record};
use crate::error::{Error, Hint};
use crate::id::{BranchName, CommitId};
use crate::store::Store;
use crate::store::engine::Engine;

/// How many records are read at a time in search of an author's.
const PAGE: usize = 64;

/// What was undone, and how.
#[must_use = "an undo with conflicts wrote nothing"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The move that was taken back.
    pub undone: Record,
    /// What that came to.
    pub outcome: UndoOutcome,
}

/// What an undo came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoOutcome {
    /// The branch points where it did before; nowhere, when the move made its first commit.
    MovedBack(Option<CommitId>),
    /// What the move changed was taken back by a new commit.
    Reverted(CommitId),
    /// These were changed again since, and need an answer; nothing was written. Never empty.
    Conflicts(Vec<Conflict>),
}

impl Store {
    /// Takes back the last move of this handle's branch; an undo is a move too, so that the next
    /// undo takes it back.
    ///
    /// The branch is moved back when its tip is still what that move left. Otherwise, and
    /// always for a move by one author (`by`), what it changed is taken back by a new commit, as
    /// [`Store::revert`] does, with its conflicts and resolutions.
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
    /// use mnem_store::ops::{MergeOptions, UndoOutcome};
    /// let first = put(&store, "plan", "pro")?;
    /// let second = put(&store, "plan", "misread")?;
    /// let options = MergeOptions::default();
    /// assert_eq!(store.undo(None, &options)?.outcome, UndoOutcome::MovedBack(Some(first)));
    /// assert_eq!(store.undo(None, &options)?.outcome, UndoOutcome::MovedBack(Some(second)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn undo(&self, by: Option<&str>, options: &MergeOptions) -> Result<Undone, Error> {
        let engine = self.engine()?;
        let branch = self.branch_to_write(&engine, "undo")?;
        // Chosen once: a move that lands meanwhile is not the one that was meant.
        let record = engine.last_move(&branch, by)?;
        if record.is_none()
            && let Some(by) = by
        {
            return Err(nothing(&format!("no move of {branch} was made by {by:?}")));
        }
        let mut settling = Settling::new(self, &engine, &branch, &StructuralOnly, options);
        settling.on_tip("undo", |settling, start, tip| match &record {
            Some(record) if by.is_none() && record.new == tip => {
                Ok(settling.move_back(record, tip))
            }
            Some(record) => settling.undo(start, tip, record),
            None => {
                let record = settling.without_record(start)?;
                settling.undo(start, tip, &record)
            }
        })
    }
}

impl Engine {
    /// The newest move of a branch, or the newest by one author. One that made or deleted the
    /// branch is refused; an author's are not looked for before it, where another branch had
    /// the name. For one who never moved the branch that reads all its moves, and no object: with
    /// a bound, an old move would be told not to be there, and a row for each author would cost
    /// every write.
    fn last_move(&self, branch: &BranchName, by: Option<&str>) -> Result<Option<Record>, Error> {
        let view = self.objects.view()?;
        let mut before = None;
        loop {
            let page = view.records(Some(branch), before, by.map_or(1, |_| PAGE))?;
            let Some((last, _)) = page.last() else { return Ok(None) };
            before = Some(*last);
            for (_, record) in page {
                let made = record.operation == Operation::BRANCH;
                if made || record.operation == Operation::DELETE {
                    let what = if made { "made" } else { "deleted" };
                    return match by {
                        None => Err(nothing(&format!("the last move of {branch} {what} it"))),
                        Some(_) => Ok(None),
                    };
                }
                if by.is_none_or(|by| record.author == by) {
                    return Ok(Some(record));
                }
            }
        }
    }
}

impl Settling<'_> {
    fn move_back(&self, record: &Record, tip: Option<CommitId>) -> (Batch, Undone) {
        let batch = self.move_branch(tip, record.old, Operation::UNDO);
        (batch, Undone { undone: record.clone(), outcome: UndoOutcome::MovedBack(record.old) })
    }

    /// Undoes a move by a commit.
    fn undo(
        &mut self,
        start: Option<CommitId>,
        tip: Option<CommitId>,
        record: &Record,
    ) -> Result<(Batch, Undone), Error> {
        let start = self.start(start, "undo")?;
        let objects = &self.engine.objects;
        let state = |commit: Option<CommitId>| {
            commit.map(|commit| Ok::<_, Error>(objects.commit(commit)?.state)).transpose()
        };
        let joined = self.without(start, state(record.new)?, state(record.old)?)?;
        let verb = record.operation.as_str();
        let commit = record.new.map(|id| format!(" {}", id.short())).unwrap_or_default();
        let message = format!("undo {verb}{commit} by {}", record.author);
        let (batch, outcome) = self.take_back(start, tip, joined, &message, Operation::UNDO)?;
        let outcome = match outcome {
            RevertOutcome::Reverted(commit) => UndoOutcome::Reverted(commit),
            RevertOutcome::Conflicts(conflicts) => UndoOutcome::Conflicts(conflicts),
            RevertOutcome::Unchanged => {
                return Err(nothing(&format!(
                    "nothing is left of the {verb}{commit} by {}",
                    record.author
                )));
            }
        };
        Ok((batch, Undone { undone: record.clone(), outcome }))
    }

    /// The move that a tip stands for which came without one.
    fn without_record(&self, start: Option<CommitId>) -> Result<Record, Error> {
        let tip = self.start(start, "undo")?;
        let commit = self.engine.objects.commit(tip)?;
        Ok(Record {
            branch: Some(self.branch.clone()),
            old: commit.parents.first().copied(),
            new: Some(tip),
            operation: Operation::COMMIT,
            author: commit.author.clone(),
            time: commit.time,
            derived: None,
        })
    }
}

fn nothing(why: &str) -> Error {
    Error::invalid(format!("nothing to undo: {why}")).hint(Hint::ListMoves)
}
