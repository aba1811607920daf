//! Every question that a store answers, put to it and to the model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mnem_store::graph::{is_ancestor, merge_bases};
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{DiffTarget, NodeTest};
use mnem_store::{CommitId, Content, Error, ErrorKind, MemoryNode};

use crate::histories::{NODES, Pair, memory_of, name, refused, value_of};
use crate::model::{Memory, diff};
use crate::support::id;

impl Pair {
    /// Compares what may change with every step.
    pub fn check_place(&self) {
        let (store, model) = (&self.store, &self.model);
        assert_eq!(store.head().unwrap(), model.head);
        assert_eq!(store.head_commit().unwrap(), model.tip());
        assert_eq!(store.resolve_or_head(None).ok(), model.tip());
        let branches: BTreeMap<_, _> =
            store.branches().unwrap().into_iter().map(|(k, v)| (k.to_string(), v)).collect();
        assert_eq!(branches, model.branches);
        let staged: BTreeMap<String, bool> = store
            .staged()
            .unwrap()
            .edits()
            .into_iter()
            .map(|(id, version)| (id.to_string(), version.is_some()))
            .collect();
        let expected: BTreeMap<_, _> =
            model.staged.iter().map(|(id, value)| (id.clone(), value.is_some())).collect();
        assert_eq!(staged, expected);
        assert_eq!(memory_of(store.working_memory("", None).unwrap()), model.working());
        let committed = memory_of(store.snapshot().unwrap().memory("", None).unwrap());
        assert_eq!(committed, model.memory(model.tip()));
        self.check_local();
    }

    /// Compares everything.
    pub fn check(&self) {
        let (store, model) = (&self.store, &self.model);
        self.check_place();
        self.check_moves();
        self.check_reads();
        self.check_commits();
        if let Some(tip) = model.tip() {
            self.check_line(tip);
        }
        self.check_pairs();
        let default = model.branches.get("main");
        let taken = default.map(|tip| model.ancestors(*tip)).unwrap_or_default();
        let unmerged: Vec<_> = store.unmerged().unwrap().into_values().collect();
        let expected: Vec<_> =
            model.branches.values().filter(|tip| !taken.contains(tip)).copied().collect();
        assert_eq!(unmerged, expected);
    }

    /// Parts of memory: of a person's, of an agent's, and node by node.
    fn check_reads(&self) {
        let (store, model) = (&self.store, &self.model);
        let (committed, working) = (model.memory(model.tip()), model.working());
        let part = |memory: &Memory, after: &str| -> Memory {
            let wanted = |(id, _): &(&String, _)| id.starts_with("n1") && id.as_str() > after;
            let part = memory.iter().filter(wanted).take(2);
            part.map(|(id, value)| (id.clone(), *value)).collect()
        };
        assert_eq!(memory_of(store.working_memory("n1", Some(2)).unwrap()), part(&working, ""));
        for after in ["n1", "n10", "n12", "n9"] {
            let scan = store.scan_working_memory("n1", Some(&id(after)), Some(2)).unwrap();
            assert_eq!(memory_of(scan.memory().unwrap()), part(&working, after), "after {after:?}");
        }
        let snapshot = store.snapshot().unwrap();
        let versions = snapshot.versions("n1", Some(&id("n12")), Some(2)).unwrap();
        let found: Vec<_> = versions.into_iter().map(|(id, _)| id.to_string()).collect();
        assert_eq!(found, part(&committed, "n12").into_keys().collect::<Vec<_>>());
        for name in (0..NODES).map(name) {
            let value = |node: Option<Arc<MemoryNode>>| node.map(|node| value_of(&node));
            let node = store.working_node(&id(&name)).unwrap();
            assert_eq!(value(node), working.get(&name).copied());
            let node = snapshot.get(&id(&name)).unwrap();
            assert_eq!(value(node), committed.get(&name).copied());
            let at_hand = store.snapshot_at_hand();
            if let Some(node) = at_hand.and_then(|snapshot| snapshot.get_at_hand(&id(&name))) {
                assert_eq!(value(node), committed.get(&name).copied(), "{name} at hand");
            }
        }
        let told = store.statistics(|_| ()).unwrap();
        let counts = [committed.len(), model.branches.len(), model.staged.len()];
        assert_eq!([told.nodes, told.branches, told.staged], counts.map(|count| count as u64));
        if let Some(tip) = model.tip() {
            let (found, _) = store.find_object(&tip.to_string()[..12]).unwrap();
            assert_eq!(found.id(), tip.into());
            assert_eq!(store.resolve(&tip.to_string()[..12]).unwrap(), tip);
        }
    }

    fn check_commits(&self) {
        let (store, model) = (&self.store, &self.model);
        for (commit, past) in &model.commits {
            assert_eq!(store.commit_object(*commit).unwrap().parents, past.parents);
            let snapshot = store.snapshot_at(&commit.to_string()).unwrap();
            assert_eq!(memory_of(snapshot.memory("", None).unwrap()), past.memory);
            assert_eq!(snapshot.count().unwrap(), past.memory.len() as u64);
            let before = model.memory(past.parents.first().copied());
            let changed: BTreeMap<_, _> = store
                .changed_by(*commit)
                .unwrap()
                .into_iter()
                .map(|(id, kind)| (id.to_string(), kind))
                .collect();
            assert_eq!(changed, diff(&before, &past.memory));
        }
    }

    fn check_line(&self, tip: CommitId) {
        let (store, model) = (&self.store, &self.model);
        let ids = |options: &LogOptions| -> Vec<CommitId> {
            store.log(options).unwrap().into_iter().map(|(id, _)| id).collect()
        };
        let log = model.log(tip);
        assert_eq!(ids(&LogOptions::default()), log);
        let two = LogOptions { limit: Some(2), ..LogOptions::default() };
        assert_eq!(ids(&two), log[..log.len().min(2)]);
        let chain = model.first_parents(tip);
        let first_parent = LogOptions { first_parent: true, ..LogOptions::default() };
        assert_eq!(ids(&first_parent), chain);
        self.check_pages(&log);
        let back = format!("HEAD~{}", chain.len() - 1);
        assert_eq!(store.resolve(&back).unwrap(), chain[chain.len() - 1]);

        let good = chain[self.steps % chain.len()];
        let since = &chain[..=self.steps % chain.len()];
        let first = store.bisect::<Error>(None, None, |snapshot| {
            Ok(since.contains(&snapshot.commit().unwrap()))
        });
        assert_eq!(first.unwrap(), good);
        let mut touching = [BTreeSet::new(), BTreeSet::new()];
        for name in (0..NODES).map(name) {
            match (store.blame(&id(&name), None), model.blame(tip, &name)) {
                (Ok(found), Some(expected)) => {
                    assert_eq!(found.commit, expected.commit, "blame of {name}");
                    assert_eq!(value_of(&found.node), expected.value, "blame of {name}");
                    assert_eq!(found.removed, expected.removed, "blame of {name}");
                }
                (Err(error), None) => assert_eq!(error.kind(), ErrorKind::InvalidRef),
                (found, _) => panic!("blame of {name}: {found:?}"),
            }
            for first_parent in [false, true] {
                let options = LogOptions { first_parent, ..LogOptions::default() };
                let events = store.node_log(&id(&name), &options).unwrap();
                let events: Vec<_> = events.into_iter().map(|event| event.id).collect();
                let line = if first_parent { &chain } else { &log };
                let makes = |commit: &&CommitId| {
                    let past = &model.commits[*commit];
                    let value = past.memory.get(&name);
                    let compared = if first_parent { 1 } else { usize::MAX };
                    let mut parents = past.parents.iter().take(compared);
                    if past.parents.is_empty() {
                        return value.is_some();
                    }
                    parents.all(|parent| model.commits[parent].memory.get(&name) != value)
                };
                let expected: Vec<_> = line.iter().filter(makes).copied().collect();
                assert_eq!(events, expected, "log of {name}");
                touching[usize::from(first_parent)].extend(expected);
            }
            for test in [NodeTest::Present, NodeTest::Absent, NodeTest::Equals(Content::text("1"))]
            {
                self.check_bisect(&name, &test, tip, None);
                self.check_bisect(&name, &test, tip, Some(good));
            }
        }
        let nodes: Vec<_> = (0..NODES).map(name).map(|name| id(&name)).collect();
        for (first_parent, touching) in [false, true].into_iter().zip(touching) {
            let options = LogOptions { first_parent, ..LogOptions::default() };
            let events = store.nodes_log(&nodes, &options).unwrap();
            let events: Vec<_> = events.into_iter().map(|event| event.id).collect();
            let line = if first_parent { &chain } else { &log };
            let expected: Vec<_> =
                line.iter().filter(|id| touching.contains(id)).copied().collect();
            assert_eq!(events, expected, "log of every node");
        }
    }

    /// The rest of a log begins at the parents of what was shown that were not.
    fn check_pages(&self, log: &[CommitId]) {
        let (shown, rest) = log.split_at(self.steps % log.len());
        let mut start: BTreeSet<_> = shown.iter().chain(log.first()).copied().collect();
        for commit in shown {
            start.extend(&self.model.commits[commit].parents);
        }
        start.retain(|commit| !shown.contains(commit));
        let options = LogOptions { start: start.into_iter().collect(), ..LogOptions::default() };
        let found: Vec<_> =
            self.store.log(&options).unwrap().into_iter().map(|(id, _)| id).collect();
        assert_eq!(found, rest);
    }

    fn check_bisect(&self, name: &str, test: &NodeTest, bad: CommitId, good: Option<CommitId>) {
        let (store, model) = (&self.store, &self.model);
        let holds = |commit: &CommitId| {
            let value = model.commits[commit].memory.get(name);
            match test {
                NodeTest::Present => value.is_some(),
                NodeTest::Absent => value.is_none(),
                NodeTest::Equals(_) => value.is_some_and(|(content, _)| *content == 1),
            }
        };
        let revision = good.map(|good| good.to_string());
        let found = store.bisect_node(&id(name), test, None, revision.as_deref());
        let chain = model.chain(bad, good).unwrap();
        let listed = store.flips(&id(name), test, None, revision.as_deref());
        if chain.is_empty() {
            refused(found);
            return refused(listed);
        }
        let mut before = good.is_some_and(|good| holds(&good));
        let is_at_good = before;
        let mut flips = Vec::new();
        for commit in &chain {
            if holds(commit) != before {
                before = holds(commit);
                flips.push((*commit, before));
            }
        }
        let listed = listed.unwrap();
        let told: Vec<_> = listed.iter().map(|flip| (flip.commit, flip.holds)).collect();
        assert_eq!(told, flips);
        if is_at_good {
            return refused(found);
        }
        let found = found.unwrap();
        assert_eq!(found.flips, listed);
        let first = holds(&bad).then(|| *chain.iter().find(|commit| holds(commit)).unwrap());
        assert_eq!(found.first, first);
    }

    fn check_pairs(&self) {
        let (store, model) = (&self.store, &self.model);
        let commits: Vec<_> = model.commits.keys().copied().collect();
        for (place, a) in commits.iter().enumerate() {
            let b = &commits[(place * 7 + self.steps) % commits.len()];
            let found = store.diff(DiffTarget::Commit(*a), DiffTarget::Commit(*b)).unwrap();
            let [old, new] = [a, b].map(|id| &model.commits[id].memory);
            assert!(found.windows(2).all(|two| two[0].id < two[1].id));
            for change in &found {
                let values = [&change.old, &change.new].map(|n| n.as_deref().map(value_of));
                let name = change.id.as_str();
                assert_eq!(values, [old, new].map(|memory| memory.get(name).copied()));
            }
            let kinds: BTreeMap<_, _> =
                found.iter().map(|change| (change.id.to_string(), change.kind)).collect();
            assert_eq!(kinds, diff(old, new));
            let to_working = store.diff(DiffTarget::Commit(*a), DiffTarget::Working).unwrap();
            let from_working = store.diff(DiffTarget::Working, DiffTarget::Commit(*a)).unwrap();
            for (found, expected) in [
                (to_working, diff(old, &model.working())),
                (from_working, diff(&model.working(), old)),
            ] {
                let found: BTreeMap<_, _> =
                    found.iter().map(|change| (change.id.to_string(), change.kind)).collect();
                assert_eq!(found, expected);
            }
            if let Some(objects) = &self.objects {
                assert_eq!(merge_bases(objects, *a, *b).unwrap(), model.merge_bases(*a, *b));
                let is_behind = model.ancestors(*b).contains(a);
                assert_eq!(is_ancestor(objects, *a, *b).unwrap(), is_behind);
            }
        }
    }
}
