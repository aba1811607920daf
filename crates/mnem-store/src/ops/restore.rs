//! restore: one node as it was at an earlier commit.

use super::commit::Committed;
use super::write::Meta;
use crate::backend::{Batch, Operation};
use crate::error::{Error, Hint};
use crate::id::NodeId;
use crate::state::EntryEdits;
use crate::store::Store;
use crate::store::local;
use crate::store::snapshot::Snapshot;
use crate::store::writer::Signed;

impl Store {
    /// Brings one node back as it was at a revision, as a commit on this handle's branch. Where
    /// it says that already, the current commit is returned (`allow_empty` forces a new one).
    ///
    /// A revision at which the node was not there is refused: nothing is removed by this.
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
    /// put(&store, "plan", "misread")?;
    /// let id = NodeId::new("plan")?;
    /// assert!(store.restore(&id, "HEAD~1", &Meta::new("as it was", "ada"))?.made);
    /// let node = store.snapshot()?.get(&id)?.ok_or(Error::not_found("plan"))?;
    /// assert_eq!(node.content.as_text(), Some("pro"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn restore(&self, id: &NodeId, revision: &str, meta: &Meta) -> Result<Committed, Error> {
        let engine = self.engine()?;
        let then = Snapshot::new(&engine, Some(self.resolve(revision)?))?;
        let Some(wanted) = then.version(id)? else {
            return Err(
                Error::not_found(format!("{id:?} was not there at {revision}")).hint(Hint::ListLog)
            );
        };
        // What is about to be current again must be readable.
        engine.node_at(id, wanted)?;
        engine.writer.run(|| {
            let branch = self.branch_to_write(&engine, "restore")?;
            let (start, tip) = self.starting_point(&engine, &branch)?;
            let Some(start) = start else {
                return Err(Error::invalid(format!(
                    "cannot restore {id:?} on {branch}, which has no commit yet"
                ))
                .hint(Hint::FirstCommit));
            };
            let now = Snapshot::new(&engine, Some(start))?;
            if let Some(base) = meta.base {
                engine.refuse_stale(&now, base, std::iter::once(id))?;
            }
            let mut batch = Batch::default();
            local::add(&mut batch, &meta.local);
            let mut edits = EntryEdits::new();
            if !engine.same_or_absent(now.version(id)?, Some(wanted))? {
                edits.insert(id.clone(), Some(wanted));
            } else if !meta.allow_empty {
                engine.publish(&batch)?;
                return Ok(Committed { commit: start, made: false });
            }
            let signed = Signed {
                message: &meta.message,
                author: &meta.author,
                time: meta.time.unwrap_or_else(|| engine.environment.clock.now()),
                operation: Operation::RESTORE,
            };
            let commit = engine.add_commit(&mut batch, &branch, tip, &[start], &edits, &signed)?;
            engine.publish(&batch)?;
            Ok(Committed { commit, made: true })
        })
    }
}
