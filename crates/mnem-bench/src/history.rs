//! The history that counts and times are taken on: one commit that fills the memory, then
//! commits that change one node each.

use mnem_store::ops::{Changes, Meta};
use mnem_store::portable::json;
use mnem_store::{Content, MemoryNode, NodeId, Provenance, Store};

use crate::Outcome;

/// The node whose value goes back and forth, this many times in all.
pub const FLIPPING: usize = 0;
const FLIPS: usize = 20;
/// The node that was set this many commits ago, or in the second commit of a shorter history.
pub const OLD: usize = 1;
const OLD_AGE: usize = 16_000;
/// Odd and large, so that writes visit nodes all over the memory.
const STRIDE: usize = 7_919;

/// How many nodes and commits.
#[derive(Clone, Copy, Debug)]
pub struct History {
    pub nodes: usize,
    pub commits: usize,
}

impl History {
    pub fn new(nodes: usize, commits: usize) -> Outcome<Self> {
        if nodes < 3 || commits < 2 {
            return Err("a history has at least 3 nodes and 2 commits".into());
        }
        Ok(Self { nodes, commits })
    }

    /// Writes the whole of it.
    pub fn write(self, store: &Store) -> Outcome<()> {
        self.fill(store)?;
        for commit in 1..self.commits {
            self.step(store, commit)?;
        }
        Ok(())
    }

    /// Writes the first commit: every node.
    pub fn fill(self, store: &Store) -> Outcome<()> {
        let fill: Changes =
            (0..self.nodes).map(|number| entry(number, 0)).collect::<Outcome<_>>()?;
        store.write(fill, &Meta::new("fill", "bench"))?;
        Ok(())
    }

    /// Writes a later commit: one node.
    pub fn step(self, store: &Store, commit: usize) -> Outcome<()> {
        let flips_every = (self.commits / FLIPS).max(1);
        let change = if commit == self.commits.saturating_sub(OLD_AGE).max(1) {
            entry(OLD, commit)?
        } else if commit.is_multiple_of(flips_every) {
            // 0 and 1 in turn.
            entry(FLIPPING, commit / flips_every % 2)?
        } else {
            entry(2 + commit * STRIDE % (self.nodes - 2), commit)?
        };
        store.write(Changes::from([change]), &Meta::new("step", "bench"))?;
        Ok(())
    }
}

/// The id of a node by its number.
pub fn name(number: usize) -> String {
    format!("session:{number:010}")
}

/// What a node says at a revision of it, as JSON.
pub fn text(number: usize, revision: usize) -> String {
    let fact = format!("fact {number} {}", "y".repeat(40));
    format!(r#"{{"value": {number}, "rev": {revision}, "text": "{fact}"}}"#)
}

/// The same as content.
pub fn content(number: usize, revision: usize) -> Outcome<Content> {
    Ok(json::parse(&text(number, revision))?)
}

/// A change that gives a node what it says at a revision.
pub fn entry(number: usize, revision: usize) -> Outcome<(NodeId, Option<MemoryNode>)> {
    let id = NodeId::new(name(number))?;
    let node = MemoryNode {
        provenance: Provenance { source: Some("bench".into()), ..Provenance::default() },
        ..MemoryNode::note(id.clone(), content(number, revision)?)
    };
    Ok((id, Some(node)))
}
