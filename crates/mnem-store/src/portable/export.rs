//! A whole store as a stream: every commit that a branch or HEAD reaches, with all of its memory.
//!
//! What is not reached stays behind, and so do drafts, the reflog and local rows. Two stores with
//! the same branches, HEAD and settings export the same bytes.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::stream::{Carried, LEFT_OUT, Line, MAX_LINE_BYTES, SCHEMA, Seal, VERSION, hex};
use crate::backend::Number;
use crate::backend::disk::{self, NewFile};
use crate::codec::Encoded;
use crate::error::{Error, Hint};
use crate::id::{CommitId, ObjectId};
use crate::object::{Object, StateNode};
use crate::store::engine::Engine;
use crate::store::{Head, STORE_DIRECTORY, Store, files};

impl Store {
    /// Writes the whole store as a stream of lines, which [`import`](super::import()) reads.
    ///
    /// It holds what branches and HEAD reach: objects after everything that they name, then the
    /// branches and HEAD. The reflog, staging and local rows are left out. Memory does not grow
    /// with what is stored, but for 32 bytes for each commit of the longest line of history and
    /// a bit for each object. `progress` is called with the number of objects written so far.
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
    /// put(&store, "plan", "pro")?;
    /// let mut stream = Vec::new();
    /// let carried = store.export(&mut stream, |_| ())?;
    /// assert_eq!((carried.nodes, carried.states, carried.commits), (1, 1, 1));
    /// assert_eq!(stream.iter().filter(|byte| **byte == b'\n').count(), 3 + 4);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn export(&self, out: &mut dyn Write, progress: impl FnMut(u64)) -> Result<Carried, Error> {
        let engine = self.engine()?;
        // First: a branch is made before HEAD is put on it.
        let head = engine.head()?;
        let branches = engine.objects.view()?.references()?;
        let mut export = Export {
            engine: &engine,
            out,
            seal: Seal::default(),
            seen: Numbers::default(),
            carried: Carried::default(),
            progress,
        };
        export.line(&Line::Header {
            schema: SCHEMA.into(),
            version: VERSION,
            format_version: engine.config.format.number(),
            default_branch: engine.config.default_branch.as_str().into(),
            salted: engine.config.salts_from_now_on(),
            left_out: LEFT_OUT.map(Into::into).to_vec(),
        })?;
        let detached = match &head {
            Head::Detached(commit) => Some(*commit),
            Head::Attached(_) => None,
        };
        for tip in branches.values().copied().chain(detached) {
            export.history(tip)?;
        }
        for (name, commit) in &branches {
            let commit = commit.to_string().into();
            export.line(&Line::Branch { name: name.as_str().into(), commit })?;
            export.carried.branches += 1;
        }
        export.line(&match &head {
            Head::Attached(branch) => {
                Line::Head { branch: Some(branch.as_str().into()), commit: None }
            }
            Head::Detached(commit) => {
                Line::Head { branch: None, commit: Some(commit.to_string().into()) }
            }
        })?;
        let blake3 = export.seal.id().to_string().into();
        export.line(&Line::End { counts: export.carried, blake3 })?;
        export.out.flush().map_err(|error| Error::io("cannot write the export", error))?;
        Ok(export.carried)
    }

    /// The same to a file; see [`to_file`].
    pub fn export_to(&self, path: &Path, progress: impl FnMut(u64)) -> Result<Carried, Error> {
        let unique = self.environment()?.random()?;
        to_file(path, unique, |out| self.export(out, progress))
    }
}

/// Writes a file that is there whole or as it was: another is written beside it, synced and
/// renamed over it. Refused where something stands that is no file, and among the files of a store.
/// `unique` is random.
pub fn to_file<T>(
    path: &Path,
    unique: [u8; 8],
    write: impl FnOnce(&mut dyn Write) -> Result<T, Error>,
) -> Result<T, Error> {
    let failed = |error| Error::io(format!("cannot write {}", path.display()), error);
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        let message = format!("cannot export to {}: it is not a file", path.display());
        return Err(Error::invalid(message).hint(Hint::ExportToPipe));
    }
    // A link stays a link; its target is replaced.
    let target = fs::canonicalize(path).or_else(|_| std::path::absolute(path)).map_err(failed)?;
    if target.parent().is_some_and(|parent| parent.ends_with(STORE_DIRECTORY)) {
        let message =
            format!("cannot export to {}: a store keeps its own files there", path.display());
        return Err(Error::invalid(message).hint(Hint::ExportToPipe));
    }
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".tmp-{}", hex(&unique)));
    let beside = target.with_file_name(name);
    let written = NewFile::create(&beside).map_err(failed).and_then(|file| {
        disk::permit_like(&beside, &target).map_err(failed)?;
        let mut out = BufWriter::new(file);
        let told = write(&mut out)?;
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync().and_then(|()| files::rename(&beside, &target)).map_err(failed)?;
        target.parent().map_or(Ok(()), files::sync_directory).map_err(failed)?;
        Ok(told)
    });
    if written.is_err() {
        let _ = files::remove(&beside); // the first error is the one to tell
    }
    written
}

struct Export<'e, P> {
    engine: &'e Engine,
    out: &'e mut dyn Write,
    seal: Seal,
    seen: Numbers,
    carried: Carried,
    progress: P,
}

impl<P: FnMut(u64)> Export<'_, P> {
    /// A commit and what is behind it, parents first.
    fn history(&mut self, tip: CommitId) -> Result<(), Error> {
        let mut open = vec![tip];
        while let Some(id) = open.last().copied() {
            if self.is_seen(id.into())? {
                open.pop();
                continue;
            }
            let commit = self.engine.objects.commit(id)?;
            let mut waiting = false;
            for parent in commit.parents.iter().rev() {
                if !self.is_seen((*parent).into())? {
                    open.push(*parent);
                    waiting = true;
                }
            }
            if !waiting {
                open.pop();
                self.with_all_below(commit.state.into())?;
                let (commit, _) = self.read(id.into())?;
                self.object(&commit)?;
            }
        }
        Ok(())
    }

    /// A state and what it names, unless it was written before. What is behind an object that
    /// was written has been written too.
    fn with_all_below(&mut self, root: ObjectId) -> Result<(), Error> {
        let mut ahead = vec![Step::Into(root)];
        while let Some(step) = ahead.pop() {
            let id = match step {
                Step::Into(id) if self.is_seen(id)? => continue,
                Step::Into(id) => id,
                Step::Write(object) => {
                    self.object(&object)?;
                    continue;
                }
            };
            let (encoded, object) = self.read(id)?;
            ahead.push(Step::Write(encoded));
            match object {
                Object::State(StateNode::Leaf(leaf)) => {
                    ahead.extend(leaf.nodes.values().rev().map(|id| Step::Into((*id).into())));
                }
                Object::State(StateNode::Branch(branch)) => {
                    let children = branch.children.values().rev();
                    ahead.extend(children.map(|child| Step::Into(child.id.into())));
                    ahead.extend(branch.here.map(|id| Step::Into(id.into())));
                }
                Object::Node(_) | Object::Commit(_) => {}
            }
        }
        Ok(())
    }

    fn read(&self, id: ObjectId) -> Result<(Encoded, Object), Error> {
        let found = self.engine.objects.encoded(id)?;
        found.ok_or_else(|| Error::corrupt(format!("the object {id} is missing")))
    }

    fn is_seen(&self, id: ObjectId) -> Result<bool, Error> {
        Ok(self.seen.has(self.number(id)?))
    }

    fn number(&self, id: ObjectId) -> Result<Number, Error> {
        let number = self.engine.objects.view()?.number(&id)?;
        number.ok_or_else(|| Error::corrupt(format!("the object {id} is missing")))
    }

    fn object(&mut self, object: &Encoded) -> Result<(), Error> {
        let number = self.number(object.id())?;
        self.line(&Line::Object {
            kind: object.kind().as_str().into(),
            id: object.id().to_string().into(),
            bytes: hex(object.bytes()).into(),
        })?;
        self.seen.add(number);
        self.carried.add(object.kind());
        (self.progress)(self.carried.objects());
        Ok(())
    }

    fn line(&mut self, line: &Line<'_>) -> Result<(), Error> {
        let text = line.render()?;
        if text.len() > MAX_LINE_BYTES {
            let what = match line {
                Line::Object { id, .. } => format!("the object {id}"),
                _ => "a name".into(),
            };
            return Err(Error::invalid(format!("{what} is too large to be exported")));
        }
        self.seal.add(&text);
        self.out.write_all(&text).map_err(|error| Error::io("cannot write the export", error))
    }
}

/// What is to be done with an object on the way through a tree.
enum Step {
    Into(ObjectId),
    Write(Encoded),
}

/// The numbers of the objects that were written, a bit for each that there is.
#[derive(Debug, Default)]
struct Numbers(Vec<u64>);

impl Numbers {
    fn place(number: Number) -> (usize, u64) {
        (usize::try_from(number.0 / 64).unwrap_or(usize::MAX), 1 << (number.0 % 64))
    }

    fn has(&self, number: Number) -> bool {
        let (word, bit) = Self::place(number);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }

    fn add(&mut self, number: Number) {
        let (word, bit) = Self::place(number);
        if self.0.len() <= word {
            self.0.resize(word.saturating_add(1), 0);
        }
        if let Some(bits) = self.0.get_mut(word) {
            *bits |= bit;
        }
    }
}
