//! The floor: SQLite in WAL mode, syncing every commit, an upsert and a history row each.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use crate::Outcome;

/// Stores each batch of (id, text) as one transaction; how long it took.
pub fn run<'r>(
    path: &Path,
    batches: impl Iterator<Item = Vec<(&'r str, &'r str)>>,
) -> Outcome<Duration> {
    let mut database = Connection::open(path)?;
    database.pragma_update(None, "journal_mode", "wal")?;
    database.pragma_update(None, "synchronous", "full")?;
    database.execute_batch(
        "create table current(id text primary key, text text);
         create table history(number integer primary key, id text, text text);",
    )?;
    let start = Instant::now();
    for batch in batches {
        let transaction = database.transaction()?;
        for (id, text) in batch {
            transaction
                .prepare_cached(
                    "insert into current values(?1, ?2) on conflict(id) do update set text = excluded.text",
                )?
                .execute(params![id, text])?;
            transaction
                .prepare_cached("insert into history(id, text) values(?1, ?2)")?
                .execute(params![id, text])?;
        }
        transaction.commit()?;
    }
    Ok(start.elapsed())
}
