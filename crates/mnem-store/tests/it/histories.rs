//! Random histories through the whole store, compared with the model after every step.
//!
//! Long: each verb stands beside what the model makes of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use mnem_store::backend::cache::Objects;
use mnem_store::backend::{Backend, MemoryBackend};
use mnem_store::ops::{Changes, MergeOptions, MergeOutcome, Meta, Resolution, Strategy as Side};
use mnem_store::{
    BranchName, CommitId, Content, Environment, Error, ErrorKind, Head, InitOptions, MemoryNode,
    NodeId, Store,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use self::forgetful::Forgetful;
use crate::model::{Agreed, Joined, Memory, Model, Value};
use crate::support::{config, environment, id};

mod carried;
pub mod forgetful;
mod moves;
mod taken_back;

pub const NODES: u8 = 22;
const BRANCHES: [&str; 4] = ["main", "left", "right", "a/b"];

/// One step; numbers are places in lists that may have grown or not, so that every part of a
/// failing history can be left out.
#[derive(Clone, Debug)]
enum Step {
    Write { on: Option<u8>, changes: Vec<(u8, Option<Value>)>, empty: bool, time: Option<i64> },
    Update { on: Option<u8>, node: u8 },
    Stage(u8, Value),
    Remove(u8),
    Unstage(u8),
    Commit { empty: bool },
    Branch { name: u8, start: Option<u8> },
    Delete(u8),
    Checkout { branch: u8, discard: bool },
    Detach { commit: u8, discard: bool },
    CheckoutNew { name: u8, start: Option<u8>, discard: bool },
    Merge { on: Option<u8>, theirs: u8, answers: Vec<Answer>, strategy: Option<bool>, stray: bool },
    Revert { on: Option<u8>, commit: u8, answers: Vec<Answer>, strategy: Option<bool> },
    Restore { on: Option<u8>, node: u8, commit: u8 },
    Undo { on: Option<u8>, by: Option<bool>, answers: Vec<Answer>, strategy: Option<bool> },
    Reopen,
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    None,
    Ours,
    Theirs,
    Base,
    Delete,
    Set(Value),
}

fn value() -> impl Strategy<Value = Value> {
    (0..3_u8, 0..2_u8)
}

/// Few nodes most of the time, so that branches meet in them.
fn contested() -> impl Strategy<Value = u8> {
    prop_oneof![4 => 0..5_u8, 1 => 0..NODES]
}

fn step() -> impl Strategy<Value = Step> {
    let on = || option::weighted(0.75, 0..4_u8);
    let changes = prop_oneof![
        6 => btree_map(contested(), option::weighted(0.75, value()), 1..4),
        1 => btree_map(0..NODES, option::weighted(0.8, value()), 8..NODES as usize),
    ];
    let time = option::weighted(0.3, 0..3_i64);
    let write =
        (on(), changes, prop::bool::weighted(0.1), time).prop_map(|(on, changes, empty, time)| {
            Step::Write { on, changes: changes.into_iter().collect(), empty, time }
        });
    let answer = prop_oneof![
        Just(Answer::None),
        Just(Answer::Ours),
        Just(Answer::Theirs),
        Just(Answer::Base),
        Just(Answer::Delete),
        value().prop_map(Answer::Set),
    ];
    let answers = || vec(answer.clone(), 1..5);
    let strategy = || option::weighted(0.3, any::<bool>());
    let revert = (on(), any::<u8>(), answers(), strategy())
        .prop_map(|(on, commit, answers, strategy)| Step::Revert { on, commit, answers, strategy });
    let undo = (on(), option::weighted(0.4, any::<bool>()), answers(), strategy())
        .prop_map(|(on, by, answers, strategy)| Step::Undo { on, by, answers, strategy });
    let restore = (on(), contested(), any::<u8>()).prop_map(|(on, node, commit)| Step::Restore {
        on,
        node,
        commit,
    });
    let merge = (
        on(),
        any::<u8>(),
        answers(),
        option::weighted(0.3, any::<bool>()),
        prop::bool::weighted(0.05),
    )
        .prop_map(|(on, theirs, answers, strategy, stray)| Step::Merge {
            on,
            theirs,
            answers,
            strategy,
            stray,
        });
    prop_oneof![
        14 => write,
        2 => (on(), contested()).prop_map(|(on, node)| Step::Update { on, node }),
        2 => (contested(), value()).prop_map(|(node, value)| Step::Stage(node, value)),
        2 => contested().prop_map(Step::Remove),
        1 => contested().prop_map(Step::Unstage),
        3 => prop::bool::weighted(0.1).prop_map(|empty| Step::Commit { empty }),
        2 => (0..4_u8, option::of(any::<u8>()))
            .prop_map(|(name, start)| Step::Branch { name, start }),
        1 => (0..4_u8).prop_map(Step::Delete),
        2 => (0..4_u8, any::<bool>())
            .prop_map(|(branch, discard)| Step::Checkout { branch, discard }),
        1 => (any::<u8>(), any::<bool>())
            .prop_map(|(commit, discard)| Step::Detach { commit, discard }),
        1 => (0..4_u8, option::of(any::<u8>()), any::<bool>())
            .prop_map(|(name, start, discard)| Step::CheckoutNew { name, start, discard }),
        14 => merge,
        4 => revert,
        3 => restore,
        5 => undo,
        1 => Just(Step::Reopen),
    ]
}

pub fn name(node: u8) -> String {
    // Ids with a common beginning, one of them the beginning of others.
    if node == 0 { "n".into() } else { format!("n{node}") }
}

pub fn node(name: &str, (content, source): Value) -> MemoryNode {
    let mut node = MemoryNode::note(id(name), Content::text(content.to_string()));
    node.provenance.source = Some(source.to_string());
    node
}

pub fn value_of(node: &MemoryNode) -> Value {
    let source = node.provenance.source.as_deref().unwrap();
    (node.content.as_text().unwrap().parse().unwrap(), source.parse().unwrap())
}

pub fn memory_of(memory: BTreeMap<NodeId, Arc<MemoryNode>>) -> Memory {
    memory.into_iter().map(|(id, node)| (id.to_string(), value_of(&node))).collect()
}

fn branch(number: u8) -> BranchName {
    BranchName::new(BRANCHES[usize::from(number)]).unwrap()
}

/// A store, and what it should be.
pub struct Pair {
    pub store: Store,
    pub objects: Option<Objects>,
    place: Option<PathBuf>,
    environment: Environment,
    pub model: Model,
    pub steps: usize,
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidRef);
}

impl Pair {
    fn in_memory(options: &InitOptions) -> Self {
        let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
        let environment = environment();
        let store = Store::over_backend(Arc::clone(&backend), options, environment.clone());
        Self::new(store, Some(Objects::new(backend, 0)), None, environment)
    }

    /// On a backend that has no records of the first commits, or of any.
    fn forgetful(options: &InitOptions, forgotten: u64) -> Self {
        let backend: Arc<dyn Backend> = Arc::new(Forgetful::new(forgotten));
        let environment = Environment { cache_bytes: 0, ..environment() };
        let store = Store::over_backend(Arc::clone(&backend), options, environment.clone());
        Self::new(store, Some(Objects::new(backend, 0)), None, environment)
    }

    fn on_disk(directory: PathBuf, options: &InitOptions) -> Self {
        let environment = environment();
        let store = Store::init(&directory, options, environment.clone()).unwrap();
        Self::new(store, None, Some(directory), environment)
    }

    fn new(
        store: Store,
        objects: Option<Objects>,
        place: Option<PathBuf>,
        environment: Environment,
    ) -> Self {
        let model = Model {
            commits: BTreeMap::new(),
            branches: BTreeMap::new(),
            head: Head::Attached(branch(0)),
            staged: BTreeMap::new(),
            moves: BTreeMap::new(),
        };
        Self { store, objects, place, environment, model, steps: 0 }
    }

    fn commit_at(&self, number: u8) -> Option<CommitId> {
        let commits: Vec<_> = self.model.commits.keys().collect();
        (!commits.is_empty()).then(|| *commits[usize::from(number) % commits.len()])
    }

    fn revision(&self, number: Option<u8>) -> Option<String> {
        number.and_then(|number| self.commit_at(number)).map(|commit| commit.to_string())
    }

    /// The handle of a step; making it may make the branch.
    fn handle(&mut self, on: Option<u8>) -> Option<Store> {
        let branch = branch(on?);
        if !self.model.branches.contains_key(branch.as_str())
            && let Some(start) = self.start(on)
        {
            self.model.point(branch.as_str(), Some(start), "branch", "tester");
        }
        Some(self.store.on(&branch, "tester").unwrap())
    }

    fn meta(&self, empty: bool, time: Option<i64>) -> Meta {
        let message = if time.is_some() { String::new() } else { self.steps.to_string() };
        Meta { allow_empty: empty, time, ..Meta::new(message, self.author()) }
    }

    /// Who writes in this step; everything else is done by the tester.
    fn author(&self) -> &'static str {
        if self.steps.is_multiple_of(3) { "other" } else { "tester" }
    }

    fn step(&mut self, step: &Step) {
        self.steps += 1;
        match step {
            Step::Write { on, changes, empty, time } => self.write(*on, changes, *empty, *time),
            Step::Update { on, node } => self.update(*on, *node),
            Step::Stage(node_number, value) => {
                let name = name(*node_number);
                self.store.stage(node(&name, *value)).unwrap();
                self.model.staged.insert(name, Some(*value));
            }
            Step::Remove(node) => self.remove(&name(*node)),
            Step::Unstage(node) => {
                let was = self.model.staged.remove(&name(*node)).is_some();
                assert_eq!(self.store.unstage(&id(&name(*node))).unwrap(), was);
            }
            Step::Commit { empty } => self.commit(*empty),
            Step::Branch { name, start } => {
                let name = branch(*name);
                let revision = self.revision(*start);
                let start = start.and_then(|start| self.commit_at(start)).or(self.model.tip());
                let made = self.store.create_branch(&name, revision.as_deref(), "tester");
                match start {
                    Some(start) if !self.model.branches.contains_key(name.as_str()) => {
                        assert_eq!(made.unwrap(), start);
                        self.model.point(name.as_str(), Some(start), "branch", "tester");
                    }
                    _ => refused(made),
                }
            }
            Step::Delete(name) => {
                let name = branch(*name);
                let deleted = self.store.delete_branch(&name, "tester");
                let there = self.model.branches.contains_key(name.as_str());
                if there
                    && (self.model.head == Head::Attached(name.clone())
                        || self.model.branches.len() == 1)
                {
                    refused(deleted);
                } else {
                    assert_eq!(deleted.unwrap(), there);
                    if there {
                        self.model.point(name.as_str(), None, "delete", "tester");
                    }
                }
            }
            Step::Checkout { branch: name, discard } => {
                let name = branch(*name);
                let there = self.model.branches.contains_key(name.as_str());
                let head = Head::Attached(name.clone());
                let result = self.store.checkout(name.as_str(), *discard);
                if there || self.model.head == head {
                    self.moved(result, head, *discard);
                } else {
                    refused(result);
                }
            }
            Step::Detach { commit, discard } => {
                if let Some(commit) = self.commit_at(*commit) {
                    let result = self.store.checkout(&commit.to_string(), *discard);
                    self.moved(result, Head::Detached(commit), *discard);
                }
            }
            Step::CheckoutNew { name, start, discard } => {
                self.checkout_new(*name, *start, *discard);
            }
            Step::Merge { on, theirs, answers, strategy, stray } => {
                self.merge(*on, *theirs, answers, *strategy, *stray);
            }
            Step::Revert { on, commit, answers, strategy } => {
                self.revert(*on, *commit, answers, *strategy);
            }
            Step::Restore { on, node, commit } => self.restore(*on, &name(*node), *commit),
            Step::Undo { on, by, answers, strategy } => self.undo(*on, *by, answers, *strategy),
            Step::Reopen => {
                if let Some(place) = &self.place {
                    self.store.close();
                    self.store = Store::open(place, self.environment.clone()).unwrap();
                }
            }
        }
    }

    fn moved(&mut self, result: Result<Head, Error>, head: Head, discard: bool) {
        if self.model.head != head && !self.model.staged.is_empty() && !discard {
            return refused(result);
        }
        assert_eq!(result.unwrap(), head);
        if self.model.head != head {
            self.model.staged.clear();
        }
        self.model.head = head;
    }

    fn checkout_new(&mut self, name: u8, start: Option<u8>, discard: bool) {
        let name = branch(name);
        let revision = self.revision(start);
        let start = start.and_then(|start| self.commit_at(start)).or(self.model.tip());
        let result = self.store.checkout_new(&name, revision.as_deref(), discard, "tester");
        if self.model.branches.contains_key(name.as_str()) {
            return refused(result);
        }
        let head = Head::Attached(name.clone());
        if start.is_some() && !self.model.staged.is_empty() && !discard {
            return refused(result);
        }
        let is_ok = result.is_ok();
        if start.is_some() {
            assert_eq!(result.unwrap(), head);
            self.model.staged.clear();
            self.model.head = head;
        } else {
            self.moved(result, head, discard);
        }
        if let (true, Some(start)) = (is_ok, start) {
            self.model.point(name.as_str(), Some(start), "branch", "tester");
        }
    }

    fn remove(&mut self, name: &str) {
        let committed = self.model.memory(self.model.tip()).contains_key(name);
        let added = matches!(self.model.staged.get(name), Some(Some(_)));
        let result = self.store.remove(&id(name));
        if !committed && !added {
            return refused(result);
        }
        result.unwrap();
        self.model.staged.remove(name);
        if committed {
            self.model.staged.insert(name.into(), None);
        }
    }

    fn commit(&mut self, empty: bool) {
        let result = self.store.commit(&self.meta(empty, None));
        let Head::Attached(branch) = self.model.head.clone() else { return refused(result) };
        let tip = self.model.tip();
        let memory = self.model.working();
        if !empty && memory == self.model.memory(tip) {
            let Some(tip) = tip else { return refused(result) };
            let committed = result.unwrap();
            assert_eq!((committed.commit, committed.made), (tip, false));
        } else {
            let committed = result.unwrap();
            assert!(committed.made);
            self.model.add(committed.commit, tip.into_iter().collect(), memory);
            self.model.point(branch.as_str(), Some(committed.commit), "commit", self.author());
        }
        self.model.staged.clear();
    }

    fn write(
        &mut self,
        on: Option<u8>,
        changes: &[(u8, Option<Value>)],
        empty: bool,
        time: Option<i64>,
    ) {
        let handle = self.handle(on);
        let wanted: Changes = changes
            .iter()
            .map(|(number, value)| {
                let name = name(*number);
                (id(&name), value.map(|value| node(&name, value)))
            })
            .collect();
        let result = handle.as_ref().unwrap_or(&self.store).write(wanted, &self.meta(empty, time));
        let changes = changes.iter().map(|(number, value)| (name(*number), *value)).collect();
        self.wrote(on, handle.as_ref(), result, changes, empty);
    }

    fn update(&mut self, on: Option<u8>, number: u8) {
        let handle = self.handle(on);
        let name = name(number);
        let mut seen = None;
        let result =
            handle.as_ref().unwrap_or(&self.store).update(&self.meta(false, None), |snapshot| {
                let now = snapshot.get(&id(&name))?.map_or((0, 0), |node| value_of(&node));
                seen = Some(now);
                Ok(Changes::from([(id(&name), Some(node(&name, ((now.0 + 1) % 3, now.1))))]))
            });
        if let Some(seen) = seen {
            let tip = self.start(on);
            let expected = self.model.memory(tip).get(&name).copied().unwrap_or((0, 0));
            assert_eq!(seen, expected);
        }
        let now = seen.unwrap_or((0, 0));
        let change = BTreeMap::from([(name, Some(((now.0 + 1) % 3, now.1)))]);
        self.wrote(on, handle.as_ref(), result, change, false);
    }

    fn start(&self, on: Option<u8>) -> Option<CommitId> {
        match on {
            Some(on) => {
                let own = self.model.branches.get(branch(on).as_str());
                // Where somebody has deleted the default branch, HEAD takes its place.
                own.or(self.model.branches.get("main")).copied().or_else(|| self.model.tip())
            }
            None => self.model.tip(),
        }
    }

    /// What a write to a branch should have come to.
    fn wrote(
        &mut self,
        on: Option<u8>,
        handle: Option<&Store>,
        result: Result<CommitId, Error>,
        changes: BTreeMap<String, Option<Value>>,
        empty: bool,
    ) {
        let branch = match (on, self.model.head.clone()) {
            (Some(on), _) => branch(on),
            (None, Head::Attached(branch)) => branch,
            (None, Head::Detached(_)) => return refused(result),
        };
        let start = self.start(on);
        let mut memory = self.model.memory(start);
        for (name, value) in changes {
            match value {
                Some(value) => memory.insert(name, value),
                None => memory.remove(&name),
            };
        }
        if !empty && memory == self.model.memory(start) {
            match start {
                Some(start) => assert_eq!(result.unwrap(), start),
                None => refused(result),
            }
            return;
        }
        let commit = result.unwrap();
        let mut parents: Vec<_> = start.into_iter().collect();
        if start.is_none() && on.is_some() && branch.as_str() != "main" {
            // The first write of an agent makes the root that all agents share.
            let root = self.store.commit_object(commit).unwrap().parents[0];
            self.model.add(root, Vec::new(), Memory::new());
            self.model.point("main", Some(root), "write", self.author());
            parents = vec![root];
        }
        self.model.add(commit, parents, memory);
        self.model.point(branch.as_str(), Some(commit), "write", self.author());
        if let Some(handle) = handle {
            assert_eq!(handle.head_commit().unwrap(), Some(commit));
        }
    }

    fn merge(
        &mut self,
        on: Option<u8>,
        theirs: u8,
        answers: &[Answer],
        strategy: Option<bool>,
        stray: bool,
    ) {
        // Mostly a branch: most commits are behind every branch soon.
        let tip = self.model.branches.get(branch(theirs % 4).as_str()).copied();
        let Some(theirs) = tip.filter(|_| theirs < 200).or(self.commit_at(theirs)) else { return };
        let handle = self.handle(on);
        let (branch, tip) = match (on, self.model.head.clone()) {
            (Some(on), _) => (branch(on), self.model.branches.get(branch(on).as_str()).copied()),
            (None, Head::Attached(branch)) => (branch, self.model.tip()),
            (None, Head::Detached(_)) => {
                return refused(self.store.merge(&theirs.to_string(), &MergeOptions::default()));
            }
        };
        let plan = Plan::new(&self.model, tip, theirs, answers, strategy);
        let mut options = MergeOptions {
            strategy: strategy.map(|ours| if ours { Side::Ours } else { Side::Theirs }),
            resolutions: plan.resolutions.clone(),
            author: "tester".into(),
            ..MergeOptions::default()
        };
        if stray {
            options.resolutions.insert(id("no-conflict"), Resolution::Ours);
        }
        let result = handle.as_ref().unwrap_or(&self.store).merge(&theirs.to_string(), &options);
        let is_staged = on.is_none() && !self.model.staged.is_empty();
        if is_staged || plan.is_refused || stray {
            return refused(result);
        }
        match (plan.outcome, result.unwrap()) {
            (Planned::UpToDate, MergeOutcome::UpToDate) => {}
            (Planned::Forward, MergeOutcome::FastForwarded(commit)) => {
                assert_eq!(commit, theirs);
                self.model.point(branch.as_str(), Some(theirs), "fast-forward", "tester");
            }
            (Planned::Conflicts(expected), MergeOutcome::Conflicts(found)) => {
                let found: Vec<_> = found.iter().map(ToString::to_string).collect();
                assert_eq!(found, expected);
            }
            (Planned::Merged(memory), MergeOutcome::Merged(commit)) => {
                self.model.add(commit, vec![tip.unwrap(), theirs], memory);
                self.model.point(branch.as_str(), Some(commit), "merge", "tester");
            }
            (_, outcome) => panic!("not what was to be expected: {outcome:?}"),
        }
    }
}

/// What a merge should come to.
struct Plan {
    resolutions: BTreeMap<NodeId, Resolution>,
    is_refused: bool,
    outcome: Planned,
}

enum Planned {
    UpToDate,
    Forward,
    Conflicts(Vec<String>),
    Merged(Memory),
}

impl Plan {
    fn new(
        model: &Model,
        tip: Option<CommitId>,
        theirs: CommitId,
        answers: &[Answer],
        strategy: Option<bool>,
    ) -> Self {
        let without =
            |outcome, is_refused| Self { resolutions: BTreeMap::new(), is_refused, outcome };
        let Some(ours) = tip else { return without(Planned::Forward, false) };
        if model.ancestors(ours).contains(&theirs) {
            return without(Planned::UpToDate, false);
        }
        if model.ancestors(theirs).contains(&ours) {
            return without(Planned::Forward, false);
        }
        if model.merge_bases(ours, theirs).is_empty() {
            return without(Planned::UpToDate, true);
        }
        let all = model.join_all(ours, theirs);
        let [ours, theirs] = [ours, theirs].map(|id| &model.commits[&id].memory);
        Self::settle(all, ours, theirs, answers, strategy)
    }

    /// What the answers make of two memories.
    fn settle(
        all: BTreeMap<String, (Agreed, Joined)>,
        ours: &Memory,
        theirs: &Memory,
        answers: &[Answer],
        strategy: Option<bool>,
    ) -> Self {
        let mut plan =
            Self { resolutions: BTreeMap::new(), is_refused: false, outcome: Planned::UpToDate };
        let (mut memory, mut conflicts) = (Memory::new(), Vec::new());
        let mut answers = answers.iter().cycle();
        for (number, (base, joined)) in all {
            let [o, t] = [ours, theirs].map(|memory| memory.get(&number).copied());
            let b = match base {
                Agreed::On(base) => base,
                Agreed::Disputed => None,
            };
            let taken = match joined {
                Joined::Take(value) => value,
                Joined::Conflict(kind) => {
                    let answer = *answers.next().unwrap();
                    if let Some(resolution) = resolution(answer, &number) {
                        plan.resolutions.insert(id(&number), resolution);
                    }
                    match (answer, strategy) {
                        (Answer::Ours, _) | (Answer::None, Some(true)) => o,
                        (Answer::Theirs, _) | (Answer::None, Some(false)) => t,
                        (Answer::Base, _) => {
                            plan.is_refused |= b.is_none();
                            b
                        }
                        (Answer::Delete, _) => None,
                        (Answer::Set(value), _) => Some(value),
                        (Answer::None, None) => {
                            conflicts.push(format!("{number} ({})", kind.as_str()));
                            None
                        }
                    }
                }
            };
            if let Some(value) = taken {
                memory.insert(number, value);
            }
        }
        plan.outcome = if conflicts.is_empty() {
            Planned::Merged(memory)
        } else {
            Planned::Conflicts(conflicts)
        };
        plan
    }
}

fn resolution(answer: Answer, name: &str) -> Option<Resolution> {
    Some(match answer {
        Answer::None => return None,
        Answer::Ours => Resolution::Ours,
        Answer::Theirs => Resolution::Theirs,
        Answer::Base => Resolution::Base,
        Answer::Delete => Resolution::Delete,
        Answer::Set(value) => Resolution::Set(Box::new(node(name, value))),
    })
}

impl Pair {
    fn run(mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
            self.check();
            self.check_moves();
        }
        assert_eq!(self.store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
    }
}

/// Steps, most often after some that give every branch a base and something of its own; the
/// base is small, or large enough for a tree.
fn history(longest: usize) -> impl Strategy<Value = Vec<Step>> {
    let write = |on, value: u8, nodes: std::ops::Range<u8>| Step::Write {
        on,
        changes: nodes.map(|node| (node, Some((value, 0)))).collect(),
        empty: false,
        time: None,
    };
    let size = prop_oneof![1 => Just(0), 2 => Just(4), 2 => Just(NODES)];
    (size, vec(step(), 1..longest)).prop_map(move |(size, steps)| {
        let base = [write(None, 0, 0..size), write(Some(1), 1, 2..5), write(Some(2), 2, 1..3)];
        base.into_iter().take(if size == 0 { 0 } else { 3 }).chain(steps).collect()
    })
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn salted_histories_in_memory(steps in history(40)) {
        Pair::in_memory(&InitOptions::default()).run(&steps);
    }

    #[test]
    fn histories_without_an_index(steps in history(24), forgotten in prop_oneof![
        Just(u64::MAX), 0..200_u64
    ]) {
        let options = InitOptions { reproducible: true, ..InitOptions::default() };
        Pair::forgetful(&options, forgotten).run(&steps);
    }

    #[test]
    fn reproducible_histories_in_memory(steps in history(40)) {
        let options = InitOptions { reproducible: true, ..InitOptions::default() };
        Pair::in_memory(&options).run(&steps);
    }
}

proptest! {
    #![proptest_config(config(8))]

    #[test]
    fn moves_with_and_without_their_index(steps in history(24), index_commits in 1..6_u64) {
        moves::run(&steps, index_commits);
    }

    #[test]
    fn histories_on_disk(steps in history(30), reproducible in any::<bool>()) {
        let directory = tempfile::tempdir().unwrap();
        let options = InitOptions { reproducible, ..InitOptions::default() };
        Pair::on_disk(directory.path().to_owned(), &options).run(&steps);
    }
}
