//! What is refused, why, with which words, and that nothing is changed by it.
//!
//! Long: it is tables.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mnem_store::object::content::MAX_CONTENT_BYTES;
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Changes, DiffTarget, MergeOptions, NodeTest, Resolution};
use mnem_store::store::local::LocalEdit;
use mnem_store::{
    BranchName, CommitId, Content, Environment, Error, ErrorKind, InitOptions, MemoryNode, NodeId,
    Store,
};
use tempfile::TempDir;

use crate::support::{environment, id, meta, note, put};

/// Every file under a directory and its bytes. Not `holder`: it says who tried to open the store.
fn bytes(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if !path.ends_with(".mnem/holder") {
                found.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    found
}

fn init() -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::init(directory.path(), &InitOptions::default(), environment()).unwrap();
    (directory, store)
}

type Verb = fn(&Store) -> Result<(), Error>;
type Row = (&'static str, Verb, ErrorKind, &'static str);

fn write(store: &Store, node: MemoryNode) -> Result<(), Error> {
    let changes = Changes::from([(node.id.clone(), Some(node))]);
    store.write(changes, &meta("refused")).map(drop)
}

fn named(name: &str) -> MemoryNode {
    MemoryNode::note(NodeId::from_stored(name), Content::Null)
}

fn branch(name: &str) -> BranchName {
    BranchName::from_stored(name)
}

fn create(store: &Store, name: &str) -> Result<(), Error> {
    store.create_branch(&branch(name), None, "t").map(drop)
}

fn answered(store: &Store, name: &str, resolution: Resolution) -> Result<(), Error> {
    let resolutions = [(id(name), resolution)].into();
    store.merge("side", &MergeOptions { resolutions, ..MergeOptions::default() }).map(drop)
}

fn deep(levels: usize) -> MemoryNode {
    let mut node = named("deep");
    node.content = (0..levels).fold(Content::Null, |inner, _| Content::Array(vec![inner]));
    node
}

const INVALID: ErrorKind = ErrorKind::InvalidRef;
const MISSING: ErrorKind = ErrorKind::NotFound;
const NOWHERE: CommitId = CommitId::from_bytes([7; 32]);

/// On a store whose main and side contest `x` and whose side alone has `theirs`; HEAD on main,
/// nothing staged.
const REQUESTS: &[Row] = &[
    ("empty id", |s| write(s, named("")), INVALID, "a node id must not be empty"),
    ("NUL in id", |s| write(s, named("a\0b")), INVALID, "the node id \"a\\0b\" contains a NUL"),
    ("long id", |s| write(s, named(&"é".repeat(513))), INVALID, "1026 bytes, more than 1024"),
    ("staged empty id", |s| s.stage(named("")).map(drop), INVALID, "must not be empty"),
    (
        "another id",
        |s| s.write(Changes::from([(id("x"), Some(named("y")))]), &meta("y")).map(drop),
        INVALID,
        "the node \"y\" is written under \"x\"",
    ),
    ("too deep", |s| write(s, deep(129)), INVALID, "nested more than 128 arrays and maps deep"),
    ("far too deep", |s| write(s, deep(2_000)), INVALID, "nested more than 128"),
    ("staged too deep", |s| s.stage(deep(129)).map(drop), INVALID, "nested more than 128"),
    (
        "too large",
        |s| {
            let mut node = named("large");
            node.content = Content::text("x".repeat(MAX_CONTENT_BYTES));
            write(s, node)
        },
        INVALID,
        "bytes once encoded, more than 67108864",
    ),
    (
        "update",
        |s| {
            s.update(&meta("u"), |_| {
                Ok(Changes::from([(NodeId::from_stored(""), Some(named("")))]))
            })
            .map(drop)
        },
        INVALID,
        "must not be empty",
    ),
    (
        "update fails",
        |s| s.update(&meta("u"), |_| Err(Error::not_found("mine"))).map(drop),
        MISSING,
        "mine",
    ),
    (
        "unknown base",
        |s| {
            let meta = mnem_store::ops::Meta { base: Some(NOWHERE), ..meta("based") };
            s.write(Changes::from([(id("x"), Some(note("x", "z")))]), &meta).map(drop)
        },
        MISSING,
        "there is no commit 0707",
    ),
    ("empty branch name", |s| create(s, ""), INVALID, "must not be empty"),
    ("HEAD", |s| create(s, "HEAD"), INVALID, "the branch name \"HEAD\" is reserved"),
    ("space", |s| create(s, "a b"), INVALID, "must not contain whitespace"),
    ("tilde", |s| create(s, "a~1"), INVALID, "may contain letters, digits"),
    ("at", |s| create(s, "a@{1}"), INVALID, "may contain letters, digits"),
    ("dots", |s| create(s, "a..b"), INVALID, "must not contain '..'"),
    ("slash", |s| create(s, "a/"), INVALID, "must not begin or end with '/' or '.'"),
    ("dot", |s| create(s, ".a"), INVALID, "must not begin or end with '/' or '.'"),
    ("commit id", |s| create(s, &"ab".repeat(32)), INVALID, "must not look like a commit id"),
    ("COMMIT ID", |s| create(s, &"AB".repeat(32)), INVALID, "must not look like a commit id"),
    ("on a bad branch", |s| s.on(&branch("a b"), "t").map(drop), INVALID, "whitespace"),
    (
        "checkout of a bad new branch",
        |s| s.checkout_new(&branch("a b"), None, false, "t").map(drop),
        INVALID,
        "whitespace",
    ),
    ("branch that exists", |s| create(s, "side"), INVALID, "the branch side already exists"),
    (
        "branch at nothing",
        |s| s.create_branch(&branch("new"), Some("nope"), "t").map(drop),
        INVALID,
        "no branch named \"nope\"",
    ),
    (
        "new branch at nothing",
        |s| s.checkout_new(&branch("new"), Some("nope"), false, "t").map(drop),
        INVALID,
        "no branch named \"nope\"",
    ),
    (
        "current branch",
        |s| s.delete_branch(&branch("main"), "t").map(drop),
        INVALID,
        "cannot delete main: it is the current branch",
    ),
    ("rm of nothing", |s| s.remove(&id("nope")), INVALID, "no node \"nope\" in memory"),
    ("unknown revision", |s| s.snapshot_at("nope").map(drop), INVALID, "no branch named"),
    ("checkout of nothing", |s| s.checkout("nope", true).map(drop), INVALID, "no branch named"),
    (
        "merge of nothing",
        |s| s.merge("nope", &MergeOptions::default()).map(drop),
        INVALID,
        "no branch named",
    ),
    (
        "answer to no conflict",
        |s| answered(s, "theirs", Resolution::Ours),
        INVALID,
        "resolution given for \"theirs\", which is not a conflict",
    ),
    (
        "answer to an unknown node",
        |s| answered(s, "nope", Resolution::Ours),
        INVALID,
        "resolution given for \"nope\", which is not a conflict",
    ),
    (
        "answer of another name",
        |s| answered(s, "x", Resolution::Set(Box::new(named("y")))),
        INVALID,
        "the resolution of \"x\" is a node with the id \"y\"",
    ),
    ("no base", |s| answered(s, "x", Resolution::Base), INVALID, "\"x\" has no base"),
    ("unknown commit", |s| s.commit_object(NOWHERE).map(drop), MISSING, "there is no commit 0707"),
    ("unknown changes", |s| s.changed_by(NOWHERE).map(drop), MISSING, "there is no commit"),
    (
        "unknown diff",
        |s| s.diff(DiffTarget::Nothing, DiffTarget::Commit(NOWHERE)).map(drop),
        MISSING,
        "there is no commit",
    ),
    (
        "unknown log",
        |s| s.log(&LogOptions { start: vec![NOWHERE], ..LogOptions::default() }).map(drop),
        MISSING,
        "there is no commit",
    ),
    (
        "blame of nothing",
        |s| s.blame(&id("nope"), None).map(drop),
        INVALID,
        "blame: \"nope\" is not in memory at",
    ),
    (
        "bisect to nowhere",
        |s| s.bisect_node(&id("x"), &NodeTest::Present, Some("nope"), None).map(drop),
        INVALID,
        "no branch named",
    ),
];

#[test]
fn requests_are_refused_and_change_nothing() {
    let (directory, store) = init();
    put(&store, "root", "r");
    let side = store.on(&branch("side"), "t").unwrap();
    put(&side, "x", "theirs");
    put(&side, "theirs", "t");
    put(&store, "x", "ours");
    let before = bytes(directory.path());
    for (name, verb, kind, message) in REQUESTS {
        let error = verb(&store).expect_err(name);
        assert_eq!(error.kind(), *kind, "{name}: {error}");
        assert!(error.to_string().contains(message), "{name}: {error}");
        assert!(!error.to_string().contains('\n'), "{name}: one sentence");
        assert!(bytes(directory.path()) == before, "{name} changed a file");
    }
    put(&store, "still", "works");
}

#[test]
fn the_edges_are_accepted() {
    let (_directory, store) = init();
    for node in [deep(128), named("x"), named(&"x".repeat(1_024)), named(&"é".repeat(512))] {
        write(&store, node).unwrap();
    }
    let mut node = named("large");
    node.content = Content::text("x".repeat(MAX_CONTENT_BYTES - 5));
    write(&store, node).unwrap();
    create(&store, &"ab".repeat(31)).unwrap();
    create(&store, &format!("{}g", "a".repeat(63))).unwrap();
    create(&store, "é/ü-1.x_y").unwrap();
}

/// Where HEAD has no commit, is detached, or has drafts over it.
#[test]
fn what_a_place_forbids_changes_nothing() {
    let (directory, store) = init();
    let check = |place: &str, rows: &[Row]| {
        let before = bytes(directory.path());
        for (name, verb, kind, message) in rows {
            let error = verb(&store).expect_err(name);
            assert_eq!(error.kind(), *kind, "{place}, {name}: {error}");
            assert!(error.to_string().contains(message), "{place}, {name}: {error}");
            assert!(bytes(directory.path()) == before, "{place}, {name} changed a file");
        }
    };
    check(
        "unborn",
        &[
            (
                "commit",
                |s| s.commit(&meta("c")).map(drop),
                INVALID,
                "nothing to commit on main, which has no commit yet",
            ),
            ("branch", |s| create(s, "new"), INVALID, "there is no commit to start it at"),
            ("revision", |s| s.resolve("HEAD").map(drop), INVALID, "has no commit yet"),
            ("blame", |s| s.blame(&id("x"), None).map(drop), INVALID, "has no commit yet"),
            ("rm", |s| s.remove(&id("x")), INVALID, "no node \"x\" in memory"),
        ],
    );
    let tip = put(&store, "x", "1");
    store.stage(note("draft", "d")).unwrap();
    store.create_branch(&branch("side"), None, "t").unwrap();
    let over = "over staged changes (draft)";
    check(
        "staged",
        &[
            ("checkout", |s| s.checkout("side", false).map(drop), INVALID, over),
            (
                "checkout -b",
                |s| s.checkout_new(&branch("new"), None, false, "t").map(drop),
                INVALID,
                over,
            ),
            ("merge", |s| s.merge("side", &MergeOptions::default()).map(drop), INVALID, over),
        ],
    );
    store.checkout(&tip.to_string(), true).unwrap();
    let detached = "from a detached HEAD";
    check(
        "detached",
        &[
            ("write", |s| write(s, named("y")), INVALID, detached),
            ("commit", |s| s.commit(&meta("c")).map(drop), INVALID, detached),
            ("merge", |s| s.merge("side", &MergeOptions::default()).map(drop), INVALID, detached),
            ("time", |s| s.resolve("@{5}").map(drop), INVALID, "HEAD is detached"),
        ],
    );
    store.delete_branch(&branch("side"), "t").unwrap();
    check(
        "last",
        &[(
            "delete",
            |s| s.delete_branch(&branch("main"), "t").map(drop),
            INVALID,
            "cannot delete main: it is the last branch",
        )],
    );
}

type Damage = fn(&Path);

fn config(directory: &Path, change: impl Fn(&str) -> String) {
    let path = directory.join("config");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, change(&text)).unwrap();
}

fn without(directory: &Path, key: &str) {
    config(directory, |text| {
        text.lines()
            .filter(|line| !line.starts_with(key))
            .fold(String::new(), |text, line| text + line + "\n")
    });
}

fn with(directory: &Path, key: &str, value: &str) {
    without(directory, key);
    config(directory, |text| format!("{text}{key} = {value}\n"));
}

fn data(directory: &Path, change: impl Fn(Vec<u8>) -> Vec<u8>) {
    let path = directory.join("store.redb");
    let bytes = fs::read(&path).unwrap();
    fs::write(path, change(bytes)).unwrap();
}

const CORRUPT: ErrorKind = ErrorKind::CorruptStore;
const FORMAT: ErrorKind = ErrorKind::FormatVersion;

/// What may stand in a `.mnem/` that this release does not open.
const DAMAGE: &[(&str, Damage, ErrorKind, &str)] = &[
    ("no format_version", |d| without(d, "format_version"), CORRUPT, "has no format_version"),
    ("no hash_algo", |d| without(d, "hash_algo"), CORRUPT, "has no hash_algo"),
    ("no engine", |d| without(d, "engine"), CORRUPT, "has no engine"),
    (
        "format of letters",
        |d| with(d, "format_version", "two"),
        CORRUPT,
        "has the format_version \"two\", which is no number",
    ),
    ("negative format", |d| with(d, "format_version", "-1"), CORRUPT, "which is no number"),
    ("format 0", |d| with(d, "format_version", "0"), FORMAT, "has format version 0"),
    (
        "format 1",
        |d| with(d, "format_version", "1"),
        CORRUPT,
        "store.redb: the file is not one of format version 1",
    ),
    (
        "format 3",
        |d| with(d, "format_version", "3"),
        FORMAT,
        "this store has format version 3; this release reads up to 2",
    ),
    (
        "unknown hash",
        |d| with(d, "hash_algo", "md5"),
        CORRUPT,
        "names the hash \"md5\", not \"blake3\"",
    ),
    ("salted perhaps", |d| with(d, "salted", "perhaps"), CORRUPT, "has salted = \"perhaps\""),
    (
        "empty default_branch",
        |d| with(d, "default_branch", ""),
        CORRUPT,
        "has an empty default_branch",
    ),
    ("unknown engine", |d| with(d, "engine", "other 1 store.redb"), FORMAT, "is held by other 1"),
    ("newer engine", |d| with(d, "engine", "redb 4 store.redb"), FORMAT, "is held by redb 4"),
    (
        "engine elsewhere",
        |d| with(d, "engine", "redb 3 ../store.redb"),
        CORRUPT,
        "has the engine \"redb 3 ../store.redb\"",
    ),
    ("engine without a file", |d| with(d, "engine", "redb 3"), CORRUPT, "has the engine"),
    (
        "no config",
        |d| fs::remove_file(d.join("config")).unwrap(),
        CORRUPT,
        "config is missing, and the rest of a store is there",
    ),
    (
        "a foreign config",
        |d| config(d, |_| "[server]\nport = 80\n".into()),
        CORRUPT,
        "config does not say what the store is, and the rest of a store is there",
    ),
    (
        "another program's directory",
        |d| {
            config(d, |_| "[server]\nport = 80\n".into());
            fs::remove_file(d.join("HEAD")).unwrap();
        },
        ErrorKind::NoStore,
        "was made by another program",
    ),
    (
        "no data file",
        |d| fs::remove_file(d.join("store.redb")).unwrap(),
        CORRUPT,
        "store.redb: the file is missing",
    ),
    ("an empty data file", |d| data(d, |_| Vec::new()), CORRUPT, "store.redb: the file is empty"),
    ("a data file that is none", |d| data(d, |_| vec![b'x'; 10_000]), CORRUPT, "store.redb"),
    ("a short data file", |d| data(d, |bytes| bytes[..10].to_vec()), CORRUPT, "store.redb"),
    (
        "half a data file",
        |d| data(d, |bytes| bytes[..bytes.len() / 2].to_vec()),
        CORRUPT,
        "store.redb",
    ),
];

fn quick() -> Environment {
    Environment { busy_timeout: std::time::Duration::ZERO, ..environment() }
}

#[test]
fn damaged_stores_do_not_open_and_are_left_alone() {
    for (name, damage, kind, message) in DAMAGE {
        let (directory, store) = init();
        put(&store, "x", "1");
        drop(store);
        damage(&directory.path().join(".mnem"));
        let before = bytes(directory.path());
        let error = Store::open(directory.path(), quick()).expect_err(name);
        assert_eq!(error.kind(), *kind, "{name}: {error}");
        assert!(error.to_string().contains(message), "{name}: {error}");
        assert!(!error.to_string().contains('\n'), "{name}: one sentence");
        let after = bytes(directory.path());
        assert_eq!(
            after.keys().collect::<Vec<_>>(),
            before.keys().collect::<Vec<_>>(),
            "{name}: files came or went"
        );
        assert!(after == before, "{name}: a file was changed");
        // Nothing may be made over it either.
        let error = Store::init(directory.path(), &InitOptions::default(), quick()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoreExists, "{name}");
        let is_foreign = error.to_string().contains("was made by another program");
        assert_eq!(is_foreign, *kind == ErrorKind::NoStore, "{name}: {error}");
        assert!(bytes(directory.path()) == before, "{name}: a file was changed");
    }
}

#[test]
fn a_config_may_say_more_and_leave_the_branch_out() {
    let (directory, store) = init();
    put(&store, "x", "1");
    drop(store);
    let place = directory.path().join(".mnem");
    without(&place, "default_branch");
    without(&place, "salted");
    with(&place, "colour", "blue");
    let store = Store::open(directory.path(), environment()).unwrap();
    assert_eq!(store.default_branch().unwrap().as_str(), "main");
    put(&store, "y", "1");
    let node = store.snapshot().unwrap().get(&id("y")).unwrap().unwrap();
    assert_eq!(node.salt, None, "left out means false");
}

#[test]
fn head_with_junk() {
    let (directory, store) = init();
    put(&store, "x", "1");
    let path = directory.path().join(".mnem/HEAD");
    let whole = fs::read(&path).unwrap();
    for (junk, message) in [
        (&b""[..], "HEAD holds \"\", neither a branch nor a commit id"),
        (b"\n", "HEAD holds \"\""),
        (b"main\n", "HEAD holds \"main\""),
        (b"ref: \n", "HEAD names the branch"),
        (b"ref: main\nmore\n", "HEAD names the branch"),
        (b"ref: a b\n", "HEAD names the branch \"a b\""),
        (b"ref: ../x\n", "HEAD names the branch \"../x\""),
        (b"ref:main\n", "HEAD holds \"ref:main\""),
        (b"ref: ma\xffin\n", "HEAD is not UTF-8"),
        (b"\0\0\0\0", "HEAD holds"),
        (&[b'A'; 64], "HEAD holds"),
    ] {
        fs::write(&path, junk).unwrap();
        let before = bytes(directory.path());
        let verbs: [Verb; 6] = [
            |s| s.head().map(drop),
            |s| s.snapshot().map(drop),
            |s| write(s, named("y")),
            |s| s.commit(&meta("c")).map(drop),
            |s| s.checkout("main", false).map(drop),
            |s| s.log(&LogOptions::default()).map(drop),
        ];
        for verb in verbs {
            let error = verb(&store).unwrap_err();
            assert_eq!(error.kind(), CORRUPT, "{junk:?}: {error}");
            assert!(error.to_string().contains(message), "{junk:?}: {error}");
        }
        assert!(bytes(directory.path()) == before, "{junk:?}");
    }
    // A commit that is not there is damage too, and a branch that is not there is a new one.
    fs::write(&path, "ab".repeat(32)).unwrap();
    assert_eq!(store.snapshot().unwrap_err().kind(), CORRUPT);
    fs::write(&path, "ref: other").unwrap();
    assert_eq!(store.head_commit().unwrap(), None);
    fs::remove_file(&path).unwrap();
    let error = store.snapshot().unwrap_err();
    assert_eq!(error.kind(), CORRUPT);
    assert!(error.to_string().ends_with("HEAD is missing"), "{error}");
    fs::write(&path, whole).unwrap();
    put(&store, "y", "1");
}

#[test]
fn stores_do_not_nest_and_are_found_from_below() {
    let (directory, store) = init();
    put(&store, "x", "1");
    let below = directory.path().join("a/b");
    let before = bytes(directory.path());
    for place in [directory.path(), &below] {
        let error = Store::init(place, &InitOptions::default(), environment()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoreExists);
        assert!(error.to_string().starts_with("a store already exists at "), "{error}");
    }
    assert!(!below.exists());
    let error = Store::init(
        &tempfile::tempdir().unwrap().path().join("new"),
        &InitOptions { default_branch: branch("a b"), ..InitOptions::default() },
        environment(),
    );
    assert_eq!(error.unwrap_err().kind(), INVALID);
    assert!(bytes(directory.path()) == before);
    std::fs::create_dir_all(&below).unwrap();
    let found = Store::open(&below, environment()).unwrap();
    assert_eq!(found.root(), Some(directory.path()));
    let empty = tempfile::tempdir().unwrap();
    let error = Store::open(empty.path(), environment()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoStore);
    assert!(error.to_string().starts_with("no mnemosyne store at or above "), "{error}");
    assert!(bytes(empty.path()).is_empty());
}

#[test]
fn a_store_deleted_under_an_open_handle_says_so() {
    let verbs: [Verb; 13] = [
        |s| write(s, named("y")),
        |s| s.update(&meta("u"), |_| Ok(Changes::new())).map(drop),
        |s| s.stage(named("y")).map(drop),
        |s| s.commit(&meta("c")).map(drop),
        |s| create(s, "new"),
        |s| s.delete_branch(&branch("side"), "t").map(drop),
        |s| s.on(&branch("new"), "t").map(drop),
        |s| s.checkout("side", false).map(drop),
        |s| s.merge("side", &MergeOptions::default()).map(drop),
        |s| s.snapshot().map(drop),
        |s| s.head().map(drop),
        |s| s.log(&LogOptions::default()).map(drop),
        // It looks for no branch, and this process still has the data file open.
        |s| s.local_edit(&[LocalEdit { owner: "o".into(), key: vec![1], value: None }]),
    ];
    for replaced in [false, true] {
        let (directory, store) = init();
        put(&store, "x", "1");
        let side = store.on(&branch("side"), "t").unwrap();
        fs::remove_dir_all(directory.path().join(".mnem")).unwrap();
        if replaced {
            let other = Store::init(directory.path(), &InitOptions::default(), environment());
            put(&other.unwrap(), "other", "1");
        }
        let before = bytes(directory.path());
        for (number, verb) in verbs.iter().enumerate() {
            let error = verb(&store).expect_err(&format!("verb {number}, replaced: {replaced}"));
            assert_eq!(error.kind(), ErrorKind::NoStore, "verb {number}: {error}");
            assert!(error.to_string().ends_with(" is gone"), "{error}");
        }
        // A handle that does not read HEAD must not write to a file without a name.
        for verb in [&verbs[0], &verbs[1], &verbs[8], &verbs[9]] {
            assert_eq!(verb(&side).unwrap_err().kind(), ErrorKind::NoStore);
        }
        assert!(bytes(directory.path()) == before);
    }
}

#[test]
fn a_closed_handle_says_so() {
    let (_directory, store) = init();
    let other = store.on(&branch("side"), "t").unwrap();
    store.close();
    store.close();
    let error = store.snapshot().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(error.to_string(), "this handle of the store is closed");
    put(&other, "x", "1");
}
