//! commit: what is staged becomes a commit.

use super::write::Meta;
use crate::backend::{Batch, Operation};
use crate::error::{Error, Hint};
use crate::id::CommitId;
use crate::state::EntryEdits;
use crate::store::Store;
use crate::store::local;
use crate::store::snapshot::Snapshot;
use crate::store::staging;
use crate::store::writer::Signed;

/// What a commit came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The new commit, or the current one when there was nothing to commit.
    pub commit: CommitId,
    /// Whether it is new.
    pub made: bool,
}

impl Store {
    /// Commits what is staged, and clears staging. A commit of deletions alone is valid.
    ///
    /// Where nothing is staged, or what is staged says what is there already, the current commit
    /// is returned (`allow_empty` forces a new one); on an unborn branch that is an error.
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
    /// store.stage(MemoryNode::note(NodeId::new("draft")?, Content::text("to be read again")))?;
    /// assert_eq!(store.snapshot()?.count()?, 0); // no agent sees a draft
    /// assert!(store.commit(&Meta::new("read again", "ada"))?.made);
    /// assert_eq!(store.snapshot()?.count()?, 1);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn commit(&self, meta: &Meta) -> Result<Committed, Error> {
        self.refuse_bound("commit")?;
        let engine = self.engine()?;
        engine.writer.run(|| {
            let branch = self.branch_to_write(&engine, "commit")?;
            let tip = engine.tip(&branch)?;
            let staged = engine.staged()?;
            let snapshot = Snapshot::new(&engine, tip)?;
            if let Some(base) = meta.base {
                engine.refuse_stale(&snapshot, base, staged.ids().into_iter())?;
            }
            let mut edits = EntryEdits::new();
            for (id, new) in staged.edits() {
                let old = snapshot.version(&id)?;
                if !engine.same_or_absent(old, new)? {
                    edits.insert(id, new);
                }
            }
            let mut batch = Batch::default();
            staging::clear(&mut batch, staged.ids());
            local::add(&mut batch, &meta.local);
            if edits.is_empty() && !meta.allow_empty {
                let commit = tip.ok_or_else(|| {
                    Error::invalid(format!(
                        "nothing to commit on {branch}, which has no commit yet"
                    ))
                    .hint(Hint::StageSomething)
                })?;
                engine.publish(&batch)?;
                return Ok(Committed { commit, made: false });
            }
            let signed = Signed {
                message: &meta.message,
                author: &meta.author,
                time: meta.time.unwrap_or_else(|| engine.environment.clock.now()),
                operation: Operation::COMMIT,
            };
            let parents: Vec<_> = tip.into_iter().collect();
            let commit = engine.add_commit(&mut batch, &branch, tip, &parents, &edits, &signed)?;
            engine.publish(&batch)?;
            Ok(Committed { commit, made: true })
        })
    }
}
