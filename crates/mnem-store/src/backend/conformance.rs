//! What every backend must do, as one suite, and the tools it is made of: [`Author`] writes
//! batches, [`Probe`] asks every question there is about what they hold.
//!
//! Long: it is one list, and each part of it is short.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::ops::Bound;
use std::sync::Arc;

use super::overlay::{self, Overlay, Shown};
use super::{
    ALL_ROWS, Backend, BackendError, Batch, BranchName, Change, ChangeSet, CommitId, Derived,
    Entry, Expected, LocalTable, MemoryBackend, NodeId, Number, ObjectId, Operation, Outcome,
    PublishError, Record, RowRange, Skip, View, local_key, move_among,
};
use crate::codec::encoded::{Encoded, hash};
use crate::object::state::Leaf;
use crate::object::{Commit, Content, MemoryNode, StateNode};

/// A place where a store lives: each call opens it again.
pub type Place<'p> = Box<dyn Fn() -> Box<dyn Backend> + 'p>;

/// Writes batches as the engine would: new node objects, a state, a commit, its record, a move.
#[derive(Clone, Debug, Default)]
pub struct Author {
    tips: BTreeMap<BranchName, (CommitId, u64)>,
    time: i64,
}

impl Author {
    /// Nothing written yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where a branch points, if this author's batches all landed.
    pub fn tip(&self, branch: &BranchName) -> Option<CommitId> {
        self.tips.get(branch).map(|(commit, _)| *commit)
    }

    /// A commit on a branch that sets these nodes to a text.
    pub fn write(&mut self, branch: &str, nodes: &[(&str, &str)]) -> Batch {
        let branch = BranchName::from_stored(branch);
        let mut batch = Batch::default();
        let mut changes = ChangeSet::new();
        let mut leaf = Leaf { nodes: BTreeMap::new() };
        for (id, text) in nodes {
            let id = NodeId::from_stored(*id);
            let (version, object) =
                Encoded::node(MemoryNode::note(id.clone(), Content::text(*text)));
            batch.object(object);
            leaf.nodes.insert(id.clone(), version);
            changes.insert(id, Change { old: None, new: Some(version) });
        }
        let (state, object) = Encoded::state(StateNode::Leaf(leaf));
        batch.object(object);
        let old = self.tips.get(&branch).copied();
        let (commit, object) = Encoded::commit(Commit {
            parents: old.map(|(commit, _)| commit).into_iter().collect(),
            state,
            message: format!("commit {}", self.time),
            author: "author".into(),
            time: self.time,
        });
        batch.object(object);
        let height = old.map_or(0, |(_, height)| height + 1);
        let skip = old.map(|(commit, height)| Skip { height, commit });
        let mut record = self.record(Operation::WRITE, Some(&branch), Some(commit));
        record.derived = Some(Derived { generation: height, height, skip, changes });
        batch.record(record);
        batch.reference(branch.clone(), Expected::of(old.map(|(old, _)| old)), Some(commit));
        self.tips.insert(branch, (commit, height));
        batch
    }

    /// Points a branch where another points, or deletes it when that is nowhere.
    pub fn point(&mut self, branch: &str, at: &str) -> Batch {
        let [branch, at] = [branch, at].map(BranchName::from_stored);
        let new = self.tips.get(&at).copied();
        let mut batch = Batch::default();
        let commit = new.map(|(commit, _)| commit);
        let operation = if new.is_some() { Operation::BRANCH } else { Operation::DELETE };
        batch.record(self.record(operation, Some(&branch), commit));
        batch.reference(branch.clone(), Expected::of(self.tip(&branch)), commit);
        match new {
            Some(tip) => self.tips.insert(branch, tip),
            None => self.tips.remove(&branch),
        };
        batch
    }

    /// A record as the next move of a branch would leave it, without what is derived.
    pub fn record(
        &mut self,
        operation: Operation,
        branch: Option<&BranchName>,
        new: Option<CommitId>,
    ) -> Record {
        self.time += 1;
        Record {
            branch: branch.cloned(),
            old: branch.and_then(|branch| self.tip(branch)),
            new,
            operation,
            author: "author".into(),
            time: self.time,
            derived: None,
        }
    }
}

/// Everything that batches spoke of, to ask a backend about.
#[derive(Clone, Debug, Default)]
pub struct Probe {
    objects: BTreeSet<ObjectId>,
    nodes: BTreeSet<NodeId>,
    branches: BTreeSet<BranchName>,
}

/// A question in words, and the answer in words.
pub type Answer = (String, Result<String, BackendError>);

impl Probe {
    /// Knows only what no backend holds.
    pub fn new() -> Self {
        let mut probe = Self::default();
        probe.objects.insert(hash(b"nothing"));
        probe.nodes.insert(NodeId::from_stored("nothing"));
        probe.branches.insert(BranchName::from_stored("nothing"));
        probe
    }

    /// Learns what a batch speaks of; of the nodes of a record, the first few.
    pub fn learn(&mut self, batch: &Batch) {
        for entry in &batch.entries {
            match entry {
                Entry::Object(object) => drop(self.objects.insert(object.id())),
                Entry::Record(record) => {
                    self.nodes.extend(record.changes().keys().take(6).cloned());
                }
            }
        }
        self.branches.extend(batch.refs.iter().map(|edit| edit.name.clone()));
    }

    /// Asks every question. Objects are verified, as every reader must: bytes that do not hash
    /// to their id are an error here.
    pub fn ask(&self, backend: &dyn Backend) -> Vec<Answer> {
        let view = match backend.view() {
            Ok(view) => view,
            Err(error) => return vec![("view".into(), Err(error))],
        };
        let view = &*view;
        let mut answers = Vec::new();
        let mut note = |question: String, answer| answers.push((question, answer));
        for id in &self.objects {
            note(format!("object {id}"), words(verified(view, id)));
            note(format!("number of {id}"), words(view.number(id)));
            note(format!("record of {id}"), words(view.record(&(*id).into())));
        }
        for branch in &self.branches {
            note(format!("branch {branch}"), words(view.reference(branch)));
        }
        note("branches".into(), words(view.references()));
        for time in [i64::MIN, 0, 1, 3, 5, 8, i64::MAX] {
            for branch in &self.branches {
                note(format!("move of {branch} at {time}"), words(view.move_at(branch, time)));
            }
        }
        for before in [None, Some(0), Some(6), Some(13), Some(u64::MAX)] {
            let before = before.map(Number);
            for limit in [0, 1, 3, usize::MAX] {
                let page = format!("before {before:?}, at most {limit}");
                note(format!("records {page}"), words(view.records(None, before, limit)));
                for branch in &self.branches {
                    let answer = view.records(Some(branch), before, limit);
                    note(format!("records of {branch} {page}"), words(answer));
                }
                for node in &self.nodes {
                    let answer = view.changes(node, before, limit);
                    note(format!("changes of {node} {page}"), words(answer));
                }
            }
        }
        for table in LocalTable::ALL {
            for range in row_ranges() {
                let question = format!("rows of {} in {range:?}", table.as_str());
                note(question, words(view.rows(table, range)));
            }
        }
        for limit in [0, 1, 2, usize::MAX] {
            note(format!("ids, at most {limit}"), words(view.ids(ObjectId::all(), limit)));
            for digit in ["3", "a"] {
                if let Some(range) = ObjectId::prefix_range(digit) {
                    note(format!("ids {digit}, at most {limit}"), words(view.ids(range, limit)));
                }
            }
        }
        let (low, high) = ObjectId::all().into_inner();
        note("ids of no range".into(), words(view.ids(high..=low, usize::MAX)));
        answers
    }
}

/// Whether an object is there; which bytes it has follows from its id. Asked together with others,
/// the answer is the same.
fn verified(view: &dyn View, id: &ObjectId) -> Result<&'static str, BackendError> {
    let outcome = view.object(id)?;
    let mut together = Vec::new();
    view.objects(&[*id, hash(b"nothing"), *id], &mut |at, bytes| {
        together.push((at, bytes.into()));
    })?;
    together.sort_unstable();
    let alone = match &outcome {
        Outcome::Present(bytes) => vec![(0, Arc::clone(bytes)), (2, Arc::clone(bytes))],
        _ => Vec::new(),
    };
    assert_eq!(together, alone, "{id}, asked for together with others");
    match outcome {
        Outcome::Present(bytes) if hash(&bytes) == *id => Ok("present"),
        Outcome::Present(_) => Err(BackendError::Corrupt(format!("the object {id} is damaged"))),
        Outcome::Absent => Ok("absent"),
        Outcome::Erased => Ok("erased"),
    }
}

fn words(answer: Result<impl Debug, BackendError>) -> Result<String, BackendError> {
    answer.map(|answer| format!("{answer:?}"))
}

/// Ranges with each kind of end, some of which hold nothing.
fn row_ranges() -> Vec<RowRange> {
    let key = |text: &str| text.as_bytes().to_vec();
    vec![
        ALL_ROWS,
        (Bound::Included(key("b")), Bound::Unbounded),
        (Bound::Excluded(key("b")), Bound::Included(key("c"))),
        (Bound::Unbounded, Bound::Excluded(key("b"))),
        (Bound::Included(key("c")), Bound::Included(key("b"))),
        (Bound::Excluded(key("b")), Bound::Excluded(key("b"))),
    ]
}

/// Runs the suite; panics at the first thing that a backend does otherwise. `fresh` gives a new,
/// empty place each time.
#[allow(clippy::missing_panics_doc)] // a test
pub fn check<'p>(fresh: impl Fn() -> Place<'p>) {
    follows_the_model(&fresh());
    lands_whole_or_not_at_all(&fresh());
    numbers_in_publish_order(&fresh());
    stores_an_object_once(&fresh());
    finds_the_record_beside_its_commit(&fresh());
    finds_the_moves_of_a_branch(&fresh());
    keeps_large_change_sets(&fresh());
    sets_and_deletes_rows(&fresh());
    keeps_a_view_at_its_moment(&fresh());
}

/// Publishes to a backend, which must take it.
fn publish(backend: &dyn Backend, batch: &Batch) {
    if let Err(error) = backend.publish(batch) {
        assert_eq!(error.to_string(), "", "the batch must land");
    }
}

fn assert_same(found: &[Answer], expected: &[Answer]) {
    for ((question, found), (_, expected)) in found.iter().zip(expected) {
        let [found, expected] = [found, expected].map(|a| a.as_ref().map_err(ToString::to_string));
        assert_eq!(found, expected, "{question}");
    }
    assert_eq!(found.len(), expected.len());
}

fn a_history(author: &mut Author) -> Vec<Batch> {
    let mut staging = Batch::default();
    for (table, key) in [
        (LocalTable::Staging, "a"),
        (LocalTable::Staging, "b"),
        (LocalTable::StagingTombstones, "c"),
        (LocalTable::Meta, "b"),
        (LocalTable::Meta, "mark"),
        (LocalTable::Meta, ""),
        (LocalTable::Local, ""),
    ] {
        staging.row(table, key, Some(format!("value of {key}").into_bytes()));
    }
    staging.row(LocalTable::Local, local_key("adapter", b"key"), Some(vec![0, 255]));
    let mut rows = Batch::default();
    rows.row(LocalTable::Staging, "a", None);
    rows.row(LocalTable::Staging, "never there", None);
    rows.row(LocalTable::Meta, "b", Some(Vec::new()));
    vec![
        author.write("main", &[("a", "1"), ("b", "1")]),
        staging,
        author.write("main", &[("a", "2")]),
        author.point("side", "main"),
        author.write("side", &[("a", "3"), ("ä/日本", "1")]),
        author.write("main", &[("b", "1")]),
        rows,
        author.point("gone", "side"),
        author.point("gone", "nowhere"),
        author.write("main", &[("a", "1"), ("b", "1")]),
    ]
}

fn follows_the_model(place: &Place<'_>) {
    let model = MemoryBackend::new();
    let mut probe = Probe::new();
    assert_same(&probe.ask(&*place()), &probe.ask(&model));
    for batch in a_history(&mut Author::new()) {
        probe.learn(&batch);
        let backend = place();
        publish(&*backend, &batch);
        publish(&model, &batch);
        assert_same(&probe.ask(&*backend), &probe.ask(&model));
        drop(backend);
        assert_same(&probe.ask(&*place()), &probe.ask(&model));
    }
}

fn lands_whole_or_not_at_all(place: &Place<'_>) {
    let backend = place();
    let mut author = Author::new();
    let mut probe = Probe::new();
    let first = author.write("main", &[("a", "1")]);
    publish(&*backend, &first);
    let tip = author.tip(&BranchName::from_stored("main"));
    let mut stale = author.write("main", &[("a", "2"), ("b", "2")]);
    stale.row(LocalTable::Staging, "a", Some(vec![1]));
    stale.reference(BranchName::from_stored("other"), Expected::Absent, tip);
    for batch in [&first, &stale] {
        probe.learn(batch);
    }
    let before = probe.ask(&*backend);
    for wrong in [
        (BranchName::from_stored("main"), Expected::Absent),
        (BranchName::from_stored("absent"), Expected::of(tip)),
        (BranchName::from_stored("main"), Expected::At(hash(b"elsewhere").into())),
    ] {
        let found = (wrong.0.as_str() == "main").then_some(tip).flatten();
        let mut batch = stale.clone();
        batch.refs.retain(|edit| edit.name != wrong.0);
        // Last, so that a backend which compares as it goes has done the rest already.
        batch.reference(wrong.0.clone(), wrong.1, tip);
        match backend.publish(&batch) {
            Err(PublishError::Moved { name, found: at }) => {
                assert_eq!((name, at), (wrong.0, found));
            }
            other => assert!(other.is_err(), "the branch moved"),
        }
        assert_same(&probe.ask(&*backend), &before);
    }
    drop(backend);
    assert_same(&probe.ask(&*place()), &before);
    // What was refused took no numbers.
    let model = MemoryBackend::new();
    publish(&*place(), &stale);
    for batch in [&first, &stale] {
        publish(&model, batch);
    }
    assert_same(&probe.ask(&*place()), &probe.ask(&model));
}

fn numbers_in_publish_order(place: &Place<'_>) {
    let backend = place();
    let mut author = Author::new();
    for text in ["1", "2", "3"] {
        publish(&*backend, &author.write("main", &[("a", text)]));
    }
    let numbers = |answer: Result<Vec<(Number, Record)>, BackendError>| {
        let records = answer.unwrap_or_default();
        records.into_iter().map(|(number, _)| number.0).collect::<Vec<_>>()
    };
    let Ok(view) = backend.view() else { return assert_eq!("no view", "") };
    // Each write is a node, a state, a commit and the record.
    assert_eq!(numbers(view.records(None, None, usize::MAX)), [11, 7, 3]);
    assert_eq!(numbers(view.records(None, Some(Number(11)), 1)), [7]);
    let node = NodeId::from_stored("a");
    assert_eq!(numbers(view.changes(&node, None, 2)), [11, 7]);
    assert_eq!(numbers(view.changes(&node, Some(Number(7)), 2)), [3]);
}

fn stores_an_object_once(place: &Place<'_>) {
    let backend = place();
    let mut author = Author::new();
    let first = author.write("main", &[("a", "1")]);
    publish(&*backend, &first);
    let mut again = Batch::default();
    for entry in first.entries.iter().chain(&first.entries) {
        if let Entry::Object(object) = entry {
            again.object(object.clone());
        }
    }
    let new = Encoded::node(MemoryNode::note(NodeId::from_stored("new"), Content::text("1"))).1;
    again.object(new.clone());
    again.object(new);
    again.record(author.record(Operation::COMMIT, None, None));
    publish(&*backend, &again);
    let Ok(view) = backend.view() else { return assert_eq!("no view", "") };
    let numbers: Vec<_> = view
        .records(None, None, usize::MAX)
        .unwrap_or_default()
        .into_iter()
        .map(|(number, _)| number.0)
        .collect();
    assert_eq!(numbers, [5, 3]);
    assert_eq!(view.ids(ObjectId::all(), usize::MAX).unwrap_or_default().len(), 4);
}

fn finds_the_record_beside_its_commit(place: &Place<'_>) {
    let backend = place();
    let mut author = Author::new();
    let batch = author.write("main", &[("a", "1")]);
    publish(&*backend, &batch);
    let tip = author.tip(&BranchName::from_stored("main"));
    publish(&*backend, &author.point("copy", "main"));
    // A commit with another's record after it has none.
    let (lonely, object) = Encoded::commit(Commit {
        parents: Vec::new(),
        state: hash(b"state").into(),
        message: String::new(),
        author: String::new(),
        time: 0,
    });
    let mut batch = Batch::default();
    batch.object(object);
    publish(&*backend, &batch);
    let Ok(view) = backend.view() else { return assert_eq!("no view", "") };
    let of = |commit: CommitId| view.record(&commit).map_err(|error| error.to_string());
    let record = tip.map(&of);
    assert!(matches!(&record, Some(Ok(Some((Number(3), record)))) if record.changes().len() == 1));
    assert_eq!(of(lonely), Ok(None));
    publish(&*backend, &author.point("other", "main"));
    let Ok(view) = backend.view() else { return assert_eq!("no view", "") };
    assert_eq!(view.record(&lonely).map_err(|error| error.to_string()), Ok(None));
}

/// Records of three branches by clocks that run backwards, beside a walk over all records.
fn finds_the_moves_of_a_branch(place: &Place<'_>) {
    let mut author = Author::new();
    let names = ["main", "m", "side"].map(BranchName::from_stored);
    for (step, time) in [5, 3, 9, 4, 9, 2, 12, 1, 12, 30, 20, -7, 30, 31].into_iter().enumerate() {
        let mut batch = author.write("main", &[("a", &step.to_string())]);
        // Several in one batch, as a group of writers leaves them.
        for name in names.iter().cycle().skip(step % 4).take(step % 3) {
            batch.record(author.record(Operation::BRANCH, Some(name), author.tip(name)));
        }
        for entry in &mut batch.entries {
            if let Entry::Record(record) = entry {
                record.time = time;
            }
        }
        let backend = place();
        // While it is built, a batch lies over the backend, and says the same.
        let mut built = Overlay::default();
        built.add(batch.clone());
        let expected = built_moves(&*backend, built, &names);
        publish(&*backend, &batch);
        assert_eq!(built_moves(&*backend, Overlay::default(), &names), expected);
        let Ok(view) = backend.view() else { return assert_eq!("no view", "") };
        let all = view.records(None, None, usize::MAX).unwrap_or_default();
        for name in &names {
            let is_of = |(_, record): &&(Number, Record)| record.branch.as_ref() == Some(name);
            let moves: Vec<_> = all.iter().filter(is_of).cloned().collect();
            for before in all.iter().map(|(number, _)| *number).chain([Number(0)]).step_by(2) {
                for limit in [0, 1, 2, usize::MAX] {
                    let found = view.records(Some(name), Some(before), limit).unwrap_or_default();
                    let older = moves.iter().filter(|(number, _)| *number < before).take(limit);
                    assert_eq!(found, older.cloned().collect::<Vec<_>>(), "{name} {before:?}");
                }
            }
            for time in -9..33 {
                let found = view.move_at(name, time).map_err(|error| error.to_string());
                assert_eq!(found, Ok(move_among(moves.clone(), time)), "{name} at {time}");
            }
        }
    }
}

/// What counts at each time, with what is built over a backend.
fn built_moves(
    backend: &dyn Backend,
    built: Overlay,
    names: &[BranchName],
) -> Vec<Result<Option<Record>, String>> {
    let Ok(view) = overlay::view(backend, Arc::new(built), Shown::All) else { return vec![] };
    let asked = names.iter().flat_map(|name| (-9..33).map(move |time| (name, time)));
    asked
        .map(|(name, time)| match view.move_at(name, time) {
            Ok(found) => Ok(found.map(|(_, record)| record)),
            Err(error) => Err(error.to_string()),
        })
        .collect()
}

fn keeps_large_change_sets(place: &Place<'_>) {
    let model = MemoryBackend::new();
    let backend = place();
    let mut author = Author::new();
    let mut probe = Probe::new();
    // One entry takes about 40 bytes: the sets grow through 4,096 bytes.
    for count in [1_usize, 90, 95, 100, 105, 110, 400] {
        let ids: Vec<_> = (0..count).map(|n| format!("n{n}")).collect();
        let text = count.to_string();
        let nodes: Vec<_> = ids.iter().map(|id| (id.as_str(), text.as_str())).collect();
        let mut batch = author.write("main", &nodes);
        // The objects do not matter here, the record does.
        batch.entries.retain(|entry| {
            !matches!(entry, Entry::Object(object) if object.kind() == crate::object::Kind::Node)
        });
        publish(&*backend, &batch);
        publish(&model, &batch);
    }
    probe.nodes.extend(["n0", "n89", "n399"].map(NodeId::from_stored));
    let count = |backend: &dyn Backend| {
        let view = backend.view().ok()?;
        let newest = view.records(None, None, 1).ok()?.into_iter().next()?;
        Some((newest.0, newest.1.changes().len()))
    };
    assert_eq!(count(&*backend).map(|(_, changes)| changes), Some(400));
    // Some sets had a number of their own: fewer rows would end earlier.
    assert!(count(&*backend).is_some_and(|(number, _)| number.0 > 7 * 3 - 1));
    assert_same(&probe.ask(&*backend), &probe.ask(&model));
    drop(backend);
    assert_same(&probe.ask(&*place()), &probe.ask(&model));
}

fn sets_and_deletes_rows(place: &Place<'_>) {
    for table in LocalTable::ALL {
        let mut batch = Batch::default();
        for (key, value) in [("a", Some("1")), ("b", Some("2")), ("a", None), ("b", Some("3"))] {
            batch.row(table, key, value.map(|value| value.as_bytes().to_vec()));
        }
        publish(&*place(), &batch);
        let backend = place();
        let Ok(view) = backend.view() else { return assert_eq!("no view", "") };
        let rows = view.rows(table, ALL_ROWS).unwrap_or_default();
        assert_eq!(rows, [(b"b".to_vec(), b"3".to_vec())], "{}", table.as_str());
    }
}

fn keeps_a_view_at_its_moment(place: &Place<'_>) {
    let backend = place();
    let mut author = Author::new();
    publish(&*backend, &author.write("main", &[("a", "1")]));
    let Ok(view) = backend.view() else { return assert_eq!("no view", "") };
    let before = view.references().unwrap_or_default();
    publish(&*backend, &author.write("main", &[("a", "2")]));
    assert_eq!(view.references().unwrap_or_default(), before);
    assert_eq!(view.records(None, None, usize::MAX).unwrap_or_default().len(), 1);
    assert_eq!(view.ids(ObjectId::all(), usize::MAX).unwrap_or_default().len(), 3);
    assert_eq!(view.changes(&NodeId::from_stored("a"), None, 9).unwrap_or_default().len(), 1);
    let Ok(view) = backend.view() else { return assert_eq!("no view", "") };
    assert_eq!(view.records(None, None, usize::MAX).unwrap_or_default().len(), 2);
}
