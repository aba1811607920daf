//! A script in which every verb that writes is used, and what a store says between its steps.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use mnem_store::backend::{LocalRow, Record};
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{
    Changes, Conflict, MergeOptions, MergeOutcome, Meta, Resolution, Resolver, RevertOutcome,
    UndoOutcome, Verdict,
};
use mnem_store::portable::chat::{ChatOptions, import_chat, import_chat_watched};
use mnem_store::portable::json;
use mnem_store::portable::plain::import_json;
use mnem_store::store::local::LocalEdit;
use mnem_store::{BranchName, Clock, CommitId, Entropy, Environment, Error, ErrorKind, Store};

use super::disk::Recorder;
use crate::support::{environment, id, meta, note};

/// One step: what it is called, which verbs it uses, how often what is seen changes, what it does.
pub struct Step {
    pub name: &'static str,
    pub verbs: &'static [&'static str],
    pub moves: Moves,
    pub run: fn(&Store, &Recorder) -> Result<(), Error>,
}

/// How often what is seen changes in a step: that many publishes, and moves of HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    Times(usize),
    /// As often as its threads do not wait for one another.
    UpTo(usize),
}

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

fn set(store: &Store, name: &str, value: &str) -> Result<(), Error> {
    store.write(Changes::from([(id(name), Some(note(name, value)))]), &meta("set")).map(drop)
}

fn set_on(store: &Store, on: &str, name: &str, value: &str) -> Result<(), Error> {
    set(&store.on(&branch(on), "t")?, name, value)
}

fn many(store: &Store, count: usize, value: &str) -> Result<(), Error> {
    let change = |n| (id(&format!("n{n}")), Some(note(&format!("n{n}"), value)));
    store.write((0..count).map(change).collect(), &meta("many")).map(drop)
}

fn options() -> MergeOptions {
    MergeOptions { author: "t".into(), ..MergeOptions::default() }
}

fn merged(outcome: MergeOutcome) {
    assert!(matches!(outcome, MergeOutcome::Merged(_)), "{outcome:?}");
}

fn moved_back(store: &Store) -> Result<(), Error> {
    let outcome = store.undo(None, &options())?.outcome;
    assert!(matches!(outcome, UndoOutcome::MovedBack(_)), "{outcome:?}");
    Ok(())
}

struct Theirs;

impl Resolver for Theirs {
    fn resolve(&self, _: &Store, _: &Conflict) -> Result<Verdict, Error> {
        Ok(Verdict::Resolved(Resolution::Theirs))
    }
}

const CHAT: &str = r#"[
    {"role": "user", "content": "my flights"},
    {"role": "assistant", "tool_calls": [{"id": "c1", "function":
        {"name": "get_reservation", "arguments": "{\"reservation_id\": \"R1\"}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "{\"reservation_id\": \"R1\", \"seats\": 2}"},
    {"role": "assistant", "tool_calls": [{"id": "c2", "function":
        {"name": "get_reservation", "arguments": "{\"reservation_id\": \"R2\"}"}}]},
    {"role": "tool", "tool_call_id": "c2", "content": "{\"reservation_id\": \"R2\", \"seats\": 1}"}
]"#;

fn chat(name: &str) -> ChatOptions {
    ChatOptions {
        transcript: name.into(),
        rules: None,
        keep_all: name == "watched",
        author: "t".into(),
        time: None,
    }
}

macro_rules! steps {
    ($($name:literal [$($verb:literal)*] $moves:expr => $run:expr;)*) => {
        &[$(Step { name: $name, verbs: &[$($verb),*], moves: $moves, run: $run }),*]
    };
}

use Moves::{Times, UpTo};

/// Every verb that writes.
pub const SCRIPT: &[Step] = steps! {
    "the first write" ["write"] Times(1) => |s, _| set(s, "a", "1");
    "write, with a local row" ["write"] Times(1) => |s, _| {
        let local = LocalEdit { owner: "o".into(), key: "a".into(), value: Some("1".into()) };
        let changes = Changes::from([(id("b"), Some(note("b", "1")))]);
        s.write(changes, &Meta { local: vec![local], ..meta("with a row") }).map(drop)
    };
    "write a removal" ["write"] Times(1) => |s, _| {
        s.write(Changes::from([(id("b"), None)]), &meta("forget")).map(drop)
    };
    "write nothing new" ["write"] Times(0) => |s, _| set(s, "a", "1");
    "write many, of which the tree grows" ["write"] Times(1) => |s, _| many(s, 40, "1");
    "update" ["update"] Times(1) => |s, _| {
        let add = |now: &mnem_store::Snapshot| {
            let text = now.get(&id("a"))?.unwrap().content.as_text().unwrap().to_owned() + "+";
            Ok(Changes::from([(id("a"), Some(note("a", &text)))]))
        };
        s.update(&meta("update"), add).map(drop)
    };
    "update, when there is reason" ["update_if"] Times(1) => |s, _| {
        let change = Changes::from([(id("b"), Some(note("b", "2")))]);
        s.update_if(&meta("update"), |_| Ok(Some(change))).map(drop)
    };
    "local rows" ["local_edit"] Times(1) => |s, _| {
        let edit = |key: &str, value: Option<&str>| LocalEdit {
            owner: "o".into(), key: key.into(), value: value.map(Into::into),
        };
        s.local_edit(&[edit("a", None), edit("b", Some("1")), edit("c", Some("2"))])
    };
    "stage" ["stage"] Times(1) => |s, _| s.stage(note("draft", "d")).map(drop);
    "stage another" ["stage"] Times(1) => |s, _| s.stage(note("draft 2", "d")).map(drop);
    "unstage" ["unstage"] Times(1) => |s, _| s.unstage(&id("draft 2")).map(drop);
    "stage a removal" ["remove"] Times(1) => |s, _| s.remove(&id("n3"));
    "write past drafts" ["write"] Times(1) => |s, _| set(s, "past", "1");
    "commit" ["commit"] Times(1) => |s, _| s.commit(&meta("commit")).map(drop);
    "make a branch" ["create_branch"] Times(1) => |s, _| {
        s.create_branch(&branch("side"), None, "t").map(drop)
    };
    "make a branch in the past" ["create_branch"] Times(1) => |s, _| {
        s.create_branch(&branch("old"), Some("HEAD~2"), "t").map(drop)
    };
    "bind a new branch" ["on"] Times(1) => |s, _| s.on(&branch("agent"), "t").map(drop);
    "write there" ["write"] Times(1) => |s, _| set_on(s, "agent", "a", "theirs");
    "write on the side" ["write"] Times(1) => |s, _| set_on(s, "side", "side", "1");
    "delete a branch" ["delete_branch"] Times(1) => |s, _| {
        assert!(s.delete_branch(&branch("old"), "t")?);
        Ok(())
    };
    "write beside it" ["write"] Times(1) => |s, _| set(s, "a", "ours");
    "merge what does not meet" ["merge"] Times(1) => |s, _| {
        s.merge("side", &options()).map(merged)
    };
    "merge forward" ["merge"] Times(1) => |s, _| {
        let outcome = s.on(&branch("side"), "t")?.merge("main", &options())?;
        assert!(matches!(outcome, MergeOutcome::FastForwarded(_)));
        Ok(())
    };
    "merge into a conflict" ["merge"] Times(0) => |s, _| {
        let outcome = s.merge("agent", &options())?;
        assert!(matches!(outcome, MergeOutcome::Conflicts(_)));
        Ok(())
    };
    "merge with an answer" ["merge"] Times(1) => |s, _| {
        let resolutions = [(id("a"), Resolution::Set(Box::new(note("a", "both"))))].into();
        s.merge("agent", &MergeOptions { resolutions, ..options() }).map(merged)
    };
    "two of two minds: one" ["write"] Times(1) => |s, _| set_on(s, "agent", "b", "agent");
    "two of two minds: two" ["write"] Times(1) => |s, _| set_on(s, "side", "n1", "side");
    "one takes the other's" ["merge"] Times(1) => |s, _| {
        s.on(&branch("agent"), "t")?.merge("side", &MergeOptions { strategy: Some(mnem_store::ops::Strategy::Ours), ..options() }).map(merged)
    };
    "the other takes the one's" ["merge_with"] Times(1) => |s, _| {
        s.on(&branch("side"), "t")?.merge_with("agent~1", &Theirs, &options()).map(merged)
    };
    "one goes on" ["write"] Times(1) => |s, _| set_on(s, "agent", "n2", "agent");
    "merge over a virtual base" ["merge_with"] Times(1) => |s, _| {
        s.on(&branch("side"), "t")?.merge_with("agent", &Theirs, &options()).map(merged)
    };
    "something wrong" ["write"] Times(1) => |s, _| set(s, "wrong", "1");
    "revert" ["revert"] Times(1) => |s, _| {
        let outcome = s.revert("HEAD", &options())?;
        assert!(matches!(outcome, RevertOutcome::Reverted(_)));
        Ok(())
    };
    "restore" ["restore"] Times(1) => |s, _| {
        s.restore(&id("wrong"), "HEAD~1", &meta("as it was")).map(drop)
    };
    "undo" ["undo"] Times(1) => |s, _| moved_back(s);
    "undo the undo" ["undo"] Times(1) => |s, _| moved_back(s);
    "go to a branch" ["checkout"] Times(1) => |s, _| s.checkout("side", false).map(drop);
    "go to a commit" ["checkout"] Times(1) => |s, _| s.checkout("main~1", false).map(drop);
    "go back" ["checkout"] Times(1) => |s, _| s.checkout("main", false).map(drop);
    "a draft to drop" ["stage"] Times(1) => |s, _| s.stage(note("draft", "dropped")).map(drop);
    "drop it and go" ["checkout"] Times(2) => |s, _| s.checkout("side", true).map(drop);
    "another draft to drop" ["remove"] Times(1) => |s, _| s.remove(&id("n5"));
    "drop it and go to a new branch" ["checkout_new"] Times(2) => |s, _| {
        s.checkout_new(&branch("new"), Some("main~1"), true, "t").map(drop)
    };
    "go home" ["checkout"] Times(1) => |s, _| s.checkout("main", false).map(drop);
    "read JSON" ["import_json"] Times(1) => |s, _| {
        let json = br#"{"plan": "pro", "seats": 3, "b": null}"#;
        import_json(s, json, "old.json", &meta("read")).map(drop)
    };
    "read a transcript" ["import_chat"] Times(2) => |s, _| {
        import_chat(s, &json::parse(CHAT).unwrap(), &chat("talk")).map(drop)
    };
    "read a transcript, watched" ["import_chat_watched"] Times(1) => |s, _| {
        import_chat_watched(s, &json::parse(CHAT).unwrap(), &chat("watched"), |_| ()).map(drop)
    };
    "a change set of its own" ["write"] Times(1) => |s, _| many(s, 120, "2");
    "export" ["export_to"] Times(0) => |s, _| {
        s.export_to(&s.root().unwrap().join("export"), |_| ()).map(drop)
    };
    "many threads" ["write"] UpTo(8) => |s, recorder| {
        thread::scope(|scope| {
            let writers: Vec<_> = (0..4).map(|thread| scope.spawn(move || {
                for number in 0..2 {
                    let node = format!("thread-{thread}-{number}");
                    set(s, &node, "1")?;
                    recorder.tell(&node);
                }
                Ok(())
            })).collect();
            writers.into_iter().try_for_each(|writer| writer.join().unwrap())
        })
    };
    "the last write" ["write"] Times(1) => |s, _| set(s, "last", "1");
};

/// A clock that ticks and randomness that repeats, each from a place of its own on, so that the
/// time goes on where a store is opened again.
#[derive(Debug)]
struct From(AtomicI64, AtomicU64);

impl Clock for From {
    fn now(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

impl Entropy for From {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        for chunk in bytes.chunks_mut(8) {
            let drawn = self.1.fetch_add(1, Ordering::Relaxed).to_le_bytes();
            let drawn = blake3::hash(&drawn);
            chunk.iter_mut().zip(drawn.as_bytes()).for_each(|(byte, drawn)| *byte = *drawn);
        }
        Ok(())
    }
}

/// The environment of the n-th opening. The index is written out every few commits, so that stops
/// fall into that too.
pub fn opening(number: u32) -> Environment {
    let from = |()| {
        From(
            AtomicI64::new(1_767_225_600_000 + i64::from(number) * 10_000),
            AtomicU64::new(u64::from(number) << 32),
        )
    };
    Environment {
        clock: Arc::new(from(())),
        entropy: Arc::new(from(())),
        index_commits: 5,
        idle: Duration::from_secs(3_600),
        cache_bytes: 4 << 20,
        ..environment()
    }
}

/// Everything a store says that may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub head: String,
    pub branches: BTreeMap<BranchName, CommitId>,
    pub staged: String,
    pub local: Vec<LocalRow>,
    pub reflog: Vec<Record>,
}

/// The moves of every branch that the script makes, also of one that is gone.
fn moves(store: &Store) -> Result<Vec<Record>, Error> {
    let mut moves = Vec::new();
    for name in ["main", "agent", "new", "old", "side"] {
        match store.reflog(Some(&branch(name)), None) {
            Ok(records) => moves.extend(records),
            Err(error) if error.kind() == ErrorKind::InvalidRef => {} // it never was
            Err(error) => return Err(error),
        }
    }
    Ok(moves)
}

pub fn seen(store: &Store) -> Result<Seen, Error> {
    Ok(Seen {
        head: store.head()?.render(),
        branches: store.branches()?,
        staged: format!("{:?}", store.staged()?),
        local: store.local_rows("o", b"")?,
        reflog: moves(store)?,
    })
}

/// The memory at a commit, as texts.
pub type Texts = BTreeMap<String, String>;

pub fn texts(store: &Store, commit: CommitId) -> Result<Texts, Error> {
    let memory = store.snapshot_at(&commit.to_string())?.memory("", None)?;
    Ok(memory.iter().map(|(id, node)| (id.to_string(), format!("{:?}", node.content))).collect())
}

/// The same without what differs from run to run: ids, times, salts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    head: String,
    branches: BTreeMap<BranchName, (usize, Texts)>,
    staged: Vec<String>,
    local: Vec<LocalRow>,
    moves: usize,
}

pub fn shape(store: &Store) -> Result<Shape, Error> {
    let branches = store.branches()?.into_iter().map(|(name, tip)| {
        let options = LogOptions { start: vec![tip], ..LogOptions::default() };
        Ok((name, (store.log(&options)?.len(), texts(store, tip)?)))
    });
    let head = store.head()?.render();
    Ok(Shape {
        // A commit's id is of this run.
        head: if head.starts_with("ref: ") { head } else { "detached".into() },
        branches: branches.collect::<Result<_, Error>>()?,
        staged: store.staged()?.ids().into_iter().map(ToString::to_string).collect(),
        local: store.local_rows("o", b"")?,
        moves: moves(store)?.len(),
    })
}
