//! verify: hash everything again and check every rule that a read checks only in part.

use std::collections::BTreeSet;

use crate::error::{Error, ErrorKind};
use crate::id::{NodeId, ObjectId};
use crate::object::{Kind, Object, StateNode};
use crate::state;
use crate::store::Store;
use crate::store::engine::Engine;
use crate::store::head::Head;

/// How many ids are taken from the backend at a time.
const PAGE: usize = 4_096;

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Memory nodes that were read.
    pub nodes: u64,
    /// State objects that were read.
    pub states: u64,
    /// Commits that were read.
    pub commits: u64,
    /// Branches whose commit was looked up.
    pub branches: u64,
    /// What is wrong, a sentence each.
    pub problems: Vec<String>,
}

impl Store {
    /// Reads every object once: hashes it, decodes it strictly, and checks what it refers to, so
    /// that every tree is found whole without being walked. Then where branches and HEAD point.
    /// What is wrong is listed; reading goes on.
    ///
    /// `progress` is called with the number of objects read so far.
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
    /// put(&store, "a", "1")?;
    /// let verified = store.verify(|_| ())?;
    /// assert_eq!((verified.nodes, verified.states, verified.commits), (1, 1, 1));
    /// assert!(verified.problems.is_empty());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn verify(&self, mut progress: impl FnMut(u64)) -> Result<Verified, Error> {
        let engine = self.engine()?;
        let mut verified = Verified::default();
        let mut problems = Problems::default();
        engine.objects.backend().damage().into_iter().for_each(|damage| problems.add(damage));
        let mut read = 0;
        engine.each_object(|id, kind| {
            if let Some(object) = problems.found(engine.objects.encoded(id))? {
                match object {
                    Some((_, object)) if object.kind() == kind => {
                        verified.count(&object);
                        engine.check_references(&object, &mut problems)?;
                    }
                    Some((_, object)) => problems.add(format!(
                        "the object {id} is a {}, but filed as a {}",
                        object.kind().as_str(),
                        kind.as_str()
                    )),
                    None => problems.add(format!("the object {id} is listed but missing")),
                }
            }
            read += 1;
            progress(read);
            Ok(())
        })?;
        for commit in engine.objects.view()?.references()?.into_values() {
            verified.branches += 1;
            problems.found(engine.objects.commit(commit))?;
        }
        if let Some(Head::Detached(commit)) = problems.found(engine.head())? {
            problems.found(engine.objects.commit(commit))?;
        }
        verified.problems = problems.into_sentences();
        Ok(verified)
    }
}

impl Engine {
    /// Calls `visit` with every stored object, in the order of the ids.
    pub(crate) fn each_object(
        &self,
        mut visit: impl FnMut(ObjectId, Kind) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut from = Some(*ObjectId::all().start());
        while let Some(start) = from {
            let ids = self.objects.view()?.ids(start..=*ObjectId::all().end(), PAGE)?;
            from = ids.last().and_then(|(id, _)| successor(*id)).filter(|_| ids.len() == PAGE);
            for (id, kind) in ids {
                visit(id, kind)?;
            }
        }
        Ok(())
    }

    /// Checks what one object says of others. Lineage is not looked at: nothing depends on it.
    pub(super) fn check_references(
        &self,
        object: &Object,
        problems: &mut Problems,
    ) -> Result<(), Error> {
        match object {
            Object::Node(_) => {}
            Object::State(StateNode::Leaf(leaf)) => {
                for (id, version) in &leaf.nodes {
                    problems.node(id, self.node_at(id, *version))?;
                }
            }
            Object::State(StateNode::Branch(branch)) => {
                // The decoder has checked that the prefix is an id where it stands for one.
                if let (Some(version), Ok(id)) = (branch.here, str::from_utf8(&branch.prefix)) {
                    let id = NodeId::from_stored(id);
                    problems.node(&id, self.node_at(&id, version))?;
                }
                for checked in state::check_children(&self.objects, branch) {
                    problems.found(checked)?;
                }
            }
            Object::Commit(commit) => {
                problems.found(state::count(&self.objects, commit.state))?;
                for parent in &commit.parents {
                    problems.found(self.objects.commit(*parent))?;
                }
            }
        }
        Ok(())
    }
}

impl Verified {
    fn count(&mut self, object: &Object) {
        match object {
            Object::Node(_) => self.nodes += 1,
            Object::State(_) => self.states += 1,
            Object::Commit(_) => self.commits += 1,
        }
    }
}

/// What is wrong, each sentence once, in order.
#[derive(Default)]
pub(super) struct Problems(BTreeSet<String>);

impl Problems {
    pub(super) fn into_sentences(self) -> Vec<String> {
        self.0.into_iter().collect()
    }

    fn add(&mut self, problem: String) {
        self.0.insert(problem);
    }

    /// The same of a node, which is named: a person knows it by its id.
    fn node<T>(&mut self, id: &NodeId, found: Result<T, Error>) -> Result<(), Error> {
        self.found(found.map_err(|error| match error.kind() {
            ErrorKind::CorruptStore => {
                Error::corrupt(format!("the node {id:?} cannot be read: {error}"))
            }
            _ => error,
        }))?;
        Ok(())
    }

    /// What was found, or none where it is damaged, which is listed. Any other error ends the
    /// verification.
    pub(super) fn found<T>(&mut self, found: Result<T, Error>) -> Result<Option<T>, Error> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::CorruptStore => {
                self.add(error.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn successor(id: ObjectId) -> Option<ObjectId> {
    let mut bytes = *id.as_bytes();
    for byte in bytes.iter_mut().rev() {
        let (next, carried) = byte.overflowing_add(1);
        *byte = next;
        if !carried {
            return Some(ObjectId::from_bytes(bytes));
        }
    }
    None
}
