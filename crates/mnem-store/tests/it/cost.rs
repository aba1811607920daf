//! What verbs read and write, in counts: it grows with what is asked, not with what is stored.

use std::sync::{Arc, Mutex};

use mnem_store::backend::counting::{Counting, Counts};
use mnem_store::backend::redb::{RedbBackend, Settings};
use mnem_store::backend::storage::{CountingStorage, CrashStorage, StorageCounts};
use mnem_store::backend::{Backend, Batch, MemoryBackend, Operation, Record};
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Changes, DiffTarget, MergeOptions, MergeOutcome, NodeTest};
use mnem_store::{
    BranchName, CommitId, Content, Environment, Error, ErrorKind, InitOptions, Store,
};

use crate::support::{environment, id, meta, note, put};

type Disk = Arc<Counting<MemoryBackend>>;

/// A handle that has nothing in its cache.
fn cold(disk: &Disk) -> Store {
    with_cache(disk, environment().cache_bytes)
}

/// The same, with a cache of this many bytes.
fn with_cache(disk: &Disk, cache_bytes: u64) -> Store {
    let shared = Arc::clone(disk) as Arc<dyn Backend>;
    let environment = Environment { cache_bytes, ..environment() };
    Store::over_backend(shared, &InitOptions::default(), environment)
}

/// A disk with this many nodes, written at once, and this many commits after that.
fn filled(nodes: u32, commits: u32) -> Disk {
    let disk = Arc::new(Counting::new(MemoryBackend::new()));
    let store = cold(&disk);
    let change = |n: u32| (id(&format!("n{n:05}")), Some(note(&format!("n{n:05}"), "1")));
    store.write((0..nodes).map(change).collect::<Changes>(), &meta("many")).unwrap();
    for number in 0..commits {
        put(&store, &format!("n{:05}", number * 7 % nodes), &format!("c{number}"));
    }
    disk
}

fn counted(disk: &Disk, verb: impl FnOnce(&Store)) -> Counts {
    let store = cold(disk);
    disk.take();
    verb(&store);
    disk.take()
}

#[test]
fn a_log_reads_what_it_prints() {
    for commits in [100, 1_000] {
        let counts = counted(&filled(10, commits), |store| {
            let options = LogOptions { limit: Some(20), ..LogOptions::default() };
            assert_eq!(store.log(&options).unwrap().len(), 20);
        });
        assert!(counts.object_reads <= 20, "{counts:?}");
        assert!(counts.other_reads <= 25, "{counts:?}");
    }
}

#[test]
fn a_merge_reads_what_changed() {
    let reads = [(20, 100), (20, 1_000), (2_000, 100)].map(|(nodes, commits)| {
        let disk = filled(nodes, commits);
        let store = cold(&disk);
        let side = store.on(&BranchName::new("side").unwrap(), "t").unwrap();
        for number in 0..5 {
            put(&side, &format!("n{number:05}"), "theirs");
            put(&store, &format!("n{:05}", number + 10), "ours");
        }
        let counts = counted(&disk, |store| {
            let outcome = store.merge("side", &MergeOptions::default()).unwrap();
            assert!(matches!(outcome, MergeOutcome::Merged(_)), "{outcome:?}");
        });
        counts.object_reads + counts.other_reads
    });
    assert!(reads.iter().all(|reads| *reads < 150), "{reads:?}");
    assert!(reads[1] <= reads[0] + 5, "not with the length of history: {reads:?}");
}

#[test]
fn a_diff_a_read_and_a_write_cost_the_depth_of_the_tree() {
    for nodes in [100, 5_000] {
        let disk = filled(nodes, 3);
        let diff = counted(&disk, |store| {
            let [from, to] = ["HEAD~1", "HEAD"].map(|revision| store.resolve(revision).unwrap());
            let changes = store.diff(DiffTarget::Commit(from), DiffTarget::Commit(to)).unwrap();
            assert_eq!(changes.len(), 1);
        });
        assert!(diff.object_reads <= 20, "{nodes}: {diff:?}");
        let read = counted(&disk, |store| {
            let node = store.snapshot().unwrap().get(&id("n00042")).unwrap().unwrap();
            assert_eq!(node.content, Content::text("1"));
        });
        assert!(read.object_reads <= 8, "{nodes}: {read:?}");
        let write = counted(&disk, |store| _ = put(store, "n00042", "2"));
        assert_eq!((write.publishes, write.records), (1, 1), "{nodes}");
        assert!(write.objects_inserted <= 8, "{nodes}: {write:?}");
        assert!(write.object_reads <= 16, "{nodes}: {write:?}");
        let equal = counted(&disk, |store| _ = put(store, "n00042", "2"));
        assert_eq!(equal.publishes, 0, "{nodes}");
    }
}

#[test]
fn a_write_reads_nothing_that_the_last_one_built() {
    let disk = filled(5_000, 3);
    let store = cold(&disk);
    put(&store, "n00042", "2");
    disk.take();
    put(&store, "n00042", "3");
    let counts = disk.take();
    assert_eq!((counts.object_reads, counts.publishes), (0, 1), "{counts:?}");
    // Of its neighbour, in the same leaf, the node itself.
    put(&store, "n00043", "2");
    assert_eq!(disk.take().object_reads, 1);
}

/// A node that was set at the root and changed once, and then `commits` of others; what is
/// counted reads nothing twice.
#[test]
fn what_is_asked_of_one_node_costs_its_changes_and_not_the_history() {
    type Ask = fn(&Store);
    let asks: [(&str, Ask); 6] = [
        ("blame", |store| _ = store.blame(&id("old"), None).unwrap()),
        ("flips", |store| {
            let flips = store.flips(&id("old"), &NodeTest::Present, None, None).unwrap();
            assert_eq!(flips.len(), 1);
        }),
        ("log", |store| {
            let events = store.node_log(&id("old"), &LogOptions::default()).unwrap();
            assert_eq!(events.len(), 2);
        }),
        ("blame of none", |store| {
            assert_eq!(store.blame(&id("never"), None).unwrap_err().kind(), ErrorKind::InvalidRef);
        }),
        ("step back", |store| {
            let log = LogOptions { limit: Some(1), ..LogOptions::default() };
            assert_eq!(store.log(&log).unwrap().len(), 1);
            store.resolve("HEAD~90").unwrap();
        }),
        ("bisect", |store| {
            let found = store.bisect(None, None, |memory| {
                Ok::<_, Error>(
                    memory.get(&id("old"))?.is_some_and(|n| n.content == Content::text("2")),
                )
            });
            found.unwrap();
        }),
    ];
    let disks = [100, 1_000, 4_000].map(|commits| {
        let disk = Arc::new(Counting::new(MemoryBackend::new()));
        let store = cold(&disk);
        put(&store, "old", "1");
        put(&store, "old", "2");
        for number in 0..commits {
            put(&store, &format!("n{:02}", number % 12), &format!("c{number}"));
        }
        disk
    });
    for (name, ask) in asks {
        let reads = disks.each_ref().map(|disk| {
            let counts = counted(disk, ask);
            counts.object_reads + counts.other_reads
        });
        // Skip links and halvings take a few more for each doubling.
        assert!(reads[2] < 250, "{name}: {reads:?}");
        assert!(reads[2] <= reads[0] * 4, "{name}: {reads:?}");
    }
}

/// Reads of a blame of a node that is gone, without a cache: what is read again counts again.
fn blame_reads(disk: &Disk) -> u64 {
    let environment = Environment { cache_bytes: 0, ..environment() };
    let shared = Arc::clone(disk) as Arc<dyn Backend>;
    let store = Store::over_backend(shared, &InitOptions::default(), environment);
    disk.take();
    assert!(store.blame(&id("n00003"), None).unwrap().removed);
    disk.take().object_reads
}

#[test]
fn blame_of_a_removed_node_reads_its_line_once() {
    let disk = filled(20, 300);
    let store = cold(&disk);
    crate::support::remove(&store, "n00003");
    put(&store, "n00004", "late");
    let reads = blame_reads(&disk);
    assert!(reads < 30, "two commits, and not what is behind the removal: {reads}");

    for number in 0..300 {
        put(&store, "n00004", &format!("d{number}"));
    }
    for number in 0..10 {
        let name = format!("side-{number}");
        let side = store.on(&BranchName::new(name.as_str()).unwrap(), "t").unwrap();
        put(&side, &format!("s{number}"), "theirs");
        put(&store, "n00006", &format!("e{number}"));
        let outcome = store.merge(&name, &MergeOptions::default()).unwrap();
        assert!(matches!(outcome, MergeOutcome::Merged(_)), "{outcome:?}");
    }
    // One walk of the history, some 630 commits, for all ten merges.
    let reads = blame_reads(&disk);
    assert!(reads < 4 * 630, "{reads}");
}

/// A data file with this many records: the last is of a branch that moved once before, at the
/// beginning, and all others of `main`, one each millisecond.
fn recorded(records: u32) -> (Store, Arc<Mutex<StorageCounts>>) {
    let counts = Arc::new(Mutex::new(StorageCounts::default()));
    let (disk, shared) = (CrashStorage::default(), Arc::clone(&counts));
    let open = move || Ok(CountingStorage::new(disk.clone(), Arc::clone(&shared)));
    // What is read again is counted again.
    let settings = Settings { cache_bytes: 0, index_rows: 256, ..Settings::default() };
    let backend = RedbBackend::create_on("disk", open, [7; 16], settings).unwrap();
    let tip = CommitId::from_bytes([1; 32]);
    let record = |name: &str, time: u32| Record {
        branch: Some(BranchName::new(name).unwrap()),
        old: Some(tip),
        new: Some(tip),
        operation: Operation::WRITE,
        author: "t".into(),
        time: time.into(),
        derived: None,
    };
    for first in (0..records).step_by(100) {
        let mut batch = Batch::default();
        for number in first..first + 100 {
            let is_side = number == 0 || number == records - 1;
            batch.record(record(if is_side { "side" } else { "main" }, number));
        }
        backend.publish(&batch).unwrap();
    }
    let store = Store::over_backend(Arc::new(backend), &InitOptions::default(), environment());
    (store, counts)
}

#[test]
fn what_is_asked_of_the_moves_of_a_branch_costs_its_answer_and_not_the_records() {
    type Ask = (&'static str, fn(&Store));
    fn times(store: &Store, name: &str, limit: usize) -> Vec<i64> {
        let moves = store.reflog(Some(&BranchName::new(name).unwrap()), Some(limit)).unwrap();
        moves.into_iter().map(|record| record.time).collect()
    }
    let asks: [Ask; 6] = [
        ("where it was", |store| _ = store.resolve("main@{500}").unwrap()),
        ("where it is", |store| _ = store.resolve("main@{999999}").unwrap()),
        ("where one that rarely moves was", |store| _ = store.resolve("side@{500}").unwrap()),
        ("the last moves", |store| assert_eq!(times(store, "main", 5).len(), 5)),
        ("all moves of one that rarely moves", |store| {
            let times = times(store, "side", 100);
            assert_eq!((times.len(), times[1]), (2, 0));
        }),
        ("none", |store| {
            let nobody = BranchName::new("nobody").unwrap();
            assert_eq!(
                store.reflog(Some(&nobody), None).unwrap_err().kind(),
                ErrorKind::InvalidRef
            );
        }),
    ];
    let stores = [1_000, 10_000].map(recorded);
    for (name, ask) in asks {
        let reads = stores.each_ref().map(|(store, counts)| {
            counts.lock().unwrap().reads = 0;
            ask(store);
            counts.lock().unwrap().reads
        });
        assert!(reads[0] > 0, "{name}");
        // A few halvings more, each down a tree that may be one page deeper.
        assert!(reads[1] <= reads[0] * 3, "{name}: {reads:?}");
        assert!(reads[1] <= 100, "{name}: {reads:?}");
    }
}

#[test]
fn a_long_scan_pushes_nothing_out() {
    type Scan = (&'static str, fn(&Store) -> usize);
    let disk = filled(6_000, 2_500);
    let asked: Vec<_> = (0..20).map(|number| format!("asked {number:02}")).collect();
    let writer = cold(&disk);
    for name in &asked {
        put(&writer, name, "1");
    }
    let scans: [Scan; 3] = [
        ("working memory", |store| store.working_memory("n", None).unwrap().len()),
        ("memory then", |store| {
            store.snapshot_at("HEAD~1").unwrap().memory("n", None).unwrap().len()
        }),
        ("log", |store| store.log(&LogOptions::default()).unwrap().len()),
    ];
    for (name, scan) in scans {
        let store = with_cache(&disk, 1 << 20);
        let ask = || {
            for name in &asked {
                assert!(store.snapshot().unwrap().get(&id(name)).unwrap().is_some());
            }
        };
        // The cache keeps what comes while it is empty, whatever follows.
        assert!(scan(&store) > 2_500);
        ask();
        assert!(scan(&store) > 2_500);
        disk.take();
        ask();
        // Its parts fill unevenly.
        let again = disk.take().object_reads;
        assert!(again <= 8, "{again} objects of 20 nodes again after {name}");
    }
}

#[test]
fn a_short_scan_is_kept_where_a_long_one_left_no_room() {
    let disk = filled(4_000, 1);
    let store = with_cache(&disk, 512 << 10);
    assert_eq!(store.working_memory("", None).unwrap().len(), 4_000);
    let reads = [(); 2].map(|()| {
        disk.take();
        assert_eq!(store.working_memory("n0399", None).unwrap().len(), 10);
        disk.take().object_reads
    });
    assert!(reads[0] >= 10 && reads[1] == 0, "{reads:?}");
}

#[test]
fn a_draft_costs_the_same_beside_many_others() {
    let rows = [10, 1_000].map(|drafts| {
        let disk = filled(10, 0);
        let store = cold(&disk);
        for number in 0..drafts {
            store.stage(note(&format!("draft{number:05}"), "1")).unwrap();
        }
        store.remove(&id("n00001")).unwrap();
        disk.take();
        store.stage(note("one-more", "1")).unwrap();
        store.stage(note("draft00003", "2")).unwrap();
        store.remove(&id("n00002")).unwrap();
        assert!(store.unstage(&id("n00001")).unwrap());
        assert!(!store.unstage(&id("never")).unwrap());
        disk.take().rows
    });
    assert!(rows[0] <= 5 && rows[0] == rows[1], "{rows:?}");
}
