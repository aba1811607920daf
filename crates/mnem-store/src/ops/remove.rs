//! remove: stage the removal of a node.

use crate::backend::{Batch, LocalTable};
use crate::error::{Error, Hint};
use crate::id::NodeId;
use crate::store::Store;
use crate::store::snapshot::Snapshot;
use crate::store::staging;

impl Store {
    /// Stages the removal of a node. One that is staged and not in HEAD is unstaged instead; one
    /// whose removal is staged already stays so.
    pub fn remove(&self, id: &NodeId) -> Result<(), Error> {
        self.refuse_bound("remove")?;
        let engine = self.engine()?;
        engine.writer.run(|| {
            let drafts = engine.staged_under(id)?;
            let committed = Snapshot::new(&engine, self.tip_of(&engine)?)?.version(id)?.is_some();
            if !committed && !drafts.nodes.contains_key(id) {
                return Err(
                    Error::invalid(format!("no node {id:?} in memory")).hint(Hint::ListNodes)
                );
            }
            let mut batch = Batch::default();
            staging::clear(&mut batch, [id]);
            if committed {
                batch.row(LocalTable::StagingTombstones, id.as_str(), Some(Vec::new()));
            }
            engine.publish(&batch)
        })
    }
}
