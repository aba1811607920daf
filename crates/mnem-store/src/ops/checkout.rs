//! checkout: move HEAD to a branch or a commit.

use crate::backend::Batch;
use crate::error::{Error, Hint};
use crate::id::BranchName;
use crate::store::head::Head;
use crate::store::staging;
use crate::store::{Store, engine::Engine};

impl Store {
    /// Moves HEAD to a branch, or to a commit, which detaches it.
    ///
    /// Refused over staged changes, unless `discard` drops them. A checkout of where one is does
    /// nothing.
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
    /// use mnem_store::Head;
    /// let first = put(&store, "a", "1")?;
    /// put(&store, "a", "2")?;
    /// assert_eq!(store.checkout("HEAD~1", false)?, Head::Detached(first));
    /// assert_eq!(store.checkout("main", false)?.render(), "ref: main");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn checkout(&self, target: &str, discard: bool) -> Result<Head, Error> {
        self.refuse_bound("checkout")?;
        let engine = self.engine()?;
        engine.writer.run(|| {
            let here = engine.head()?;
            let branch = BranchName::from_stored(target);
            let attached = Head::Attached(branch.clone());
            let head = if target == "HEAD" || here == attached {
                here
            } else if engine.tip(&branch)?.is_some() {
                attached
            } else {
                Head::Detached(self.resolve(target)?)
            };
            self.move_head(&engine, head, discard, false, Batch::default())
        })
    }

    /// Makes a branch at a revision, or where HEAD is, and moves HEAD to it. On an unborn branch
    /// the new one is unborn too.
    ///
    /// Refused over staged changes, unless `discard` drops them. Where HEAD is detached, a branch
    /// that starts at its commit takes them along: they have no other way into a commit.
    pub fn checkout_new(
        &self,
        name: &BranchName,
        start: Option<&str>,
        discard: bool,
        author: &str,
    ) -> Result<Head, Error> {
        self.refuse_bound("checkout")?;
        BranchName::new(name.as_str())?;
        let engine = self.engine()?;
        let start = match start {
            Some(revision) => Some(self.resolve(revision)?),
            None => self.tip_of(&engine)?,
        };
        engine.writer.run(|| {
            let along = start.map(Head::Detached) == Some(engine.head()?);
            let batch = if let Some(start) = start {
                engine.new_branch(name, start, author)?
            } else {
                engine.refuse_branch(name)?;
                Batch::default()
            };
            self.move_head(&engine, Head::Attached(name.clone()), discard, along, batch)
        })
    }

    /// Publishes a batch, the dropped drafts in it, and moves HEAD last: whatever fails before
    /// that leaves everything as it was.
    fn move_head(
        &self,
        engine: &Engine,
        head: Head,
        discard: bool,
        along: bool,
        mut batch: Batch,
    ) -> Result<Head, Error> {
        if engine.head()? == head && batch.is_empty() {
            return Ok(head);
        }
        if discard {
            staging::clear(&mut batch, engine.staged()?.ids());
        } else if !along {
            self.refuse_staged(engine, "check out another branch", Hint::CommitOrDiscard)?;
        }
        engine.publish_now(&batch)?;
        engine.set_head(&head)?;
        Ok(head)
    }
}
