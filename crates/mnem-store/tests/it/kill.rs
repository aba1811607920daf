//! Real processes are killed at any moment, and what they were told is there.
//!
//! A round is its seed: two or three processes of four threads use every verb that writes, and
//! some or all of them are killed. Each tells its parent over a pipe what returned to it: a log
//! outside of the store, which outlives its writer. Ten rounds; `MNEM_KILL_ROUNDS` asks for more
//! (`make sweep-kill`), `MNEM_KILL_SEED` for one alone.
//!
//! Long: who writes, who kills and who looks at what is left speak of the same answers.
//!
//! What a process wrote outlives it in the memory of the system, so a sync that is missing is
//! not seen here.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mnem_store::ops::{Changes, MergeOptions, MergeOutcome, Strategy, UndoOutcome};
use mnem_store::store::{Entropy, FormatVersion};
use mnem_store::{
    BranchName, Clock, CommitId, Environment, Error, ErrorKind, Head, InitOptions, MemoryNode,
    Store, Waiting,
};

use crate::damage::{Disk, copy_of, harm};
use crate::original;
use crate::seeds::{Dice, each_seed};
use crate::support::{environment, id, meta, note, put};
use crate::sweep::{number, tell_held};

const THREADS: usize = 4;
/// Nodes of the store that a round starts from.
const NODES: u64 = 60;

/// How a round ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// One process is killed; the others go on.
    One,
    /// All are killed at once.
    All,
    /// The one that holds the store at that moment is killed.
    Holder,
    /// All are killed while they begin.
    Beginning,
    /// All are killed about when the index is written out.
    Flush,
    /// All are killed, and then those that open the file after them, while they do.
    Recovery,
}

const WAYS: [Way; 6] = [Way::All, Way::Holder, Way::Recovery, Way::Flush, Way::One, Way::Beginning];

struct Writer {
    child: Child,
    /// Closed, it stops.
    input: Option<ChildStdin>,
    told: Arc<AtomicUsize>,
    lines: JoinHandle<Vec<String>>,
}

impl Writer {
    fn start(root: &Path, what: &str, seed: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["kill::worker", "--exact", "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(format!("{what}|{seed}|{}\n", root.display()).as_bytes()).unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let told = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&told);
        let lines = thread::spawn(move || {
            let mut lines = Vec::new();
            let mut line = String::new();
            while out.read_line(&mut line).unwrap() > 0 {
                // A line that a kill cut short tells nothing.
                if let Some(told) = line.strip_prefix("told ").and_then(|l| l.strip_suffix('\n')) {
                    lines.push(told.to_owned());
                    count.fetch_add(1, Ordering::SeqCst);
                }
                line.clear();
            }
            lines
        });
        Self { child, input: Some(input), told, lines }
    }

    fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Waits for its end, which it is told of unless it was killed.
    fn end(mut self, was_killed: bool) -> Vec<String> {
        drop(self.input.take());
        let ended = self.child.wait().unwrap();
        assert!(was_killed || ended.success(), "a writer that was not killed ended with {ended}");
        self.lines.join().unwrap()
    }
}

#[derive(Debug)]
struct Ticks(AtomicI64);

impl Clock for Ticks {
    fn now(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct Random(Mutex<u64>);

impl Entropy for Random {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        let mut dice = Dice(*self.0.lock().unwrap());
        bytes.fill_with(|| dice.next().to_le_bytes()[0]);
        *self.0.lock().unwrap() = dice.next();
        Ok(())
    }
}

/// The environment of a process: no two draw the same.
fn own(seed: u64) -> Environment {
    Environment {
        // Eight builds may share the machine with this.
        busy_timeout: Duration::from_secs(120),
        ..Environment::new(Ticks(1_767_225_600_000.into()), Random(Mutex::new(seed)))
    }
}

/// Ends this process as nothing can be ended more.
fn die() -> ! {
    let me = std::process::id().to_string();
    Command::new("kill").args(["-9", &me]).status().unwrap();
    panic!("killed, and still here");
}

/// Dies at the n-th thing that is reported to it.
#[derive(Debug)]
struct Dying(AtomicU64);

impl Dying {
    fn report(&self) {
        if self.0.fetch_sub(1, Ordering::SeqCst) == 1 {
            die();
        }
    }
}

impl Waiting for Dying {
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    fn repairing(&self, _: f64) {
        self.report();
    }
}

#[test]
#[ignore = "what the other tests run as a process of its own"]
fn worker() {
    let mut work = String::new();
    std::io::stdin().read_line(&mut work).unwrap();
    let [what, seed, root] =
        <[&str; 3]>::try_from(work.trim_end().splitn(3, '|').collect::<Vec<_>>()).unwrap();
    let (seed, root) = (seed.parse().unwrap(), Path::new(root));
    match what {
        "write" | "write much" => write_until_told(root, seed, what == "write much"),
        "open" => {
            let waiting = Arc::new(Dying(seed.into()));
            Store::open(root, Environment { waiting, ..own(seed) }).unwrap();
        }
        "migrate" => {
            let dying = Dying(seed.into());
            Store::migrate(root, &environment(), false, |_, _| dying.report()).unwrap();
        }
        other => panic!("{other}"),
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("told {line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Four threads write until standard input ends, or a failure.
fn write_until_told(root: &Path, seed: u64, is_large: bool) {
    let store = Store::open(root, own(seed)).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&is_over);
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        stop.store(true, Ordering::SeqCst);
    });
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, is_over) = (&store, &is_over);
            scope.spawn(move || {
                let mut agent = Agent::new(store, format!("p{seed}-{thread}"), is_large);
                let mut dice = Dice(seed * 64 + thread as u64);
                while !is_over.load(Ordering::SeqCst) {
                    match agent.step(&mut dice) {
                        Ok(told) => told.iter().for_each(|line| say(line)),
                        // What the place forbids, since others moved meanwhile.
                        Err(error)
                            if matches!(
                                error.kind(),
                                ErrorKind::Conflict | ErrorKind::InvalidRef
                            ) => {}
                        Err(error) => {
                            say(&format!("failed {error}"));
                            return;
                        }
                    }
                }
            });
        }
    });
}

/// One thread, and what is its own.
struct Agent<'s> {
    store: &'s Store,
    name: String,
    line: Option<Store>,
    made: Vec<BranchName>,
    count: u64,
    is_large: bool,
}

fn branch(name: impl AsRef<str>) -> BranchName {
    BranchName::new(name.as_ref()).unwrap()
}

fn value(node: &MemoryNode) -> u64 {
    node.content.as_text().unwrap().parse().unwrap()
}

impl<'s> Agent<'s> {
    fn new(store: &'s Store, name: String, is_large: bool) -> Self {
        Self { store, name, line: None, made: Vec::new(), count: 0, is_large }
    }

    fn put(&mut self, on: &Store, content: String) -> Result<Vec<String>, Error> {
        let node = format!("{}-{}", self.name, self.count);
        let changes = Changes::from([(id(&node), Some(note(&node, &content)))]);
        let commit = on.write(changes, &meta(&node))?;
        Ok(vec![format!("wrote {commit} {node}")])
    }

    /// Something that writes, and what to tell of it once it has returned.
    fn step(&mut self, dice: &mut Dice) -> Result<Vec<String>, Error> {
        self.count += 1;
        let (store, me) = (self.store, self.name.clone());
        let options = MergeOptions {
            author: me.clone(),
            strategy: Some(Strategy::Ours),
            ..Default::default()
        };
        let moved = |commit: CommitId| Ok(vec![format!("moved {commit}")]);
        if self.line.is_none() {
            self.line = Some(store.on(&branch(format!("line-{me}")), &me)?);
        }
        match dice.below(if self.is_large { 14 } else { 12 }) {
            0..3 => self.put(store, "1".into()),
            3 | 4 => {
                let line = self.line.take().unwrap();
                let told = self.put(&line, "1".into());
                self.line = Some(line);
                told
            }
            5 => {
                let undone = self.line.as_ref().unwrap().undo(None, &options)?;
                match undone.outcome {
                    UndoOutcome::MovedBack(Some(commit)) | UndoOutcome::Reverted(commit) => {
                        moved(commit)
                    }
                    UndoOutcome::MovedBack(None) | UndoOutcome::Conflicts(_) => Ok(Vec::new()),
                }
            }
            6 => {
                let lines: Vec<_> = store
                    .branches()?
                    .into_keys()
                    .filter(|b| b.as_str().starts_with("line-"))
                    .collect();
                let theirs = &lines[dice.below(lines.len())];
                match store.on(&branch("main"), &me)?.merge(theirs.as_str(), &options)? {
                    MergeOutcome::Merged(commit) | MergeOutcome::FastForwarded(commit) => {
                        moved(commit)
                    }
                    MergeOutcome::UpToDate | MergeOutcome::Conflicts(_) => Ok(Vec::new()),
                }
            }
            7 => {
                let one_more = |now: &mnem_store::Snapshot| {
                    let count = now.get(&id("count"))?.map_or(0, |node| value(&node)) + 1;
                    Ok(Changes::from([(id("count"), Some(note("count", &count.to_string())))]))
                };
                moved(store.on(&branch("count"), &me)?.update(&meta(&me), one_more)?)
            }
            8 => {
                let name = branch(format!("made-{me}-{}", self.count));
                let commit = store.create_branch(&name, None, &me)?;
                self.made.push(name.clone());
                Ok(vec![format!("branched {commit} {name}")])
            }
            9 => match self.made.pop() {
                Some(name) => {
                    let is_deleted = store.delete_branch(&name, &me)?;
                    Ok(vec![format!("deleted {is_deleted} {name}")])
                }
                None => Ok(Vec::new()),
            },
            10 => {
                let draft = format!("draft-{me}-{}", self.count);
                store.stage(note(&draft, "1"))?;
                say(&format!("staged - {draft}"));
                moved(store.commit(&meta(&me))?.commit)
            }
            11 => {
                store.checkout(dice.pick(&["main", "side"]), false)?;
                Ok(Vec::new())
            }
            // Either is indexed in its own transaction, and takes long to write.
            12 => self.put(store, "x".repeat(9 << 20)),
            _ => {
                let named = (0..4_200).map(|n| format!("{me}-{}-{n}", self.count));
                let changes = named.map(|name| (id(&name), Some(note(&name, "1")))).collect();
                moved(store.write(changes, &meta("many"))?)
            }
        }
    }
}

/// What holds of a store whatever was killed.
fn check(root: &Path, told: &[String]) {
    let found = Store::fsck_at(root, own(1), |_| ()).unwrap();
    assert_eq!(harm(found.findings), [], "before anybody opened it");
    let store = Store::open(root, own(2)).unwrap();
    assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
    let found = store.fsck(|_| ()).unwrap();
    assert_eq!(harm(found.findings), []);

    let branches = store.branches().unwrap();
    let told: Vec<[&str; 3]> = told
        .iter()
        .map(|line| {
            let words: Vec<_> = line.splitn(3, ' ').chain(["", ""]).take(3).collect();
            words.try_into().unwrap()
        })
        .collect();
    let mut names: BTreeSet<_> = branches.keys().cloned().collect();
    names.extend(told.iter().filter(|t| t[0] == "branched").map(|t| branch(t[2])));
    // Each branch is one line of moves, up to where it is.
    let mut moves = BTreeMap::new();
    for name in &names {
        let records = store.reflog(Some(name), None).unwrap();
        let mut at = None;
        for record in records.iter().rev() {
            assert_eq!(record.old, at, "{name} was moved from elsewhere: {record:?}");
            at = record.new;
            if let Some(commit) = at {
                moves.entry(commit).or_insert_with(Vec::new).push(name.clone());
            }
        }
        assert_eq!(at, branches.get(name).copied(), "{name}");
    }
    let ends = [branch("main"), branch("side")];
    let staged = store.staged().unwrap();
    for [verb, commit, name] in told {
        let is_moved = || moves.contains_key(&commit.parse::<CommitId>().unwrap());
        match verb {
            "moved" => assert!(is_moved(), "the move to {commit} was told and is lost"),
            "branched" => assert!(
                moves[&commit.parse().unwrap()].contains(&branch(name)),
                "the branch {name} at {commit} was told and is lost"
            ),
            "deleted" => assert!(!branches.contains_key(&branch(name)), "{name} is back"),
            "wrote" => {
                assert!(is_moved(), "{name} in {commit} was told and is lost");
                let there = store.snapshot_at(commit).unwrap().get(&id(name)).unwrap();
                assert!(there.is_some(), "{name} is not in {commit}");
            }
            "staged" => {
                let is_in = |end: &BranchName| {
                    let at = store.snapshot_at(end.as_str()).unwrap();
                    at.version(&id(name)).unwrap().is_some()
                };
                let is_there = staged.ids().contains(&id(name)) || ends.iter().any(is_in);
                assert!(is_there, "{name} was staged and is lost");
            }
            _ => panic!("{verb} {commit} {name}"),
        }
    }
    // Each update counted from the one before it.
    let counted = store.snapshot_at("count").unwrap().get(&id("count")).unwrap();
    let updates = store.reflog(Some(&branch("count")), None).unwrap().len() as u64 - 1;
    assert_eq!(counted.map_or(0, |node| value(&node)), updates);
    let Head::Attached(on) = store.head().unwrap() else { panic!("HEAD is detached") };
    assert!(ends.contains(&on), "HEAD is on {on}");
    put(&store, "after", &told_of(&store));
}

/// Something that no write before it said.
fn told_of(store: &Store) -> String {
    format!("{:?}", store.head_commit().unwrap())
}

/// Stores with a history, each with the number of commits until its index is written out.
static FILLED: OnceLock<Vec<(u64, Disk)>> = OnceLock::new();

/// A copy of the one of them that is nearest to this number from above.
fn filled(before_flush: u64) -> Disk {
    let all = FILLED.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::init(directory.path(), &InitOptions::default(), own(3)).unwrap();
        let first: Changes =
            (0..NODES).map(|n| (id(&format!("n{n}")), Some(note(&format!("n{n}"), "0")))).collect();
        store.write(first, &meta("first")).unwrap();
        for name in ["side", "count"] {
            store.create_branch(&branch(name), None, "t").unwrap();
        }
        drop(store);
        let mut made = 1;
        [250, 150, 60, 30, 10, 8, 6, 4, 3, 2, 1]
            .map(|left| {
                let store = Store::open(directory.path(), own(left)).unwrap();
                while made < 256 - left {
                    put(&store, &format!("n{}", made % NODES), &made.to_string());
                    made += 1;
                }
                drop(store);
                (left, copy_of(directory.path()))
            })
            .into()
    });
    all.iter().rev().find(|(left, _)| *left >= before_flush).unwrap().1.copy()
}

/// Waits until so many answers have come in all, or somebody is done before that.
fn wait_for(writers: &mut [Writer], answers: usize) {
    let count = |writers: &[Writer]| -> usize {
        writers.iter().map(|writer| writer.told.load(Ordering::SeqCst)).sum()
    };
    while count(writers) < answers && !writers.iter_mut().any(Writer::is_over) {
        thread::sleep(Duration::from_micros(200));
    }
}

fn pause(dice: &mut Dice, most_micros: usize) {
    thread::sleep(Duration::from_micros(dice.below(most_micros) as u64));
}

/// Which of the writers has the store, as soon as one has.
fn holder(root: &Path, writers: &mut [Writer]) -> usize {
    loop {
        let text = fs::read_to_string(root.join(".mnem/holder")).unwrap_or_default();
        let words: Vec<_> = text.split(' ').collect();
        if let [_, "holding", pid, ..] = words[..]
            && let Some(at) = writers.iter().position(|w| w.child.id().to_string() == pid)
        {
            return at;
        }
        assert!(!writers.iter_mut().any(Writer::is_over), "a writer ended by itself");
    }
}

fn round(seed: u64, answers: &mut u64) -> Way {
    let way = WAYS[usize::try_from(seed).unwrap() % WAYS.len()];
    let mut dice = Dice(seed);
    let disk = filled(if way == Way::Flush { dice.next() % 11 } else { dice.next() % 251 });
    let root = disk.root();
    let mut told = Vec::new();
    for life in 0..=dice.below(2) as u64 {
        let what = if way == Way::Flush { "write much" } else { "write" };
        let mut writers: Vec<_> = (0..2 + dice.below(2) as u64)
            .map(|n| Writer::start(root, what, seed * 100 + life * 10 + n))
            .collect();
        let first = match way {
            Way::Beginning => 0,
            Way::Flush => dice.below(30),
            _ => dice.below(120),
        };
        wait_for(&mut writers, first);
        pause(&mut dice, if way == Way::Beginning { 40_000 } else { 4_000 });
        let mut killed: BTreeSet<usize> = (0..writers.len()).collect();
        if way == Way::One {
            killed = BTreeSet::from([dice.below(writers.len())]);
        } else if way == Way::Holder {
            killed = BTreeSet::from([holder(root, &mut writers)]);
        }
        for at in &killed {
            writers[*at].kill();
        }
        if killed.len() < writers.len() {
            let before: usize = writers.iter().map(|w| w.told.load(Ordering::SeqCst)).sum();
            // Those that are left go on, past what is dead.
            let mut left: Vec<Writer> = Vec::new();
            for (at, writer) in writers.into_iter().enumerate() {
                if killed.contains(&at) {
                    told.extend(writer.end(true));
                } else {
                    left.push(writer);
                }
            }
            wait_for(&mut left, before.min(40) + dice.below(40));
            told.extend(left.into_iter().flat_map(|writer| writer.end(false)));
        } else {
            told.extend(writers.into_iter().flat_map(|writer| writer.end(true)));
        }
        if way == Way::Recovery {
            // One dies where redb reports what it repaired, the other from outside.
            Writer::start(root, "open", 1 + dice.next() % 4).end(true);
            let mut late = Writer::start(root, "open", u64::MAX);
            pause(&mut dice, 60_000);
            late.kill();
            late.end(true);
        }
        let failed: Vec<_> = told.iter().filter(|line| line.starts_with("failed ")).collect();
        assert!(failed.is_empty(), "{failed:?}");
        check(root, &told);
    }
    *answers += told.len() as u64;
    way
}

#[test]
fn rounds() {
    let started = Instant::now();
    let mut answers = 0;
    let mut ways: BTreeMap<Way, u64> = BTreeMap::new();
    let rounds = each_seed("MNEM_KILL", "kill::rounds", number("MNEM_KILL_ROUNDS", 10), |seed| {
        *ways.entry(round(seed, &mut answers)).or_default() += 1;
    });
    assert!(rounds == 1 || ways.len() == WAYS.len(), "{ways:?}");
    let note = format!("rounds with kill -9; {answers} acknowledged operations, none lost");
    tell_held("kill", rounds, started, note);
}

/// A process that dies at any step of the repair that another's death made necessary leaves it to
/// the next.
#[test]
fn a_recovery_that_is_killed_at_any_step_is_done_by_the_next() {
    let disk = filled(30);
    let mut writer = [Writer::start(disk.root(), "write", 7)];
    wait_for(&mut writer, 30);
    let [mut writer] = writer;
    writer.kill();
    let told = writer.end(true);
    assert!(told.len() >= 30, "{told:?}");
    let mut step = 1;
    loop {
        let copy = disk.copy();
        let mut opener = Writer::start(copy.root(), "open", step);
        let is_done = opener.child.wait().unwrap().success();
        opener.end(true);
        check(copy.root(), &told);
        if is_done {
            break;
        }
        step += 1;
    }
    assert!(step > 2, "redb reports what it repairs: {step}");
}

/// A migration that is killed leaves the old store or the new one, and the next one goes through.
#[test]
fn a_migration_that_is_killed_at_any_step_leaves_the_old_store_or_the_new_one() {
    let origin = tempfile::tempdir().unwrap();
    drop(original::sample(origin.path()).0);
    let before = original::told(&Store::open(origin.path(), environment()).unwrap());
    let (mut old, mut new) = (0, 0);
    for step in (1..).step_by(13) {
        let place = tempfile::tempdir().unwrap();
        original::copy(origin.path(), place.path());
        let mut worker = Writer::start(place.path(), "migrate", step);
        let is_done = worker.child.wait().unwrap().success();
        worker.end(true);
        let store = Store::open(place.path(), environment()).unwrap();
        let version = store.format_version().unwrap();
        assert_eq!(original::told(&store), before, "step {step}");
        assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
        drop(store);
        *(if version == FormatVersion::V1 { &mut old } else { &mut new }) += 1;
        if is_done {
            assert_eq!(version, FormatVersion::V2);
            break;
        }
        Store::migrate(place.path(), &environment(), false, |_, _| ()).unwrap();
        let store = Store::open(place.path(), environment()).unwrap();
        assert_eq!(original::told(&store), before, "step {step}");
        assert_eq!(harm(store.fsck(|_| ()).unwrap().findings), []);
        put(&store, "new", "1");
    }
    assert!(old > 4 && new > 0, "{old} old, {new} new");
}
