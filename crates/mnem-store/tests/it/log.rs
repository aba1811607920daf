//! The order of history: the graph decides, time never does.

use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Changes, MergeOptions, MergeOutcome, Meta};
use mnem_store::{BranchName, CommitId, ErrorKind, InitOptions, Store};

use crate::damage::Disk;
use crate::support::{environment, id, in_memory, meta, note, put};

fn put_at(store: &Store, name: &str, time: i64) -> CommitId {
    let meta = Meta { time: Some(time), ..Meta::new(name, "tester") };
    store.write(Changes::from([(id(name), Some(note(name, name)))]), &meta).unwrap()
}

fn log(store: &Store, limit: Option<usize>) -> Vec<CommitId> {
    let options = LogOptions { limit, ..LogOptions::default() };
    store.log(&options).unwrap().into_iter().map(|(id, _)| id).collect()
}

#[test]
fn backdated_commits_do_not_hide_head() {
    let store = in_memory();
    let mut made: Vec<_> = (0..30).map(|n| put_at(&store, &format!("n{n}"), 1_000 - n)).collect();
    made.reverse();
    assert_eq!(log(&store, None), made);
    assert_eq!(log(&store, Some(20)), made[..20]);
    assert_eq!(log(&store, Some(0)), []);
    assert_eq!(log(&store, Some(1)), [store.head_commit().unwrap().unwrap()]);
}

#[test]
fn eight_commits_in_one_millisecond_stand_in_order() {
    let store = in_memory();
    let mut made: Vec<_> = (0..8).map(|n| put_at(&store, &format!("n{n}"), 5)).collect();
    made.reverse();
    assert_eq!(log(&store, None), made);
}

#[test]
fn a_child_before_its_parents_then_generation_then_id() {
    let store = in_memory();
    let root = put_at(&store, "root", 9);
    let side = store.on(&BranchName::new("side").unwrap(), "t").unwrap();
    let long: Vec<_> = (0..3).map(|n| put_at(&side, &format!("s{n}"), n)).collect();
    let short = put_at(&store, "m", 99);
    let MergeOutcome::Merged(merge) = store.merge("side", &MergeOptions::default()).unwrap() else {
        panic!("no merge")
    };
    let mut last = [long[0], short];
    last.sort();
    let expected = [merge, long[2], long[1], last[0], last[1], root];
    assert_eq!(log(&store, None), expected);
    let first_parent = LogOptions { first_parent: true, ..LogOptions::default() };
    let chain: Vec<_> = store.log(&first_parent).unwrap().into_iter().map(|(id, _)| id).collect();
    assert_eq!(chain, [merge, short, root]);
    let from = LogOptions { start: vec![long[1]], ..LogOptions::default() };
    assert_eq!(store.log(&from).unwrap().len(), 3);
}

#[test]
fn no_history_and_an_unknown_start() {
    let store = in_memory();
    assert_eq!(log(&store, None), []);
    put(&store, "x", "a");
    let unknown = CommitId::from_bytes([7; 32]);
    let options = LogOptions { start: vec![unknown], ..LogOptions::default() };
    assert_eq!(store.log(&options).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.commit_object(unknown).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.changed_by(unknown).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn what_is_lost_hides_what_no_line_leads_to_and_nothing_else() {
    let disk = Disk(tempfile::tempdir().unwrap());
    let options = InitOptions { reproducible: true, ..InitOptions::default() };
    let store = Store::init(disk.root(), &options, environment()).unwrap();
    // A message stands in its commit alone.
    let say = |store: &Store, name: &str, message: &str| {
        let changes = Changes::from([(id(name), Some(note(name, "1")))]);
        store.write(changes, &meta(message)).unwrap()
    };
    let root = say(&store, "a", "the root");
    let side = store.on(&BranchName::new("side").unwrap(), "t").unwrap();
    let side = [("b", "one aside"), ("c", "another aside"), ("d", "a third aside")]
        .map(|(name, message)| say(&side, name, message));
    let main = say(&store, "e", "the main line");
    let MergeOutcome::Merged(merge) = store.merge("side", &MergeOptions::default()).unwrap() else {
        panic!("no merge")
    };
    let top = say(&store, "f", "the top");
    let whole = log(&store, None);
    let readable = store.readable_log(&LogOptions::default()).unwrap();
    assert_eq!(readable.commits, store.log(&LogOptions::default()).unwrap());
    assert!(readable.lost.is_empty());
    store.close();
    for (lost, behind, more) in [
        (vec![("the main line", main)], vec![], 0),
        (vec![("another aside", side[1])], vec![side[0]], 0),
        (vec![("another aside", side[1]), ("the main line", main)], vec![side[0], root], 1),
    ] {
        let disk = disk.copy();
        for (message, _) in &lost {
            disk.spoil(message);
        }
        assert!(!Store::repair(disk.root(), environment(), |_| ()).unwrap().losses.is_empty());
        let store = disk.open();
        let is_there =
            |id: &CommitId| !lost.iter().any(|(_, gone)| gone == id) && !behind.contains(id);
        let expected: Vec<_> = whole.iter().copied().filter(is_there).collect();
        assert_eq!(store.log(&LogOptions::default()).unwrap_err().kind(), ErrorKind::CorruptStore);
        let readable = store.readable_log(&LogOptions::default()).unwrap();
        let found: Vec<_> = readable.commits.iter().map(|(id, _)| *id).collect();
        assert_eq!(found, expected, "{lost:?}");
        assert_eq!(readable.lost.len(), 1 + more);
        for ((_, id), number) in lost.iter().zip(0..) {
            let told =
                readable.lost.iter().any(|error| error.to_string().contains(&id.to_string()));
            assert!(told, "{number}: {:?}", readable.lost);
        }
        // A limit reads no further, and along first parents a lost one is the end.
        let limit = LogOptions { limit: Some(2), ..LogOptions::default() };
        let readable = store.readable_log(&limit).unwrap();
        assert_eq!((readable.commits.len(), readable.lost.len()), (2, 0));
        let line = LogOptions { first_parent: true, ..LogOptions::default() };
        let readable = store.readable_log(&line).unwrap();
        let found: Vec<_> = readable.commits.iter().map(|(id, _)| *id).collect();
        let is_cut = lost.iter().any(|(_, id)| *id == main);
        assert_eq!(found, if is_cut { vec![top, merge] } else { vec![top, merge, main, root] });
        assert_eq!(readable.lost.len(), usize::from(is_cut));
    }
}

#[test]
fn several_starts_are_one_log() {
    let store = in_memory();
    let root = put_at(&store, "root", 9);
    let side = store.on(&BranchName::new("side").unwrap(), "t").unwrap();
    let (ours, theirs) = (put_at(&store, "m", 1), put_at(&side, "s", 2));
    let start = vec![theirs, ours];
    let both = LogOptions { start: start.clone(), ..LogOptions::default() };
    let ids: Vec<_> = store.log(&both).unwrap().into_iter().map(|(id, _)| id).collect();
    let mut expected = vec![ours, theirs];
    expected.sort();
    expected.push(root);
    assert_eq!(ids, expected);
    let first_parent = LogOptions { start, first_parent: true, ..LogOptions::default() };
    assert_eq!(store.log(&first_parent).unwrap_err().kind(), ErrorKind::InvalidRef);
}
