//! Local rows: what an adapter keeps beside the memory. In no hash, never exported.

use std::ops::Bound;

use super::Store;
use crate::backend::{Batch, LocalRow, LocalTable, local_key};
use crate::error::Error;

/// An edit of one local row, published with a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalEdit {
    /// Whose row it is.
    pub owner: String,
    /// The key.
    pub key: Vec<u8>,
    /// The new value; `None` deletes the row.
    pub value: Option<Vec<u8>>,
}

impl Store {
    /// The value of a local row.
    pub fn local_get(&self, owner: &str, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let key = local_key(owner, key);
        let range = (Bound::Included(key.clone()), Bound::Included(key));
        let rows = self.engine()?.objects.view()?.rows(LocalTable::Local, range)?;
        Ok(rows.into_iter().next().map(|(_, value)| value))
    }

    /// An owner's rows whose key begins with `prefix`, in the order of their keys.
    pub fn local_rows(&self, owner: &str, prefix: &[u8]) -> Result<Vec<LocalRow>, Error> {
        let start = local_key(owner, prefix);
        let own = local_key(owner, &[]).len();
        let rows = self
            .engine()?
            .objects
            .view()?
            .rows(LocalTable::Local, (Bound::Included(start.clone()), after_prefix(&start)))?;
        Ok(rows
            .into_iter()
            .map(|(key, value)| (key.get(own..).unwrap_or_default().to_vec(), value))
            .collect())
    }

    /// Edits local rows in one step.
    pub fn local_edit(&self, edits: &[LocalEdit]) -> Result<(), Error> {
        let engine = self.engine()?;
        engine.writer.run(|| {
            let mut batch = Batch::default();
            add(&mut batch, edits);
            engine.publish(&batch)
        })
    }
}

pub(crate) fn add(batch: &mut Batch, edits: &[LocalEdit]) {
    for edit in edits {
        batch.row(LocalTable::Local, local_key(&edit.owner, &edit.key), edit.value.clone());
    }
}

/// The end of the range of keys that begin with a prefix.
fn after_prefix(prefix: &[u8]) -> Bound<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if let Some(next) = last.checked_add(1) {
            end.push(next);
            return Bound::Excluded(end);
        }
    }
    Bound::Unbounded
}
