//! A store with a clock and an entropy that repeat, and short ways to say things.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use mnem_store::ops::{Changes, Meta};
use mnem_store::{
    Clock, CommitId, Content, Entropy, Environment, Error, InitOptions, MemoryNode, NodeId, Store,
};

/// A clock that ticks one millisecond each time it is read.
#[derive(Debug)]
pub struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Bytes that look random and are the same in every run.
#[derive(Debug)]
pub struct Seeded(AtomicU64);

impl Entropy for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        for chunk in bytes.chunks_mut(8) {
            // SplitMix64 (Steele, Lea and Flood, 2014).
            let mut z = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let length = chunk.len();
            chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..length]);
        }
        Ok(())
    }
}

pub fn environment() -> Environment {
    Environment::new(Ticking(AtomicI64::new(1_757_000_000_000)), Seeded(AtomicU64::new(1)))
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
