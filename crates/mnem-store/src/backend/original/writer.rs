//! Writes stores as the original did, for tests: flat states, five tables of redb 2.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use redb2::{Database, TableDefinition};

use super::file::{OBJECTS, REFS, STAGING, TOMBSTONES};
use crate::codec::Encoded;
use crate::id::{BranchName, CommitId, NodeId, NodeVersionId};
use crate::object::{Commit, Leaf, MemoryNode, StateNode};

/// What each commit changed: derived, and never read here.
const COMMIT_NODES: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("commit_nodes");

/// A store of the original, open to be written. What is dropped is closed; what is copied before
/// that is what a killed writer leaves.
#[derive(Debug)]
pub struct OriginalWriter {
    database: Database,
}

impl OriginalWriter {
    /// Makes a store in a directory, with HEAD on `main`.
    pub fn create(directory: &Path) -> Result<Self, Box<dyn Error>> {
        let place = directory.join(".mnem");
        std::fs::create_dir_all(&place)?;
        let config = "# Mnemosyne store config. See docs/format/.\nformat_version = 1\n\
                      hash_algo = blake3\ndefault_branch = main\n";
        std::fs::write(place.join("config"), config)?;
        std::fs::write(place.join("HEAD"), "ref: main\n")?;
        let database = Database::create(place.join("store.redb"))?;
        let transaction = database.begin_write()?;
        transaction.open_table(OBJECTS)?;
        transaction.open_table(REFS)?;
        transaction.open_table(STAGING)?;
        transaction.open_table(TOMBSTONES)?;
        transaction.open_table(COMMIT_NODES)?;
        transaction.commit()?;
        Ok(Self { database })
    }

    /// Stores a whole memory as a commit and moves a branch to it.
    pub fn commit(
        &self,
        branch: &BranchName,
        parents: &[CommitId],
        memory: &[MemoryNode],
        message: &str,
        time: i64,
    ) -> Result<CommitId, Box<dyn Error>> {
        let transaction = self.database.begin_write()?;
        let id = {
            let mut objects = transaction.open_table(OBJECTS)?;
            let mut nodes = BTreeMap::new();
            for node in memory {
                let (version, object) = Encoded::node(node.clone());
                objects.insert(version.as_bytes().as_slice(), object.bytes())?;
                nodes.insert(node.id.clone(), version);
            }
            let (state, object) = Encoded::state(StateNode::Leaf(Leaf { nodes }));
            objects.insert(state.as_bytes().as_slice(), object.bytes())?;
            let (id, object) = Encoded::commit(Commit {
                parents: parents.to_vec(),
                state,
                message: message.to_owned(),
                author: "agent".to_owned(),
                time,
            });
            objects.insert(id.as_bytes().as_slice(), object.bytes())?;
            transaction.open_table(REFS)?.insert(branch.as_str(), id.as_bytes())?;
            id
        };
        transaction.commit()?;
        Ok(id)
    }

    /// Stages a node.
    pub fn stage(&self, node: &MemoryNode) -> Result<NodeVersionId, Box<dyn Error>> {
        let transaction = self.database.begin_write()?;
        let (version, object) = Encoded::node(node.clone());
        let key = version.as_bytes().as_slice();
        transaction.open_table(OBJECTS)?.insert(key, object.bytes())?;
        transaction.open_table(STAGING)?.insert(node.id.as_str(), version.as_bytes())?;
        transaction.commit()?;
        Ok(version)
    }

    /// Stages a removal.
    pub fn stage_removal(&self, id: &NodeId) -> Result<(), Box<dyn Error>> {
        let transaction = self.database.begin_write()?;
        transaction.open_table(TOMBSTONES)?.insert(id.as_str(), ())?;
        transaction.commit()?;
        Ok(())
    }
}
