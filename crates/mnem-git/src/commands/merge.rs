//! merge: join another line of memory into this branch.

use std::collections::BTreeMap;

use clap::ValueEnum;
use mnem_store::ops::{MergeOptions, MergeOutcome, Resolution, Strategy};
use mnem_store::{Head, NodeId};

use crate::context::{Author, Context};
use crate::error::Failure;
use crate::report::merge::Merge;

/// Merge another branch or commit into this branch
///
/// Nothing is written until every conflict has an answer.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The branch or commit to merge
    theirs: String,
    #[command(flatten)]
    answers: Answers,
    /// Merge also a line that shares no commit with this branch
    #[arg(long)]
    allow_unrelated: bool,
    /// The merge commit's message [default: "merge THEIRS into BRANCH"]
    #[arg(short, long)]
    message: Option<String>,
    #[command(flatten)]
    author: Author,
}

/// Answers to conflicts.
#[derive(Clone, Debug, clap::Args)]
pub struct Answers {
    /// Answer one conflict: ID=ours, ID=theirs, ID=base or ID=delete (repeatable)
    #[arg(long, value_name = "ID=SIDE", value_parser = resolution)]
    resolve: Vec<(NodeId, Resolution)>,
    /// Answer every other conflict
    #[arg(long, value_name = "SIDE")]
    strategy: Option<Side>,
}

impl Answers {
    /// The options of a merge, or of what is taken back, with these answers.
    pub fn options(self, author: String, time: Option<i64>) -> Result<MergeOptions, Failure> {
        let mut resolutions = BTreeMap::new();
        for (id, resolution) in self.resolve {
            if resolutions.insert(id.clone(), resolution).is_some() {
                return Err(Failure::usage(format!("--resolve answers {id:?} twice")));
            }
        }
        let strategy = self.strategy.map(|side| match side {
            Side::Ours => Strategy::Ours,
            Side::Theirs => Strategy::Theirs,
        });
        Ok(MergeOptions { resolutions, strategy, author, time, ..MergeOptions::default() })
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Side {
    /// What this branch says
    Ours,
    /// What the other side says
    Theirs,
}

/// Reads `ID=SIDE`. An id may hold `=` itself, a side does not.
fn resolution(text: &str) -> Result<(NodeId, Resolution), String> {
    let (id, side) =
        text.rsplit_once('=').ok_or("it is written ID=ours, ID=theirs, ID=base or ID=delete")?;
    let resolution = match side {
        "ours" => Resolution::Ours,
        "theirs" => Resolution::Theirs,
        "base" => Resolution::Base,
        "delete" => Resolution::Delete,
        _ => return Err(format!("{side:?} is no side: ours, theirs, base or delete")),
    };
    Ok((NodeId::from_stored(id), resolution))
}

pub fn run(context: &Context, args: Args) -> Result<Merge, Failure> {
    let options = MergeOptions {
        allow_unrelated: args.allow_unrelated,
        message: args.message,
        ..args.answers.options(args.author.name(), context.time)?
    };
    let store = context.open()?;
    let outcome = store.merge(&args.theirs, &options)?;
    let branch = match store.head()? {
        Head::Attached(branch) => branch.to_string(),
        Head::Detached(commit) => commit.to_string(),
    };
    let none = Merge {
        status: "up-to-date",
        commit: None,
        conflicts: Vec::new(),
        branch,
        theirs: args.theirs,
        message: None,
    };
    Ok(match outcome {
        MergeOutcome::UpToDate => none,
        MergeOutcome::FastForwarded(commit) => {
            Merge { status: "fast-forwarded", commit: Some(commit), ..none }
        }
        MergeOutcome::Merged(commit) => {
            let message = Some(store.commit_object(commit)?.message.clone());
            Merge { status: "merged", commit: Some(commit), message, ..none }
        }
        MergeOutcome::Conflicts(conflicts) => Merge {
            status: "conflicts",
            conflicts: conflicts.into_iter().map(Into::into).collect(),
            ..none
        },
    })
}
