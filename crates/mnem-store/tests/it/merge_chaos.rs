//! Merges of random histories, case by case from a seed: the laws that hold for every merge.
//!
//! 600 cases over states and graphs alone and 24 through whole stores; `MNEM_CHAOS_CASES` and
//! `MNEM_CHAOS_STORE_CASES` ask for more (`make sweep`), `MNEM_CHAOS_SEED` for one case alone,
//! and `MNEM_CHAOS_REPORT` names the page to write (`make chaos-report`).
//!
//! Long: one generator and one tally serve the cases of states, of graphs and of whole stores.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use mnem_store::backend::cache::Objects;
use mnem_store::backend::{Backend, Batch, MemoryBackend};
use mnem_store::codec::Encoded;
use mnem_store::graph::{KnownBases, VirtualBase, merge_bases};
use mnem_store::object::Commit;
use mnem_store::ops::{Changes, MergeOptions, MergeOutcome, Strategy};
use mnem_store::state::{self, EntryEdits, Merged};
use mnem_store::{BranchName, CommitId, Head, InitOptions, NodeId, NodeVersionId, StateId, Store};

use crate::histories::{memory_of, node};
use crate::model::{Agreed, Joined, Memory, Model, Value, join};
use crate::seeds::{Dice, each_seed};
use crate::support::{environment, id, meta};
use crate::sweep::{asked, number, tell_held};

/// What was seen, for the report: a law that nothing tries is not held.
#[derive(Default)]
struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    fn saw(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }
}

/// Runs the cases of a family, or the one that is asked for.
fn cases(family: &str, count: u64, mut case: impl FnMut(u64, &mut Tally)) -> Tally {
    let mut tally = Tally::default();
    each_seed("MNEM_CHAOS", &format!("merge_chaos::{family}"), count, |seed| {
        case(seed, &mut tally);
        tally.saw("cases");
    });
    tally
}

fn name(number: usize) -> String {
    // Ids with a common beginning, some the beginning of others.
    if number == 0 { "n".into() } else { format!("n{number}") }
}

fn value(dice: &mut Dice) -> Value {
    (u8::try_from(dice.below(4)).unwrap(), 0)
}

/// A memory of about two thirds of the names.
fn memory(dice: &mut Dice, names: usize) -> Memory {
    let first = |n: usize| (u8::try_from(n % 4).unwrap(), 0);
    (0..names).filter(|_| !dice.one_in(3)).map(|n| (name(n), first(n))).collect()
}

/// The same after a few writes and removals.
fn edited(dice: &mut Dice, memory: &Memory, names: usize) -> Memory {
    let mut memory = memory.clone();
    for _ in 0..dice.below(5) {
        let name = name(dice.below(names));
        if dice.one_in(4) {
            memory.remove(&name);
        } else {
            memory.insert(name, value(dice));
        }
    }
    memory
}

// ---- states and graphs alone ----

/// Objects and nothing else; a version of a node is its value spelt out.
struct Shelf(Objects);

fn version((content, source): Value) -> NodeVersionId {
    let mut bytes = [0; 32];
    bytes[..2].copy_from_slice(&[content, source]);
    NodeVersionId::from_bytes(bytes)
}

#[allow(clippy::unnecessary_wraps)] // the shape of `Same`
fn never(_: NodeVersionId, _: NodeVersionId) -> Result<bool, mnem_store::Error> {
    Ok(false)
}

impl Shelf {
    fn new() -> Self {
        Self(Objects::new(Arc::new(MemoryBackend::new()), 1 << 20))
    }

    fn keep(&self, objects: Vec<Encoded>) {
        let mut batch = Batch::default();
        for object in objects {
            batch.object(object);
        }
        self.0.backend().publish(&batch).unwrap();
    }

    fn state(&self, memory: &Memory) -> StateId {
        let edits = memory.iter().map(|(name, value)| (id(name), Some(version(*value)))).collect();
        self.edit(None, &edits)
    }

    fn edit(&self, root: Option<StateId>, edits: &EntryEdits) -> StateId {
        let edited = state::edit(&self.0, root, edits).unwrap();
        self.keep(edited.objects);
        edited.root
    }

    fn commit(&self, parents: &[CommitId], memory: &Memory, message: String) -> CommitId {
        let (id, object) = Encoded::commit(Commit {
            parents: parents.to_vec(),
            state: self.state(memory),
            message,
            author: "chaos".into(),
            time: 0,
        });
        self.keep(vec![object]);
        id
    }

    /// The edits of ours that a merge makes, and the ids in conflict.
    fn merge(&self, [base, ours, theirs]: [StateId; 3]) -> (EntryEdits, BTreeSet<NodeId>) {
        let (mut edits, mut conflicts) = (EntryEdits::new(), BTreeSet::new());
        for merged in state::merge(&self.0, Some(base), Some(ours), Some(theirs), &never) {
            match merged.unwrap() {
                Merged::Take { id, value } => assert_eq!(edits.insert(id, value), None),
                Merged::Conflict { id, .. } => assert!(conflicts.insert(id)),
            }
        }
        (edits, conflicts)
    }
}

/// Three memories: the laws of one merge.
fn algebra(dice: &mut Dice, tally: &mut Tally) {
    let shelf = Shelf::new();
    let names = dice.pick(&[6, 6, 6, 40]);
    let base = memory(dice, names);
    let (ours, theirs) = (edited(dice, &base, names), edited(dice, &base, names));
    let states = [&base, &ours, &theirs].map(|memory| shelf.state(memory));
    let [b, o, t] = states;
    let (edits, conflicts) = shelf.merge(states);

    // Totality: every id is what the table says, and an id of neither list is as in ours.
    for number in 0..names {
        let name = name(number);
        let of = |memory: &Memory| memory.get(&name).copied();
        let key = id(&name);
        match join(of(&base), of(&ours), of(&theirs)) {
            Joined::Take(value) => {
                let result = edits.get(&key).copied().unwrap_or(of(&ours).map(version));
                assert_eq!(result, value.map(version), "{name}");
                assert!(!conflicts.contains(&key), "{name}");
                // No write of one side is lost.
                if of(&theirs) == of(&base) {
                    assert_eq!(value, of(&ours), "{name}");
                } else if of(&ours) == of(&base) {
                    assert_eq!(value, of(&theirs), "{name}");
                }
            }
            Joined::Conflict(_) => {
                assert!(conflicts.contains(&key) && !edits.contains_key(&key), "{name}");
            }
        }
    }
    // Symmetry: the same conflicts, and where there are none the same bytes.
    let (back, back_conflicts) = shelf.merge([b, t, o]);
    assert_eq!(conflicts, back_conflicts);
    if conflicts.is_empty() {
        assert_eq!(shelf.edit(Some(o), &edits), shelf.edit(Some(t), &back));
        tally.saw("clean merges of states");
    } else {
        tally.saw("merges of states in conflict");
    }
    // Idempotence, and the base as identity.
    let clean = |states| {
        let (edits, conflicts) = shelf.merge(states);
        assert!(conflicts.is_empty());
        edits
    };
    assert_eq!(clean([b, o, o]), EntryEdits::new());
    assert_eq!(clean([b, o, b]), EntryEdits::new());
    assert_eq!(shelf.edit(Some(b), &clean([b, b, t])), t);
}

/// A random graph of commits: bases, and what virtual ones say, against the model.
fn graph(dice: &mut Dice, tally: &mut Tally) {
    let shelf = Shelf::new();
    let names = 4;
    let mut model = empty();
    let mut tips: Vec<CommitId> = Vec::new();
    let known = KnownBases::default();
    let window = dice.pick(&[3, 4, 8, 12]);
    for step in 0..5 + dice.below(14) {
        let mut parents: Vec<CommitId> = Vec::new();
        // Some lines from the root or beside it, then mostly merges of the latest ones.
        let wanted = if step < 4 { dice.pick(&[0, 1, 1, 1, 1, 1, 1, 1]) } else { 2 };
        for _ in 0..wanted.min(tips.len()) {
            let first = if step < 4 { 0 } else { tips.len().saturating_sub(window) };
            let last = if step < 4 { 1 } else { tips.len() };
            let parent = tips[first + dice.below(last - first)];
            if !parents.contains(&parent) {
                parents.push(parent);
            }
        }
        let before = parents.first().map(|p| model.commits[p].memory.clone()).unwrap_or_default();
        let memory = edited(dice, &before, names);
        let commit = shelf.commit(&parents, &memory, step.to_string());
        model.add(commit, parents, memory);
        tips.push(commit);
    }
    let late = &tips[tips.len() - 5..];
    for (number, one) in late.iter().enumerate() {
        for other in &late[..number] {
            agreed(&shelf, &model, &known, [*one, *other], names, tally);
        }
    }
}

/// The bases of two commits, and what their virtual base says of every node.
fn agreed(
    shelf: &Shelf,
    model: &Model,
    known: &KnownBases,
    [one, other]: [CommitId; 2],
    names: usize,
    tally: &mut Tally,
) {
    let bases = merge_bases(&shelf.0, one, other).unwrap();
    assert_eq!(bases, model.merge_bases(one, other));
    assert_eq!(bases, merge_bases(&shelf.0, other, one).unwrap());
    tally.saw(match bases.len() {
        0 => "pairs without a base",
        1 => "pairs with one base",
        2 => "pairs with two bases",
        _ => "pairs with more bases",
    });
    // With what earlier pairs left behind, and without.
    for known in [known, &KnownBases::default()] {
        let mut virtual_base = VirtualBase::new(&shelf.0, known, &never, bases.clone());
        for number in 0..names {
            let name = name(number);
            let found = virtual_base.of(&id(&name)).unwrap();
            match (found, model.agreed(&bases, &name)) {
                (state::Agreed::On(found), Agreed::On(value)) => {
                    assert_eq!(found, value.map(version), "{name}");
                }
                (state::Agreed::Disputed, Agreed::Disputed) => tally.saw("nodes in dispute"),
                (found, expected) => panic!("{name}: {found:?}, not {expected:?}"),
            }
        }
    }
}

/// Of three bases, the second and third share more than the first and third: what the third is
/// merged into is the merge of the first two, not the first.
#[test]
fn a_third_base_is_merged_into_the_first_two() {
    let shelf = Shelf::new();
    let mut model = empty();
    let mut add = |name: &str, parents: &[CommitId], x: u8| {
        let memory = Memory::from([("x".into(), (x, 0))]);
        let commit = shelf.commit(parents, &memory, name.into());
        model.add(commit, parents.to_vec(), memory);
        commit
    };
    let root = add("root", &[], 0);
    let shared = add("shared", &[root], 1);
    let first = add("first", &[root], 0);
    let second = add("second", &[shared], 1);
    let third = add("third", &[shared], 2);
    let one = add("one", &[first, second], 2);
    let one = add("ones", &[one, third], 2);
    let other = add("other", &[third, first], 2);
    let other = add("others", &[other, second], 2);
    let bases = merge_bases(&shelf.0, one, other).unwrap();
    assert_eq!((bases.len(), bases[0]), (3, first));
    let known = KnownBases::default();
    let found = VirtualBase::new(&shelf.0, &known, &never, bases).of(&id("x")).unwrap();
    assert!(
        matches!(found, state::Agreed::On(value) if value == Some(version((2, 0)))),
        "{found:?}"
    );
    agreed(&shelf, &model, &known, [one, other], 4, &mut Tally::default());
}

fn empty() -> Model {
    Model::new(Head::Detached(CommitId::from_bytes([0; 32])))
}

fn run_pure() -> Tally {
    cases("pure", number("MNEM_CHAOS_CASES", 600), |seed, tally| {
        let mut dice = Dice(seed);
        algebra(&mut dice, tally);
        graph(&mut dice, tally);
    })
}

#[test]
fn pure() {
    let started = Instant::now();
    let tally = run_pure();
    tell_held(
        "chaos-states",
        tally.of("cases"),
        started,
        "random states and graphs, merged both ways",
    );
    if tally.of("cases") >= 600 {
        for seen in [
            "clean merges of states",
            "merges of states in conflict",
            "pairs with one base",
            "pairs with two bases",
            "pairs with more bases",
            "nodes in dispute",
        ] {
            assert!(tally.of(seen) >= 5, "{seen}: {}", tally.of(seen));
        }
    }
}

// ---- whole stores ----

/// A store with branches whose whole history the model knows.
struct Lines {
    store: Store,
    model: Model,
    handles: Vec<Store>,
    _directory: Option<tempfile::TempDir>,
}

const LINES: [&str; 3] = ["a", "b", "c"];

fn tip(store: &Store) -> CommitId {
    store.head_commit().unwrap().unwrap()
}

impl Lines {
    fn new(dice: &mut Dice, names: usize) -> Self {
        let options = InitOptions { reproducible: dice.one_in(2), ..InitOptions::default() };
        let directory = dice.one_in(4).then(|| tempfile::tempdir().unwrap());
        let store = match &directory {
            Some(directory) => Store::init(directory.path(), &options, environment()).unwrap(),
            None => Store::in_memory(&options, environment()).unwrap(),
        };
        let mut model = empty();
        let memory = memory(dice, names);
        let changes: Changes =
            memory.iter().map(|(name, value)| (id(name), Some(node(name, *value)))).collect();
        let base = mnem_store::ops::Meta { allow_empty: true, ..meta("base") };
        let root = store.write(changes, &base).unwrap();
        model.add(root, Vec::new(), memory);
        let on = |name: &str| store.on(&BranchName::new(name).unwrap(), "chaos").unwrap();
        let handles = LINES.map(on).into();
        Self { store, model, handles, _directory: directory }
    }

    fn write(&mut self, dice: &mut Dice, line: usize, names: usize) {
        let store = &self.handles[line];
        let before = tip(store);
        let old = self.model.commits[&before].memory.clone();
        let new = edited(dice, &old, names);
        let ids: BTreeSet<_> = old.keys().chain(new.keys()).collect();
        let changes: Changes = ids
            .into_iter()
            .filter(|name| old.get(*name) != new.get(*name))
            .map(|name| (id(name), new.get(name).map(|value| node(name, *value))))
            .collect();
        let commit = store.write(changes, &meta("write")).unwrap();
        if old == new {
            assert_eq!(commit, before);
        } else {
            self.model.add(commit, vec![before], new);
        }
    }

    /// Merges a commit into a line, conflicts to one side, and checks all there is to check.
    fn merge(&mut self, line: &Store, theirs: CommitId, side: Strategy, tally: &mut Tally) {
        let ours = tip(line);
        let name = theirs.to_string();
        let behind = |old, new| self.model.ancestors(new).contains(&old);
        let options = MergeOptions { strategy: Some(side), ..MergeOptions::default() };
        if behind(theirs, ours) {
            assert_eq!(line.merge(&name, &options).unwrap(), MergeOutcome::UpToDate);
            return;
        }
        if behind(ours, theirs) {
            let outcome = line.merge(&name, &options).unwrap();
            assert_eq!(outcome, MergeOutcome::FastForwarded(theirs));
            return;
        }
        let joined = self.model.join_all(ours, theirs);
        let mut expected = Memory::new();
        let mut conflicts = Vec::new();
        for (name, (base, joined)) in joined {
            let [one, other] =
                [ours, theirs].map(|id| self.model.commits[&id].memory.get(&name).copied());
            let value = match joined {
                Joined::Take(value) => value,
                Joined::Conflict(kind) => {
                    conflicts.push(format!("{name} ({})", kind.as_str()));
                    if side == Strategy::Ours { one } else { other }
                }
            };
            // No acknowledged write is lost: what one side alone changed is there.
            match base {
                Agreed::On(base) if other == base => assert_eq!(value, one, "{name}"),
                Agreed::On(base) if one == base => assert_eq!(value, other, "{name}"),
                _ => {}
            }
            if let Some(value) = value {
                expected.insert(name, value);
            }
        }
        match line.merge(&name, &MergeOptions::default()).unwrap() {
            MergeOutcome::Conflicts(found) => {
                let found: Vec<_> = found.iter().map(ToString::to_string).collect();
                assert_eq!(found, conflicts);
                assert_eq!(tip(line), ours, "a merge in conflict wrote something");
                tally.saw("merges in conflict");
                // With an answer to all, a merge has no conflict.
                let outcome = line.merge(&name, &options).unwrap();
                assert!(matches!(outcome, MergeOutcome::Merged(_)), "{outcome:?}");
            }
            MergeOutcome::Merged(_) => {
                assert_eq!(conflicts, Vec::<String>::new());
                tally.saw("clean merges");
            }
            outcome => panic!("{outcome:?}"),
        }
        if self.model.merge_bases(ours, theirs).len() > 1 {
            tally.saw("merges over several bases");
        }
        let commit = tip(line);
        let made = line.commit_object(commit).unwrap();
        assert_eq!(made.parents, [ours, theirs]);
        assert_eq!(memory_of(line.snapshot().unwrap().memory("", None).unwrap()), expected);
        assert_eq!(line.merge(&name, &MergeOptions::default()).unwrap(), MergeOutcome::UpToDate);
        assert_eq!(tip(line), commit, "a merge once more");
        self.model.add(commit, vec![ours, theirs], expected);
    }

    /// Both directions of a merge, on branches made for it, come to one state.
    fn converge(&mut self, one: CommitId, other: CommitId, tally: &mut Tally) {
        use Strategy::{Ours, Theirs};
        for (round, sides) in [(Ours, Theirs), (Theirs, Ours)].into_iter().enumerate() {
            let mut states = Vec::new();
            for (number, (at, theirs, side)) in
                [(one, other, sides.0), (other, one, sides.1)].into_iter().enumerate()
            {
                let name = BranchName::new(
                    format!("check-{at:?}-{round}-{number}")
                        .replace(|c: char| !c.is_ascii_alphanumeric(), "-"),
                )
                .unwrap();
                let _ = self.store.delete_branch(&name, "chaos").unwrap();
                self.store.create_branch(&name, Some(&at.to_string()), "chaos").unwrap();
                let line = self.store.on(&name, "chaos").unwrap();
                self.merge(&line, theirs, side, tally);
                states.push(line.snapshot().unwrap().state());
            }
            assert_eq!(states[0], states[1], "the two directions differ");
            tally.saw("pairs of directions");
        }
    }
}

fn run_stores() -> Tally {
    cases("stores", number("MNEM_CHAOS_STORE_CASES", 24), |seed, tally| {
        let mut dice = Dice(seed);
        let names = dice.pick(&[5, 5, 5, 30]);
        let mut lines = Lines::new(&mut dice, names);
        for _ in 0..4 + dice.below(8) {
            for _ in 0..=dice.below(3) {
                let line = dice.below(LINES.len());
                lines.write(&mut dice, line, names);
            }
            let one = dice.below(LINES.len());
            let other = (one + 1 + dice.below(LINES.len() - 1)) % LINES.len();
            let side = |dice: &mut Dice| dice.pick(&[Strategy::Ours, Strategy::Theirs]);
            let handles = [one, other].map(|line| {
                lines.store.on(&BranchName::new(LINES[line]).unwrap(), "chaos").unwrap()
            });
            let tips = [tip(&handles[0]), tip(&handles[1])];
            let (first, second) = (side(&mut dice), side(&mut dice));
            lines.merge(&handles[0], tips[1], first, tally);
            // The other merges what this one was before: the two lines cross.
            if !dice.one_in(3) {
                lines.merge(&handles[1], tips[0], second, tally);
            }
        }
        let tips: Vec<_> = lines.handles.iter().map(tip).collect();
        lines.converge(tips[0], tips[1], tally);
        lines.converge(tips[1], tips[2], tally);
        assert_eq!(lines.store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
    })
}

#[test]
fn stores() {
    let started = Instant::now();
    let tally = run_stores();
    tell_held(
        "chaos-stores",
        tally.of("cases"),
        started,
        "histories of whole stores, merged both ways",
    );
    if tally.of("cases") >= 24 {
        for seen in [
            "clean merges",
            "merges in conflict",
            "merges over several bases",
            "pairs of directions",
        ] {
            assert!(tally.of(seen) >= 5, "{seen}: {}", tally.of(seen));
        }
    }
}

/// Writes the page, when it is asked for.
#[test]
fn report() {
    let Some(path) = asked("MNEM_CHAOS_REPORT") else {
        // Without a page to write, that the page has the figures is what there is to check.
        let mut tally = Tally::default();
        tally.saw("cases");
        assert!(page(&tally, &Tally::default()).contains("| cases | 1 |"));
        return;
    };
    std::fs::write(path, page(&run_pure(), &run_stores())).unwrap();
}

fn page(pure: &Tally, stores: &Tally) -> String {
    let mut page = String::from(HEAD);
    for (title, tally) in [("States and graphs", pure), ("Whole stores", stores)] {
        write!(page, "\n## {title}\n\n| seen | times |\n| --- | ---: |\n").unwrap();
        for (what, times) in &tally.0 {
            writeln!(page, "| {what} | {times} |").unwrap();
        }
    }
    page
}

const HEAD: &str = "\
<!-- Written by `make chaos-report`; do not edit. -->
# Merges of random histories

What `crates/mnem-store/tests/it/merge_chaos.rs` saw in one run without a failure. A case is
its seed, so every run of the same length sees the same. `make test` runs 600 cases over
states and graphs and 24 over whole stores; `make sweep` and `make chaos-report` run 50,000
and 250.

The laws that every case checks:

- a merge without conflicts comes to the same bytes from either side; one with conflicts has
  the same conflicts;
- a merge with itself, or with the base, changes nothing; of the base with a side it is that
  side;
- every node has one outcome, the one the table of merges gives it;
- what one side alone changed is in the result;
- a merge commit has two parents, ours first; a merge once more changes nothing;
- with an answer to every conflict no conflict is left, and the same answers from either side
  come to the same bytes;
- all of it also where the sides last agreed in several places, whose bases are checked
  against a plain recursion over maps.
";
