//! verify: hash everything again and check every rule that a read checks only in part.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::error::{Error, ErrorKind};
use crate::id::{NodeVersionId, ObjectId, StateId};
use crate::object::{Kind, Object};
use crate::state;
use crate::store::Store;
use crate::store::engine::Engine;

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
    /// Reads every object, hashes it, decodes it strictly, checks the tree of every commit and
    /// that whatever is referred to is there. What is wrong is listed; reading goes on.
    ///
    /// `progress` is called with the number of objects read so far.
    pub fn verify(&self, mut progress: impl FnMut(u64)) -> Result<Verified, Error> {
        let engine = self.engine()?;
        let mut verified = Verified::default();
        let mut roots = BTreeSet::new();
        let mut versions = BTreeSet::new();
        let mut parents = BTreeSet::new();
        let mut read = 0;
        let mut from = Some(ObjectId::from_bytes([0; 32]));
        while let Some(start) = from {
            let range: RangeInclusive<ObjectId> = start..=*ObjectId::all().end();
            let ids = engine.objects.view()?.ids(range, PAGE)?;
            from = ids.last().and_then(|(id, _)| successor(*id)).filter(|_| ids.len() == PAGE);
            for (id, kind) in ids {
                match engine.objects.encoded(id) {
                    Ok(Some((_, object))) if object.kind() == kind => match object {
                        Object::Node(node) => {
                            verified.nodes += 1;
                            versions.extend(node.derived_from.iter().map(|parent| parent.object));
                        }
                        Object::State(_) => verified.states += 1,
                        Object::Commit(commit) => {
                            verified.commits += 1;
                            roots.insert(commit.state);
                            parents.extend(commit.parents);
                        }
                    },
                    Ok(Some((_, object))) => verified.problems.push(format!(
                        "the object {id} is a {}, but filed as a {}",
                        object.kind().as_str(),
                        kind.as_str()
                    )),
                    Ok(None) => {
                        verified.problems.push(format!("the object {id} is listed but missing"));
                    }
                    Err(error) => verified.problem(error)?,
                }
                read += 1;
                progress(read);
            }
        }
        engine.verify_references(&mut verified, &roots, &versions)?;
        for commit in parents {
            verified.check(engine.objects.commit(commit).map(drop))?;
        }
        for commit in engine.objects.view()?.references()?.into_values() {
            verified.branches += 1;
            verified.check(engine.objects.commit(commit).map(drop))?;
        }
        Ok(verified)
    }
}

impl Engine {
    fn verify_references(
        &self,
        verified: &mut Verified,
        roots: &BTreeSet<StateId>,
        versions: &BTreeSet<NodeVersionId>,
    ) -> Result<(), Error> {
        let kind = |id: ObjectId| -> Result<Option<Kind>, Error> {
            Ok(self.objects.view()?.ids(id..=id, 1)?.first().map(|(_, kind)| *kind))
        };
        for root in roots {
            verified.check(state::verify(&self.objects, *root))?;
            // Entries of a tree that differ from no other were checked with the other.
            for entry in state::entries(&self.objects, *root, "", None) {
                match entry {
                    Ok((id, version)) => verified.check(self.node_at(&id, version).map(drop))?,
                    Err(error) => {
                        verified.problem(error)?;
                        break;
                    }
                }
            }
        }
        for version in versions {
            if kind((*version).into())? != Some(Kind::Node) {
                verified.problems.push(format!("the memory node {version} is missing"));
            }
        }
        Ok(())
    }
}

impl Verified {
    fn check(&mut self, checked: Result<(), Error>) -> Result<(), Error> {
        checked.or_else(|error| self.problem(error))
    }

    /// Damage is listed; anything else ends the verification.
    fn problem(&mut self, error: Error) -> Result<(), Error> {
        if error.kind() != ErrorKind::CorruptStore {
            return Err(error);
        }
        let problem = error.to_string();
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
        Ok(())
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
