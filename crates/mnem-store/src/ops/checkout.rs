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
    pub fn checkout(&self, target: &str, discard: bool) -> Result<Head, Error> {
        self.refuse_bound("checkout")?;
        let engine = self.engine()?;
        let view = engine.objects.view()?;
        let branch = BranchName::from_stored(target);
        let unborn = Head::Attached(branch.clone());
        let head = if view.reference(&branch)?.is_some() || engine.head()? == unborn {
            unborn
        } else {
            Head::Detached(self.resolve(target)?)
        };
        drop(view);
        engine.writer.run(|| self.move_head(&engine, head, discard))
    }

    /// Makes a branch at a revision, or where HEAD is, and moves HEAD to it. On an unborn branch
    /// the new one is unborn too.
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
            if !discard {
                self.refuse_staged(&engine, "check out another branch", Hint::CommitOrDiscard)?;
            }
            if let Some(start) = start {
                engine.add_branch(name, start, author)?;
            }
            self.move_head(&engine, Head::Attached(name.clone()), discard)
        })
    }

    fn move_head(&self, engine: &Engine, head: Head, discard: bool) -> Result<Head, Error> {
        if engine.head()? == head {
            return Ok(head);
        }
        if discard {
            let staged = engine.staged()?;
            let mut batch = Batch::default();
            staging::clear(&mut batch, staged.ids());
            engine.publish(&batch)?;
        } else {
            self.refuse_staged(engine, "check out another branch", Hint::CommitOrDiscard)?;
        }
        engine.set_head(&head)?;
        Ok(head)
    }
}
