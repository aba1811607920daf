//! log: history, of all memory or of one node.

use mnem_store::ops::log::LogOptions;
use mnem_store::{CommitId, ErrorKind, NodeId, Store};

use crate::context::Context;
use crate::error::{Failure, HINT_LOG};
use crate::output::Progress;
use crate::report::log::{Form, Log, Logged};

/// List the commits, newest first
///
/// A commit always stands before its parents, whatever times they carry. Of one memory, the
/// commits that gave it a value of their own or removed it; a merge that took over what a side
/// says is none of them.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Where to start: a branch, a commit id or another revision [default: HEAD]; else the id of
    /// a memory, whose history from HEAD is listed
    #[arg(value_name = "REV|ID")]
    subject: Option<String>,
    /// List the history of one memory, also when its id is a revision too
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    node: Option<String>,
    /// Show at most N commits
    #[arg(short = 'n', long, value_name = "N", alias = "limit")]
    max_count: Option<usize>,
    /// Print a commit on one line: its id and the first line of its message
    #[arg(long)]
    oneline: bool,
    /// Follow the first parent of a merge alone
    #[arg(long)]
    first_parent: bool,
    /// Draw the lines of history beside the commits
    #[arg(long, conflicts_with = "node")]
    graph: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Log, Failure> {
    let store = context.open()?;
    let head = store.head_commit()?;
    let node = args.node.as_deref().map(NodeId::from_stored);
    let (node, start) = match (&args.subject, node) {
        (None, node) => (node, head),
        (Some(subject), Some(node)) => (Some(node), Some(store.resolve(subject)?)),
        (Some(subject), None) => match subject_of(&store, subject)? {
            Subject::Commit(commit) => (None, Some(commit)),
            Subject::Node(_) if args.graph => {
                return Err(Failure::usage(format!(
                    "{subject:?} is a memory: its history has no lines to draw"
                )));
            }
            Subject::Node(node) => (Some(node), head),
        },
    };
    let options = LogOptions {
        start: start.into_iter().collect(),
        first_parent: args.first_parent,
        limit: args.max_count,
    };
    let busy = Progress::busy("reading the history");
    let mut lost = Vec::new();
    let commits = if let Some(node) = &node {
        let events = store.node_log(node, &options)?;
        if events.is_empty() && args.node.is_some() && options.limit != Some(0) {
            let message = format!("no commit here ever had a memory {node:?}");
            return Err(Failure::no(ErrorKind::NotFound, message).hint(HINT_LOG));
        }
        events.into_iter().map(Logged::event).collect()
    } else {
        let mut readable = store.readable_log(&options)?;
        if readable.commits.is_empty() && !readable.lost.is_empty() {
            return Err(readable.lost.remove(0).into());
        }
        lost = readable.lost.iter().map(ToString::to_string).collect();
        readable.commits.into_iter().map(Logged::commit).collect()
    };
    drop(busy);
    let form = match (args.graph, args.oneline) {
        (true, oneline) => Form::Graph { oneline, first_parent: args.first_parent },
        (false, true) => Form::OneLine,
        (false, false) => Form::Full,
    };
    let node = node.map(|id| id.to_string());
    Ok(Log { node, commits, lost, form, unborn: start.is_none() })
}

enum Subject {
    Commit(CommitId),
    Node(NodeId),
}

/// What a word means: a revision first, else a memory that was ever there.
fn subject_of(store: &Store, word: &str) -> Result<Subject, Failure> {
    let error = match store.resolve(word) {
        Ok(commit) => return Ok(Subject::Commit(commit)),
        Err(error) if error.kind() == ErrorKind::InvalidRef => error,
        Err(error) => return Err(error.into()),
    };
    let node = NodeId::from_stored(word);
    let ever = LogOptions { limit: Some(1), ..LogOptions::default() };
    if store.node_log(&node, &ever)?.is_empty() {
        Err(Failure::from(error).hint(HINT_LOG))
    } else {
        Ok(Subject::Node(node))
    }
}
