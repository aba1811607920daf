//! stats: how much the store holds.

use mnem_store::object::Kind;

use crate::context::Context;
use crate::error::Failure;
use crate::output::Progress;
use crate::report::stats::{Amount, Objects, Stats, Tree};

/// Show how much the store holds, and in what
///
/// Reads and hashes every object once: on a large store it takes as long as `verify` does.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _: &Args) -> Result<Stats, Failure> {
    let store = context.open()?;
    let bar = Progress::counting("objects");
    let statistics = store.statistics(|read| bar.at(read))?;
    drop(bar);
    let amount = |amount: &mnem_store::ops::statistics::Amount| Amount {
        count: amount.count,
        bytes: amount.bytes,
    };
    let of = |kind| statistics.objects.get(&kind).map(amount).unwrap_or_default();
    Ok(Stats {
        memories: statistics.nodes,
        branches: statistics.branches,
        staged: statistics.staged,
        records: statistics.records,
        objects: Objects {
            memory_node: of(Kind::Node),
            state: of(Kind::State),
            commit: of(Kind::Commit),
        },
        tree: statistics.tree.map(|tree| Tree {
            height: tree.height,
            objects: tree.amount.count,
            bytes: tree.amount.bytes,
        }),
        file_bytes: statistics.file.map(|file| file.bytes),
        allocated_bytes: statistics.file.map(|file| file.allocated),
    })
}
