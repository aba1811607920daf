//! A stream as a whole store, in a place where there was none.
//!
//! Nothing in the stream is believed: each object is hashed and decoded, what it names must have
//! come before it, and something after it must name it. The store is built beside its place and
//! renamed into it when the last line was read and found right.
//!
//! Long: the rules of the stream, read in one place.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::stream::{Carried, Line, MAX_LINE_BYTES, SCHEMA, Seal, VERSION, unhex};
use crate::backend::cache::Objects;
use crate::backend::overlay::{self, Overlay, Shown};
use crate::backend::{
    Backend, BackendError, Batch, Expected, Found, Operation, Outcome, PublishError, Record, View,
};
use crate::codec::Encoded;
use crate::error::{Error, ErrorKind, Hint};
use crate::id::{BranchName, CommitId, NodeId, NodeVersionId, ObjectId};
use crate::index;
use crate::object::{Kind, Object, StateNode};
use crate::state::{self, Nodes as _};
use crate::store::{Environment, FormatVersion, Head, InitOptions, Store};

/// So many bytes of objects are gathered before they are published,
const BATCH_BYTES: usize = 8 << 20;
/// or so many commits.
const BATCH_COMMITS: usize = 1_024;

/// Makes a store in a directory from a stream that [`Store::export`] wrote, and opens it.
///
/// Commit ids, branches, HEAD and memory at every commit are what they were. Refused, naming the
/// line, is whatever is not such a stream, whole and in order; and a directory that has a store,
/// or lies in one. Nothing is left behind then. Memory does not grow with the stream. `progress`
/// is called with the number of objects read so far.
///
/// ```
/// # use mnem_store::{BranchName, Content, Environment, Error, InitOptions, MemoryNode, NodeId, Store};
/// # use mnem_store::ops::{Changes, Meta};
/// # let store = Store::in_memory(&InitOptions::default(), Environment::fixed())?;
/// # let put = |store: &Store, name: &str, text: &str| {
/// #     let id = NodeId::new(name)?;
/// #     let node = MemoryNode::note(id.clone(), Content::text(text));
/// #     store.write(Changes::from([(id, Some(node))]), &Meta::new(text, "agent"))
/// # };
/// # let directory = tempfile::tempdir().unwrap();
/// use mnem_store::portable::import;
/// let commit = put(&store, "plan", "pro")?;
/// let mut stream = Vec::new();
/// store.export(&mut stream, |_| ())?;
/// let place = directory.path().join("copy");
/// let (copy, carried) = import(&mut &*stream, &place, Environment::fixed(), |_| ())?;
/// assert_eq!((copy.head_commit()?, carried.commits), (Some(commit), 1));
/// # Ok::<(), Error>(())
/// ```
pub fn import(
    input: &mut dyn BufRead,
    directory: &Path,
    environment: Environment,
    progress: impl FnMut(u64),
) -> Result<(Store, Carried), Error> {
    import_over(input, directory, environment, |backend| backend, progress)
}

/// The same through a backend of the caller's over the one of the new store, for tests.
#[cfg(feature = "test-support")]
pub fn import_through(
    input: &mut dyn BufRead,
    directory: &Path,
    environment: Environment,
    through: impl FnOnce(Arc<dyn Backend>) -> Arc<dyn Backend>,
) -> Result<(Store, Carried), Error> {
    import_over(input, directory, environment, through, |_| ())
}

fn import_over(
    input: &mut dyn BufRead,
    directory: &Path,
    environment: Environment,
    through: impl FnOnce(Arc<dyn Backend>) -> Arc<dyn Backend>,
    progress: impl FnMut(u64),
) -> Result<(Store, Carried), Error> {
    let cache_bytes = environment.cache_bytes;
    Store::make(directory, environment, |backend| {
        let building = Arc::new(Building { below: through(backend), pending: Mutex::default() });
        let shared = Arc::clone(&building) as Arc<dyn Backend>;
        let objects = Objects::new(shared, cache_bytes);
        let lines = Lines { input, number: 0, seal: Seal::default(), text: Vec::new() };
        let import = Import {
            lines,
            objects,
            building,
            unnamed: BTreeMap::new(),
            unnamed_commits: BTreeMap::new(),
            carried: Carried::default(),
            progress,
        };
        import.run()
    })
}

/// A backend that gathers what is published until it is much.
#[derive(Debug)]
struct Building {
    below: Arc<dyn Backend>,
    pending: Mutex<Arc<Overlay>>,
}

impl Building {
    fn pending(&self) -> Arc<Overlay> {
        Arc::clone(&self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn flush(&self) -> Result<(), PublishError> {
        let pending =
            std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        if pending.is_empty() { Ok(()) } else { self.below.publish(&pending.batch()) }
    }
}

impl Backend for Building {
    fn name(&self) -> &'static str {
        self.below.name()
    }

    fn view(&self) -> Result<Box<dyn View + '_>, BackendError> {
        overlay::view(&*self.below, self.pending(), Shown::All)
    }

    fn publish(&self, batch: &Batch) -> Result<(), PublishError> {
        let is_much = {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            let pending = Arc::make_mut(&mut pending);
            pending.add(batch.clone());
            pending.bytes() >= BATCH_BYTES || pending.commits() >= BATCH_COMMITS
        };
        if is_much { self.flush() } else { Ok(()) }
    }

    fn damage(&self) -> Option<String> {
        self.below.damage()
    }

    fn inspect(&self, tell: &mut dyn FnMut(Found)) -> Result<(), BackendError> {
        self.below.inspect(tell)
    }
}

/// The lines of a stream, none longer than [`MAX_LINE_BYTES`].
struct Lines<'i> {
    input: &'i mut dyn BufRead,
    /// Of the line that was read last, counted from 1.
    number: u64,
    /// Of all lines but the one that was read last.
    seal: Seal,
    text: Vec<u8>,
}

impl Lines<'_> {
    /// Reads the next line; false at the end.
    fn advance(&mut self) -> Result<bool, Error> {
        self.seal.add(&self.text);
        self.text.clear();
        self.number += 1;
        let limit = MAX_LINE_BYTES as u64 + 1;
        (&mut *self.input)
            .take(limit)
            .read_until(b'\n', &mut self.text)
            .map_err(|error| Error::io("cannot read the export", error))?;
        if self.text.len() as u64 == limit && self.text.last() != Some(&b'\n') {
            return Err(self.wrong(format!("it is longer than {MAX_LINE_BYTES} bytes")));
        }
        Ok(!self.text.is_empty())
    }

    /// What the line that was read last says.
    fn line(&self) -> Result<Line<'_>, Error> {
        serde_json::from_slice(&self.text).map_err(|error| {
            // The place that it tells is within the line, and always in its first.
            let what = error.to_string();
            let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
            self.wrong(format!("it is not a line of an export: {what}"))
        })
    }

    /// Why the line that was read last is refused.
    fn wrong(&self, what: impl std::fmt::Display) -> Error {
        refused(self.number, what)
    }
}

/// Why a line is refused.
fn refused(number: u64, what: impl std::fmt::Display) -> Error {
    let message = format!("cannot import line {number}: {what}");
    Error::new(ErrorKind::CorruptStore, message).hint(Hint::ExportAgain)
}

struct Import<'i, P> {
    lines: Lines<'i>,
    objects: Objects,
    building: Arc<Building>,
    /// Nodes and states that nothing has named yet, each with its line. Empty after a commit.
    unnamed: BTreeMap<ObjectId, u64>,
    /// Commits that no later commit and no branch has named.
    unnamed_commits: BTreeMap<CommitId, u64>,
    carried: Carried,
    progress: P,
}

impl<P: FnMut(u64)> Import<'_, P> {
    fn run(mut self) -> Result<(InitOptions, Head, Carried), Error> {
        let options = self.header()?;
        let mut branches: BTreeMap<BranchName, CommitId> = BTreeMap::new();
        let head = loop {
            if !self.lines.advance()? {
                return Err(self.lines.wrong("the export ends here, before its end line"));
            }
            match self.lines.line()? {
                Line::Object { kind, id, bytes } => {
                    if !branches.is_empty() {
                        return Err(self.lines.wrong("an object stands after a branch"));
                    }
                    let (object, decoded) = self.lines.object(&kind, &id, &bytes)?;
                    self.object(object, decoded)?;
                }
                Line::Branch { name, commit } => {
                    let name = self.lines.branch_name(&name)?;
                    if branches.last_key_value().is_some_and(|(last, _)| *last >= name) {
                        return Err(self.lines.wrong(format!(
                            "the branch {name:?} stands twice, or after one that it precedes"
                        )));
                    }
                    let commit = self.lines.id(&commit)?.into();
                    self.tip(commit)?;
                    self.carried.branches += 1;
                    branches.insert(name, commit);
                }
                Line::Head { branch: Some(branch), commit: None } => {
                    break Head::Attached(self.lines.branch_name(&branch)?);
                }
                Line::Head { branch: None, commit: Some(commit) } => {
                    let commit = self.lines.id(&commit)?.into();
                    self.tip(commit)?;
                    break Head::Detached(commit);
                }
                Line::Head { .. } => {
                    return Err(self.lines.wrong("HEAD is a branch or a commit, one of the two"));
                }
                Line::Header { .. } => return Err(self.lines.wrong("a second header")),
                Line::End { .. } => return Err(self.lines.wrong("the end stands before HEAD")),
            }
        };
        if let Head::Attached(branch) = &head
            && !branches.contains_key(branch)
            && BranchName::new(branch.as_str()).is_err()
        {
            return Err(self.lines.wrong(format!("HEAD names the branch {branch:?}")));
        }
        self.end()?;
        let unnamed = self.unnamed.values().chain(self.unnamed_commits.values()).min();
        if let Some(line) = unnamed {
            return Err(refused(*line, "no line after it names this object"));
        }
        let mut batch = Batch::default();
        for (name, commit) in branches {
            batch.reference(name, Expected::Absent, Some(commit));
        }
        self.building.publish(&batch).and_then(|()| self.building.flush())?;
        Ok((options, head, self.carried))
    }

    fn header(&mut self) -> Result<InitOptions, Error> {
        let read = self.lines.advance()?;
        let foreign = |lines: &Lines<'_>| lines.wrong("it is not the header of an export");
        if !read {
            return Err(foreign(&self.lines));
        }
        match self.lines.line() {
            Ok(Line::Header {
                schema, version, format_version, default_branch, salted, ..
            }) if schema == SCHEMA => {
                if version != VERSION {
                    let message = format!(
                        "the export has version {version}; this release reads version {VERSION}"
                    );
                    return Err(Error::new(ErrorKind::FormatVersion, message).hint(Hint::Upgrade));
                }
                FormatVersion::try_from(format_version)?;
                let default_branch = self.lines.branch_name(&default_branch)?;
                Ok(InitOptions { default_branch, reproducible: !salted })
            }
            // A later version may have other fields.
            Err(_) if self.lines.later_version() => {
                let message = "the export has a later version than this release reads";
                Err(Error::new(ErrorKind::FormatVersion, message).hint(Hint::Upgrade))
            }
            _ => Err(foreign(&self.lines)),
        }
    }

    fn object(&mut self, object: Encoded, decoded: Object) -> Result<(), Error> {
        let (id, line) = (object.id(), self.lines.number);
        if self.objects.view()?.object(&id)? != Outcome::Absent {
            return Err(self.lines.wrong(format!("the object {id} stands twice")));
        }
        let kind = object.kind();
        let named = self.check(&decoded).map_err(|error| match error.kind() {
            ErrorKind::CorruptStore => self.lines.wrong(error),
            _ => error,
        })?;
        for id in named {
            self.unnamed.remove(&id);
        }
        let mut batch = Batch::default();
        batch.object(object);
        if let Object::Commit(commit) = decoded {
            if let Some(line) = self.unnamed.values().min() {
                return Err(refused(*line, "no line up to the next commit names this object"));
            }
            for parent in &commit.parents {
                self.unnamed_commits.remove(parent);
            }
            self.unnamed_commits.insert(id.into(), line);
            let derived = index::follows(&self.objects, &commit)?;
            let record = Record::without_a_move(id.into(), &commit, Operation::IMPORT, derived);
            batch.record(record);
        } else {
            self.unnamed.insert(id, line);
        }
        self.building.publish(&batch)?;
        self.carried.add(kind);
        (self.progress)(self.carried.objects());
        Ok(())
    }

    /// Checks an object against those that it names, and returns their ids. Lineage is not
    /// looked at: nothing depends on it.
    fn check(&self, object: &Object) -> Result<Vec<ObjectId>, Error> {
        Ok(match object {
            Object::Node(_) => Vec::new(),
            Object::State(StateNode::Leaf(leaf)) => leaf
                .nodes
                .iter()
                .map(|(id, version)| self.node(id, *version))
                .collect::<Result<_, _>>()?,
            Object::State(StateNode::Branch(branch)) => {
                state::check_children(&self.objects, branch).collect::<Result<(), _>>()?;
                let mut named: Vec<_> =
                    branch.children.values().map(|child| child.id.into()).collect();
                // The decoder has checked that the prefix is an id where it stands for one.
                if let (Some(version), Ok(id)) = (branch.here, str::from_utf8(&branch.prefix)) {
                    named.push(self.node(&NodeId::from_stored(id), version)?);
                }
                named
            }
            Object::Commit(commit) => {
                for parent in &commit.parents {
                    self.objects.commit(*parent)?;
                }
                self.objects.state_node(commit.state)?;
                vec![commit.state.into()]
            }
        })
    }

    fn node(&self, id: &NodeId, version: NodeVersionId) -> Result<ObjectId, Error> {
        let node = self.objects.node(version)?;
        if node.id == *id {
            return Ok(version.into());
        }
        Err(Error::corrupt(format!("it files the node {:?} ({version}) under {id:?}", node.id)))
    }

    /// What a branch or HEAD points at.
    fn tip(&mut self, commit: CommitId) -> Result<(), Error> {
        if self.objects.find_commit(commit)?.is_none() {
            return Err(self.lines.wrong(format!("no line before it is the commit {commit}")));
        }
        self.unnamed_commits.remove(&commit);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        if !self.lines.advance()? {
            return Err(self.lines.wrong("the export ends here, before its end line"));
        }
        let Line::End { counts, blake3 } = self.lines.line()? else {
            return Err(self.lines.wrong("after HEAD comes the end"));
        };
        if counts != self.carried {
            return Err(self.lines.wrong("there were more objects or branches, or fewer"));
        }
        if self.lines.id(&blake3)? != self.lines.seal.id() {
            return Err(self.lines.wrong("the lines before it are not those that were written"));
        }
        if self.lines.advance()? {
            return Err(self.lines.wrong("it stands after the end"));
        }
        Ok(())
    }
}

impl Lines<'_> {
    fn object(&self, kind: &str, id: &str, bytes: &str) -> Result<(Encoded, Object), Error> {
        let id = self.id(id)?;
        let bytes =
            unhex(bytes).ok_or_else(|| self.wrong("its bytes are no hexadecimal digits"))?;
        if crate::codec::encoded::hash(&bytes) != id {
            return Err(self.wrong(format!("its bytes are not those of the object {id}")));
        }
        let (object, decoded) = Encoded::decode(&bytes)
            .map_err(|error| self.wrong(format!("the object {id} cannot be read: {error}")))?;
        if Kind::as_str(object.kind()) != kind {
            return Err(self.wrong(format!("the object {id} is not a {kind:?}")));
        }
        Ok((object, decoded))
    }

    fn id(&self, text: &str) -> Result<ObjectId, Error> {
        text.parse().map_err(|error| self.wrong(error))
    }

    /// A name that may be written, or one that version 1 allowed.
    fn branch_name(&self, name: &str) -> Result<BranchName, Error> {
        let old = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if old {
            return Ok(BranchName::from_stored(name));
        }
        BranchName::new(name).map_err(|error| self.wrong(error))
    }

    /// Whether the line is a header of a later version.
    fn later_version(&self) -> bool {
        #[derive(serde::Deserialize)]
        struct Versioned {
            schema: String,
            version: u32,
        }
        serde_json::from_slice::<Versioned>(&self.text)
            .is_ok_and(|header| header.schema == SCHEMA && header.version > VERSION)
    }
}
