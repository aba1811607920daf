//! inbox: branches that the default branch has not taken in.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::graph::not_behind;
use crate::id::{BranchName, CommitId};
use crate::store::Store;

impl Store {
    /// Every branch whose tip is not behind the default branch, in the order of the names. Where
    /// the default branch has no commit, that is every branch.
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
    /// let agent = store.on(&BranchName::new("agent-a")?, "agent-a")?;
    /// assert!(store.unmerged()?.is_empty());
    /// let guess = put(&agent, "guess", "wants team")?;
    /// assert_eq!(store.unmerged()?.into_values().collect::<Vec<_>>(), [guess]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn unmerged(&self) -> Result<BTreeMap<BranchName, CommitId>, Error> {
        let engine = self.engine()?;
        let mut branches = engine.objects.view()?.references()?;
        let default = branches.get(&engine.config.default_branch).copied();
        let open =
            not_behind(&engine.objects, branches.values().copied().collect(), default.as_slice())?;
        branches.retain(|_, tip| open.contains(tip));
        Ok(branches)
    }
}
