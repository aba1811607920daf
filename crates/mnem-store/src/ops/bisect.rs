//! bisect: the commit at which something began to hold.

use std::sync::Arc;

use crate::codec::canonical::encode_content;
use crate::error::{Error, Hint};
use crate::graph::FirstParents;
use crate::id::{CommitId, NodeId, NodeVersionId};
use crate::index::{at_height, changes_on_line, is_on_line, position};
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
        let line = self.line(&engine, bad, good)?;
        let mut holds = |id: CommitId| predicate(&Snapshot::new(&engine, Some(id))?);
        if !holds(line.bad)? {
            let message = format!("bisect: the predicate is false at bad ({})", line.bad);
            return Err(Error::invalid(message).into());
        }
        if let Some(good) = line.good
            && holds(good)?
        {
            let message = format!("bisect: the predicate is already true at good ({good})");
            return Err(Error::invalid(message).into());
        }
        // Below `low` it does not hold, at `high`, which is `found`, it does.
        let (mut low, mut high, mut found) = (line.first, line.last, line.bad);
        while low < high {
            let middle = low + (high - low) / 2;
            let commit = at_height(&engine.objects, found, middle)?.ok_or_else(|| {
                Error::corrupt(format!("the records of the history of {found} do not add up"))
            })?;
            if holds(commit)? {
                (high, found) = (middle, commit);
            } else {
                low = middle + 1;
            }
        }
        Ok(found)
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
        let line = self.line(&engine, bad, good)?;
        let version_at = |commit: CommitId| engine.version_at(commit, id);
        let first = line.good.map_or(Ok(None), version_at)?;
        let first_holds = match line.good {
            Some(_) => test.holds(engine.node_or_absent(id, first)?.as_deref()),
            None => false,
        };
        let versions = [first, version_at(line.bad)?];
        let changes = changes_on_line(&engine.objects, line.bad, line.good, id, versions)?;
        // Newest first. Where no good is given, the root is asked whatever it changed.
        let mut points = match changes {
            Some(changes) => {
                changes.into_iter().map(|(changed, new)| (changed.commit, new)).collect()
            }
            None => engine.versions_on_line(&line, id)?,
        };
        if line.good.is_none() {
            let root = at_height(&engine.objects, line.bad, 0)?;
            if let Some(root) = root.filter(|root| points.last().is_none_or(|(id, _)| id != root)) {
                points.push((root, None));
            }
        }
        let mut holds = first_holds;
        let mut flips = Vec::new();
        for (commit, version) in points.into_iter().rev() {
            let node = engine.node_or_absent(id, version)?;
            let answer = test.holds(node.as_deref());
            if answer != holds {
                holds = answer;
                flips.push(Flip { commit, holds, node });
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

    fn line(&self, engine: &Engine, bad: Option<&str>, good: Option<&str>) -> Result<Line, Error> {
        let bad = self.resolve_or_head(bad)?;
        let good = good.map(|revision| self.resolve(revision)).transpose()?;
        let last = position(&engine.objects, bad)?.height;
        let Some(good) = good else { return Ok(Line { good, bad, first: 0, last }) };
        if good == bad {
            return Err(Error::invalid(format!(
                "bisect: good and bad are the same commit ({bad})"
            ))
            .hint(Hint::ListLog));
        }
        if !is_on_line(&engine.objects, good, bad)? {
            let message =
                format!("bisect: good ({good}) is not among the first parents of bad ({bad})");
            return Err(Error::invalid(message).hint(Hint::ListLog));
        }
        let first = position(&engine.objects, good)?.height.saturating_add(1);
        Ok(Line { good: Some(good), bad, first, last })
    }
}

/// The commits (good, bad], by height.
struct Line {
    good: Option<CommitId>,
    bad: CommitId,
    first: u64,
    last: u64,
}

impl Engine {
    /// Each commit of a line at which a node has another version than before, newest first, from
    /// the objects alone.
    fn versions_on_line(
        self: &Arc<Self>,
        line: &Line,
        id: &NodeId,
    ) -> Result<Vec<(CommitId, Option<NodeVersionId>)>, Error> {
        let mut points: Vec<(CommitId, Option<NodeVersionId>)> = Vec::new();
        for step in FirstParents::new(&self.objects, Some(line.bad)) {
            let (commit, _) = step?;
            let version = self.version_at(commit, id)?;
            // Of commits with one version the last that is met, the oldest, counts.
            if points.last().is_some_and(|(_, later)| *later == version) {
                points.pop();
            }
            if Some(commit) == line.good {
                break;
            }
            points.push((commit, version));
        }
        Ok(points)
    }

    fn node_or_absent(
        &self,
        id: &NodeId,
        version: Option<NodeVersionId>,
    ) -> Result<Option<Arc<MemoryNode>>, Error> {
        version.map(|version| self.node_at(id, version)).transpose()
    }
}
