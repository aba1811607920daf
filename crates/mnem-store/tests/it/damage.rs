//! A store that has used everything, and ways to damage it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::{Path, PathBuf};
use std::sync::Once;

use mnem_store::ops::{Changes, Finding, MergeOptions, MergeOutcome, UndoOutcome};
use mnem_store::store::local::LocalEdit;
use mnem_store::{BranchName, InitOptions, Store};
use redb::{ReadableTable, TableDefinition, WriteTransaction};

use crate::support::{environment, id, meta, note, put, remove};
use crate::sweep::{asked, said};

pub type Definition<'t> = TableDefinition<'t, &'static [u8], &'static [u8]>;

/// A store in a directory, closed.
pub struct Disk(pub tempfile::TempDir);

impl Disk {
    /// A store that has used everything: branches, merges, deletions, drafts, local rows. With
    /// this many commits or more on top.
    pub fn filled(commits: u32) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = InitOptions { reproducible: true, ..InitOptions::default() };
        let store = Store::init(directory.path(), &options, environment()).unwrap();
        fill(&store, commits);
        store.close();
        Self(directory)
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.root().join(".mnem").join(name)
    }

    pub fn open(&self) -> Store {
        Store::open(self.root(), environment()).unwrap()
    }

    /// The same bytes elsewhere.
    pub fn copy(&self) -> Self {
        copy_of(self.root())
    }

    pub fn findings(&self) -> Vec<Finding> {
        let before = bytes(self.root());
        let found = Store::fsck_at(self.root(), environment(), |_| ()).unwrap();
        assert!(bytes(self.root()) == before, "fsck changed a file");
        found.findings
    }

    /// Changes rows of the data file behind its back.
    pub fn edit(&self, change: impl FnOnce(&WriteTransaction)) {
        let database = redb::Database::open(self.file("store.redb")).unwrap();
        let transaction = database.begin_write().unwrap();
        change(&transaction);
        transaction.commit().unwrap();
    }

    /// Flips a bit of a word wherever it stands in the data file.
    pub fn spoil(&self, word: &str) {
        let path = self.file("store.redb");
        let mut data = fs::read(&path).unwrap();
        let places: Vec<_> =
            (0..data.len()).filter(|at| data[*at..].starts_with(word.as_bytes())).collect();
        assert!(!places.is_empty());
        for at in places {
            data[at] ^= 1;
        }
        fs::write(path, data).unwrap();
    }
}

/// What is wrong, without what ended processes left: they are named, and harm nothing.
pub fn harm(findings: Vec<Finding>) -> Vec<Finding> {
    let is_left = |one: &Finding| matches!(one.kind(), "killed" | "leftover" | "unused");
    findings.into_iter().filter(|one| !is_left(one)).collect()
}

pub fn copy_of(root: &Path) -> Disk {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(".mnem")).unwrap();
    for entry in fs::read_dir(root.join(".mnem")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, directory.path().join(".mnem").join(path.file_name().unwrap())).unwrap();
    }
    Disk(directory)
}

/// Every file but the one that says who has the store.
pub fn bytes(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(root.join(".mnem")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|p| !p.ends_with("holder")).map(|p| (p.clone(), fs::read(p).unwrap())).collect()
}

fn name(text: &str) -> BranchName {
    BranchName::new(text).unwrap()
}

fn fill(store: &Store, commits: u32) {
    let many: Changes =
        (0..40).map(|n| (id(&format!("n{n}")), Some(note(&format!("n{n}"), "many")))).collect();
    store.write(many, &meta("many")).unwrap();
    let plan = Changes::from([(id("plan"), Some(note("plan", "the Enterprise plan")))]);
    store.write(plan, &meta("a plan")).unwrap();
    let side = store.on(&name("side"), "t").unwrap();
    put(&side, "guess", "wants team");
    put(store, "plan", "the basic plan");
    let options = MergeOptions { author: "t".into(), ..MergeOptions::default() };
    assert!(matches!(store.merge("side", &options).unwrap(), MergeOutcome::Merged(_)));
    remove(store, "n7");
    // A change set too large to stand beside its record.
    let large: Changes = (0..150)
        .map(|n| (id(&format!("large{n}")), Some(note(&format!("large{n}"), "x"))))
        .collect();
    store.write(large, &meta("large")).unwrap();
    store.create_branch(&name("gone"), None, "t").unwrap();
    store.delete_branch(&name("gone"), "t").unwrap();
    store.create_branch(&name("kept"), Some("HEAD~1"), "t").unwrap();
    assert!(matches!(store.undo(None, &options).unwrap().outcome, UndoOutcome::MovedBack(_)));
    for number in 0..commits {
        put(store, &format!("n{}", number % 40), &format!("value {number}"));
    }
    store.stage(note("draft", "a draft")).unwrap();
    store.remove(&id("n3")).unwrap();
    let edit = |key: &str| LocalEdit {
        owner: "vectors".into(),
        key: key.into(),
        value: Some(b"1".to_vec()),
    };
    store.local_edit(&[edit("a"), edit("b")]).unwrap();
}

/// A value as it stands in a table, with its checksum.
pub fn sealed(table: &str, key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut covered = Vec::new();
    for part in [table.as_bytes(), key] {
        covered.extend((part.len() as u64).to_be_bytes());
        covered.extend(part);
    }
    covered.extend(value);
    [value, &blake3::hash(&covered).as_bytes()[..8]].concat()
}

pub fn set(transaction: &WriteTransaction, table: &'static str, key: &[u8], value: &[u8]) {
    let mut rows = transaction.open_table(Definition::new(table)).unwrap();
    rows.insert(key, sealed(table, key, value).as_slice()).unwrap();
}

pub fn keys(transaction: &WriteTransaction, table: &'static str) -> Vec<Vec<u8>> {
    let rows = transaction.open_table(Definition::new(table)).unwrap();
    rows.iter().unwrap().map(|row| row.unwrap().0.value().to_vec()).collect()
}

pub fn drop_row(transaction: &WriteTransaction, table: &'static str, key: &[u8]) {
    let mut rows = transaction.open_table(Definition::new(table)).unwrap();
    assert!(rows.remove(key).unwrap().is_some());
}

/// Does what may panic a thousand times and says it itself: redb panics on damage, and is caught.
/// The hook is the process's, and other tests run beside this one: only this thread is quiet.
pub fn quiet<T>(task: impl FnOnce() -> T) -> T {
    thread_local!(static IS_QUIET: Cell<bool> = const { Cell::new(false) });
    static HOOK: Once = Once::new();
    struct Quiet;
    impl Drop for Quiet {
        fn drop(&mut self) {
            IS_QUIET.set(false);
        }
    }
    HOOK.call_once(|| {
        let tell = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                tell(panic);
            }
        }));
    });
    IS_QUIET.set(true);
    let _quiet = Quiet;
    task()
}

/// Flips a bit of random bytes of a store of some megabytes, and once those of these numbers that
/// come later: they found something. One that fails says which it was, and `MNEM_FLIP` asks for one
/// alone.
pub fn flips(count: u64, later: &[u64], mut each: impl FnMut(u64, &Disk)) {
    let alone: Option<u64> = asked("MNEM_FLIP").map(|number| number.parse().unwrap());
    let last = later.iter().copied().chain(alone).max().unwrap_or(0);
    let disk = Disk::filled(300);
    let whole = fs::read(disk.file("store.redb")).unwrap();
    let used: Vec<_> = whole
        .chunks(4096)
        .enumerate()
        .filter(|(_, page)| page.iter().any(|byte| *byte != 0))
        .map(|(page, _)| page * 4096)
        .collect();
    let mut random = 7_u64;
    let mut failed = None;
    for number in 0..count.max(last + 1) {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let is_chosen = match alone {
            Some(alone) => number == alone,
            None => number < count || later.contains(&number),
        };
        if !is_chosen {
            continue;
        }
        let place = usize::try_from(random >> 20).unwrap();
        // Every fourth in the head of a page, where redb's own notes are.
        let within = if number % 4 == 0 { place % 64 } else { place % 4096 };
        let at = used[(place / 4096) % used.len()] + within;
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (random >> 60 & 7);
        fs::write(disk.file("store.redb"), &bytes).unwrap();
        if let Err(reason) = catch_unwind(AssertUnwindSafe(|| quiet(|| each(number, &disk)))) {
            failed = Some(format!("flip {number}, of the byte {at}: {}", said(&*reason)));
            break;
        }
    }
    assert!(failed.is_none(), "{}", failed.unwrap());
}
