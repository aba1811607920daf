//! bisect: when a belief began to hold.

use mnem_store::ops::NodeTest;
use mnem_store::{CommitId, Error, ErrorKind, NodeId, Store};

use crate::context::Context;
use crate::error::Failure;
use crate::input::parse;
use crate::output::Progress;
use crate::report::bisect::{Bisect, Flip};
use crate::report::shapes::{Node, Origin};

/// Find the commit where a belief began to hold
///
/// Looks along the first parents from GOOD to BAD, and lists every commit where the answer
/// changed when there is more than one.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The memory that is asked about
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    node: String,
    #[command(flatten)]
    question: Question,
    /// A revision where it did not hold yet [default: before the first commit]
    #[arg(long, value_name = "REV")]
    good: Option<String>,
    /// A revision where it holds [default: HEAD]
    bad: Option<String>,
}

#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Question {
    /// Its content is exactly this JSON; text needs its double quotes
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    equals: Option<String>,
    /// It is there
    #[arg(long)]
    present: bool,
    /// It is not there
    #[arg(long)]
    absent: bool,
}

pub fn run(context: &Context, args: Args) -> Result<Bisect, Failure> {
    let node = NodeId::from_stored(args.node);
    let (test, denial) = match args.question {
        Question { equals: Some(json), .. } => {
            let value = parse("--equals", &json)?;
            let answer = format!("is not {value}");
            (NodeTest::Equals(value), answer)
        }
        Question { present: true, .. } => (NodeTest::Present, "is not there".to_owned()),
        Question { .. } => (NodeTest::Absent, "is there".to_owned()),
    };
    let exactly = matches!(test, NodeTest::Equals(_));
    let store = context.open()?;
    let bad = store.resolve_or_head(args.bad.as_deref())?;
    let busy = Progress::busy("searching the history");
    let found = store.bisect_node(&node, &test, Some(&bad.to_string()), args.good.as_deref())?;
    drop(busy);
    let flips = found.flips.into_iter().map(|flip| {
        let commit = store.commit_object(flip.commit)?;
        Ok(Flip {
            commit: flip.commit,
            holds: flip.holds,
            node: flip.node.map(Node),
            message: commit.message.clone(),
            time: commit.time,
        })
    });
    let flips = flips.collect::<Result<Vec<_>, Error>>()?;
    let blame = found.first.map_or(Ok(None), |first| origin(&store, &node, first))?;
    Ok(Bisect { node, bad, first: found.first, blame, flips, denial, exactly })
}

/// Where a node came from; nothing when it never was.
fn origin(store: &Store, node: &NodeId, at: CommitId) -> Result<Option<Origin>, Error> {
    match store.blame(node, Some(&at.to_string())) {
        Ok(blame) => {
            let commit = store.commit_object(blame.commit)?;
            Ok(Some(Origin::new(blame, &commit)))
        }
        Err(error) if error.kind() == ErrorKind::InvalidRef => Ok(None),
        Err(error) => Err(error),
    }
}
