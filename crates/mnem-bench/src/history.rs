//! A long history as an export, on standard output: what `tools/portable_memory.py` measures with.

use std::io::{BufWriter, Write};

use mnem_git::system;
use mnem_store::ops::{Changes, Meta};
use mnem_store::{Content, InitOptions, MemoryNode, NodeId, Store};

use crate::Outcome;

/// How many nodes there are, once each has been written.
const NODES: usize = 1_000;

/// Each commit changes one node; every tenth forgets one that comes back later.
pub fn run(commits: usize) -> Outcome<()> {
    let store = Store::in_memory(&InitOptions::default(), system::environment())?;
    for number in 0..commits {
        let id = NodeId::new(format!("session:{:04}", number * 7 % NODES))?;
        let text = format!("fact {number}, {}", "y".repeat(60));
        let node = (number % 10 != 9).then(|| MemoryNode::note(id.clone(), Content::text(text)));
        let time = Some(i64::try_from(number)?);
        let meta = Meta { time, ..Meta::new("learn", "agent") };
        store.write(Changes::from([(id, node)]), &Meta { allow_empty: true, ..meta })?;
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    store.export(&mut out, |_| ())?;
    Ok(out.flush()?)
}
