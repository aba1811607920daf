//! Random histories through the whole store, compared with the model after every step.
//!
//! Long: each verb stands beside what the model makes of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use mnem_store::backend::cache::Objects;
use mnem_store::backend::redb::{RedbBackend, Settings};
use mnem_store::backend::storage::CrashStorage;
use mnem_store::backend::{Backend, MemoryBackend};
use mnem_store::ops::{
    Changes, Conflict, MergeOptions, MergeOutcome, Meta, Resolution, Resolver, Strategy as Side,
    Verdict,
};
use mnem_store::store::local::LocalEdit;
use mnem_store::{
    BranchName, CommitId, Content, Environment, Error, ErrorKind, Head, InitOptions, MemoryNode,
    NodeId, Store,
};
use proptest::prelude::*;

use self::forgetful::Forgetful;
use self::steps::{Answer, Merge, Step, Write, history};
use crate::model::{Agreed, Joined, Memory, Model, Value};
use crate::support::{config, environment, id};
use crate::sweep::swept;

mod beside;
mod carried;
pub mod forgetful;
#[cfg(test)] // not of the fuzz targets
mod moves;
pub mod script;
pub mod steps;
mod taken_back;

pub const NODES: u8 = 22;
const BRANCHES: [&str; 4] = ["main", "left", "right", "a/b"];

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
    BranchName::new(BRANCHES[usize::from(number % 4)]).unwrap()
}

/// A store, and what it should be.
pub struct Pair {
    pub store: Store,
    pub objects: Option<Objects>,
    place: Option<PathBuf>,
    environment: Environment,
    pub model: Model,
    /// Local rows by owner and key.
    pub local: BTreeMap<(String, Vec<u8>), Vec<u8>>,
    /// Bound handles that stay open, whatever becomes of their branch.
    kept: BTreeMap<BranchName, Arc<Store>>,
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

    /// On redb, which writes its index after so many commits.
    fn deferring(options: &InitOptions, index_commits: u64) -> Self {
        let disk = CrashStorage::default();
        let settings = Settings { index_commits, cache_bytes: 1 << 20, ..Settings::default() };
        let open = move || Ok(disk.clone());
        let backend = RedbBackend::create_on("disk", open, [0; 16], settings).unwrap();
        let backend: Arc<dyn Backend> = Arc::new(backend);
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
        let model = Model::new(Head::Attached(branch(0)));
        let (local, kept) = (BTreeMap::new(), BTreeMap::new());
        Self { store, objects, place, environment, model, local, kept, steps: 0 }
    }

    fn commit_at(&self, number: u8) -> Option<CommitId> {
        let commits = &self.model.order;
        (!commits.is_empty()).then(|| commits[usize::from(number) % commits.len()])
    }

    fn revision(&self, number: Option<u8>) -> Option<String> {
        number.and_then(|number| self.commit_at(number)).map(|commit| commit.to_string())
    }

    /// The handle of a step; making it may make the branch.
    fn handle(&mut self, on: Option<u8>) -> Option<Arc<Store>> {
        let on = on?;
        let (branch, is_kept) = (branch(on), on >= 4);
        if let Some(kept) = self.kept.get(&branch).filter(|_| is_kept) {
            return Some(Arc::clone(kept));
        }
        if !self.model.branches.contains_key(branch.as_str())
            && let Some(start) = self.start(Some(on))
        {
            self.model.point(branch.as_str(), Some(start), "branch", "tester");
        }
        let handle = Arc::new(self.store.on(&branch, "tester").unwrap());
        assert_eq!(handle.bound(), Some(&branch));
        if is_kept {
            self.kept.insert(branch, Arc::clone(&handle));
        }
        Some(handle)
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
            Step::Write(write) => self.write(write),
            Step::Update { on, node, skip } => self.update(*on, *node, *skip),
            Step::ImportJson { on, edits, source } => self.import_json(*on, edits, *source),
            Step::Local { owner, key, value } => self.edit_local(*owner, *key, *value),
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
            Step::Merge(merge) => self.merge(merge),
            Step::Revert { on, commit, answers, strategy } => {
                self.revert(*on, *commit, answers, *strategy);
            }
            Step::Restore { on, node, commit } => self.restore(*on, &name(*node), *commit),
            Step::Undo { on, by, answers, strategy } => self.undo(*on, *by, answers, *strategy),
            Step::Reopen { all } => self.reopen(*all),
            Step::Carry => self.carry(),
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
        // A branch that starts where HEAD is detached takes drafts along.
        let along = start.map(Head::Detached).as_ref() == Some(&self.model.head);
        if start.is_some() && !self.model.staged.is_empty() && !discard && !along {
            return refused(result);
        }
        let is_ok = result.is_ok();
        if start.is_some() {
            assert_eq!(result.unwrap(), head);
            if discard || !along {
                self.model.staged.clear();
            }
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

    fn write(&mut self, write: &Write) {
        let Write { on, edits, empty, time, base, local } = write;
        let handle = self.handle(*on);
        let wanted: Changes = edits
            .iter()
            .map(|(number, value)| {
                let name = name(*number);
                (id(&name), value.map(|value| node(&name, value)))
            })
            .collect();
        let base = base.and_then(|base| self.commit_at(base));
        let step = u8::try_from(self.steps % 256).unwrap();
        let row =
            LocalEdit { owner: "beside".into(), key: vec![step % 4], value: Some(vec![step]) };
        let local = if *local { vec![row.clone()] } else { Vec::new() };
        let meta = Meta { base, local: local.clone(), ..self.meta(*empty, *time) };
        let result = handle.as_deref().unwrap_or(&self.store).write(wanted, &meta);
        let changes: BTreeMap<_, _> =
            edits.iter().map(|(number, value)| (name(*number), *value)).collect();
        let is_detached = on.is_none() && matches!(self.model.head, Head::Detached(_));
        if let Some(base) = base.filter(|_| !is_detached) {
            let (then, now) = (self.model.memory(Some(base)), self.model.memory(self.start(*on)));
            if changes.keys().any(|name| then.get(name) != now.get(name)) {
                assert_eq!(result.unwrap_err().kind(), ErrorKind::Conflict);
                return;
            }
        }
        if result.is_ok() {
            let rows = local.into_iter().map(|row| ((row.owner, row.key), row.value.unwrap()));
            self.local.extend(rows);
        }
        self.wrote(*on, handle.as_deref(), result, changes, *empty);
    }

    fn update(&mut self, on: Option<u8>, number: u8, skip: bool) {
        let handle = self.handle(on);
        let name = name(number);
        let mut seen = None;
        let store = handle.as_deref().unwrap_or(&self.store);
        let mut change = |snapshot: &mnem_store::Snapshot| {
            let now = snapshot.get(&id(&name))?.map_or((0, 0), |node| value_of(&node));
            seen = Some(now);
            Ok(Changes::from([(id(&name), Some(node(&name, ((now.0 + 1) % 3, now.1))))]))
        };
        let meta = self.meta(false, None);
        let result = if skip {
            store.update_if(&meta, |snapshot| change(snapshot).map(|_| None)).map(Err)
        } else {
            store.update(&meta, change).map(Ok)
        };
        if let Some(seen) = seen {
            let tip = self.start(on);
            let expected = self.model.memory(tip).get(&name).copied().unwrap_or((0, 0));
            assert_eq!(seen, expected);
        }
        let now = seen.unwrap_or((0, 0));
        let change = BTreeMap::from([(name, Some(((now.0 + 1) % 3, now.1)))]);
        match result {
            Ok(Err(skipped)) => assert_eq!(skipped, self.start(on)),
            Ok(Ok(commit)) => self.wrote(on, handle.as_deref(), Ok(commit), change, false),
            Err(error) => self.wrote(on, handle.as_deref(), Err(error), change, false),
        }
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

    fn merge(&mut self, merge: &Merge) {
        let Merge { on, theirs, answers, strategy, stray, unrelated, resolver } = merge;
        let theirs = match theirs {
            0..4 => self.model.branches.get(branch(*theirs).as_str()).copied(),
            number => self.commit_at(number - 4),
        };
        let Some(theirs) = theirs else { return };
        let handle = self.handle(*on);
        // Into a branch that is not there, from where it would begin.
        let tip = self.start(*on);
        let branch = match (on, self.model.head.clone()) {
            (Some(on), _) => branch(*on),
            (None, Head::Attached(branch)) => branch,
            (None, Head::Detached(_)) => {
                return refused(self.store.merge(&theirs.to_string(), &MergeOptions::default()));
            }
        };
        let resolver = resolver.map(Decides);
        let plan =
            Plan::new(&self.model, [tip, Some(theirs)], answers, *strategy, *unrelated, resolver);
        let mut options = MergeOptions {
            strategy: strategy.map(|ours| if ours { Side::Ours } else { Side::Theirs }),
            resolutions: plan.resolutions.clone(),
            author: "tester".into(),
            allow_unrelated: *unrelated,
            ..MergeOptions::default()
        };
        if *stray {
            options.resolutions.insert(id("no-conflict"), Resolution::Ours);
        }
        let store = handle.as_deref().unwrap_or(&self.store);
        let theirs_name = theirs.to_string();
        let result = if let Some(resolver) = resolver {
            store.merge_with(&theirs_name, &resolver, &options)
        } else {
            let planned = store.plan_merge(&theirs_name, &options);
            let merged = store.merge(&theirs_name, &options);
            assert_eq!(planned.is_ok(), merged.is_ok());
            match (planned, &merged) {
                // The commit that a plan would make has a time of its own.
                (Ok(MergeOutcome::Merged(_)), Ok(MergeOutcome::Merged(_))) | (Err(_), _) => {}
                (Ok(planned), merged) => assert_eq!(planned, *merged.as_ref().unwrap()),
            }
            merged
        };
        let is_staged = on.is_none() && !self.model.staged.is_empty();
        if is_staged || plan.is_refused || *stray {
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

/// A resolver that goes by the id of a conflict and a number.
#[derive(Clone, Copy, Debug)]
struct Decides(u8);

impl Decides {
    fn on(self, name: &str) -> Verdict {
        let number: usize = name.bytes().map(usize::from).sum();
        match (number + usize::from(self.0)) % 5 {
            0 => Verdict::Resolved(Resolution::Ours),
            1 => Verdict::Resolved(Resolution::Theirs),
            2 => Verdict::Resolved(Resolution::Delete),
            3 => Verdict::Contradiction("both cannot hold".into()),
            _ => Verdict::Unresolved,
        }
    }
}

impl Resolver for Decides {
    fn resolve(&self, _: &Store, conflict: &Conflict) -> Result<Verdict, Error> {
        Ok(self.on(conflict.id.as_str()))
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
        sides: [Option<CommitId>; 2],
        answers: &[Answer],
        strategy: Option<bool>,
        unrelated: bool,
        resolver: Option<Decides>,
    ) -> Self {
        let without =
            |outcome, is_refused| Self { resolutions: BTreeMap::new(), is_refused, outcome };
        let [Some(ours), Some(theirs)] = sides else { return without(Planned::Forward, false) };
        if model.ancestors(ours).contains(&theirs) {
            return without(Planned::UpToDate, false);
        }
        if model.ancestors(theirs).contains(&ours) {
            return without(Planned::Forward, false);
        }
        if model.merge_bases(ours, theirs).is_empty() && !unrelated {
            return without(Planned::UpToDate, true);
        }
        // Where they share no commit, everything was added on both sides.
        let all = model.join_all(ours, theirs);
        let [ours, theirs] = [ours, theirs].map(|id| &model.commits[&id].memory);
        Self::settle(all, ours, theirs, answers, strategy, resolver)
    }

    /// What the answers make of two memories.
    fn settle(
        all: BTreeMap<String, (Agreed, Joined)>,
        ours: &Memory,
        theirs: &Memory,
        answers: &[Answer],
        strategy: Option<bool>,
        resolver: Option<Decides>,
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
                    // A resolver stands between the answers and the strategy.
                    let verdict = resolver.map_or(Verdict::Unresolved, |r| r.on(&number));
                    match (answer, verdict, strategy) {
                        (Answer::Ours, ..)
                        | (Answer::None, Verdict::Resolved(Resolution::Ours), _)
                        | (Answer::None, Verdict::Unresolved, Some(true)) => o,
                        (Answer::Theirs, ..)
                        | (Answer::None, Verdict::Resolved(Resolution::Theirs), _)
                        | (Answer::None, Verdict::Unresolved, Some(false)) => t,
                        (Answer::Base, ..) => {
                            plan.is_refused |= b.is_none();
                            b
                        }
                        (Answer::Delete, ..) | (Answer::None, Verdict::Resolved(_), _) => None,
                        (Answer::Set(value), ..) => Some(value),
                        (Answer::None, Verdict::Contradiction(_) | Verdict::Unresolved, _) => {
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
    /// Runs steps; after each, what changes with every step is compared, and now and then all.
    fn run(mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
            self.check_place();
            if self.steps.is_multiple_of(3) {
                self.check();
            }
        }
        self.end();
    }

    /// The same for many histories in little time: all is compared at the end.
    fn run_sparsely(mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
            self.check_place();
        }
        self.end();
    }

    fn end(self) {
        self.check();
        assert_eq!(self.store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
        let found = self.store.fsck(|_| ()).unwrap();
        assert!(found.is_sound(), "{:?}", found.findings);
        assert!(found.commits >= self.model.commits.len() as u64);
        self.leave();
    }
}

fn reproducible() -> InitOptions {
    InitOptions { reproducible: true, ..InitOptions::default() }
}

#[test]
fn salted_histories_in_memory() {
    swept("model", config(32), history(40), |steps| {
        Pair::in_memory(&InitOptions::default()).run(&steps);
    });
}

#[test]
fn histories_without_an_index() {
    let forgotten = prop_oneof![Just(u64::MAX), 0..200_u64];
    swept("model", config(32), (history(24), forgotten), |(steps, forgotten)| {
        Pair::forgetful(&reproducible(), forgotten).run(&steps);
    });
}

#[test]
fn moves_with_and_without_their_index() {
    swept("model", config(32), (history(24), 1..6_u64), |(steps, index_commits)| {
        moves::run(&steps, index_commits);
    });
}

#[test]
fn reproducible_histories_in_memory() {
    swept("model", config(32), history(40), |steps| {
        Pair::in_memory(&reproducible()).run(&steps);
    });
}

#[test]
fn histories_over_an_index_that_is_written_late() {
    let every = prop_oneof![Just(1), Just(3), Just(7)];
    swept("model", config(12), (history(24), every), |(steps, every)| {
        Pair::deferring(&InitOptions::default(), every).run(&steps);
    });
}

#[test]
fn histories_on_disk() {
    swept("model", config(8), (history(30), any::<bool>()), |(steps, reproducible)| {
        let directory = tempfile::tempdir().unwrap();
        let options = InitOptions { reproducible, ..InitOptions::default() };
        Pair::on_disk(directory.path().join("store"), &options).run(&steps);
    });
}
