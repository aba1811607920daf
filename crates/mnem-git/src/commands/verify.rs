//! verify: whether the store holds what was written.

use crate::context::Context;
use crate::error::Failure;
use crate::report::verify::Verify;

/// Check every object and reference of the store
///
/// Reads and hashes everything again. What is wrong is listed; nothing is changed.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _: &Args) -> Result<Verify, Failure> {
    let verified = context.open()?.verify(|_| ())?;
    Ok(Verify {
        nodes: verified.nodes,
        states: verified.states,
        commits: verified.commits,
        branches: verified.branches,
        problems: verified.problems,
    })
}
