//! merge: join another line of memory into this branch.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use mnem_store::ops::{MergeOptions, MergeOutcome, Resolution, Strategy};
use mnem_store::{Error, Head, MemoryNode, NodeId, Store};

use crate::context::{Author, Context};
use crate::error::Failure;
use crate::input::read_json;
use crate::output::named;
use crate::report::merge::Merge;
use crate::report::merge_page;

/// Merge another branch or commit into this branch
///
/// Nothing is written until every conflict has an answer. An answer that is a side keeps where
/// that side came from. One of your own (ID=@FILE) has no source but the merge: blame names the
/// merge commit, its author and its message.
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
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
    #[command(flatten)]
    author: Author,
    /// Say what the merge would come to, and write nothing
    #[arg(long, conflicts_with_all = ["resolve", "strategy", "message", "author"])]
    dry_run: bool,
    /// With --dry-run: write the conflicts to FILE as a page that any browser shows
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    html: Option<PathBuf>,
}

/// Answers to conflicts.
#[derive(Clone, Debug, clap::Args)]
pub struct Answers {
    /// Answer one conflict: ID=ours, ID=theirs, ID=base, ID=delete, or ID=@FILE for the JSON in
    /// a file (repeatable)
    #[arg(long, value_name = "ID=ANSWER", value_parser = answer, allow_hyphen_values = true)]
    resolve: Vec<(NodeId, Answer)>,
    /// Answer every other conflict
    #[arg(long, value_name = "SIDE")]
    strategy: Option<Side>,
}

impl Answers {
    /// The options of a merge, or of what is taken back, with these answers.
    pub fn options(self, author: String, time: Option<i64>) -> Result<MergeOptions, Failure> {
        let mut resolutions = BTreeMap::new();
        for (id, answer) in self.resolve {
            let resolution = answer.read(&id)?;
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

#[derive(Clone, Debug)]
enum Answer {
    Side(Resolution),
    File(PathBuf),
}

/// Reads `ID=ANSWER`. An id may hold `=` itself, a side does not.
fn answer(text: &str) -> Result<(NodeId, Answer), String> {
    let forms = "ID=ours, ID=theirs, ID=base, ID=delete or ID=@FILE";
    let (id, side) = text.rsplit_once('=').ok_or_else(|| format!("it is written {forms}"))?;
    let resolution = match side {
        "ours" => Resolution::Ours,
        "theirs" => Resolution::Theirs,
        "base" => Resolution::Base,
        "delete" => Resolution::Delete,
        _ => {
            let (id, file) = text
                .split_once("=@")
                .filter(|(_, file)| !file.is_empty())
                .ok_or_else(|| format!("{side:?} is no side: it is written {forms}"))?;
            return Ok((NodeId::from_stored(id), Answer::File(file.into())));
        }
    };
    Ok((NodeId::from_stored(id), Answer::Side(resolution)))
}

impl Answer {
    fn read(self, id: &NodeId) -> Result<Resolution, Failure> {
        match self {
            Self::Side(resolution) => Ok(resolution),
            Self::File(path) => {
                let content = read_json(&path)?;
                Ok(Resolution::Set(Box::new(MemoryNode::note(id.clone(), content))))
            }
        }
    }
}

pub fn run(context: &Context, args: Args) -> Result<Merge, Failure> {
    let options = MergeOptions {
        allow_unrelated: args.allow_unrelated,
        message: args.message,
        ..args.answers.options(args.author.name(), context.time)?
    };
    let store = context.open()?;
    if !args.dry_run {
        let outcome = store.merge(&args.theirs, &options)?;
        return Ok(report(&store, outcome, args.theirs, false)?);
    }
    let outcome = store.plan_merge(&args.theirs, &options)?;
    let mut merge = report(&store, outcome, args.theirs, true)?;
    if let Some(path) = args.html {
        write(&path, &merge_page::html(&merge))?;
        merge.html = Some(named(path));
    }
    Ok(merge)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|error| Failure::system(format!("cannot write {}: {error}", path.display())))
}

/// What a merge came to, or would come to.
pub fn report(
    store: &Store,
    outcome: MergeOutcome,
    theirs: String,
    dry_run: bool,
) -> Result<Merge, Error> {
    let branch = match store.head()? {
        Head::Attached(branch) => branch.to_string(),
        Head::Detached(commit) => commit.to_string(),
    };
    let none = Merge {
        status: "up-to-date",
        commit: None,
        conflicts: Vec::new(),
        branch,
        theirs,
        message: None,
        dry_run,
        html: None,
        bound: store.bound().is_some(),
        author: None,
    };
    Ok(match outcome {
        MergeOutcome::UpToDate => none,
        MergeOutcome::FastForwarded(commit) => {
            Merge { status: "fast-forwarded", commit: Some(commit), ..none }
        }
        // No store has the commit of a dry run.
        MergeOutcome::Merged(_) if dry_run => Merge { status: "merged", ..none },
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
