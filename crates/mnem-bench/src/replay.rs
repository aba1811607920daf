//! The replay of recorded runs into one store.

use std::path::Path;
use std::time::{Duration, Instant};

use mnem_store::Content;
use mnem_store::ops::log::LogOptions;
use mnem_store::portable::chat::{ChatOptions, import_chat};
use mnem_store::portable::json;

use crate::counted::Counted;
use crate::{Outcome, floor};

/// How often the short transcript is read when no recorded runs are named.
const REPEATS: usize = 100;

pub fn run(place: &Path) -> Outcome<()> {
    let runs = recorded()?;
    let counted = Counted::new(&place.join("replay.redb"))?;
    counted.take();
    let allocated = counted.allocated()?;
    let start = Instant::now();
    let mut commits = 0;
    for (number, messages) in runs.iter().enumerate() {
        let options = ChatOptions {
            transcript: format!("run-{number}"),
            rules: None,
            keep_all: false,
            author: "agent".into(),
            time: None,
        };
        commits += import_chat(&counted.store, messages, &options)?.commits;
    }
    let taken = start.elapsed();
    let counts = counted.take();
    let grown = counted.allocated()? - allocated;
    let floor = floor(place, &counted)?;

    let per_commit = |count: u64| ratio(count, commits);
    println!("replay of {} runs: {commits} commits", runs.len());
    println!("  commits per second      {:>10.0}", rate(commits, taken));
    println!("  fsyncs per commit       {:>10.3}", per_commit(counts.storage.syncs));
    println!("  objects per commit      {:>10.2}", per_commit(counts.engine.objects_inserted));
    println!("  object bytes per commit {:>10.0}", per_commit(counts.engine.object_bytes));
    println!("  bytes written per commit{:>10.0}", per_commit(counts.storage.bytes_written));
    println!("  file growth per commit  {:>10.0}", per_commit(grown));
    println!("  SQLite WAL FULL, the same texts: {:.0} commits per second", rate(commits, floor));
    println!("  time against that floor {:>10.2} x", taken.as_secs_f64() / floor.as_secs_f64());
    Ok(())
}

/// The same node versions, commit by commit, in SQLite.
fn floor(place: &Path, counted: &Counted) -> Outcome<Duration> {
    let mut log = counted.store.log(&LogOptions::default())?;
    log.reverse();
    let mut batches = Vec::new();
    for (commit, _) in log {
        let mut batch = Vec::new();
        let snapshot = counted.store.snapshot_at(&commit.to_string())?;
        for id in counted.store.changed_by(commit)?.into_keys() {
            if let Some(node) = snapshot.get(&id)? {
                batch.push((id.to_string(), node.content.to_string()));
            }
        }
        batches.push(batch);
    }
    let borrowed = batches
        .iter()
        .map(|batch| batch.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect());
    floor::run(&place.join("replay.sqlite"), borrowed)
}

fn recorded() -> Outcome<Vec<Content>> {
    let Some(path) = std::env::var_os("MNEM_TAU_BENCH") else {
        let text = std::fs::read_to_string("examples/transcripts/refund-dispute.json")?;
        println!(
            "MNEM_TAU_BENCH names no recorded runs; the example transcript is read {REPEATS} times"
        );
        return Ok(vec![json::parse(&text)?; REPEATS]);
    };
    let runs = json::parse(&std::fs::read_to_string(path)?)?;
    let Content::Array(runs) = runs else { return Err("recorded runs are a list".into()) };
    let messages = |run: &Content| run.as_map().and_then(|run| run.get("traj")).cloned();
    runs.iter().map(|run| messages(run).ok_or_else(|| "a run has no traj".into())).collect()
}

#[allow(clippy::cast_precision_loss)] // for people to read
fn ratio(count: u64, of: u64) -> f64 {
    count as f64 / of as f64
}

#[allow(clippy::cast_precision_loss)] // for people to read
fn rate(count: u64, taken: Duration) -> f64 {
    count as f64 / taken.as_secs_f64()
}
