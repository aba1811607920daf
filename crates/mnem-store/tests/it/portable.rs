//! A store across a border: the golden export, every refusal, and what a failure leaves.
//!
//! Long: the refusals stand beside one another.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mnem_store::backend::counting::{Counting, Failing};
use mnem_store::backend::{Backend, BackendError, Batch, Found, PublishError, View};
use mnem_store::codec::Encoded;
use mnem_store::object::{Branch, Commit, Leaf, StateNode};
use mnem_store::ops::{Changes, MergeOptions, MergeOutcome};
use mnem_store::portable::import::import_through;
use mnem_store::portable::{Carried, import};
use mnem_store::store::local::LocalEdit;
use mnem_store::{
    BranchName, CommitId, Environment, Error, ErrorKind, InitOptions, MemoryNode, NodeId, Store,
};

use crate::support::{environment, id, meta, note, put};

/// Two branches, a merge, a removal, a tree of two levels, and much that stays behind.
fn told() -> Store {
    let options = InitOptions { reproducible: true, ..InitOptions::default() };
    let store = Store::in_memory(&options, environment()).unwrap();
    put(&store, "plan", "basic");
    let many = |n: u8| (id(&format!("seat:{n:02}")), Some(note(&format!("seat:{n:02}"), "free")));
    store.write((0..20).map(many).collect(), &meta("seats")).unwrap();
    let side = store.on(&BranchName::new("agent/a").unwrap(), "tester").unwrap();
    put(&side, "guess", "wants \u{202e}more\u{0}");
    store.write(Changes::from([(id("seat:07"), None)]), &meta("one less")).unwrap();
    let merged = store.merge("agent/a", &MergeOptions::default()).unwrap();
    assert!(!matches!(merged, MergeOutcome::Conflicts(_)), "{merged:?}");
    put(&store, "plan", "basic");
    let lost = put(&side, "dropped", "by undo");
    let _ = side.undo(None, &MergeOptions::default()).unwrap();
    assert_ne!(side.head_commit().unwrap(), Some(lost));
    store.stage(note("draft", "not told")).unwrap();
    store
        .local_edit(&[LocalEdit { owner: "o".into(), key: vec![1], value: Some(vec![2]) }])
        .unwrap();
    store
}

fn stream(store: &Store) -> String {
    let mut stream = Vec::new();
    store.export(&mut stream, |_| ()).unwrap();
    String::from_utf8(stream).unwrap()
}

fn imported(text: &[u8], place: &Path) -> Result<(Store, Carried), Error> {
    import(&mut &*text, place, environment(), |_| ())
}

/// The same lines with an end that is true of them.
fn sealed(lines: &[String]) -> String {
    let body = lines.join("\n") + "\n";
    let count = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    let counts = format!(
        r#"{{"nodes":{},"states":{},"commits":{},"branches":{}}}"#,
        count(r#""kind":"memory_node""#),
        count(r#""kind":"state""#),
        count(r#""kind":"commit""#),
        count(r#""type":"branch""#)
    );
    let hash = mnem_store::codec::encoded::hash(body.as_bytes());
    format!("{body}{{\"type\":\"end\",\"counts\":{counts},\"blake3\":\"{hash}\"}}\n")
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// What stands in a directory, at any depth.
fn left(directory: &Path) -> Vec<String> {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// Refused at a line, with nothing left behind.
#[track_caller]
fn refused(text: &str, line: usize, why: &str) {
    let directory = tempfile::tempdir().unwrap();
    let error = imported(text.as_bytes(), &directory.path().join("a/b")).unwrap_err();
    let told = error.to_string();
    assert!(told.starts_with(&format!("cannot import line {line}: ")), "{told}");
    assert!(told.contains(why), "{told}");
    assert_eq!(error.kind(), ErrorKind::CorruptStore);
    assert!(error.hint_text().is_some());
    assert_eq!(left(directory.path()), Vec::<String>::new(), "{told}");
}

#[test]
fn the_golden_export_is_what_is_written_and_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/format/export.jsonl");
    let now = stream(&told());
    let golden = fs::read_to_string(&path).unwrap();
    if golden != now {
        let found = Path::new(env!("CARGO_TARGET_TMPDIR")).join("export.jsonl");
        fs::write(&found, &now).unwrap();
        panic!("the stream has changed, which is a new version of it: {}", found.display());
    }
    let directory = tempfile::tempdir().unwrap();
    let (copy, carried) = imported(golden.as_bytes(), directory.path()).unwrap();
    assert!(stream(&copy) == golden);
    assert_eq!(carried.branches, 2);
    for text in ["draft", "not told", "by undo"].map(|text| hex(text.as_bytes())) {
        assert!(!golden.contains(&text), "what stays behind is in the stream");
    }
}

fn hex(bytes: &[u8]) -> String {
    crate::hex::hex(bytes)
}

#[test]
fn an_import_has_no_moves_and_is_written_to_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let (copy, _) = imported(stream(&told()).as_bytes(), directory.path()).unwrap();
    assert_eq!(copy.reflog(None, None).unwrap(), Vec::new());
    let tip = copy.head_commit().unwrap().unwrap();
    let next = put(&copy, "plan", "team");
    assert_eq!(copy.log(&mnem_store::ops::log::LogOptions::default()).unwrap()[0].0, next);
    assert_eq!(copy.reflog(None, None).unwrap()[0].old, Some(tip));
    assert_eq!(copy.verify(|_| ()).unwrap().problems, Vec::<String>::new());
}

#[test]
fn an_empty_store_crosses_too() {
    for salted in [true, false] {
        let options = InitOptions {
            default_branch: BranchName::new("trunk").unwrap(),
            reproducible: !salted,
        };
        let store = Store::in_memory(&options, environment()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let (copy, carried) = imported(stream(&store).as_bytes(), directory.path()).unwrap();
        assert_eq!(carried, Carried::default());
        assert_eq!(copy.default_branch().unwrap().as_str(), "trunk");
        assert_eq!(copy.head().unwrap(), store.head().unwrap());
        let commits = [put(&copy, "a", "1"), put(&copy, "b", "1")];
        let (object, _) = copy.find_object(&commits[0].to_string()).unwrap();
        assert_eq!(object.id(), commits[0].into());
        let version = copy.snapshot().unwrap().get(&id("a")).unwrap().unwrap();
        assert_eq!(version.salt.is_some(), salted);
    }
}

#[test]
fn a_truncated_export_is_refused_wherever_it_ends() {
    let whole = stream(&told());
    let all = lines(&whole);
    for count in 1..all.len() {
        let text = all[..count].join("\n") + "\n";
        refused(&text, count + 1, "ends here");
    }
    refused("", 1, "not the header of an export");
    let within = &whole[..whole.len() - 10];
    refused(within, all.len(), "not a line of an export");
}

#[test]
fn a_changed_byte_is_refused_wherever_it_stands() {
    let whole = stream(&told());
    let directory = tempfile::tempdir().unwrap();
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone().into_bytes();
        bytes[at] ^= 1;
        if bytes[at] == b' ' || bytes[at] == b'\n' {
            continue;
        }
        let error = imported(&bytes, &directory.path().join("copy")).unwrap_err();
        let line = 1 + whole[..at].matches('\n').count();
        let told = error.to_string();
        let of_line = told.starts_with(&format!("cannot import line {line}: "));
        // What may be said otherwise, such as the name of a branch, only the end gives away.
        let of_end = told.contains("not those that were written");
        let of_next = told.contains("no line") || told.contains("precedes");
        let of_format = error.kind() == ErrorKind::FormatVersion && line == 1;
        assert!(of_line || of_end || of_next || of_format, "byte {at} of line {line}: {told}");
        assert_eq!(left(directory.path()), Vec::<String>::new());
    }
}

#[test]
fn lines_that_are_out_of_order_are_refused() {
    let all = lines(&stream(&told()));
    let objects = all.iter().filter(|line| line.contains(r#""type":"object""#)).count();
    let swapped = |a: usize, b: usize| {
        let mut lines = all[..all.len() - 1].to_vec();
        lines.swap(a - 1, b - 1);
        sealed(&lines)
    };
    // The first commit: a node, its state, itself.
    refused(&swapped(2, 3), 2, "is missing");
    refused(&swapped(3, 4), 3, "is missing");
    refused(&swapped(1, 2), 1, "not the header");
    let (first_branch, head) = (objects + 2, all.len() - 1);
    refused(&swapped(first_branch, first_branch + 1), first_branch + 1, "precedes");
    refused(&swapped(head - 1, head), head, "after HEAD comes the end");
    refused(&swapped(first_branch - 1, first_branch), first_branch, "after a branch");
    let mut early = all.clone();
    let end = early.remove(all.len() - 1);
    early.insert(4, end);
    refused(&(early.join("\n") + "\n"), 5, "before HEAD");
    let mut twice = all.clone();
    twice.insert(1, all[0].clone());
    refused(&(twice.join("\n") + "\n"), 2, "a second header");
    // Two nodes of one leaf depend on neither: only the end knows.
    let mut lines = all.clone();
    let node = |line: &String| line.contains("memory_node");
    let at = (5..all.len()).find(|at| node(&all[*at]) && node(&all[at + 1])).unwrap();
    lines.swap(at, at + 1);
    refused(&(lines.join("\n") + "\n"), all.len(), "not those that were written");
}

#[test]
fn lines_that_stand_twice_are_refused() {
    let all = lines(&stream(&told()));
    for at in 1..all.len() - 1 {
        let mut lines = all[..all.len() - 1].to_vec();
        lines.insert(at, all[at].clone());
        let why = match &all[at] {
            line if line.contains(r#""type":"object""#) => "stands twice",
            line if line.contains(r#""type":"branch""#) => "stands twice, or after",
            _ => "after HEAD comes the end",
        };
        refused(&sealed(&lines), at + 2, why);
    }
    let mut more = all.clone();
    more.push(all[all.len() - 1].clone());
    refused(&(more.join("\n") + "\n"), all.len() + 1, "after the end");
}

#[test]
fn a_line_that_is_left_out_is_missed() {
    let all = lines(&stream(&told()));
    for at in 1..all.len() - 1 {
        let mut lines = all[..all.len() - 1].to_vec();
        lines.remove(at);
        let directory = tempfile::tempdir().unwrap();
        let result = imported(sealed(&lines).as_bytes(), directory.path());
        // A branch that nothing else needs is not missed once the end agrees.
        if all[at].contains("agent/a") {
            assert!(result.is_ok());
        } else {
            let told = result.unwrap_err().to_string();
            assert!(told.contains("line"), "{told}");
            assert_eq!(left(directory.path()), Vec::<String>::new());
        }
    }
}

fn object(object: &Encoded) -> String {
    let (kind, id) = (object.kind().as_str(), object.id());
    let bytes = hex(object.bytes());
    format!(r#"{{"type":"object","kind":"{kind}","id":"{id}","bytes":"{bytes}"}}"#)
}

#[test]
fn what_is_connected_to_nothing_is_refused() {
    let all = lines(&stream(&told()));
    let with = |at: usize, more: &[&Encoded]| {
        let mut lines = all[..all.len() - 1].to_vec();
        lines.splice(at - 1..at - 1, more.iter().map(|encoded| object(encoded)));
        sealed(&lines)
    };
    let (version, stray) = Encoded::node(note("stray", "x"));
    refused(&with(2, &[&stray]), 2, "no line up to the next commit names");
    let nodes = [(id("stray"), version)].into_iter().collect();
    let (state, leaf) = Encoded::state(StateNode::Leaf(Leaf { nodes }));
    refused(&with(5, &[&stray, &leaf]), 6, "no line up to the next commit names");
    let commit = |parents: Vec<CommitId>, state| {
        let (message, author) = ("m".into(), "a".into());
        Encoded::commit(Commit { parents, state, message, author, time: 0 })
    };
    let (root, root_object) = commit(Vec::new(), state);
    refused(&with(5, &[&stray, &leaf, &root_object]), 7, "no line after it names this object");
    let (_, orphan) = commit(vec![CommitId::from_bytes([7; 32])], state);
    refused(&with(5, &[&stray, &leaf, &orphan]), 7, "is missing");
    let (_, of_node) = commit(Vec::new(), mnem_store::ObjectId::from(version).into());
    refused(&with(2, &[&stray, &of_node]), 3, "not a state");
    let (_, of_commit) = commit(Vec::new(), mnem_store::ObjectId::from(root).into());
    refused(&with(5, &[&stray, &leaf, &root_object, &of_commit]), 8, "not a state");
    let nodes = [(id("another"), version)].into_iter().collect();
    let (_, misfiled) = Encoded::state(StateNode::Leaf(Leaf { nodes }));
    refused(&with(2, &[&stray, &misfiled]), 3, "under");
    let nodes = [(NodeId::from_stored("gone"), mnem_store::ObjectId::from(root).into())];
    let (_, absent) = Encoded::state(StateNode::Leaf(Leaf { nodes: nodes.into_iter().collect() }));
    refused(&with(2, &[&absent]), 2, "is missing");
    // The last line but one of the merged history is no branch's and not HEAD's.
    let mut lines = all[..all.len() - 1].to_vec();
    lines.retain(|line| !line.contains(r#""name":"main""#));
    let text = sealed(&lines);
    let last = 1 + lines.iter().filter(|line| line.contains(r#""type":"object""#)).count();
    refused(&text, last, "no line after it names this object");
    let gone = all[all.len() - 3].clone();
    let mut lines = all[..all.len() - 1].to_vec();
    let at = gone.find(r#""commit":""#).unwrap() + 10;
    lines[all.len() - 3].replace_range(at..at + 64, &"7".repeat(64));
    refused(&sealed(&lines), all.len() - 2, "no line before it is the commit");
    let mut lines = all[..all.len() - 1].to_vec();
    lines[all.len() - 2] = format!(r#"{{"type":"head","commit":"{}"}}"#, "7".repeat(64));
    refused(&sealed(&lines), all.len() - 1, "no line before it is the commit");
    // Old branches may be named like a commit, new ones not.
    lines[all.len() - 2] = format!(r#"{{"type":"head","branch":"{}"}}"#, "7".repeat(64));
    refused(&sealed(&lines), all.len() - 1, "HEAD names the branch");
}

#[test]
fn a_tree_that_is_not_canonical_is_refused() {
    let all = lines(&stream(&told()));
    let at = all.iter().position(|line| line.contains(&hex(b"prefix"))).unwrap();
    let bytes = all[at].split(r#""bytes":""#).nth(1).unwrap().trim_end_matches("\"}").to_owned();
    // The size of a child that its parent tells: "3730" is the child "70", of one entry here.
    let (_, decoded) = Encoded::decode(&crate::hex::unhex(&bytes)).unwrap();
    let mnem_store::object::Object::State(StateNode::Branch(mut branch)) = decoded else {
        panic!("a branch")
    };
    // The node of the prefix itself must have that id.
    let (version, stray) = Encoded::node(note("stray", "x"));
    let (_, misfiled) =
        Encoded::state(StateNode::Branch(Branch { here: Some(version), ..branch.clone() }));
    let mut lines = all[..all.len() - 1].to_vec();
    lines.splice(at..=at, [&stray, &misfiled].map(object));
    refused(&sealed(&lines), at + 2, "under");
    branch.children.values_mut().for_each(|child| child.count += 1);
    let (_, wrong) = Encoded::state(StateNode::Branch(branch));
    let mut lines = all[..all.len() - 1].to_vec();
    lines[at] = object(&wrong);
    refused(&sealed(&lines), at + 1, "another size than its parent says");
}

#[test]
fn a_line_that_says_something_else_is_refused() {
    let all = lines(&stream(&told()));
    let edited = |at: usize, from: &str, to: &str| {
        let mut lines = all[..all.len() - 1].to_vec();
        assert!(lines[at - 1].contains(from), "{}", lines[at - 1]);
        lines[at - 1] = lines[at - 1].replacen(from, to, 1);
        sealed(&lines)
    };
    refused(&edited(1, "mnem.export", "other.export"), 1, "not the header");
    refused(&edited(1, r#""main""#, r#""ma\nin""#), 1, "must not contain whitespace");
    refused(&edited(2, "memory_node", "state"), 2, "is not a \"state\"");
    refused(&edited(2, r#""bytes":"a"#, r#""bytes":"A"#), 2, "no hexadecimal digits");
    refused(&edited(2, r#""bytes":"a"#, r#""bytes":""#), 2, "no hexadecimal digits");
    refused(&edited(2, r#""bytes":"a4"#, r#""bytes":"a5"#), 2, "not those of the object");
    refused(&edited(2, r#""kind""#, r#""kind":"state","kind""#), 2, "duplicate field");
    refused(&edited(2, r#""kind""#, r#""more":1,"kind""#), 2, "unknown field");
    refused(&edited(2, "object", "thing"), 2, "unknown variant");
    let head = all.len() - 1;
    refused(&edited(head, r#""branch":"main""#, ""), head, "not a line");
    refused(&edited(head, r#","branch":"main""#, ""), head, "one of the two");
    refused(&edited(head, r#""main""#, r#""../x""#), head, "must not begin");
    let branch = all.len() - 2;
    refused(&edited(branch, r#""main""#, r#""""#), branch, "must not be empty");
    let (end, text) = (all.len(), &all[all.len() - 1]);
    let ended = |end: String| [&all[..all.len() - 1], &[end]].concat().join("\n");
    refused(&ended(text.replace(r#""branches":2"#, r#""branches":3"#)), end, "or fewer");
    refused(&ended(text.replace(r#""blake3":""#, r#""blake3":"g"#)), end, "not an id");
    assert!(stream(&told()).ends_with('\n'));
    // The end of the last line may be missing.
    let directory = tempfile::tempdir().unwrap();
    assert!(imported(ended(text.clone()).as_bytes(), directory.path()).is_ok());
}

#[test]
fn bytes_that_are_not_canonical_are_refused() {
    let all = lines(&stream(&told()));
    // A map of one key, which stands twice.
    let bytes = crate::hex::unhex("a2616101616101");
    let id = mnem_store::codec::encoded::hash(&bytes);
    let line =
        format!(r#"{{"type":"object","kind":"state","id":"{id}","bytes":"{}"}}"#, hex(&bytes));
    let mut lines = all[..all.len() - 1].to_vec();
    lines.insert(1, line);
    refused(&sealed(&lines), 2, "cannot be read");
}

#[test]
fn a_later_version_is_refused_as_one() {
    let all = lines(&stream(&told()));
    for (from, to) in [
        (r#""version":1"#, r#""version":2"#),
        (r#""version":1"#, r#""version":2,"signed":true"#),
        (r#""format_version":2"#, r#""format_version":9"#),
    ] {
        let mut lines = all.clone();
        lines[0] = lines[0].replacen(from, to, 1);
        let directory = tempfile::tempdir().unwrap();
        let error = imported(lines.join("\n").as_bytes(), directory.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FormatVersion, "{error}");
        assert_eq!(left(directory.path()), Vec::<String>::new());
    }
}

/// A line without an end, of which no more is read than the limit.
struct Endless(u64);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer.fill(b' ');
        self.0 += buffer.len() as u64;
        Ok(buffer.len())
    }
}

#[test]
fn a_line_is_read_up_to_its_limit() {
    let directory = tempfile::tempdir().unwrap();
    let mut input = BufReader::new(Endless(0));
    let error = import(&mut input, &directory.path().join("copy"), environment(), |_| ());
    let told = error.unwrap_err().to_string();
    assert!(told.starts_with("cannot import line 1: it is longer than 268435456 bytes"), "{told}");
    assert!(input.get_ref().0 < 269_000_000);
    assert_eq!(left(directory.path()), Vec::<String>::new());
}

#[test]
fn a_place_that_has_a_store_is_refused() {
    let text = stream(&told());
    let directory = tempfile::tempdir().unwrap();
    let (first, _) = imported(text.as_bytes(), directory.path()).unwrap();
    put(&first, "plan", "kept");
    for place in [directory.path().to_owned(), directory.path().join("below/it")] {
        let error = imported(text.as_bytes(), &place).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoreExists);
        assert_eq!(left(directory.path()), [".mnem"]);
    }
    let kept = first.snapshot().unwrap().get(&id("plan")).unwrap().unwrap();
    assert_eq!(kept.content.as_text(), Some("kept"));
    // What else is in the directory stays.
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("notes"), "mine").unwrap();
    imported(&text.as_bytes()[..1_000], other.path()).unwrap_err();
    assert_eq!(left(other.path()), ["notes"]);
}

/// A backend that says at its end what was counted: an import closes it.
#[derive(Debug)]
struct Told<B: Backend> {
    inner: B,
    count: fn(&B) -> u64,
    count_at_end: Arc<AtomicU64>,
}

impl<B: Backend> Drop for Told<B> {
    fn drop(&mut self) {
        self.count_at_end.store((self.count)(&self.inner), Ordering::SeqCst);
    }
}

impl<B: Backend> Backend for Told<B> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        self.inner.view()
    }

    fn publish(&self, batch: &Batch) -> Result<(), PublishError> {
        self.inner.publish(batch)
    }

    fn damage(&self) -> Option<String> {
        self.inner.damage()
    }

    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError> {
        self.inner.inspect(tell)
    }
}

#[test]
fn each_call_to_the_backend_may_fail() {
    let text = stream(&told());
    let calls = Arc::new(AtomicU64::new(0));
    let run = |place: &Path, fail_at: u64| {
        let through = |backend| {
            let inner = Failing::new(backend);
            inner.fail_at(fail_at);
            Arc::new(Told { inner, count: Failing::calls, count_at_end: Arc::clone(&calls) }) as _
        };
        import_through(&mut text.as_bytes(), place, environment(), through)
    };
    let directory = tempfile::tempdir().unwrap();
    let (copy, _) = run(&directory.path().join("good"), 0).unwrap();
    assert_eq!(stream(&copy), text);
    let whole = calls.load(Ordering::SeqCst);
    assert!(whole > 100, "{whole}");
    for call in 1..=whole {
        let error = run(&directory.path().join("copy"), call).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "call {call}: {error}");
        assert_eq!(left(directory.path()), ["good"], "call {call}");
    }
}

/// Fails after so many bytes.
struct Broken<'t>(&'t [u8]);

impl Read for Broken<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::Error::other("the line went dead"));
        }
        self.0.read(buffer)
    }
}

#[test]
fn an_input_may_fail_anywhere() {
    let text = stream(&told());
    let directory = tempfile::tempdir().unwrap();
    for end in (0..text.len()).step_by(997) {
        let mut input = BufReader::with_capacity(64, Broken(&text.as_bytes()[..end]));
        let place = directory.path().join("copy");
        let error = import(&mut input, &place, environment(), |_| ()).unwrap_err();
        assert_eq!(error.to_string(), "cannot read the export: the line went dead");
        assert_eq!(left(directory.path()), Vec::<String>::new());
    }
}

#[test]
fn an_export_to_a_file_is_whole_or_leaves_what_was_there() {
    let store = told();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.jsonl");
    fs::write(&path, "before").unwrap();
    store.export_to(&path, |_| ()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), stream(&store));

    // An object that is gone ends an export.
    let backend = Arc::new(Failing::new(mnem_store::backend::MemoryBackend::new()));
    let shared = Arc::clone(&backend) as Arc<dyn Backend>;
    let store = Store::over_backend(shared, &InitOptions::default(), environment());
    put(&store, "a", "1");
    for call in 1.. {
        fs::write(&path, "before").unwrap();
        backend.fail_at(call);
        let result = store.export_to(&path, |_| ());
        if backend.calls() < call {
            assert!(result.is_ok());
            break;
        }
        assert!(result.is_err(), "call {call}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(left(directory.path()), ["memory.jsonl"]);
    }
    let error = store.export_to(directory.path(), |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRef);
    let nowhere = directory.path().join("no/such/place");
    assert_eq!(store.export_to(&nowhere, |_| ()).unwrap_err().kind(), ErrorKind::Io);
}

/// Fails each write after so many bytes, as a full disk does.
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_output_may_fail_anywhere() {
    let store = told();
    let length = stream(&store).len();
    for room in (0..length).step_by(501) {
        let error = store.export(&mut Full(room), |_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
    }
    assert!(store.export(&mut Full(length), |_| ()).is_ok());
}

#[test]
fn an_import_is_published_in_parts() {
    let options = InitOptions { reproducible: true, ..InitOptions::default() };
    let environment = Environment::fixed();
    let store = Store::in_memory(&options, environment.clone()).unwrap();
    let node = |n: usize| MemoryNode::note(id("counter"), mnem_store::Content::text(n.to_string()));
    for n in 0..2_500 {
        store.write(Changes::from([(id("counter"), Some(node(n)))]), &meta("count")).unwrap();
    }
    let text = stream(&store);
    let directory = tempfile::tempdir().unwrap();
    let parts = Arc::new(AtomicU64::new(0));
    let through = |backend| {
        let count: fn(&Counting<_>) -> u64 = |counting| counting.counts().publishes;
        Arc::new(Told { inner: Counting::new(backend), count, count_at_end: Arc::clone(&parts) })
            as _
    };
    let (copy, _) =
        import_through(&mut text.as_bytes(), directory.path(), environment, through).unwrap();
    assert_eq!(parts.load(Ordering::SeqCst), 3, "1,024 commits at a time");
    assert_eq!(stream(&copy), text);
}

#[test]
fn a_long_chain_of_nested_ids_crosses() {
    let store = Store::in_memory(&InitOptions::default(), environment()).unwrap();
    let name = |length: usize| "a".repeat(length);
    let chain = (1..=1_024).map(|n| (id(&name(n)), Some(note(&name(n), "x")))).collect();
    store.write(chain, &meta("a chain")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let (copy, carried) = imported(stream(&store).as_bytes(), directory.path()).unwrap();
    assert_eq!(carried.nodes, 1_024);
    assert!(carried.states > 1_000);
    assert_eq!(copy.snapshot().unwrap().count().unwrap(), 1_024);
}

/// What only version 1 wrote: a flat state of many entries, ids without limits, a branch that
/// looks like a commit.
#[test]
fn what_an_old_store_held_crosses() {
    let long = "x".repeat(5_000);
    let ids = (0..40).map(|n| format!("n{n}")).chain([String::new(), long, "a\0b".into()]);
    let nodes = ids.map(|id| {
        Encoded::node(MemoryNode::note(NodeId::from_stored(id), mnem_store::Content::Null))
    });
    let (versions, objects): (Vec<_>, Vec<_>) = nodes.unzip();
    let entries = objects.iter().zip(versions).map(|(object, version)| {
        let (_, decoded) = Encoded::decode(object.bytes()).unwrap();
        let mnem_store::object::Object::Node(node) = decoded else { panic!("a node") };
        (node.id, version)
    });
    let (state, leaf) = Encoded::state(StateNode::Leaf(Leaf { nodes: entries.collect() }));
    let (message, author) = ("old".into(), "a".into());
    let (tip, commit) =
        Encoded::commit(Commit { parents: Vec::new(), state, message, author, time: -1 });
    let mut all = lines(&stream(&told()));
    all.truncate(1);
    all.extend(objects.iter().chain([&leaf, &commit]).map(object));
    let name = "7".repeat(64);
    all.push(format!(r#"{{"type":"branch","name":"{name}","commit":"{tip}"}}"#));
    all.push(format!(r#"{{"type":"head","branch":"{name}"}}"#));
    let text = sealed(&all);
    let directory = tempfile::tempdir().unwrap();
    let (copy, carried) = imported(text.as_bytes(), directory.path()).unwrap();
    assert_eq!((carried.nodes, carried.states), (43, 1));
    assert_eq!(copy.head_commit().unwrap(), Some(tip));
    assert_eq!(copy.snapshot().unwrap().count().unwrap(), 43);
    assert_eq!(copy.verify(|_| ()).unwrap().problems, Vec::<String>::new());
    // A writer takes entries in their order, so the lines differ in theirs alone.
    let again = stream(&copy);
    let sorted = |text: &str| {
        let mut lines = lines(text);
        lines.pop();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&again), sorted(&text));
}

#[test]
fn a_detached_head_crosses_with_what_it_alone_reaches() {
    let store = told();
    let side = store.on(&BranchName::new("agent/a").unwrap(), "tester").unwrap();
    let lost = put(&side, "guess", "right");
    let _ = side.undo(None, &MergeOptions::default()).unwrap();
    let without = stream(&store).lines().count();
    store.checkout(&lost.to_string(), true).unwrap();
    let text = stream(&store);
    assert!(text.lines().count() > without);
    let directory = tempfile::tempdir().unwrap();
    let (copy, _) = imported(text.as_bytes(), directory.path()).unwrap();
    assert_eq!(copy.head().unwrap(), mnem_store::Head::Detached(lost));
    let guess = copy.snapshot().unwrap().get(&id("guess")).unwrap().unwrap();
    assert_eq!(guess.content.as_text(), Some("right"));
    assert_eq!(stream(&copy), text);
}
