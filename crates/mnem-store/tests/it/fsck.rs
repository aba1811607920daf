//! Fsck finds each kind of damage and changes nothing; a sound store has none.
//!
//! Long: each kind of damage has its case.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use mnem_store::backend::{
    Backend, Batch, Derived, Entry, Expected, Found, LocalTable, MemoryBackend, Operation, Record,
    Skip,
};
use mnem_store::codec::Encoded;
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Changes, Finding, MergeOptions, RevertOutcome};
use mnem_store::{
    BranchName, Commit, CommitId, Environment, ErrorKind, Hint, InitOptions, NodeVersionId, Store,
};
use redb::{ReadableTable, ReadableTableMetadata, WriteTransaction};

use crate::damage::{Definition, Disk, bytes, drop_row, flips, keys, set};
use crate::support::{environment, id, meta, put};
use crate::sweep::tell_held;

fn name(text: &str) -> BranchName {
    BranchName::new(text).unwrap()
}

fn kinds(findings: &[Finding]) -> Vec<&'static str> {
    let mut kinds: Vec<_> = findings.iter().map(Finding::kind).collect();
    kinds.dedup();
    kinds
}

fn sentences(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_sound_store_has_none() {
    // With everything after the mark, and with most of it indexed.
    for commits in [0, 260] {
        let disk = Disk::filled(commits);
        let found = Store::fsck_at(disk.root(), environment(), |_| ()).unwrap();
        assert_eq!(sentences(&found.findings), Vec::<String>::new(), "{commits}");
        assert!(found.is_sound());
        assert!(found.commits > u64::from(commits) && found.records > found.commits);
        assert_eq!(found.branches, 3);
        assert_eq!(disk.findings(), []);
        let store = disk.open();
        let mut progress = Vec::new();
        assert_eq!(store.fsck(|read| progress.push(read)).unwrap(), found);
        let entries = found.nodes + found.states + found.commits + found.records;
        assert_eq!(progress, (1..=entries).collect::<Vec<_>>());
    }
}

#[test]
fn a_store_whose_writer_was_killed_names_it_and_stays_as_it_is() {
    for commits in [0, 260] {
        let disk = Disk::filled(commits);
        let store = disk.open();
        put(&store, "plan", "written and never closed");
        // What a kill leaves behind: the file as it is while it is open.
        let killed = disk.copy();
        let holder = fs::read(disk.file("holder")).unwrap();
        fs::write(killed.file("holder"), &holder).unwrap();
        let process = format!("process {} on this-machine", std::process::id());
        let named = Finding::Killed { process };
        // Nobody has put the file in order, so whoever asks again is told the same.
        for _ in 0..2 {
            assert_eq!(killed.findings(), std::slice::from_ref(&named));
        }
        assert!(named.is_warning() && !named.is_repairable());
        let examined = Environment { examine: true, ..environment() };
        let examined = Store::open(killed.root(), examined).unwrap();
        assert_eq!(examined.verify(|_| ()).unwrap().problems, Vec::<String>::new());
        assert!(examined.was_killed().unwrap());
        drop(examined);
        // Who was killed may have had no time to say who it is.
        fs::write(killed.file("holder"), "").unwrap();
        assert!(killed.findings()[0].to_string().starts_with("a process had the store"));
        // It ended as it should, and the file is not closed because it is damaged.
        let free = String::from_utf8(holder).unwrap().replace("holding", "free   ");
        fs::write(killed.file("holder"), free).unwrap();
        assert_eq!(killed.findings(), []);
        assert_eq!(killed.open().head_commit().unwrap(), store.head_commit().unwrap());
        assert_eq!(killed.findings(), []);
    }
}

/// Takes the lease as another process would, and gives it back.
fn takes_the_lease(disk: &Disk) {
    let [lock, want] =
        ["lock", "want"].map(|name| fs::File::options().write(true).open(disk.file(name)).unwrap());
    want.lock().unwrap();
    // For as long as others wait for the store unless told.
    let got = (0..5_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(2));
        lock.try_lock().is_ok()
    });
    assert!(got, "the store is held");
}

#[test]
fn what_is_checked_is_of_one_moment_and_nobody_waits_for_it() {
    let disk = Disk::filled(260);
    let files = || bytes(disk.root()).into_keys().collect::<Vec<_>>();
    let names = files();
    let store = disk.open();
    let before = store.fsck(|_| ()).unwrap();
    assert_eq!(before.findings, []);
    let found = store.fsck(|read| {
        if read == 10 {
            let late = put(&store, "late", "1");
            store.create_branch(&name("late"), None, "t").unwrap();
            store.checkout(&late.to_string(), true).unwrap();
            takes_the_lease(&disk);
        }
    });
    assert_eq!(found.unwrap(), before);
    let after = store.fsck(|_| ()).unwrap();
    assert_eq!((after.branches, after.commits), (before.branches + 1, before.commits + 1));
    assert_eq!(after.findings, []);
    store.close();
    drop(store);
    let found = Store::fsck_at(disk.root(), environment(), |read| {
        if read == 10 {
            takes_the_lease(&disk);
        }
    });
    assert_eq!(found.unwrap(), after);
    assert_eq!(files(), names, "what was copied is gone");
}

#[test]
fn where_no_copy_can_be_made_the_store_itself_is_checked() {
    let disk = Disk::filled(3);
    let expected = Store::fsck_at(disk.root(), environment(), |_| ()).unwrap();
    // Something is where the copy would be.
    let unique = u64::from_be_bytes(environment().random().unwrap());
    let taken = disk.file(&format!("copy-{unique:016x}.redb"));
    fs::write(&taken, "mine").unwrap();
    let mut found = Store::fsck_at(disk.root(), environment(), |_| ()).unwrap();
    let named = Finding::Leftover(taken.canonicalize().unwrap());
    assert_eq!(std::mem::take(&mut found.findings), [named]);
    assert_eq!(found, expected);
    assert_eq!(fs::read(taken).unwrap(), b"mine");
}

#[test]
fn rows_that_were_lost_or_made_up_are_found() {
    let disk = Disk::filled(260);
    let check = |change: &dyn Fn(&WriteTransaction), expected: &str| {
        let disk = disk.copy();
        disk.edit(change);
        let found = disk.findings();
        assert!(
            found.iter().any(|finding| finding.to_string().contains(expected)),
            "{expected}: {found:?}"
        );
        found
    };
    let found =
        check(&|t| drop_row(t, "where", &keys(t, "where")[7]), "the index lacks the object");
    assert_eq!(kinds(&found), ["index", "object"]);
    let found =
        check(&|t| drop_row(t, "nodes", &keys(t, "nodes")[7]), "the index lacks the change");
    assert_eq!(kinds(&found), ["index"]);
    let made_up = [[0; 1].as_slice(), &3_u64.to_be_bytes()].concat();
    let found = check(&|t| set(t, "where", &[9; 32], &made_up), "index table where has");
    assert_eq!(kinds(&found), ["index"]);
    let unsealed = |t: &WriteTransaction| {
        let mut rows = t.open_table(Definition::new("where")).unwrap();
        rows.insert([8; 32].as_slice(), made_up.as_slice()).unwrap();
    };
    check(&unsealed, &format!("the row {} of the table where is damaged", "08".repeat(32)));
    let node = [&4_u32.to_be_bytes(), b"plan".as_slice(), &0_u64.to_be_bytes()].concat();
    let found = check(&|t| set(t, "nodes", &node, b""), "index table nodes has");
    assert_eq!(kinds(&found), ["index"]);
    // The moves of a branch: rows that are gone, wrong, or of moves that never were.
    let pair = |number: u64, time: i64| [number.to_be_bytes(), time.to_be_bytes()].concat();
    let place = |name: &str, place: u64| {
        let length = u32::try_from(name.len()).unwrap().to_be_bytes();
        [length.as_slice(), name.as_bytes(), &place.to_be_bytes()].concat()
    };
    let lacks = "the index lacks the move";
    let wrong_count = "the index has another number of moves of the branch";
    for (change, expected) in [
        (&(|t: &WriteTransaction| drop_row(t, "moves", &place("main", 3))) as &dyn Fn(&_), lacks),
        (&|t| set(t, "moves", &place("main", 3), &pair(1, 0)), lacks),
        (&|t| set(t, "moves", &place("ma", 0), &pair(3, 0)), "index table moves has"),
        (&|t| set(t, "moves", &place("main", 3), b"short"), lacks),
        (&|t| drop_row(t, "reflogs", b"side"), "the table reflogs has"),
        (&|t| set(t, "reflogs", b"side", &pair(1, 0)), wrong_count),
        (&|t| set(t, "reflogs", b"made-up", &pair(1, 0)), "the table reflogs has"),
        (&|t| set(t, "meta", b"mark moves", &9_999_999_u64.to_be_bytes()), "mark moves"),
    ] {
        assert_eq!(kinds(&check(change, expected)), ["index"], "{expected}");
    }
    let misplaced = |t: &WriteTransaction| {
        let key = keys(t, "where").remove(7);
        set(t, "where", &key, &[[0; 1].as_slice(), &1_000_u64.to_be_bytes()].concat());
    };
    assert!(kinds(&check(&misplaced, "the index has the object")).contains(&"index"));
    let found = check(
        &|t| drop_row(t, "staging", b"draft"),
        "the table staging has 0 rows, not the 1 that were written",
    );
    assert_eq!(kinds(&found), ["row"]);
    // A row's value from another place: the checksum covers where it stands.
    let moved = |t: &WriteTransaction| {
        let mut rows = t.open_table(Definition::new("local")).unwrap();
        let keys: Vec<_> =
            rows.iter().unwrap().map(|row| row.unwrap().0.value().to_vec()).collect();
        let value = rows.get(keys[0].as_slice()).unwrap().unwrap().value().to_vec();
        rows.insert(keys[1].as_slice(), value.as_slice()).unwrap();
    };
    assert_eq!(kinds(&check(&moved, "of the table local is damaged")), ["row"]);
}

#[test]
fn an_object_that_stands_twice_is_told_and_does_no_harm() {
    let disk = Disk::filled(0);
    disk.edit(|t| {
        let rows = t.open_table(Definition::new("log")).unwrap();
        let first = rows.get(0_u64.to_be_bytes().as_slice()).unwrap().unwrap().value().to_vec();
        let next = rows.len().unwrap().to_be_bytes();
        drop(rows);
        set(t, "log", &next, &first[..first.len() - 8]);
    });
    let found = Store::fsck_at(disk.root(), environment(), |_| ()).unwrap();
    assert!(found.is_sound());
    assert!(matches!(found.findings.as_slice(), [Finding::Twice { first: 0, .. }]), "{found:?}");
}

#[test]
fn a_branch_that_is_elsewhere_or_gone_is_found() {
    let disk = Disk::filled(3);
    let (tip, before) = {
        let store = disk.open();
        (store.resolve("HEAD").unwrap(), store.resolve("HEAD~1").unwrap())
    };
    let main = name("main");
    let wrong = disk.copy();
    wrong.edit(|t| set(t, "refs", b"main", before.as_bytes()));
    let expected = Finding::Branch { name: main.clone(), at: Some(before), recorded: Some(tip) };
    assert_eq!(wrong.findings(), [expected]);

    let lost = disk.copy();
    lost.edit(|t| {
        drop_row(t, "refs", b"main");
        set(t, "meta", b"rows refs", &2_u64.to_be_bytes());
    });
    let expected = Finding::Branch { name: main.clone(), at: None, recorded: Some(tip) };
    assert_eq!(lost.findings(), [expected]);

    let deleted = disk.copy();
    deleted.edit(|t| {
        set(t, "refs", b"gone", tip.as_bytes());
        set(t, "meta", b"rows refs", &4_u64.to_be_bytes());
    });
    let expected = Finding::Branch { name: name("gone"), at: Some(tip), recorded: None };
    assert_eq!(deleted.findings(), [expected]);

    let missing = disk.copy();
    missing.edit(|t| set(t, "refs", b"main", &[1; 32]));
    assert_eq!(kinds(&missing.findings()), ["branch", "tip"]);
    assert!(missing.findings()[1].to_string().contains("the branch main cannot be read"));
}

#[test]
fn head_and_the_files_beside_the_data_are_looked_at() {
    let disk = Disk::filled(0);
    for (text, expected) in [
        ("junk\n".to_owned(), "HEAD holds \"junk\""),
        (format!("{}\n", "01".repeat(32)), "which cannot be read: the object 0101"),
        ("ref: \n".to_owned(), "HEAD names the branch"),
    ] {
        let disk = disk.copy();
        fs::write(disk.file("HEAD"), text).unwrap();
        let found = disk.findings();
        assert_eq!(kinds(&found), ["head"]);
        assert!(found[0].to_string().contains(expected), "{found:?}");
    }
    // A branch without a commit is no damage.
    fs::write(disk.file("HEAD"), "ref: unborn\n").unwrap();
    assert_eq!(disk.findings(), []);
    fs::write(disk.file("lock"), "x").unwrap();
    fs::write(disk.file("holder"), "x".repeat(200)).unwrap();
    assert_eq!(kinds(&disk.findings()), ["lease"]);
    assert_eq!(disk.findings().len(), 2);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_or_leads_nowhere_is_named() {
    use std::os::unix::fs::symlink;
    let disk = Disk::filled(0);
    for is_link in [false, true] {
        let disk = disk.copy();
        let head = disk.file("HEAD");
        fs::remove_file(&head).unwrap();
        if is_link { symlink("HEAD", &head) } else { fs::create_dir(&head) }.unwrap();
        let found = Store::fsck_at(disk.root(), environment(), |_| ()).unwrap().findings;
        assert_eq!(kinds(&found), ["head"]);
        assert!(found[0].to_string().contains("HEAD is no file: "), "{found:?}");
    }
    // What config names is not there, and another data file is.
    let config = fs::read_to_string(disk.file("config")).unwrap();
    fs::write(disk.file("config"), config.replace("store.redb", "store.2.redb")).unwrap();
    let found = disk.findings();
    assert_eq!((kinds(&found), found[0].hint()), (vec!["config"], Hint::Config));
    let told = found[0].to_string();
    assert!(
        told.contains("store.2.redb, which is missing, and ")
            && told.ends_with("store.redb is there")
    );
    // A disk that is not there.
    let place = tempfile::tempdir().unwrap();
    symlink("elsewhere", place.path().join(".mnem")).unwrap();
    fs::create_dir(place.path().join("below")).unwrap();
    let error = Store::open(&place.path().join("below"), environment()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoStore);
    assert!(error.to_string().ends_with(".mnem is a link that leads to no directory"), "{error}");
}

#[test]
fn a_file_that_cannot_be_opened_is_what_is_found() {
    let disk = Disk::filled(0);
    let path = disk.file("store.redb");
    let whole = fs::read(&path).unwrap();
    let half = whole[..whole.len() / 2].to_vec();
    let text = "nothing of a store\n".repeat(1_000).into_bytes();
    for bytes in [Vec::new(), b"junk".to_vec(), text, half.clone()] {
        fs::write(&path, &bytes).unwrap();
        let found = disk.findings();
        assert_eq!(kinds(&found), ["file"], "{}", bytes.len());
        // A repair is named where it saves something.
        let is_readable = bytes == half;
        assert_eq!(found[0].is_repairable(), is_readable, "{}", bytes.len());
        let expected = if is_readable { Hint::Repair } else { Hint::NothingToSave };
        assert_eq!(found[0].hint(), expected);
    }
    fs::remove_file(&path).unwrap();
    let found = disk.findings();
    assert_eq!((kinds(&found), found[0].hint()), (vec!["file"], Hint::NothingToSave));
    assert!(found[0].to_string().ends_with("the file is missing"), "{found:?}");
}

#[test]
fn a_config_that_says_nothing_is_what_is_found() {
    let disk = Disk::filled(0);
    let path = disk.file("config");
    let whole = fs::read_to_string(&path).unwrap();
    for (text, expected) in [
        (Some("[core]\nbare = true\n".to_owned()), "does not say what the store is"),
        (Some(whole.replace("hash_algo", "hush_algo")), "has no hash_algo"),
        (Some(whole.replace("engine", "motor")), "has no engine"),
        (Some("\0".repeat(120)), "does not say what the store is"),
        (None, "is missing"),
    ] {
        match text {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let found = disk.findings();
        assert_eq!((kinds(&found), found[0].hint()), (vec!["config"], Hint::Config));
        let told = found[0].to_string();
        let shown = path.canonicalize().unwrap_or(path.clone()).display().to_string();
        assert!(told.starts_with(&shown) && told.contains(expected), "{told}");
        assert!(!found[0].is_repairable());
        let before = bytes(disk.root());
        for error in [
            Store::open(disk.root(), environment()).unwrap_err(),
            Store::repair(disk.root(), environment(), |_| ()).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::CorruptStore);
            assert_eq!(
                (error.to_string(), error.hint_text()),
                (told.clone(), Some(Hint::Config.text()))
            );
        }
        assert!(bytes(disk.root()) == before);
    }
    // The way out that the hint names.
    let other = tempfile::tempdir().unwrap();
    drop(Store::init(other.path(), &InitOptions::default(), environment()).unwrap());
    fs::copy(other.path().join(".mnem/config"), &path).unwrap();
    assert_eq!(disk.findings(), []);
}

#[test]
fn a_flipped_bit_is_named_by_row_and_object() {
    for commits in [0, 260] {
        let disk = Disk::filled(commits);
        let version = {
            let store = disk.open();
            let log = store.log(&LogOptions::default()).unwrap();
            let first = log.last().unwrap().0;
            store.snapshot_at(&format!("{first}")).unwrap();
            let plan = log.iter().rev().find_map(|(commit, _)| {
                store.snapshot_at(&commit.to_string()).unwrap().version(&id("plan")).unwrap()
            });
            plan.unwrap()
        };
        disk.spoil("Enterprise");
        let found = disk.findings();
        assert_eq!(kinds(&found).last(), Some(&"object"), "{found:?}");
        let text = sentences(&found).join("\n");
        assert!(text.contains(&version.to_string()), "{text}");
        assert!(text.contains("of the table log is damaged"), "{text}");
    }
}

/// A store in memory over a backend that is written behind its back.
fn in_memory() -> (Arc<MemoryBackend>, Store) {
    let backend = Arc::new(MemoryBackend::new());
    let shared = Arc::clone(&backend) as Arc<dyn Backend>;
    (backend, Store::over_backend(shared, &InitOptions::default(), environment()))
}

fn found(store: &Store) -> Vec<Finding> {
    store.fsck(|_| ()).unwrap().findings
}

#[test]
fn no_object_stands_twice() {
    for reproducible in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let options = InitOptions { reproducible, ..InitOptions::default() };
        let store = Store::init(directory.path(), &options, environment()).unwrap();
        let forget = |name: &str| {
            store.write(Changes::from([(id(name), None)]), &meta("forget")).unwrap();
        };
        let names: Vec<_> = (0..15).map(|n| format!("a{n:02}")).collect();
        for name in &names {
            put(&store, name, "1");
        }
        // A leaf of 16, which the next entry splits: the 15 are the leaf that was the root.
        put(&store, "b", "1");
        put(&store, "c", "1");
        let full = store.head_commit().unwrap().unwrap().to_string();
        // Every state on the way back was there before, and so were the nodes.
        forget("c");
        forget("b");
        for name in &names {
            forget(name);
        }
        for name in names.iter().map(String::as_str).chain(["b", "c"]) {
            assert!(store.restore(&id(name), &full, &meta("restore")).unwrap().made);
        }
        put(&store, "a03", "2");
        let RevertOutcome::Reverted(_) = store.revert("HEAD", &MergeOptions::default()).unwrap()
        else {
            panic!("a revert of the tip has no conflict")
        };
        // Indexed or not, what comes back is found.
        for turn in 0..130 {
            put(&store, "a03", &format!("3 {turn}"));
            store.restore(&id("a03"), &full, &meta("restore")).unwrap();
        }
        drop(store);
        let found = Store::fsck_at(directory.path(), environment(), |_| ()).unwrap();
        assert_eq!(sentences(&found.findings), Vec::<String>::new(), "{reproducible}");
    }
}

#[test]
fn a_salt_that_is_drawn_again_is_told_and_harms_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let fill = |store: &Store, what: &str| {
        // The index is written out meanwhile.
        (0..260).for_each(|turn| _ = put(store, "b", &format!("{what} {turn}")));
    };
    drop(Store::init(directory.path(), &InitOptions::default(), environment()).unwrap());
    let store = Store::open(directory.path(), environment()).unwrap();
    put(&store, "a", "1");
    let first = store.snapshot().unwrap().version(&id("a")).unwrap().unwrap();
    put(&store, "a", "2");
    fill(&store, "one");
    drop(store);
    // Draws what the other drew, as no two processes should.
    let store = Store::open(directory.path(), environment()).unwrap();
    put(&store, "a", "1");
    assert_eq!(store.snapshot().unwrap().version(&id("a")).unwrap(), Some(first));
    for what in ["waiting for the index", "indexed"] {
        let found = store.fsck(|_| ()).unwrap();
        assert!(found.is_sound(), "{what}");
        assert_eq!(kinds(&found.findings), ["twice"], "{what}");
        assert!(sentences(&found.findings)[0].contains(&first.to_string()), "{what}");
        fill(&store, what);
    }
}

#[test]
fn a_record_that_does_not_follow_from_its_commit_is_found() {
    type Wrong = (&'static str, fn(&mut Derived));
    let wrong: [Wrong; 4] = [
        ("generation", |d| d.generation += 1),
        ("height", |d| d.height += 1),
        ("skip link", |d| d.skip = d.skip.map(|skip| Skip { height: skip.height + 1, ..skip })),
        ("change set", |d| _ = d.changes.pop_first()),
    ];
    for (what, change) in wrong {
        let (source, store) = in_memory();
        put(&store, "a", "1");
        let second = put(&store, "a", "2");
        assert_eq!(found(&store), []);
        // The same again, but for one record.
        let (backend, copy) = in_memory();
        let mut batch = Batch::default();
        source
            .inspect(&mut |found| match found {
                Found::Entry(_, Entry::Object(object)) => {
                    batch.object(object);
                }
                Found::Entry(_, Entry::Record(mut record)) => {
                    if record.new == Some(second) {
                        change(record.derived.as_mut().unwrap());
                    }
                    batch.record(record);
                }
                _ => {}
            })
            .unwrap();
        batch.reference(name("main"), Expected::Absent, Some(second));
        backend.publish(&batch).unwrap();
        assert_eq!(found(&copy), [Finding::Derived { commit: second, what }]);
    }
}

#[test]
fn a_commit_without_a_record_a_draft_without_a_node_and_a_time_to_come_are_found() {
    let (backend, store) = in_memory();
    put(&store, "a", "1");
    let state = store.snapshot().unwrap().state().unwrap();
    let (lonely, object) = Encoded::commit(Commit {
        parents: vec![],
        state,
        message: "lonely".into(),
        author: "t".into(),
        time: 0,
    });
    let mut batch = Batch::default();
    batch.object(object);
    backend.publish(&batch).unwrap();
    assert_eq!(found(&store), [Finding::NoRecord(lonely)]);

    let (backend, store) = in_memory();
    let tip = put(&store, "a", "1");
    let now = store.environment().unwrap().clock.now();
    let record = |time: i64, old: Option<CommitId>| Record {
        branch: Some(name("late")),
        old,
        new: Some(tip),
        operation: Operation::BRANCH,
        author: "t".into(),
        time,
        derived: None,
    };
    let day = 86_400_000;
    let mut batch = Batch::default();
    batch.record(record(now + day - 60_000, None));
    batch.reference(name("late"), Expected::Absent, Some(tip));
    backend.publish(&batch).unwrap();
    assert_eq!(found(&store), []);
    let mut batch = Batch::default();
    batch.record(record(now + day + 60_000, Some(tip)));
    batch.record(record(now + 3 * day, Some(tip)));
    backend.publish(&batch).unwrap();
    let late = store.fsck(|_| ()).unwrap();
    assert!(late.is_sound());
    assert_eq!(late.findings, [Finding::Ahead { name: Some(name("late")), time: now + 3 * day }]);

    let (backend, store) = in_memory();
    let absent = NodeVersionId::from_bytes([1; 32]);
    let mut batch = Batch::default();
    batch.row(LocalTable::Staging, "draft", Some(absent.as_bytes().to_vec()));
    backend.publish(&batch).unwrap();
    let drafts = found(&store);
    assert_eq!(kinds(&drafts), ["staged"]);
    assert!(
        drafts[0].to_string().contains("\"draft\"")
            && drafts[0].to_string().contains(&absent.to_string())
    );
}

/// How many of so many flips no check sees.
fn random_flips(count: u64) -> u64 {
    let mut unseen = 0;
    flips(count, &[1_094], |_, disk| {
        let examined = Environment { examine: true, ..environment() };
        let found = Store::fsck_at(disk.root(), examined, |_| ()).unwrap();
        unseen += u64::from(found.findings.is_empty());
    });
    // Most bytes of a page say something.
    assert!(unseen <= count / 2, "{unseen} of {count}");
    unseen
}

#[test]
fn random_flips_are_found_and_end_nothing() {
    random_flips(12);
}

#[test]
#[ignore = "minutes long; `make sweep` runs it"]
fn many_random_flips_are_found_and_end_nothing() {
    let started = Instant::now();
    let unseen = random_flips(3_000);
    let note =
        format!("random flips of a store of 300 commits; {unseen} in bytes that say nothing");
    tell_held("flips-fsck", 3_000, started, note);
}
