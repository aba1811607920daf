//! Bare redb as a peer of the benchmarks: an upsert and a history row in one transaction that is
//! synced, as the `SQLite` floor does it.
//!
//! A line `CELL TIMES` on standard input is answered by a line of JSON: how many nanoseconds each
//! repetition took.

use std::io::{BufRead, stdin};
use std::path::Path;
use std::time::Instant;

use redb::{Database, ReadableDatabase, TableDefinition};

use crate::Outcome;
use crate::history::{name, text};

const CURRENT: TableDefinition<&str, &str> = TableDefinition::new("current");
const HISTORY: TableDefinition<u64, (&str, &str)> = TableDefinition::new("history");

pub fn run(path: &Path, nodes: usize) -> Outcome<()> {
    let peer = Peer { database: Database::create(path)?, nodes };
    peer.put((0..nodes).map(|number| (number, 0)))?;
    println!("ready");
    let mut turn = 0;
    for line in stdin().lock().lines() {
        let line = line?;
        let (cell, times) = line.split_once(' ').ok_or("a line is CELL TIMES")?;
        let mut taken = Vec::new();
        for _ in 0..times.parse::<usize>()? {
            turn += 1;
            let number = turn * 7_919 % nodes;
            let start = Instant::now();
            match cell {
                "write" => peer.put([(number, turn)])?,
                "read" => peer.get(number)?,
                _ => return Err(format!("no cell {cell}").into()),
            }
            taken.push(u64::try_from(start.elapsed().as_nanos())?);
        }
        println!("{}", serde_json::to_string(&taken)?);
    }
    Ok(())
}

struct Peer {
    database: Database,
    nodes: usize,
}

impl Peer {
    fn put(&self, changes: impl IntoIterator<Item = (usize, usize)>) -> Outcome<()> {
        let transaction = self.database.begin_write()?;
        {
            let mut current = transaction.open_table(CURRENT)?;
            let mut history = transaction.open_table(HISTORY)?;
            for (number, revision) in changes {
                let (id, text) = (name(number), text(number, revision));
                current.insert(id.as_str(), text.as_str())?;
                // Every change has a number of its own: a revision is written once, but for the fill.
                let place = if revision == 0 { number } else { self.nodes + revision };
                history.insert(place as u64, (id.as_str(), text.as_str()))?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    fn get(&self, number: usize) -> Outcome<()> {
        let current = self.database.begin_read()?.open_table(CURRENT)?;
        let found = current.get(name(number).as_str())?.ok_or("a key is missing")?;
        if found.value().is_empty() { Err("a value is empty".into()) } else { Ok(()) }
    }
}
