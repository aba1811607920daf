//! What operations read and write, in counts.

use std::collections::BTreeMap;

use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Changes, DiffTarget, MergeOptions, MergeOutcome, Meta, NodeTest};
use mnem_store::portable::chat::{ChatOptions, import_chat};
use mnem_store::portable::json;
use mnem_store::{BranchName, NodeId, Store};

use crate::Outcome;
use crate::counted::{Counted, Taken};
use crate::history::{FLIPPING, History, OLD, content, entry, name};

/// (nodes, commits) of the histories: every size, and one small one for how costs grow with it.
const HISTORIES: [(usize, usize); 5] =
    [(100, 257), (100, 10_001), (1_000, 10_001), (10_000, 10_001), (100_000, 10_001)];
const TRANSCRIPT: &str = include_str!("../../../examples/transcripts/refund-dispute.json");
/// How often the transcript is read, each time as another run.
const RUNS: usize = 100;

type Row = BTreeMap<&'static str, u64>;
type Rows = BTreeMap<String, Row>;

pub fn run() -> Outcome<()> {
    let mut rows = Rows::new();
    for (nodes, commits) in HISTORIES {
        history(&mut rows, History::new(nodes, commits)?)?;
    }
    rows.insert("replay of transcripts".into(), replay()?);
    println!("{}", serde_json::to_string_pretty(&rows)?);
    Ok(())
}

fn history(rows: &mut Rows, history: History) -> Outcome<()> {
    let disk = Counted::new()?;
    let store = disk.store();
    history.fill(&store)?;
    disk.take();
    let (before, mut sums, mut objects, mut most_syncs) =
        (disk.allocated()?, Row::new(), vec![], 0);
    for commit in 1..history.commits {
        history.step(&store, commit)?;
        let taken = disk.take();
        objects.push(taken.engine.objects_inserted);
        most_syncs = most_syncs.max(taken.storage.syncs);
        for (what, count) in written(&taken) {
            *sums.entry(what).or_default() += count;
        }
    }
    objects.sort_unstable();
    sums.insert("commits", objects.len() as u64);
    sums.insert("fsyncs, most", most_syncs);
    sums.insert("objects, median", objects.get(objects.len() / 2).copied().unwrap_or_default());
    sums.insert("growth", disk.allocated()? - before);
    let place = format!("{} nodes, {} commits", history.nodes, history.commits);
    rows.insert(format!("one-node writes: {place}"), sums);
    for (what, verb) in VERBS {
        let prepared = prepare(what, &store, history)?;
        let cold = disk.store();
        disk.take();
        verb(&cold, &prepared)?;
        let taken = disk.take();
        let mut row = written(&taken);
        row.insert("objects read", taken.engine.object_reads);
        row.insert("other reads", taken.engine.other_reads);
        rows.insert(format!("{what}: {place}"), row);
    }
    Ok(())
}

fn written(taken: &Taken) -> Row {
    Row::from([
        ("fsyncs", taken.storage.syncs),
        ("objects", taken.engine.objects_inserted),
        ("object bytes", taken.engine.object_bytes),
        ("bytes written", taken.storage.bytes_written),
    ])
}

/// What a verb is given: commits that were found before counting.
struct Prepared {
    tip: mnem_store::CommitId,
    before: mnem_store::CommitId,
    nodes: usize,
}

type Verb = fn(&Store, &Prepared) -> Outcome<()>;

/// Each on a handle that has nothing in its cache.
const VERBS: [(&str, Verb); 9] = [
    ("get", |store, prepared| {
        let id = NodeId::new(name(prepared.nodes / 2))?;
        need(store.snapshot()?.get(&id)?.is_some())
    }),
    ("resolve a full id", |store, prepared| {
        need(store.resolve(&prepared.before.to_string())? == prepared.before)
    }),
    ("log of 20", |store, _| {
        let options = LogOptions { limit: Some(20), ..LogOptions::default() };
        need(store.log(&options)?.len() == 20)
    }),
    ("diff of neighbours", |store, prepared| {
        let [from, to] = [prepared.before, prepared.tip].map(DiffTarget::Commit);
        need(store.diff(from, to)?.len() == 1)
    }),
    ("blame of an old node", |store, _| {
        need(!store.blame(&NodeId::new(name(OLD))?, None)?.removed)
    }),
    ("flips of a node", |store, _| {
        let test = NodeTest::Equals(content(FLIPPING, 1)?);
        need(!store.flips(&NodeId::new(name(FLIPPING))?, &test, None, None)?.is_empty())
    }),
    ("write of 1 node", |store, _| {
        let change = entry(7, LATE)?;
        store.write(Changes::from([change]), &Meta::new("one", "bench"))?;
        Ok(())
    }),
    ("write of 100 nodes", |store, prepared| {
        let spread = prepared.nodes / 100;
        let changes: Changes =
            (0..100).map(|number| entry(number * spread, LATE + 1)).collect::<Outcome<_>>()?;
        store.write(changes, &Meta::new("hundred", "bench"))?;
        Ok(())
    }),
    (MERGE, |store, _| {
        let outcome = store.merge("side", &MergeOptions::default())?;
        need(matches!(outcome, MergeOutcome::Merged(_)))
    }),
];
/// Revisions that no history has.
const LATE: usize = 1_000_000_000;
const MERGE: &str = "merge of 10 and 10 nodes";

fn prepare(what: &str, store: &Store, history: History) -> Outcome<Prepared> {
    if what == MERGE {
        let side = store.on(&BranchName::new("side")?, "bench")?;
        let ten = |from: usize| {
            (from..from + 10).map(|number| entry(number, LATE + 2)).collect::<Outcome<_>>()
        };
        side.write(ten(10)?, &Meta::new("theirs", "bench"))?;
        store.write(ten(20)?, &Meta::new("ours", "bench"))?;
    }
    let [tip, before] = ["HEAD", "HEAD~1"].map(|revision| store.resolve(revision));
    Ok(Prepared { tip: tip?, before: before?, nodes: history.nodes })
}

/// What an agent wrote down in recorded runs.
fn replay() -> Outcome<Row> {
    let disk = Counted::new()?;
    let store = disk.store();
    disk.take();
    let before = disk.allocated()?;
    let mut commits = 0;
    for run in 0..RUNS {
        let options = ChatOptions {
            transcript: format!("run-{run}"),
            rules: None,
            keep_all: false,
            author: "agent".into(),
            time: None,
        };
        commits += import_chat(&store, &json::parse(TRANSCRIPT)?, &options)?.commits;
    }
    let mut row = written(&disk.take());
    row.insert("commits", commits);
    row.insert("growth", disk.allocated()? - before);
    Ok(row)
}

/// A count of something that did not happen is worth nothing.
fn need(held: bool) -> Outcome<()> {
    if held { Ok(()) } else { Err("an operation did not answer what the history holds".into()) }
}
