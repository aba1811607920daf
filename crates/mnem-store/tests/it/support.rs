//! A store with a clock and an entropy that repeat, and short ways to say things.

use mnem_store::ops::{Changes, Meta};
use mnem_store::{CommitId, Content, Environment, InitOptions, MemoryNode, NodeId, Store};
use proptest::prelude::ProptestConfig;

pub fn environment() -> Environment {
    Environment::fixed()
}

pub fn in_memory() -> Store {
    Store::in_memory(&InitOptions::default(), environment()).unwrap()
}

pub fn id(text: &str) -> NodeId {
    NodeId::new(text).unwrap()
}

pub fn note(name: &str, content: &str) -> MemoryNode {
    MemoryNode::note(id(name), Content::text(content))
}

pub fn meta(message: &str) -> Meta {
    Meta::new(message, "tester")
}

pub fn put(store: &Store, name: &str, content: &str) -> CommitId {
    let changes = Changes::from([(id(name), Some(note(name, content)))]);
    store.write(changes, &meta(&format!("{name} is {content}"))).unwrap()
}

pub fn remove(store: &Store, name: &str) -> CommitId {
    store.write(Changes::from([(id(name), None)]), &meta(&format!("no {name}"))).unwrap()
}

/// Cases as by default; `PROPTEST_CASES`, 256 unless set, asks for more or for fewer.
pub fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = (cases * default.cases / 256).max(1);
    ProptestConfig { cases, failure_persistence: None, ..default }
}
