//! A repair saves what can be read, lists what cannot, and leaves the damaged file alone.
//!
//! Long: each kind of damage has its repair.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use mnem_store::backend::Record;
use mnem_store::codec::Encoded;
use mnem_store::object::Object;
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Changes, Finding, Repair, Stage};
use mnem_store::{
    BranchName, CommitId, Entropy, Environment, Error, ErrorKind, Hint, NodeId, Store,
};
use redb::{ReadableTable, WriteTransaction};

use crate::damage::{Definition, Disk, bytes, copy_of, drop_row, flips, harm, keys, set};
use crate::support::{environment, id, meta, note, put, remove};
use crate::sweep::tell_held;

/// Randomness that is new each time, so that a name that is drawn anew is new.
#[derive(Debug)]
struct Anew;

static DRAWN: AtomicU64 = AtomicU64::new(1);

impl Entropy for Anew {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        let drawn = DRAWN.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        bytes.iter_mut().zip(drawn.iter().cycle()).for_each(|(byte, drawn)| *byte = *drawn);
        Ok(())
    }
}

fn anew() -> Environment {
    Environment { entropy: Arc::new(Anew), ..environment() }
}

fn repair(disk: &Disk) -> Repair {
    let damaged = fs::read(disk.file("store.redb")).unwrap();
    let repair = Store::repair(disk.root(), anew(), |_| ()).unwrap();
    assert!(fs::read(disk.file("store.redb")).unwrap() == damaged, "the damaged file was written");
    repair
}

/// What a store says, apart from its file.
#[derive(Debug, PartialEq)]
struct Says {
    branches: BTreeMap<BranchName, CommitId>,
    memory: BTreeMap<CommitId, Vec<(NodeId, String)>>,
    reflog: Vec<Record>,
    changes: usize,
    staged: Vec<NodeId>,
    local: usize,
}

fn says(store: &Store) -> Says {
    let log = store.log(&LogOptions::default()).unwrap();
    let memory = log.iter().map(|(commit, _)| {
        let memory = store.snapshot_at(&commit.to_string()).unwrap().memory("", None).unwrap();
        (
            *commit,
            memory.iter().map(|(id, node)| (id.clone(), format!("{:?}", node.content))).collect(),
        )
    });
    Says {
        memory: memory.collect(),
        branches: store.branches().unwrap(),
        reflog: store.reflog(None, None).unwrap(),
        changes: store.node_log(&id("n1"), &LogOptions::default()).unwrap().len(),
        staged: store.staged().unwrap().ids().into_iter().cloned().collect(),
        local: store.local_rows("vectors", b"").unwrap().len(),
    }
}

#[test]
fn a_sound_store_is_left_alone() {
    let disk = Disk::filled(0);
    let before = bytes(disk.root());
    assert_eq!(repair(&disk), Repair::default());
    assert!(bytes(disk.root()) == before);
}

#[test]
fn an_index_is_made_anew_and_nothing_else_changes() {
    for commits in [20, 260] {
        let disk = Disk::filled(commits);
        let before = says(&disk.open());
        disk.edit(|t| {
            for (table, count) in [("where", 50), ("nodes", 70), ("moves", 9), ("reflogs", 1)] {
                keys(t, table).iter().take(count).for_each(|key| drop_row(t, table, key));
            }
            // Something is wrong also where all of it is read from the log.
            let mut rows = t.open_table(Definition::new("where")).unwrap();
            rows.insert([7; 32].as_slice(), [0; 4].as_slice()).unwrap();
        });
        assert!(disk.findings().iter().any(|finding| finding.kind() == "index"));
        let repaired = repair(&disk);
        assert_eq!((&*repaired.losses, &*repaired.moved), ([].as_slice(), [].as_slice()));
        assert_eq!(repaired.kept, Some(disk.file("store.redb").canonicalize().unwrap()));
        assert!(repaired.data_file.unwrap().exists());
        assert_eq!(says(&disk.open()), before, "{commits}");
        assert_eq!(disk.findings(), []);
        put(&disk.open(), "plan", "goes on");
        assert_eq!(disk.findings(), []);
    }
}

#[test]
fn a_branch_goes_where_it_was_last_moved() {
    let disk = Disk::filled(3);
    let before = says(&disk.open());
    let (main, kept) = (BranchName::new("main").unwrap(), BranchName::new("kept").unwrap());
    disk.edit(|t| {
        set(t, "refs", b"main", before.branches[&kept].as_bytes());
        drop_row(t, "refs", b"kept");
        set(t, "refs", b"gone", before.branches[&main].as_bytes());
    });
    let repaired = repair(&disk);
    let moved = BTreeMap::from_iter(repaired.moved);
    let gone = BranchName::new("gone").unwrap();
    let expected = [
        (gone, None),
        (kept.clone(), Some(before.branches[&kept])),
        (main.clone(), Some(before.branches[&main])),
    ];
    assert_eq!(moved, BTreeMap::from(expected));
    assert_eq!(says(&disk.open()), before);
    assert_eq!(disk.findings(), []);
}

#[test]
fn what_is_lost_is_named_and_the_rest_is_there() {
    for commits in [0, 260] {
        let disk = Disk::filled(commits);
        let before = says(&disk.open());
        disk.spoil("Enterprise");
        let repaired = repair(&disk);
        let objects: Vec<_> =
            repaired.losses.iter().filter(|loss| matches!(loss, Finding::Lost(_))).collect();
        assert_eq!(objects.len(), 1, "{:?}", repaired.losses);
        let sentence = objects[0].to_string();
        assert!(
            sentence.starts_with("the node \"plan\" cannot be read: the object "),
            "{sentence}"
        );
        assert!(sentence.ends_with(" is missing"), "{sentence}");
        assert_eq!(repaired.moved, []);
        let store = disk.open();
        assert_eq!(store.branches().unwrap(), before.branches);
        // The lost note is no longer current, so nothing of today is lost.
        for (commit, memory) in before.memory {
            let snapshot = store.snapshot_at(&commit.to_string()).unwrap();
            for (node, content) in memory {
                match snapshot.get(&node) {
                    Ok(found) => assert_eq!(format!("{:?}", found.unwrap().content), content),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::CorruptStore);
                        assert!(content.contains("Enterprise"), "{content}");
                    }
                }
            }
        }
        assert!(store.snapshot().unwrap().get(&id("plan")).unwrap().is_some());
        put(&store, "plan", "goes on");
        store.close();
        let left = disk.findings();
        assert_eq!(left.iter().collect::<Vec<_>>(), objects, "what is lost stays named");
        assert_eq!((left[0].hint(), left[0].is_repairable()), (Hint::StaysLost, false));
        // A second repair has nothing more to save: it says so and writes nothing.
        let before = bytes(disk.root());
        let again = repair(&disk);
        assert_eq!((&again.findings, &again.losses), (&left, &left));
        assert_eq!((again.data_file, again.kept, again.objects), (None, None, 0));
        assert!(bytes(disk.root()) == before);
    }
}

/// Writes nonsense over rows of the log that are of this kind: 1 for records.
fn ruin(t: &WriteTransaction, tags: &[u8]) {
    let mut rows = t.open_table(Definition::new("log")).unwrap();
    let all: Vec<_> = rows
        .iter()
        .unwrap()
        .map(|row| row.map(|(key, value)| (key.value().to_vec(), value.value()[0])).unwrap())
        .filter(|(_, tag)| tags.contains(tag))
        .collect();
    assert!(!all.is_empty());
    for (key, _) in all {
        rows.insert(key.as_slice(), b"ruined by hand".as_slice()).unwrap();
    }
}

/// Records say what a state has, so a node of its tree that is lost follows from them.
#[test]
fn a_lost_node_of_a_tree_is_made_again() {
    let whole = Disk::filled(20);
    let before = says(&whole.open());
    let mut trees = Vec::new();
    whole.edit(|t| {
        let rows = t.open_table(Definition::new("log")).unwrap();
        for row in rows.iter().unwrap() {
            let (key, value) = row.unwrap();
            let object = value.value().strip_prefix(&[0]).map(|sealed| &sealed[..sealed.len() - 8]);
            if object
                .is_some_and(|bytes| matches!(Encoded::decode(bytes), Ok((_, Object::State(_)))))
            {
                trees.push(key.value().to_vec());
            }
        }
    });
    assert!(trees.len() > 40);
    for at in (0..trees.len()).step_by(9).chain([trees.len() - 1]) {
        let disk = whole.copy();
        disk.edit(|t| {
            let mut rows = t.open_table(Definition::new("log")).unwrap();
            rows.insert(trees[at].as_slice(), b"ruined by hand".as_slice()).unwrap();
        });
        let repaired = repair(&disk);
        assert!(!repaired.findings.is_empty());
        assert_eq!(repaired.losses, [], "{at}");
        assert_eq!(repaired.moved, [], "{at}");
        assert_eq!(says(&disk.open()), before, "{at}");
    }
}

#[test]
fn a_lost_memory_can_be_written_again_or_forgotten() {
    for commits in [0, 260] {
        let disk = Disk::filled(commits);
        put(&disk.open(), "plan", "the lost plan");
        // Its message says it too; the commit after it is the newest.
        put(&disk.open(), "owner", "ada");
        let lost = disk.open().snapshot().unwrap().version(&id("plan")).unwrap().unwrap();
        disk.edit(|t| {
            let mut rows = t.open_table(Definition::new("log")).unwrap();
            let all: Vec<_> = rows
                .iter()
                .unwrap()
                .map(|row| row.map(|(key, value)| (key.value().to_vec(), value.value().to_vec())))
                .map(Result::unwrap)
                .collect();
            let is_it = |value: &[u8]| {
                value.len() > 9
                    && *blake3::hash(&value[1..value.len() - 8]).as_bytes() == *lost.as_bytes()
            };
            let (key, _) = all.iter().find(|(_, value)| is_it(value)).unwrap();
            rows.insert(key.as_slice(), b"ruined by hand".as_slice()).unwrap();
        });
        let _ = repair(&disk);
        let store = disk.open();
        assert_eq!(
            store.snapshot().unwrap().get(&id("plan")).unwrap_err().kind(),
            ErrorKind::CorruptStore
        );
        put(&store, "plan", "another plan");
        assert!(store.snapshot().unwrap().memory("", None).is_ok());
        remove(&store, "plan");
        assert!(store.snapshot().unwrap().memory("", None).is_ok());
        // Where it was lost it stays lost, and can be passed over.
        assert!(store.snapshot_at("HEAD~2").unwrap().memory("", None).is_err());
        // Without salts the same content is the same object: it heals the past too.
        put(&store, "plan", "the lost plan");
        assert!(store.snapshot_at("HEAD~3").unwrap().memory("", None).is_ok());
    }
}

#[test]
fn without_records_the_history_is_that_of_the_objects() {
    for commits in [3, 260] {
        let disk = Disk::filled(commits);
        let before = says(&disk.open());
        // Records, and the change sets beside them.
        disk.edit(|t| ruin(t, &[1, 2]));
        let repaired = repair(&disk);
        assert!(repaired.losses.iter().all(|loss| matches!(loss, Finding::Entries { .. })));
        let after = says(&disk.open());
        // A commit that was undone, which no branch leads to, gets a branch of its own.
        let recovered: Vec<_> =
            after.branches.iter().filter(|(name, _)| !before.branches.contains_key(name)).collect();
        assert_eq!(recovered.len(), 1, "{recovered:?}");
        assert_eq!(*recovered[0].0.as_str(), format!("recovered-{}", recovered[0].1));
        assert_eq!(after.memory, before.memory);
        assert_eq!((after.staged, after.local), (before.staged, before.local));
        assert_eq!(after.changes, before.changes, "{commits}");
        assert_eq!(disk.findings(), []);
    }
}

#[test]
fn without_records_and_branches_every_line_gets_a_branch() {
    let disk = Disk::filled(3);
    let before = says(&disk.open());
    disk.edit(|t| {
        ruin(t, &[1, 2]);
        for key in keys(t, "refs") {
            drop_row(t, "refs", &key);
        }
    });
    let repaired = repair(&disk);
    let store = disk.open();
    let tips: Vec<_> = store.branches().unwrap().into_values().collect();
    assert!(tips.contains(&before.branches[&BranchName::new("main").unwrap()]), "{repaired:?}");
    assert!(store.branches().unwrap().keys().all(|name| name.as_str().starts_with("recovered-")));
    assert_eq!(disk.findings(), []);
}

#[test]
fn a_lost_tip_leaves_the_commit_before_it() {
    let disk = Disk::filled(3);
    let store = disk.open();
    let before = store.resolve("HEAD~1").unwrap();
    let tip = store.head_commit().unwrap().unwrap();
    let message = store.commit_object(tip).unwrap().message.clone();
    store.close();
    // A commit's message stands in its object alone.
    disk.spoil(&message);
    let repaired = repair(&disk);
    let main = BranchName::new("main").unwrap();
    assert_eq!(repaired.moved, [(main.clone(), Some(before))]);
    let store = disk.open();
    assert_eq!(store.head_commit().unwrap(), Some(before));
    let newest = store.reflog(None, Some(1)).unwrap().remove(0);
    assert_eq!(
        (newest.operation.as_str(), newest.old, newest.new),
        ("repair", Some(tip), Some(before))
    );
    put(&store, "plan", "goes on");
}

/// Redb opens none of these; what stands in their pages is taken from there.
#[test]
fn a_file_that_cannot_be_opened_is_read_page_by_page() {
    type Damage = (&'static str, fn(&mut Vec<u8>));
    let damages: [Damage; 4] = [
        ("no header", |bytes| bytes[..4096].fill(0xa5)),
        ("no header, every page twice", |bytes| {
            bytes[..4096].fill(0xa5);
            bytes.extend_from_within(..);
        }),
        ("cut off at half", |bytes| bytes.truncate(bytes.len() / 2)),
        ("a page cut off", |bytes| bytes.truncate(bytes.len() - 4096)),
    ];
    for commits in [3, 260] {
        let disk = Disk::filled(commits);
        let before = says(&disk.open());
        for (what, damage) in damages {
            let disk = disk.copy();
            let mut bytes = fs::read(disk.file("store.redb")).unwrap();
            damage(&mut bytes);
            fs::write(disk.file("store.redb"), bytes).unwrap();
            assert_eq!(disk.findings()[0].kind(), "file", "{what}");
            let repaired = repair(&disk);
            assert_eq!(repaired.kept, Some(disk.file("store.redb")), "{what}");
            let store = disk.open();
            let left: Vec<_> = fs::read_dir(disk.root().join(".mnem"))
                .unwrap()
                .filter(|entry| {
                    entry.as_ref().unwrap().path().extension().is_some_and(|e| e == "redb")
                })
                .collect();
            assert_eq!(left.len(), 2, "{left:?}");
            if what.starts_with("no header") {
                // Nothing of the rows is damaged.
                let after = says(&store);
                assert_eq!(
                    (after.branches, after.memory),
                    (before.branches.clone(), before.memory.clone())
                );
                assert_eq!((after.reflog, after.changes), (before.reflog.clone(), before.changes));
                assert_eq!((after.staged.len(), after.local), (0, 0), "they may be old");
                store.close();
                assert_eq!(disk.findings(), []);
            }
            put(&disk.open(), "plan", "goes on");
        }
    }
}

#[test]
fn a_file_without_a_row_is_refused_and_kept() {
    for text in [b"".as_slice(), b"junk", &[1; 10_000]] {
        let disk = Disk::filled(0);
        fs::write(disk.file("store.redb"), text).unwrap();
        let before = bytes(disk.root());
        let error = Store::repair(disk.root(), anew(), |_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptStore, "{error}");
        assert!(bytes(disk.root()) == before);
    }
    let disk = Disk::filled(0);
    fs::remove_file(disk.file("store.redb")).unwrap();
    let error = Store::repair(disk.root(), anew(), |_| ()).unwrap_err();
    assert!(error.to_string().ends_with("the file is missing"), "{error}");
    assert!(!disk.file("store.redb").exists());
}

#[test]
fn head_goes_to_the_default_branch() {
    let disk = Disk::filled(0);
    fs::write(disk.file("HEAD"), "junk\n").unwrap();
    let repaired = repair(&disk);
    assert_eq!(
        (repaired.head.as_ref().map(BranchName::as_str), repaired.data_file),
        (Some("main"), None)
    );
    assert_eq!(disk.findings(), []);
}

#[test]
fn a_store_that_is_open_here_is_not_repaired() {
    let disk = Disk::filled(0);
    fs::write(disk.file("HEAD"), "junk\n").unwrap();
    let store = disk.open();
    let before = bytes(disk.root());
    let error = Store::repair(disk.root(), anew(), |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(bytes(disk.root()) == before);
    drop(store);
}

#[test]
fn what_is_examined_is_not_written() {
    let disk = Disk::filled(0);
    let before = bytes(disk.root());
    let store = Store::open(disk.root(), Environment { examine: true, ..environment() }).unwrap();
    let error = store.create_branch(&BranchName::new("new").unwrap(), None, "t").unwrap_err();
    assert!(error.to_string().contains("open to be examined"), "{error}");
    drop(store);
    assert!(bytes(disk.root()) == before);
}

/// A stop at any moment leaves the damaged store or the repaired one: the files as they are at
/// each step are a store of their own.
#[test]
fn a_stop_at_any_step_leaves_the_store_before_or_after() {
    let disk = Disk::filled(20);
    let before = says(&disk.open());
    disk.edit(|t| keys(t, "where").iter().for_each(|key| drop_row(t, "where", key)));
    disk.edit(|t| set(t, "where", &[9; 32], &[0; 9]));
    disk.edit(|t| {
        set(t, "refs", b"main", before.branches[&BranchName::new("kept").unwrap()].as_bytes());
    });
    let damaged = disk.findings();
    let mut copies: Vec<(Stage, Disk)> = Vec::new();
    let repaired = Store::repair(disk.root(), anew(), |stage| {
        let is_new = copies
            .last()
            .is_none_or(|(last, _)| std::mem::discriminant(last) != std::mem::discriminant(&stage));
        if is_new || copies.len().is_multiple_of(7) {
            copies.push((stage, copy_of(disk.root())));
        }
    })
    .unwrap();
    assert!(repaired.data_file.is_some());
    assert!(copies.len() > 4 && copies.iter().any(|(stage, _)| *stage == Stage::Durable));
    for (stage, copy) in copies {
        if stage == Stage::Switched {
            assert_eq!(copy.findings(), []);
            assert_eq!(says(&copy.open()), before);
        } else {
            assert_eq!(harm(copy.findings()), damaged, "{stage:?}");
            // Whoever comes back repairs it.
            Store::repair(copy.root(), anew(), |_| ()).unwrap();
            assert_eq!(says(&copy.open()), before);
        }
    }
}

fn random_repairs(count: u64) -> String {
    let (mut repaired, mut refused, mut torn) = (0, 0, 0);
    // 692: three commits are lost, and the next one's jump was to one of them.
    flips(count, &[692], |_, disk| {
        let copy = copy_of(disk.root());
        let damaged = !copy.findings().is_empty();
        match Store::repair(copy.root(), anew(), |_| ()) {
            Ok(repair) => {
                repaired += u64::from(repair.data_file.is_some());
                assert_eq!(repair.findings.is_empty(), !damaged);
                // What is left is what was lost.
                let left = copy.findings();
                assert!(left.iter().all(|one| repair.losses.contains(one)), "{left:?}");
                assert!(!left.iter().any(Finding::is_repairable), "{left:?}");
                let changes = Changes::from([(id("plan"), Some(note("plan", "goes on")))]);
                if let Err(error) = copy.open().write(changes, &meta("it goes on")) {
                    // The records are lost too that would say what stood in the tree.
                    let said = error.to_string();
                    let lost = said.split(' ').find(|word| word.len() == 64).unwrap_or(&said);
                    assert!(left.iter().any(|one| one.to_string().contains(lost)), "{said}");
                    torn += 1;
                }
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::CorruptStore, "{error}");
                refused += 1;
            }
        }
    });
    let told = format!("{repaired} repaired, {torn} with a hole in the tree; {refused} refused");
    assert!(repaired > refused && torn * 100 <= repaired, "{told}");
    told
}

#[test]
fn random_flips_are_repaired() {
    random_repairs(8);
}

#[test]
#[ignore = "minutes long; `make sweep` runs it"]
fn many_random_flips_are_repaired() {
    let started = Instant::now();
    let told = random_repairs(1_000);
    tell_held(
        "flips-repair",
        1_000,
        started,
        format!("random flips of a store of 300 commits; {told}"),
    );
}
