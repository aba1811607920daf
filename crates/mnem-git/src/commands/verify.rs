//! verify: whether the store holds what was written.

use mnem_store::ops::Verified;
use mnem_store::{Environment, ErrorKind, Store};

use crate::context::Context;
use crate::error::Failure;
use crate::report::verify::Verify;

/// Check every object and reference of the store
///
/// Reads and hashes everything again. What is wrong is listed; nothing is changed.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _: &Args) -> Result<Verify, Failure> {
    let environment = Environment { check_pages: true, ..context.environment() };
    let store = Store::open(&context.directory(), environment);
    let verified = match store.and_then(|store| store.verify(|_| ())).map_err(Failure::from) {
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
