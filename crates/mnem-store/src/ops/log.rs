//! log: history, newest first, in the order of the graph.

use std::sync::Arc;

use crate::error::Error;
use crate::graph::{FirstParents, Walk};
use crate::id::CommitId;
use crate::object::Commit;
use crate::store::Store;

/// Which commits a log shows.
#[derive(Clone, Debug, Default)]
pub struct LogOptions {
    /// Where to start; where the handle is, unless set.
    pub start: Option<CommitId>,
    /// Follow first parents alone.
    pub first_parent: bool,
    /// How many commits at most.
    pub limit: Option<usize>,
}

impl Store {
    /// The history from a commit, or from where this handle is: a child before its parents, HEAD
    /// first. On a branch without a commit there is none.
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
    /// use mnem_store::ops::log::LogOptions;
    /// put(&store, "a", "1")?;
    /// let second = put(&store, "a", "2")?;
    /// let newest = store.log(&LogOptions { limit: Some(1), ..LogOptions::default() })?;
    /// assert_eq!(newest.first().map(|(id, _)| *id), Some(second));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn log(&self, options: &LogOptions) -> Result<Vec<(CommitId, Arc<Commit>)>, Error> {
        let engine = self.engine()?;
        let start = match options.start {
            Some(start) => {
                engine.known_commit(start)?;
                Some(start)
            }
            None => self.tip_of(&engine)?,
        };
        let limit = options.limit.unwrap_or(usize::MAX);
        if options.first_parent {
            FirstParents::new(&engine.objects, start).take(limit).collect()
        } else {
            Walk::new(&engine.objects, start)?.take(limit).collect()
        }
    }
}
