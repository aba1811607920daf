//! statistics: how much a store holds, and in what.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::id::StateId;
use crate::object::{Kind, StateNode};
use crate::store::Store;
use crate::store::engine::{DataFile, Engine};

/// How many records are taken from the backend at a time.
const PAGE: usize = 1_024;

/// How much a store holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Nodes of committed memory where this handle is.
    pub nodes: u64,
    /// Branches that point at a commit.
    pub branches: u64,
    /// Staged nodes and removals.
    pub staged: u64,
    /// Records of moves of branches.
    pub records: u64,
    /// Every object, by kind; every kind is there.
    pub objects: BTreeMap<Kind, Amount>,
    /// The tree of committed memory; none on a branch without a commit.
    pub tree: Option<Tree>,
    /// The data file; none for a store in memory.
    pub file: Option<DataFile>,
}

/// A number of objects and their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many.
    pub count: u64,
    /// Their encodings together, in bytes.
    pub bytes: u64,
}

/// The tree that a state is stored as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Levels below the root; 0 when the root is a leaf.
    pub height: u64,
    /// Its state objects.
    pub amount: Amount,
}

impl Store {
    /// Counts and measures everything. Every object is read and hashed once, so it takes as long
    /// as reading the store does.
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
    /// use mnem_store::object::Kind;
    /// put(&store, "plan", "pro")?;
    /// put(&store, "plan", "team")?;
    /// let statistics = store.statistics(|_| ())?;
    /// assert_eq!((statistics.nodes, statistics.objects[&Kind::Node].count), (1, 2));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn statistics(&self, mut progress: impl FnMut(u64)) -> Result<Statistics, Error> {
        let engine = self.engine()?;
        let snapshot = self.snapshot()?;
        let mut objects: BTreeMap<_, _> =
            Kind::ALL.into_iter().map(|kind| (kind, Amount::default())).collect();
        let mut read = 0;
        engine.each_object(|id, kind| {
            let bytes = engine
                .objects
                .bytes(id)?
                .ok_or_else(|| Error::corrupt(format!("the object {id} is listed but missing")))?;
            objects.entry(kind).or_default().add(bytes.len());
            read += 1;
            progress(read);
            Ok(())
        })?;
        let staged = if self.bound().is_some() { 0 } else { self.staged()?.ids().len() };
        Ok(Statistics {
            nodes: snapshot.count()?,
            branches: self.branches()?.len() as u64,
            staged: staged as u64,
            records: engine.records()?,
            objects,
            tree: snapshot.state().map(|root| engine.tree(root)).transpose()?,
            file: engine.data_file()?,
        })
    }
}

impl Amount {
    fn add(&mut self, bytes: usize) {
        self.count += 1;
        self.bytes += bytes as u64;
    }
}

impl Engine {
    fn records(&self) -> Result<u64, Error> {
        let view = self.objects.view()?;
        let (mut count, mut before) = (0, None);
        loop {
            let page = view.records(None, before, PAGE)?;
            count += page.len() as u64;
            match page.last() {
                Some((number, _)) if page.len() == PAGE => before = Some(*number),
                _ => return Ok(count),
            }
        }
    }

    fn tree(&self, root: StateId) -> Result<Tree, Error> {
        let mut tree = Tree::default();
        let mut ahead = vec![(root, 0)];
        while let Some((id, level)) = ahead.pop() {
            let bytes = self.objects.bytes(id.into())?;
            tree.amount.add(bytes.map_or(0, |bytes| bytes.len()));
            tree.height = tree.height.max(level);
            if let StateNode::Branch(branch) = &*self.objects.state(id)? {
                ahead.extend(branch.children.values().map(|child| (child.id, level + 1)));
            }
        }
        Ok(tree)
    }
}
