//! changelog: what changed between two memories, in sentences.

use crate::commands::diff::{Comparison, compare};
use crate::context::Context;
use crate::error::Failure;
use crate::report::changelog::Changelog;

/// Tell what changed between two memories, a sentence for each
///
/// The comparison of `diff` in words.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The revision before [default: HEAD]
    from: Option<String>,
    /// The revision after [default: working memory]
    to: Option<String>,
}

pub fn run(context: &Context, args: &Args) -> Result<Changelog, Failure> {
    let Comparison { from, to, changes } =
        compare(&context.open()?, args.from.as_deref(), args.to.as_deref())?;
    Ok(Changelog { from, to, changes: changes.into_iter().map(Into::into).collect() })
}
