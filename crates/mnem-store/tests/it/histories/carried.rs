//! What a random history became is the same in a store that an export of it was imported into.

use std::collections::BTreeSet;

use mnem_store::ops::log::LogOptions;
use mnem_store::portable::import;
use mnem_store::{CommitId, Head, InitOptions, NodeId, Store};
use proptest::prelude::*;

use super::steps::history;
use super::{Pair, memory_of};
use crate::support::{config, environment};
use crate::sweep::swept;

fn stream(store: &Store) -> Vec<u8> {
    let mut stream = Vec::new();
    store.export(&mut stream, |_| ()).unwrap();
    stream
}

fn log(store: &Store, start: CommitId) -> Vec<CommitId> {
    let options = LogOptions { start: vec![start], ..LogOptions::default() };
    store.log(&options).unwrap().into_iter().map(|(id, _)| id).collect()
}

impl Pair {
    pub fn carried(&self) {
        let exported = stream(&self.store);
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("copy");
        let (copy, carried) = import(&mut &*exported, &place, environment(), |_| ()).unwrap();

        assert_eq!(copy.branches().unwrap(), self.store.branches().unwrap());
        assert_eq!(copy.head().unwrap(), self.model.head);
        let detached = match self.model.head {
            Head::Detached(commit) => Some(commit),
            Head::Attached(_) => None,
        };
        let tips: BTreeSet<_> = self.model.branches.values().copied().chain(detached).collect();
        let reached: BTreeSet<_> = tips.iter().flat_map(|tip| self.model.ancestors(*tip)).collect();
        assert_eq!(carried.commits, reached.len() as u64);
        for commit in &reached {
            let memory = copy.snapshot_at(&commit.to_string()).unwrap().memory("", None).unwrap();
            assert_eq!(memory_of(memory), self.model.memory(Some(*commit)));
        }
        for tip in &tips {
            assert_eq!(log(&copy, *tip), log(&self.store, *tip));
            let at = tip.to_string();
            for id in self.model.memory(Some(*tip)).keys() {
                let id = NodeId::new(id.as_str()).unwrap();
                let [here, there] =
                    [&self.store, &copy].map(|store| store.blame(&id, Some(&at)).unwrap());
                assert_eq!(here.commit, there.commit);
            }
        }
        assert_eq!(copy.verify(|_| ()).unwrap().problems, Vec::<String>::new());
        assert!(copy.staged().unwrap().ids().is_empty());
        assert!(stream(&copy) == exported, "another export of the same");
    }
}

#[test]
fn what_is_exported_is_imported() {
    swept("model", config(16), (history(40), any::<bool>()), |(steps, reproducible)| {
        let options = InitOptions { reproducible, ..InitOptions::default() };
        let mut pair = Pair::in_memory(&options);
        for step in &steps {
            pair.step(step);
        }
        pair.carried();
    });
}
