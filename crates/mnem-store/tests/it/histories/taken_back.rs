//! revert, restore and undo beside what the model makes of them.

use std::sync::Arc;

use mnem_store::ops::{MergeOptions, RevertOutcome, Strategy as Side, UndoOutcome};
use mnem_store::{BranchName, CommitId, Error, ErrorKind, Head, Store};

use super::steps::Answer;
use super::{Pair, Plan, Planned, branch, refused};
use crate::model::{Agreed, Memory, Move, join_memories};
use crate::support::id;

/// Where a step stands: the handle, its branch, and the commit it builds on; none on a detached
/// HEAD.
struct Place {
    handle: Option<Arc<Store>>,
    at: Option<(BranchName, Option<CommitId>)>,
    is_staged: bool,
}

impl Pair {
    fn place(&mut self, on: Option<u8>) -> Place {
        let handle = self.handle(on);
        let at = match (on, self.model.head.clone()) {
            (Some(on), _) => Some((branch(on), self.start(Some(on)))),
            (None, Head::Attached(branch)) => Some((branch, self.model.tip())),
            (None, Head::Detached(_)) => None,
        };
        Place { handle, at, is_staged: on.is_none() && !self.model.staged.is_empty() }
    }

    pub(super) fn revert(
        &mut self,
        on: Option<u8>,
        commit: u8,
        answers: &[Answer],
        strategy: Option<bool>,
    ) {
        let Some(commit) = self.commit_at(commit) else { return };
        let place = self.place(on);
        let after = self.model.memory(Some(commit));
        let before = self.model.memory(self.model.commits[&commit].parents.first().copied());
        let (plan, options) = self.plan(&place, &after, &before, answers, strategy);
        let handle = place.handle.as_deref().unwrap_or(&self.store);
        let result = handle.revert(&commit.to_string(), &options);
        self.took_back(&place, plan, "revert", result);
    }

    /// What taking back the way from `before` to `after` should come to.
    fn plan(
        &self,
        place: &Place,
        after: &Memory,
        before: &Memory,
        answers: &[Answer],
        strategy: Option<bool>,
    ) -> (Plan, MergeOptions) {
        let start = place.at.as_ref().and_then(|(_, start)| *start);
        let ours = self.model.memory(start);
        let all = join_memories(&ours, before, |id| Agreed::On(after.get(id).copied()));
        let plan = Plan::settle(all, &ours, before, answers, strategy, None);
        let options = MergeOptions {
            strategy: strategy.map(|ours| if ours { Side::Ours } else { Side::Theirs }),
            resolutions: plan.resolutions.clone(),
            message: Some(self.steps.to_string()),
            author: "tester".into(),
            ..MergeOptions::default()
        };
        (plan, options)
    }

    fn took_back(
        &mut self,
        place: &Place,
        plan: Plan,
        verb: &'static str,
        result: Result<RevertOutcome, Error>,
    ) {
        let Some((branch, Some(start))) = &place.at else { return refused(result) };
        if place.is_staged || plan.is_refused {
            return refused(result);
        }
        match (plan.outcome, result.unwrap()) {
            (Planned::Conflicts(expected), RevertOutcome::Conflicts(found)) => {
                let found: Vec<_> = found.iter().map(ToString::to_string).collect();
                assert_eq!(found, expected);
            }
            (Planned::Merged(memory), RevertOutcome::Unchanged) => {
                assert_eq!(memory, self.model.memory(Some(*start)));
            }
            (Planned::Merged(memory), RevertOutcome::Reverted(commit)) => {
                assert_ne!(memory, self.model.memory(Some(*start)));
                self.model.add(commit, vec![*start], memory);
                self.model.point(branch.as_str(), Some(commit), verb, "tester");
            }
            (_, outcome) => panic!("not what was to be expected: {outcome:?}"),
        }
    }

    pub(super) fn restore(&mut self, on: Option<u8>, name: &str, commit: u8) {
        let Some(commit) = self.commit_at(commit) else { return };
        let place = self.place(on);
        let handle = place.handle.as_deref().unwrap_or(&self.store);
        let result = handle.restore(&id(name), &commit.to_string(), &self.meta(false, None));
        let Some(value) = self.model.memory(Some(commit)).get(name).copied() else {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::NotFound);
            return;
        };
        let Some((branch, Some(start))) = place.at else { return refused(result) };
        let done = result.unwrap();
        let mut memory = self.model.memory(Some(start));
        if memory.insert(name.into(), value) == Some(value) {
            assert_eq!((done.made, done.commit), (false, start));
        } else {
            assert!(done.made);
            self.model.add(done.commit, vec![start], memory);
            self.model.point(branch.as_str(), Some(done.commit), "restore", self.author());
        }
    }

    pub(super) fn undo(
        &mut self,
        on: Option<u8>,
        by: Option<bool>,
        answers: &[Answer],
        strategy: Option<bool>,
    ) {
        let place = self.place(on);
        let by = by.map(|tester| if tester { "tester" } else { "other" });
        let (meant, is_recorded) = self.meant(&place, by);
        let sides = meant.as_ref().map(|moved| [moved.new, moved.old]);
        let [after, before] = sides.unwrap_or_default().map(|commit| self.model.memory(commit));
        let (plan, mut options) = self.plan(&place, &after, &before, answers, strategy);
        if is_recorded && by.is_none() {
            options.resolutions.clear();
        }
        let handle = place.handle.as_deref().unwrap_or(&self.store);
        let result = handle.undo(by, &options);
        let (Some(meant), Some((branch, start)), false) = (meant, &place.at, place.is_staged)
        else {
            return refused(result);
        };
        if let Ok(done) = &result {
            assert_eq!((done.undone.old, done.undone.new), (meant.old, meant.new));
            assert_eq!(done.undone.operation.as_str(), meant.verb);
        }
        if is_recorded && by.is_none() {
            assert_eq!(result.unwrap().outcome, UndoOutcome::MovedBack(meant.old));
            self.model.point(branch.as_str(), meant.old, "undo", "tester");
            return;
        }
        let is_unchanged = matches!(&plan.outcome, Planned::Merged(memory) if *memory == self.model.memory(*start));
        if is_unchanged {
            return refused(result);
        }
        let result = result.map(|done| match done.outcome {
            UndoOutcome::Reverted(commit) => RevertOutcome::Reverted(commit),
            UndoOutcome::Conflicts(conflicts) => RevertOutcome::Conflicts(conflicts),
            UndoOutcome::MovedBack(_) => panic!("an undo by author moves nothing back"),
        });
        self.took_back(&place, plan, "undo", result);
    }

    /// The move that an undo takes back, and whether there is a record of it.
    fn meant(&self, place: &Place, by: Option<&str>) -> (Option<Move>, bool) {
        let Some((branch, start)) = &place.at else { return (None, true) };
        // The branch's own moves, newest first; what made it is none.
        for moved in self.model.moves.get(branch.as_str()).into_iter().flatten().rev() {
            if matches!(moved.verb, "branch" | "delete") {
                return (None, true);
            }
            if by.is_none_or(|by| moved.author == by) {
                return (Some(moved.clone()), true);
            }
        }
        // Of history that came without records, the last commit is the last move.
        let moved = start.filter(|_| by.is_none()).map(|start| Move {
            old: self.model.commits[&start].parents.first().copied(),
            new: Some(start),
            verb: "commit",
            author: String::new(),
        });
        (moved, false)
    }

    /// The moves of every branch are as the model has them, and so is where it was at a time.
    pub fn check_moves(&self) {
        for (name, moves) in &self.model.moves {
            let name = BranchName::new(name).unwrap();
            let records = self.store.reflog(Some(&name), None).unwrap();
            let found: Vec<_> = records
                .iter()
                .rev()
                .map(|r| (r.old, r.new, r.operation.as_str(), r.author.as_str()))
                .collect();
            let expected: Vec<_> =
                moves.iter().map(|m| (m.old, m.new, m.verb, m.author.as_str())).collect();
            assert_eq!(found, expected, "{name}");
            let times: Vec<_> = records.iter().rev().map(|record| record.time).collect();
            for place in [0, times.len() / 2, times.len() - 1] {
                for time in [times[place] - 1, times[place]] {
                    self.check_time(&name, moves, &times, time);
                }
            }
        }
    }

    /// Where a branch was: at the newest move up to then, whose time is the largest so far; before
    /// the first, at the first parent that was made by then.
    fn check_time(&self, name: &BranchName, moves: &[Move], times: &[i64], time: i64) {
        let made = |commit: &CommitId| self.store.commit_object(*commit).unwrap().time <= time;
        let latest = times.iter().scan(i64::MIN, |latest, time| {
            *latest = (*latest).max(*time);
            Some(*latest)
        });
        let expected = match moves.iter().zip(latest).filter(|(_, latest)| *latest <= time).last() {
            Some((last, _)) => last.new,
            None => moves[0]
                .old
                .or(moves[0].new)
                .and_then(|start| self.model.first_parents(start).into_iter().find(made)),
        };
        let revision = format!("{name}@{{{time}}}");
        match self.store.resolve(&revision) {
            Ok(found) => assert_eq!(Some(found), expected, "{revision}"),
            Err(error) => {
                assert_eq!((error.kind(), expected), (ErrorKind::NotFound, None), "{revision}");
            }
        }
    }
}
