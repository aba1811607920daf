//! revert, restore and undo beside what the model makes of them.

use mnem_store::ops::{MergeOptions, RevertOutcome, Strategy as Side, UndoOutcome};
use mnem_store::{BranchName, CommitId, Error, Head, Store};

use super::{Answer, Pair, Plan, Planned, branch, refused};
use crate::model::{Agreed, Memory, join_memories};
use crate::support::id;

/// Where a step stands: the handle, its branch, and the commit it builds on; none on a detached
/// HEAD.
struct Place {
    handle: Option<Store>,
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
        let handle = place.handle.as_ref().unwrap_or(&self.store);
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
        let plan = Plan::settle(all, &ours, before, answers, strategy);
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
        let handle = place.handle.as_ref().unwrap_or(&self.store);
        let result = handle.restore(&id(name), &commit.to_string(), &self.meta(false, None));
        let Some(value) = self.model.memory(Some(commit)).get(name).copied() else {
            assert_eq!(result.unwrap_err().kind(), mnem_store::ErrorKind::NotFound);
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
        // The branch's own moves, newest first; what made it is none.
        let moves = place.at.as_ref().and_then(|(branch, _)| self.model.moves.get(branch.as_str()));
        let meant = moves
            .into_iter()
            .flat_map(|moves| moves.iter().rev())
            .take_while(|moved| !matches!(moved.verb, "branch" | "delete"))
            .find(|moved| by.is_none_or(|by| moved.author == by))
            .cloned();
        let sides = meant.as_ref().map(|moved| [moved.new, moved.old]);
        let [after, before] = sides.unwrap_or_default().map(|commit| self.model.memory(commit));
        let (plan, mut options) = self.plan(&place, &after, &before, answers, strategy);
        if by.is_none() {
            options.resolutions.clear();
        }
        let handle = place.handle.as_ref().unwrap_or(&self.store);
        let result = handle.undo(by, &options);
        let (Some(meant), Some((branch, start)), false) = (meant, &place.at, place.is_staged)
        else {
            return refused(result);
        };
        if let Ok(done) = &result {
            assert_eq!((done.undone.old, done.undone.new), (meant.old, meant.new));
            assert_eq!(done.undone.operation.as_str(), meant.verb);
        }
        if by.is_none() {
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

    /// The moves of every branch are as the model has them.
    pub(super) fn check_moves(&self) {
        for (name, moves) in &self.model.moves {
            let name = BranchName::new(name).unwrap();
            let found = self.store.reflog(Some(&name), None).unwrap();
            let found: Vec<_> = found
                .iter()
                .rev()
                .map(|r| (r.old, r.new, r.operation.as_str(), r.author.as_str()))
                .collect();
            let moves: Vec<_> =
                moves.iter().map(|m| (m.old, m.new, m.verb, m.author.as_str())).collect();
            assert_eq!(found, moves, "{name}");
        }
    }
}
