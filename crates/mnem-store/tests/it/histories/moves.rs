//! The moves of branches, and where a branch was, beside walks over the model: with the index of
//! moves as it is, without it, with a part of it, and with a row of it lost.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use mnem_store::backend::redb::{RedbBackend, Settings};
use mnem_store::backend::storage::CrashStorage;
use mnem_store::{BranchName, Clock, CommitId, Environment, Error, ErrorKind, InitOptions, Store};
use redb::{ReadableDatabase, ReadableTable, WriteTransaction};

use super::{Pair, Step};
use crate::damage::{Definition, drop_row, keys};
use crate::support::environment;

/// A clock that is set back again and again.
#[derive(Debug, Default)]
struct Wandering(AtomicI64);

impl Clock for Wandering {
    fn now(&self) -> i64 {
        let read = self.0.fetch_add(1, Ordering::Relaxed);
        1_000 + read * 3 - (read * read * 7 % 41) * 5
    }
}

/// The tables that find the moves of branches.
const TABLES: [&str; 2] = ["moves", "reflogs"];
/// What the file notes about them.
const NOTES: [&str; 2] = ["mark moves", "rows reflogs"];

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// A data file in memory, open in a store and changed behind its back.
struct File {
    backend: Arc<RedbBackend>,
    disk: Arc<Mutex<CrashStorage>>,
}

/// The index of moves: the rows of the tables and the notes, as they stand.
#[derive(Clone)]
struct Index([Rows; 2], [Option<Vec<u8>>; 2]);

impl File {
    fn new(index_commits: u64) -> Self {
        let disk = Arc::new(Mutex::new(CrashStorage::default()));
        let current = Arc::clone(&disk);
        let open = move || Ok(current.lock().unwrap().clone());
        let settings = Settings { index_commits, ..Settings::default() };
        let backend = RedbBackend::create_on("disk", open, [7; 16], settings).unwrap();
        Self { backend: Arc::new(backend), disk }
    }

    fn swap(&self, disk: CrashStorage) {
        self.backend.release();
        *self.disk.lock().unwrap() = disk;
    }

    /// The file as it is, closed.
    fn bytes(&self) -> Vec<u8> {
        self.backend.release();
        self.disk.lock().unwrap().bytes()
    }

    /// Goes on with what is made of these bytes.
    fn put(&self, bytes: &[u8], change: impl FnOnce(&WriteTransaction)) {
        let disk = CrashStorage::new(bytes.to_vec());
        let database = redb::Builder::new().create_with_backend(disk.clone()).unwrap();
        let transaction = database.begin_write().unwrap();
        change(&transaction);
        transaction.commit().unwrap();
        drop(database);
        self.swap(CrashStorage::new(disk.bytes()));
    }
}

impl Index {
    fn read(bytes: &[u8]) -> Self {
        let disk = CrashStorage::new(bytes.to_vec());
        let database = redb::Builder::new().create_with_backend(disk).unwrap();
        let transaction = database.begin_read().unwrap();
        let rows = |table: &'static str| -> Rows {
            let Ok(rows) = transaction.open_table(Definition::new(table)) else { return vec![] };
            let rows = rows.iter().unwrap().map(|row| {
                let (key, value) = row.unwrap();
                (key.value().to_vec(), value.value().to_vec())
            });
            rows.collect()
        };
        let meta = rows("meta");
        let note = |name: &str| {
            meta.iter().find(|(key, _)| key == name.as_bytes()).map(|(_, value)| value.clone())
        };
        Self(TABLES.map(rows), NOTES.map(note))
    }

    /// Takes the place of whatever index there is. One that stands for an earlier moment is what
    /// a program leaves behind that does not know of these tables.
    fn put(&self, transaction: &WriteTransaction) {
        for (name, rows) in TABLES.into_iter().zip(&self.0) {
            transaction.delete_table(Definition::new(name)).unwrap();
            if self.1[0].is_none() {
                continue;
            }
            let mut table = transaction.open_table(Definition::new(name)).unwrap();
            for (key, value) in rows {
                table.insert(key.as_slice(), value.as_slice()).unwrap();
            }
        }
        let mut meta = transaction.open_table(Definition::new("meta")).unwrap();
        for (name, value) in NOTES.into_iter().zip(&self.1) {
            match value {
                Some(value) => _ = meta.insert(name.as_bytes(), value.as_slice()).unwrap(),
                None => _ = meta.remove(name.as_bytes()).unwrap(),
            }
        }
    }
}

const NONE: Index = Index([vec![], vec![]], [None, None]);

/// Goes through a history, and asks after every step with the index in each of its states.
pub(super) fn run(steps: &[Step], index_commits: u64) {
    let file = File::new(index_commits);
    let environment = Environment { clock: Arc::new(Wandering::default()), ..environment() };
    let options = InitOptions { reproducible: true, ..InitOptions::default() };
    let store = Store::over_backend(file.backend.clone(), &options, environment.clone());
    let mut pair = Pair::new(store, None, None, environment);
    let mut earlier = NONE;
    for (number, step) in steps.iter().enumerate() {
        pair.step(step);
        pair.check_times();
        let bytes = file.bytes();
        let now = Index::read(&bytes);
        for index in [&NONE, &earlier] {
            file.put(&bytes, |transaction| index.put(transaction));
            pair.check_times();
            assert_eq!(pair.store.fsck(|_| ()).unwrap().findings, []);
        }
        for table in TABLES {
            let mut is_lost = false;
            file.put(&bytes, |transaction| {
                let keys = keys(transaction, table);
                if let Some(key) = keys.get(number * 7 % keys.len().max(1)) {
                    drop_row(transaction, table, key);
                    is_lost = true;
                }
            });
            pair.check_times();
            assert_eq!(pair.store.fsck(|_| ()).unwrap().findings.is_empty(), !is_lost);
        }
        // And what is written next finds it whole, or has to make it so.
        match number % 4 {
            0 => file.put(&bytes, |transaction| NONE.put(transaction)),
            2 => file.put(&bytes, |transaction| earlier.put(transaction)),
            _ => file.put(&bytes, |_| ()),
        }
        if number % 3 == 0 {
            earlier = now;
        }
    }
    assert_eq!(pair.store.fsck(|_| ()).unwrap().findings, []);
}

impl Pair {
    /// The moves of every branch, and where it was around the time of each.
    fn check_times(&self) {
        self.check_moves();
        for name in self.model.moves.keys() {
            let branch = BranchName::new(name).unwrap();
            let mut moves = self.store.reflog(Some(&branch), None).unwrap();
            for limit in 0..3 {
                let newest = self.store.reflog(Some(&branch), Some(limit)).unwrap();
                assert_eq!(newest, moves[..limit.min(moves.len())]);
            }
            moves.reverse();
            for time in moves.iter().flat_map(|record| [record.time - 1, record.time]) {
                let mut latest = i64::MIN;
                let mut pointed = None;
                for record in &moves {
                    latest = latest.max(record.time);
                    if latest <= time {
                        pointed = Some(record.new);
                    }
                }
                let first = moves[0].old.or(moves[0].new);
                let expected = pointed.unwrap_or_else(|| self.on_line_at(first, time));
                assert_eq!(
                    known(self.store.resolve(&format!("{name}@{{{time}}}"))),
                    expected,
                    "{name}@{{{time}}}"
                );
            }
        }
        assert_eq!(known(self.store.resolve("nobody@{5000}")), None);
    }

    /// The newest commit on a line of first parents that says it was made by then.
    fn on_line_at(&self, mut at: Option<CommitId>, time: i64) -> Option<CommitId> {
        while let Some(commit) = at {
            if self.store.commit_object(commit).unwrap().time <= time {
                break;
            }
            at = self.model.commits[&commit].parents.first().copied();
        }
        at
    }
}

fn known(answer: Result<CommitId, Error>) -> Option<CommitId> {
    match answer {
        Ok(commit) => Some(commit),
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidRef), "{error}");
            None
        }
    }
}
