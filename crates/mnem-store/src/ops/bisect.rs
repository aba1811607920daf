//! bisect: the commit at which something began to hold.

use std::sync::Arc;

use crate::codec::canonical::encode_content;
use crate::error::{Error, Hint};
use crate::graph::FirstParents;
use crate::id::{CommitId, NodeId, NodeVersionId};
use crate::object::{Content, MemoryNode};
use crate::store::Store;
use crate::store::engine::Engine;
use crate::store::snapshot::Snapshot;

/// A question about one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeTest {
    /// The node is there.
    Present,
    /// The node is not there.
    Absent,
    /// The node's content is exactly this: equality is of canonical bytes, so `1` is not `1.0`.
    Equals(Content),
}

impl NodeTest {
    fn holds(&self, node: Option<&MemoryNode>) -> bool {
        match self {
            Self::Present => node.is_some(),
            Self::Absent => node.is_none(),
            Self::Equals(content) => {
                node.is_some_and(|node| encode_content(&node.content) == encode_content(content))
            }
        }
    }
}

/// A commit at which the answer to a question changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flip {
    /// The commit.
    pub commit: CommitId,
    /// The answer from here on.
    pub holds: bool,
    /// The node at this commit.
    pub node: Option<Arc<MemoryNode>>,
}

/// What a bisection for a node found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bisection {
    /// The earliest commit at which it held; none when it does not hold at `bad`.
    pub first: Option<CommitId>,
    /// Every change of the answer, oldest first.
    pub flips: Vec<Flip>,
}

impl Store {
    /// The commit on the chain of first parents (good, bad] at which a predicate began to hold.
    ///
    /// The predicate is taken to be false up to there and true from there on, and is asked about
    /// log2 of the chain's length. It must hold at `bad` and not at an explicit `good`; with no
    /// `good`, it may hold since the root, which is then the answer.
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
    /// let second = put(&store, "b", "1")?;
    /// put(&store, "c", "1")?;
    /// let found = store.bisect(None, None, |memory| Ok::<_, Error>(memory.count()? >= 2))?;
    /// assert_eq!(found, second);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn bisect<E: From<Error>>(
        &self,
        bad: Option<&str>,
        good: Option<&str>,
        mut predicate: impl FnMut(&Snapshot) -> Result<bool, E>,
    ) -> Result<CommitId, E> {
        let engine = self.engine()?;
        let chain = self.chain(&engine, bad, good)?;
        let mut holds = |id: CommitId| predicate(&Snapshot::new(&engine, Some(id))?);
        let commits = &chain.commits;
        let Some((last, before)) = commits.split_last() else { return Err(chain.empty().into()) };
        if !holds(*last)? {
            return Err(
                Error::invalid(format!("bisect: the predicate is false at bad ({last})")).into()
            );
        }
        if let Some(good) = chain.good
            && holds(good)?
        {
            let message = format!("bisect: the predicate is already true at good ({good})");
            return Err(Error::invalid(message).into());
        }
        // Below `low` it does not hold, at `high` it does.
        let (mut low, mut high) = (0, before.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(commit) = commits.get(middle) else { break };
            if holds(*commit)? { high = middle } else { low = middle + 1 }
        }
        Ok(commits.get(high).copied().unwrap_or(*last))
    }

    /// Every commit on the chain of first parents (good, bad] at which the answer to a question
    /// about a node changed, oldest first. Before the root nothing holds; from an explicit
    /// `good`, what held there.
    pub fn flips(
        &self,
        id: &NodeId,
        test: &NodeTest,
        bad: Option<&str>,
        good: Option<&str>,
    ) -> Result<Vec<Flip>, Error> {
        let engine = self.engine()?;
        let chain = self.chain(&engine, bad, good)?;
        let mut version: Option<NodeVersionId> = None;
        let mut holds = false;
        if let Some(good) = chain.good {
            version = engine.version_at(good, id)?;
            holds = test.holds(engine.node_or_absent(id, version)?.as_deref());
        }
        let mut flips = Vec::new();
        for (number, commit) in chain.commits.iter().enumerate() {
            let now = engine.version_at(*commit, id)?;
            let first = number == 0 && chain.good.is_none();
            if now == version && !first {
                continue;
            }
            version = now;
            let node = engine.node_or_absent(id, now)?;
            let answer = test.holds(node.as_deref());
            if answer != holds {
                holds = answer;
                flips.push(Flip { commit: *commit, holds, node });
            }
        }
        Ok(flips)
    }

    /// The earliest commit on the chain of first parents (good, bad] at which a node's test held,
    /// and every flip. An explicit `good` must not hold.
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
    /// use mnem_store::ops::NodeTest;
    /// put(&store, "plan", "pro")?;
    /// let wrong = put(&store, "plan", "enterprise")?;
    /// put(&store, "owner", "ada")?;
    /// let test = NodeTest::Equals(Content::text("enterprise"));
    /// let found = store.bisect_node(&NodeId::new("plan")?, &test, None, None)?;
    /// assert_eq!(found.first, Some(wrong));
    /// assert_eq!(found.flips.len(), 1);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn bisect_node(
        &self,
        id: &NodeId,
        test: &NodeTest,
        bad: Option<&str>,
        good: Option<&str>,
    ) -> Result<Bisection, Error> {
        let engine = self.engine()?;
        if let Some(good) = good {
            let good = self.resolve(good)?;
            let node = engine.node_or_absent(id, engine.version_at(good, id)?)?;
            if test.holds(node.as_deref()) {
                let message = format!("bisect: the predicate is already true at good ({good})");
                return Err(Error::invalid(message).hint(Hint::ListFlips));
            }
        }
        let flips = self.flips(id, test, bad, good)?;
        let holds_at_bad = flips.last().is_some_and(|flip| flip.holds);
        let first = flips.iter().find(|flip| flip.holds).map(|flip| flip.commit);
        Ok(Bisection { first: first.filter(|_| holds_at_bad), flips })
    }

    fn chain(
        &self,
        engine: &Engine,
        bad: Option<&str>,
        good: Option<&str>,
    ) -> Result<Chain, Error> {
        let bad = self.resolve_or_head(bad)?;
        let good = good.map(|revision| self.resolve(revision)).transpose()?;
        let mut commits = Vec::new();
        let mut met = good.is_none();
        for step in FirstParents::new(&engine.objects, Some(bad)) {
            let (id, _) = step?;
            if Some(id) == good {
                met = true;
                break;
            }
            commits.push(id);
        }
        if let (false, Some(good)) = (met, good) {
            let message =
                format!("bisect: good ({good}) is not among the first parents of bad ({bad})");
            return Err(Error::invalid(message).hint(Hint::ListLog));
        }
        commits.reverse();
        let chain = Chain { commits, good, bad };
        if chain.commits.is_empty() { Err(chain.empty()) } else { Ok(chain) }
    }
}

/// The commits (good, bad], oldest first.
struct Chain {
    commits: Vec<CommitId>,
    good: Option<CommitId>,
    bad: CommitId,
}

impl Chain {
    fn empty(&self) -> Error {
        Error::invalid(format!("bisect: good and bad are the same commit ({})", self.bad))
            .hint(Hint::ListLog)
    }
}

impl Engine {
    fn node_or_absent(
        &self,
        id: &NodeId,
        version: Option<NodeVersionId>,
    ) -> Result<Option<Arc<MemoryNode>>, Error> {
        version.map(|version| self.node_at(id, version)).transpose()
    }
}
