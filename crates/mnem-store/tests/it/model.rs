//! Memory under version control, said with plain maps: what the histories are compared with.
//!
//! A commit is its parents and its whole memory; nothing here knows of states, trees, diffs or
//! indexes. Values are compared as the caller sees them, so salts do not matter.

use std::collections::{BTreeMap, BTreeSet};

use mnem_store::ops::{ChangeKind, ConflictKind};
use mnem_store::{CommitId, Head};

/// What a node says, and its source: the same content from another source is another value.
pub type Value = (u8, u8);
pub type Memory = BTreeMap<String, Value>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    pub parents: Vec<CommitId>,
    pub memory: Memory,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub commits: BTreeMap<CommitId, Past>,
    /// The commits in the order in which they were made.
    pub order: Vec<CommitId>,
    pub branches: BTreeMap<String, CommitId>,
    pub head: Head,
    pub staged: BTreeMap<String, Option<Value>>,
    /// The moves of each branch, oldest first.
    pub moves: BTreeMap<String, Vec<Move>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    pub old: Option<CommitId>,
    pub new: Option<CommitId>,
    pub verb: &'static str,
    pub author: String,
}

pub struct Blamed {
    pub commit: CommitId,
    pub value: Value,
    pub removed: bool,
}

/// The kind of a conflict over one id, or the value that is taken.
pub enum Joined {
    Take(Option<Value>),
    Conflict(ConflictKind),
}

/// The whole table, case by case, without a diff.
pub fn join(base: Option<Value>, ours: Option<Value>, theirs: Option<Value>) -> Joined {
    match (base, ours, theirs) {
        (_, ours, theirs) if ours == theirs => Joined::Take(ours),
        (base, ours, theirs) if ours == base => Joined::Take(theirs),
        (base, ours, theirs) if theirs == base => Joined::Take(ours),
        (None, _, _) => Joined::Conflict(ConflictKind::AddAdd),
        (Some(_), None, Some(_)) => Joined::Conflict(ConflictKind::DeleteEdit),
        (Some(_), Some(_), None) => Joined::Conflict(ConflictKind::EditDelete),
        _ => Joined::Conflict(ConflictKind::EditEdit),
    }
}

/// What two lines last agreed on for an id; a disagreement of their bases equals nothing.
#[derive(Clone, Copy, Debug)]
pub enum Agreed {
    On(Option<Value>),
    Disputed,
}

/// The table with such a base.
pub fn join_over(base: Agreed, ours: Option<Value>, theirs: Option<Value>) -> Joined {
    match (base, ours, theirs) {
        (Agreed::On(base), ..) => join(base, ours, theirs),
        (Agreed::Disputed, ours, theirs) if ours == theirs => Joined::Take(ours),
        (Agreed::Disputed, None, _) => Joined::Conflict(ConflictKind::DeleteEdit),
        (Agreed::Disputed, _, None) => Joined::Conflict(ConflictKind::EditDelete),
        (Agreed::Disputed, ..) => Joined::Conflict(ConflictKind::EditEdit),
    }
}

/// Every id of two memories: what is under them, and what a merge makes of it.
pub fn join_memories(
    ours: &Memory,
    theirs: &Memory,
    base: impl Fn(&str) -> Agreed,
) -> BTreeMap<String, (Agreed, Joined)> {
    let ids: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
    ids.into_iter()
        .map(|id| {
            let (ours, theirs) = (ours.get(id).copied(), theirs.get(id).copied());
            // What both say needs no base.
            let base = if ours == theirs { Agreed::On(ours) } else { base(id) };
            (id.clone(), (base, join_over(base, ours, theirs)))
        })
        .collect()
}

impl Model {
    pub fn new(head: Head) -> Self {
        Self {
            commits: BTreeMap::new(),
            order: Vec::new(),
            branches: BTreeMap::new(),
            head,
            staged: BTreeMap::new(),
            moves: BTreeMap::new(),
        }
    }

    /// What these bases say of an id together: each merged into the ones before it, over what
    /// those two last agreed on.
    pub fn agreed(&self, bases: &[CommitId], id: &str) -> Agreed {
        let value = |commit: &CommitId| self.commits[commit].memory.get(id).copied();
        let Some(first) = bases.first() else { return Agreed::On(None) };
        let mut agreed = Agreed::On(value(first));
        for number in 1..bases.len() {
            let next = value(&bases[number]);
            if matches!(agreed, Agreed::On(one) if one == next) {
                continue;
            }
            let below = self.agreed(&self.bases_of(&bases[..number], bases[number]), id);
            agreed = match (agreed, below) {
                (Agreed::On(ours), Agreed::On(base)) => match join(base, ours, next) {
                    Joined::Take(value) => Agreed::On(value),
                    Joined::Conflict(_) => Agreed::Disputed,
                },
                // A disagreement equals nothing: where the next left the base, both did; where it
                // did not, the disagreement stays. On a disputed base, both left it.
                _ => Agreed::Disputed,
            };
        }
        agreed
    }

    /// Every id of two commits: what they last agreed on, and what a merge makes of it.
    pub fn join_all(&self, ours: CommitId, theirs: CommitId) -> BTreeMap<String, (Agreed, Joined)> {
        let bases = self.merge_bases(ours, theirs);
        let [ours, theirs] = [ours, theirs].map(|commit| &self.commits[&commit].memory);
        join_memories(ours, theirs, |id| self.agreed(&bases, id))
    }

    pub fn tip(&self) -> Option<CommitId> {
        match &self.head {
            Head::Attached(branch) => self.branches.get(branch.as_str()).copied(),
            Head::Detached(commit) => Some(*commit),
        }
    }

    pub fn memory(&self, commit: Option<CommitId>) -> Memory {
        commit.map(|commit| self.commits[&commit].memory.clone()).unwrap_or_default()
    }

    pub fn working(&self) -> Memory {
        let mut memory = self.memory(self.tip());
        for (id, value) in &self.staged {
            match value {
                Some(value) => memory.insert(id.clone(), *value),
                None => memory.remove(id),
            };
        }
        memory
    }

    pub fn add(&mut self, commit: CommitId, parents: Vec<CommitId>, memory: Memory) {
        let past = Past { parents, memory };
        match self.commits.insert(commit, past.clone()) {
            Some(known) => assert_eq!(known, past, "one id for two commits"),
            None => self.order.push(commit),
        }
    }

    /// Moves a branch, to nowhere for `None`.
    pub fn point(&mut self, branch: &str, new: Option<CommitId>, verb: &'static str, author: &str) {
        let old = match new {
            Some(new) => self.branches.insert(branch.into(), new),
            None => self.branches.remove(branch),
        };
        let moved = Move { old, new, verb, author: author.into() };
        self.moves.entry(branch.into()).or_default().push(moved);
    }

    /// A commit and everything behind it.
    pub fn ancestors(&self, start: CommitId) -> BTreeSet<CommitId> {
        let mut found = BTreeSet::new();
        let mut open = vec![start];
        while let Some(commit) = open.pop() {
            if found.insert(commit) {
                open.extend(&self.commits[&commit].parents);
            }
        }
        found
    }

    /// The length of the longest way to a root.
    pub fn generation(&self, commit: CommitId) -> u64 {
        let mut known: BTreeMap<CommitId, u64> = BTreeMap::new();
        let behind = self.ancestors(commit);
        while known.len() < behind.len() {
            for id in &behind {
                let parents = &self.commits[id].parents;
                let of: Option<Vec<u64>> = parents.iter().map(|p| known.get(p).copied()).collect();
                if let Some(of) = of {
                    known.insert(*id, of.into_iter().max().map_or(0, |most| most + 1));
                }
            }
        }
        known[&commit]
    }

    /// Common ancestors that are behind no other common ancestor, by generation, then id.
    pub fn merge_bases(&self, a: CommitId, b: CommitId) -> Vec<CommitId> {
        self.bases_of(&[a], b)
    }

    /// The same for what a merge of some commits would be, and another.
    pub fn bases_of(&self, merged: &[CommitId], other: CommitId) -> Vec<CommitId> {
        let behind: BTreeSet<_> = merged.iter().flat_map(|id| self.ancestors(*id)).collect();
        let common: Vec<_> = behind.intersection(&self.ancestors(other)).copied().collect();
        // What is behind one of them is not among the best.
        let mut worse = BTreeSet::new();
        for id in &common {
            worse.extend(self.ancestors(*id).into_iter().filter(|below| below != id));
        }
        let mut best: Vec<_> = common.into_iter().filter(|id| !worse.contains(id)).collect();
        best.sort_by_key(|id| (self.generation(*id), *id));
        best
    }

    /// A child before its parents; among the ready the later generation, then the smaller id.
    pub fn log(&self, start: CommitId) -> Vec<CommitId> {
        let mut left = self.ancestors(start);
        let mut order = Vec::new();
        while !left.is_empty() {
            let is_ready =
                |id: &&CommitId| !left.iter().any(|child| self.commits[child].parents.contains(id));
            let next = left
                .iter()
                .filter(is_ready)
                .min_by_key(|id| (std::cmp::Reverse(self.generation(**id)), **id));
            let next = *next.unwrap();
            left.remove(&next);
            order.push(next);
        }
        order
    }

    pub fn first_parents(&self, start: CommitId) -> Vec<CommitId> {
        let mut chain = vec![start];
        while let Some(parent) = self.commits[&chain[chain.len() - 1]].parents.first() {
            chain.push(*parent);
        }
        chain
    }

    fn existed(&self, start: CommitId, id: &str) -> bool {
        self.ancestors(start).iter().any(|commit| self.commits[commit].memory.contains_key(id))
    }

    pub fn blame(&self, start: CommitId, id: &str) -> Option<Blamed> {
        let mut commit = start;
        let value = self.commits[&start].memory.get(id).copied();
        loop {
            let parents = &self.commits[&commit].parents;
            let of = |parent: &CommitId| self.commits[parent].memory.get(id).copied();
            let back = parents.iter().find(|parent| {
                of(parent) == value && (value.is_some() || self.existed(**parent, id))
            });
            match (back, value) {
                (Some(parent), _) => commit = *parent,
                (None, Some(value)) => return Some(Blamed { commit, value, removed: false }),
                (None, None) => {
                    let value = parents.iter().find_map(of)?;
                    return Some(Blamed { commit, value, removed: true });
                }
            }
        }
    }

    /// (good, bad] on the first parents, oldest first; none when good is not among them.
    pub fn chain(&self, bad: CommitId, good: Option<CommitId>) -> Option<Vec<CommitId>> {
        let mut chain = self.first_parents(bad);
        if let Some(good) = good {
            let end = chain.iter().position(|id| *id == good)?;
            chain.truncate(end);
        }
        chain.reverse();
        Some(chain)
    }
}

pub fn diff(old: &Memory, new: &Memory) -> BTreeMap<String, ChangeKind> {
    let ids: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let kind = |id: &String| match (old.get(id), new.get(id)) {
        (None, Some(_)) => Some(ChangeKind::Added),
        (Some(_), None) => Some(ChangeKind::Removed),
        (old, new) => (old != new).then_some(ChangeKind::Modified),
    };
    ids.into_iter().filter_map(|id| Some((id.clone(), kind(id)?))).collect()
}
