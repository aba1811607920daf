//! reflog: where a branch pointed, and what moved it.

use crate::backend::Record;
use crate::error::{Error, Hint};
use crate::id::BranchName;
use crate::store::{Head, Store};

impl Store {
    /// The moves of a branch, newest first, at most `limit` of them; of this handle's branch
    /// when none is named. A deleted branch keeps its moves.
    ///
    /// A migrated or imported history has none before the first move here.
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
    /// let first = put(&store, "plan", "pro")?;
    /// let second = put(&store, "plan", "team")?;
    /// let moves = store.reflog(None, None)?;
    /// let verbs: Vec<_> = moves.iter().map(|record| record.operation.as_str()).collect();
    /// assert_eq!(verbs, ["write", "write"]);
    /// assert!(moves.iter().all(|record| record.author == "agent"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn reflog(
        &self,
        branch: Option<&BranchName>,
        limit: Option<usize>,
    ) -> Result<Vec<Record>, Error> {
        let engine = self.engine()?;
        let named = branch.is_some();
        let branch = match (branch, self.head_of(&engine)?) {
            (Some(branch), _) => branch.clone(),
            (None, Head::Attached(branch)) => branch,
            (None, Head::Detached(commit)) => {
                return Err(Error::invalid(format!(
                    "a reflog is of a branch, and HEAD is detached (at {})",
                    commit.short()
                ))
                .hint(Hint::ListBranches));
            }
        };
        let view = engine.objects.view()?;
        let records = view.records(Some(&branch), None, limit.unwrap_or(usize::MAX))?;
        if named && records.is_empty() && limit != Some(0) && engine.tip(&branch)?.is_none() {
            return Err(
                Error::invalid(format!("no branch named {branch:?}")).hint(Hint::ListBranches)
            );
        }
        Ok(records.into_iter().map(|(_, record)| record).collect())
    }
}
