//! verify: whether the store holds what was written.

use mnem_store::ops::Verified;
use mnem_store::{Environment, ErrorKind, Store};

use crate::context::Context;
use crate::error::Failure;
use crate::output::Progress;
use crate::report::verify::Verify;

/// Check every object and reference of the store
///
/// Reads and hashes everything again. What is wrong is listed; nothing is changed.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _: &Args) -> Result<Verify, Failure> {
    let environment = Environment { examine: true, ..context.environment() };
    let place = context.directory();
    let bar = Progress::counting("objects");
    let verified = Store::open(&place, environment).map_err(Failure::from).and_then(|store| {
        let verified = store.verify(|read| bar.at(read));
        context.advise(&store)?;
        Ok(verified?)
    });
    drop(bar);
    let verified = match verified {
        Ok(verified) => verified,
        // Too damaged to be read on: that is what is wrong.
        Err(failure) if failure.code == ErrorKind::CorruptStore.code() => {
            Verified { problems: vec![failure.message], ..Verified::default() }
        }
        Err(failure) => return Err(failure),
    };
    Ok(Verify {
        nodes: verified.nodes,
        states: verified.states,
        commits: verified.commits,
        branches: verified.branches,
        problems: verified.problems,
    })
}
