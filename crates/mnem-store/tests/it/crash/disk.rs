//! A disk of which a machine that stops leaves what was synced, and of the rest any part.
//!
//! A file is its bytes and what was done to them since its last sync; a directory is names, and
//! what was done to those. Syncing a file says nothing of its name, and syncing a directory
//! nothing of what is in its files. What was not synced survives piece by piece, in any choice:
//! that is more than any file system does, so what is right here is right on all of them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use mnem_store::backend::watch::{self, Call, Watcher};

/// A change of a disk, or a note of who looks on.
#[derive(Clone, Debug)]
pub enum Event {
    Create(PathBuf),
    Write(PathBuf, usize, Arc<[u8]>),
    Length(PathBuf, usize),
    Sync(PathBuf),
    /// A sync that failed: what it was to make durable is no longer waiting to be.
    Dropped(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    CreateDirectory(PathBuf),
    RemoveDirectory(PathBuf),
    SyncDirectory(PathBuf),
    /// Somebody was told that this node is written.
    Told(String),
}

impl Event {
    pub fn is_sync(&self) -> bool {
        matches!(self, Self::Sync(_) | Self::SyncDirectory(_))
    }

    fn of(call: &Call<'_>) -> Option<Self> {
        Some(match *call {
            Call::Read(_) => return None,
            Call::Create(path) => Self::Create(path.into()),
            Call::Write { path, offset, bytes } => {
                Self::Write(path.into(), size(offset), bytes.into())
            }
            Call::Length { path, length } => Self::Length(path.into(), size(length)),
            Call::Sync(path) => Self::Sync(path.into()),
            Call::Rename { from, to } => Self::Rename(from.into(), to.into()),
            Call::Remove(path) => Self::Remove(path.into()),
            Call::CreateDirectory(path) => Self::CreateDirectory(path.into()),
            Call::RemoveDirectory(path) => Self::RemoveDirectory(path.into()),
            Call::SyncDirectory(path) => Self::SyncDirectory(path.into()),
        })
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

/// Writes down what is done to a disk.
#[derive(Debug, Default)]
pub struct Recorder(Mutex<Vec<Event>>);

impl Recorder {
    pub fn tell(&self, node: &str) {
        self.0.lock().unwrap().push(Event::Told(node.to_owned()));
    }

    pub fn add(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }

    /// How much was written down.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }
}

impl Watcher for Recorder {
    fn before(&self, _: &Call<'_>) -> io::Result<()> {
        Ok(())
    }

    fn after(&self, call: &Call<'_>) -> io::Result<()> {
        self.0.lock().unwrap().extend(Event::of(call));
        Ok(())
    }
}

/// Looks at this thread's calls while `work` runs.
pub fn watched<T>(watcher: Arc<dyn Watcher>, work: impl FnOnce() -> T) -> T {
    struct Unset;
    impl Drop for Unset {
        fn drop(&mut self) {
            watch::set(None);
        }
    }
    watch::set(Some(watcher));
    let _unset = Unset;
    work()
}

type Names = BTreeMap<OsString, usize>;

/// What was done to bytes.
#[derive(Clone, Debug)]
enum Change {
    Length(usize),
    Bytes(usize, Arc<[u8]>),
}

/// What was done to names.
#[derive(Clone, Debug)]
enum Naming {
    Link(OsString, usize),
    Unlink(OsString),
    Rename(OsString, OsString, usize),
}

/// A change and the moment it was made.
type Made<T> = (u64, T);

#[derive(Clone, Debug)]
enum Thing {
    File { durable: Vec<u8>, unsynced: Vec<Made<Change>>, dropped: Vec<Made<Change>> },
    Directory { durable: Names, live: Names, unsynced: Vec<Made<Naming>> },
}

#[derive(Clone, Debug)]
pub struct Disk {
    root: PathBuf,
    things: Vec<Thing>,
    moment: u64,
}

/// Every file below a directory, and every directory as none.
pub type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

impl Disk {
    /// The disk of which this directory is a part, with what is in it.
    pub fn of(root: &Path, tree: &Tree) -> Self {
        let empty =
            Thing::Directory { durable: Names::new(), live: Names::new(), unsynced: Vec::new() };
        let mut disk = Self { root: root.to_owned(), things: vec![empty.clone()], moment: 0 };
        for (path, bytes) in tree {
            let parent = disk.find(root.join(path).parent().unwrap()).unwrap();
            let new = disk.things.len();
            disk.things.push(match bytes {
                Some(bytes) => Thing::File {
                    durable: bytes.clone(),
                    unsynced: Vec::new(),
                    dropped: Vec::new(),
                },
                None => empty.clone(),
            });
            let Thing::Directory { durable, live, .. } = &mut disk.things[parent] else { panic!() };
            for names in [durable, live] {
                names.insert(path.file_name().unwrap().to_owned(), new);
            }
        }
        disk
    }

    fn find(&self, path: &Path) -> Option<usize> {
        let below = path.strip_prefix(&self.root).unwrap();
        below.iter().try_fold(0, |at, name| match &self.things[at] {
            Thing::Directory { live, .. } => live.get(name).copied(),
            Thing::File { .. } => None,
        })
    }

    fn change(&mut self, path: &Path, change: Change) {
        let moment = self.moment;
        let file = self.find(path).unwrap_or_else(|| panic!("no {}", path.display()));
        let Thing::File { unsynced, .. } = &mut self.things[file] else { panic!() };
        unsynced.push((moment, change));
    }

    fn name(&mut self, path: &Path, naming: Naming) {
        let moment = self.moment;
        let parent = self.find(path.parent().unwrap()).unwrap();
        let Thing::Directory { live, unsynced, .. } = &mut self.things[parent] else { panic!() };
        naming.apply(live);
        unsynced.push((moment, naming));
    }

    /// Does what was done.
    pub fn apply(&mut self, event: &Event) {
        self.moment += 1;
        match event {
            Event::Told(_) => {}
            Event::Create(path) | Event::CreateDirectory(path) => {
                if self.find(path).is_some() {
                    return;
                }
                self.things.push(match event {
                    Event::Create(_) => Thing::File {
                        durable: Vec::new(),
                        unsynced: Vec::new(),
                        dropped: Vec::new(),
                    },
                    _ => Thing::Directory {
                        durable: Names::new(),
                        live: Names::new(),
                        unsynced: Vec::new(),
                    },
                });
                let name = path.file_name().unwrap().to_owned();
                self.name(path, Naming::Link(name, self.things.len() - 1));
            }
            Event::Write(path, offset, bytes) => {
                self.change(path, Change::Bytes(*offset, Arc::clone(bytes)));
            }
            Event::Length(path, length) => self.change(path, Change::Length(*length)),
            Event::Sync(path) | Event::Dropped(path) => {
                let Some(file) = self.find(path) else { return };
                let Thing::File { durable, unsynced, dropped } = &mut self.things[file] else {
                    panic!()
                };
                let changes = std::mem::take(unsynced);
                if matches!(event, Event::Dropped(_)) {
                    dropped.extend(changes);
                } else {
                    for (_, change) in &changes {
                        change.apply(durable);
                        // What is written over a dropped piece is in its place for good.
                        dropped.retain(|(_, old)| !change.covers(old));
                    }
                }
            }
            Event::Rename(from, to) => {
                assert_eq!(from.parent(), to.parent());
                let [from_name, to_name] =
                    [from, to].map(|path| path.file_name().unwrap().to_owned());
                let thing = self.find(from).unwrap();
                self.name(from, Naming::Rename(from_name, to_name, thing));
            }
            Event::Remove(path) | Event::RemoveDirectory(path) => {
                self.name(path, Naming::Unlink(path.file_name().unwrap().to_owned()));
            }
            Event::SyncDirectory(path) => {
                let directory = self.find(path).unwrap();
                let Thing::Directory { durable, unsynced, .. } = &mut self.things[directory] else {
                    panic!()
                };
                unsynced.drain(..).for_each(|(_, naming)| naming.apply(durable));
            }
        }
    }

    /// How many pieces may survive or not, when what is written is cut at every `grain` bytes.
    pub fn pieces(&self, grain: usize) -> usize {
        self.each_piece(grain).len()
    }

    /// The moment of each piece, the thing, which of its changes, and which part of that.
    fn each_piece(&self, grain: usize) -> Vec<(u64, usize, usize, usize)> {
        let mut pieces = Vec::new();
        for (number, thing) in self.things.iter().enumerate() {
            match thing {
                Thing::File { unsynced, dropped, .. } => {
                    for (place, (moment, change)) in dropped.iter().chain(unsynced).enumerate() {
                        let parts = change.parts(grain).len();
                        pieces.extend((0..parts).map(|part| (*moment, number, place, part)));
                    }
                }
                Thing::Directory { unsynced, .. } => {
                    let changes = unsynced.iter().enumerate();
                    pieces.extend(changes.map(|(place, (moment, _))| (*moment, number, place, 0)));
                }
            }
        }
        pieces.sort_unstable();
        pieces
    }

    /// What is there after a stop now, when of the pieces, in the order in which they were made,
    /// those survive of which `survives` says so.
    pub fn crash(&self, grain: usize, survives: impl Fn(usize) -> bool) -> Tree {
        let mut left: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (number, (_, thing, place, part)) in self.each_piece(grain).into_iter().enumerate() {
            if survives(number) {
                left.entry((thing, place)).or_default().push(part);
            }
        }
        let parts = |thing, place| left.get(&(thing, place)).map_or(&[][..], Vec::as_slice);
        let mut tree = Tree::new();
        let mut open = vec![(PathBuf::new(), 0)];
        while let Some((path, number)) = open.pop() {
            match &self.things[number] {
                Thing::File { durable, unsynced, dropped } => {
                    let mut bytes = durable.clone();
                    for (place, (_, change)) in dropped.iter().chain(unsynced).enumerate() {
                        let pieces = change.parts(grain);
                        for part in parts(number, place) {
                            pieces[*part].apply(&mut bytes);
                        }
                    }
                    tree.insert(path, Some(bytes));
                }
                Thing::Directory { durable, unsynced, .. } => {
                    let mut names = durable.clone();
                    for (place, (_, naming)) in unsynced.iter().enumerate() {
                        if !parts(number, place).is_empty() {
                            naming.apply(&mut names);
                        }
                    }
                    open.extend(names.into_iter().map(|(name, thing)| (path.join(name), thing)));
                    if !path.as_os_str().is_empty() {
                        tree.insert(path, None);
                    }
                }
            }
        }
        tree
    }

    /// What is there now.
    pub fn live(&self) -> Tree {
        self.crash(usize::MAX, |_| true)
    }
}

impl Naming {
    fn apply(&self, names: &mut Names) {
        match self {
            Self::Link(name, thing) => _ = names.insert(name.clone(), *thing),
            Self::Unlink(name) => _ = names.remove(name),
            Self::Rename(from, to, thing) => {
                names.remove(from);
                names.insert(to.clone(), *thing);
            }
        }
    }
}

impl Change {
    fn parts(&self, grain: usize) -> Vec<Self> {
        match self {
            Self::Length(_) => vec![self.clone()],
            Self::Bytes(offset, bytes) => {
                let parts = bytes.chunks(grain).enumerate();
                parts.map(|(n, part)| Self::Bytes(offset + n * grain, part.into())).collect()
            }
        }
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Length(length) => bytes.resize(*length, 0),
            Self::Bytes(offset, data) => {
                let end = offset + data.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*offset..end].copy_from_slice(data);
            }
        }
    }

    /// Whether nothing of another change is left once this was made after it.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bytes(at, data), Self::Bytes(old, covered)) => {
                at <= old && old + covered.len() <= at + data.len()
            }
            (Self::Length(_), Self::Length(_)) => true,
            _ => false,
        }
    }
}

/// Makes the files; blocks of zeros are left out.
pub fn write(tree: &Tree, root: &Path) {
    for (path, bytes) in tree {
        let path = root.join(path);
        let Some(bytes) = bytes else {
            fs::create_dir(path).unwrap();
            continue;
        };
        let mut file = fs::File::create_new(path).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        for (number, block) in bytes.chunks(4096).enumerate() {
            if block.iter().any(|byte| *byte != 0) {
                file.seek(SeekFrom::Start(number as u64 * 4096)).unwrap();
                file.write_all(block).unwrap();
            }
        }
    }
}

/// Reads what [`write`] makes.
pub fn read(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut open = vec![PathBuf::new()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(root.join(&directory)).unwrap() {
            let entry = entry.unwrap();
            let path = directory.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                open.push(path.clone());
                tree.insert(path, None);
            } else {
                tree.insert(path, Some(fs::read(entry.path()).unwrap()));
            }
        }
    }
    tree
}

/// What tells one tree from another.
pub fn fingerprint(tree: &Tree) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for (path, bytes) in tree {
        hasher.update(path.as_os_str().as_encoded_bytes());
        hasher.update(&(bytes.as_ref().map_or(u64::MAX, |bytes| bytes.len() as u64)).to_le_bytes());
        hasher.update(bytes.as_deref().unwrap_or_default());
    }
    *hasher.finalize().as_bytes()
}

/// A directory for what is made and thrown away, where that is cheap.
pub fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}
