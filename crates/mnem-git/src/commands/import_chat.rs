//! import-chat: a transcript becomes memory.

use std::path::{Path, PathBuf};

use mnem_store::Content;
use mnem_store::portable::chat::{ChatOptions, Rule, check_transcript, import_chat_watched};

use crate::context::{Author, Context};
use crate::error::{Failure, HINT_TRANSCRIPT_NAME};
use crate::input::read_json;
use crate::output::Progress;
use crate::report::import_chat::ImportChat;

/// Read a chat transcript into memory, one commit per tool result that taught something
///
/// Reading a transcript again adds nothing; a longer one adds its tail.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// JSON: a list of messages in the form of the OpenAI chat interface, or a map with
    /// "messages"; - is standard input
    file: PathBuf,
    /// The transcript's name [default: the file's name without its ending]
    #[arg(long, value_name = "NAME")]
    transcript: Option<String>,
    /// Keep results that name no entity too, under the id of their call
    #[arg(long)]
    keep_all: bool,
    /// Read which results are about which entity from a file of JSON: a list of maps with
    /// "entity", "id" and, where they apply, "arguments" and "tools"
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    #[command(flatten)]
    author: Author,
}

pub fn run(context: &Context, args: Args) -> Result<ImportChat, Failure> {
    let stem = args.file.file_stem().and_then(|stem| stem.to_str()).filter(|stem| *stem != "-");
    let transcript = args
        .transcript
        .or_else(|| stem.map(str::to_owned))
        .ok_or_else(|| Failure::usage("the transcript has no name").hint(HINT_TRANSCRIPT_NAME))?;
    let whole = read_json(&args.file)?;
    let messages = match &whole {
        Content::Map(map) => map.get("messages").unwrap_or(&whole),
        _ => &whole,
    };
    let Content::Array(list) = messages else {
        let message = format!("{}: a transcript is a list of messages", args.file.display());
        return Err(Failure::usage(message));
    };
    check_transcript(messages, &transcript)?;
    let rules = args.rules.as_deref().map(read_rules).transpose()?;
    let (keep_all, author, time) = (args.keep_all, args.author.name(), context.time);
    let options = ChatOptions { transcript, rules, keep_all, author, time };
    let (store, new_branch) = context.open_to_write(&args.author)?;
    let bar = Progress::of("messages", list.len() as u64);
    let report = import_chat_watched(&store, messages, &options, |read| bar.at(read))?;
    drop(bar);
    Ok(ImportChat {
        transcript: report.transcript,
        messages: report.messages,
        before: report.before,
        results: report.results,
        commits: report.commits,
        written: report.written,
        unchanged: report.unchanged,
        passed_over: report.passed_over,
        head: report.head,
        new_branch,
    })
}

fn read_rules(path: &Path) -> Result<Vec<Rule>, Failure> {
    Rule::table(&read_json(path)?).map_err(|error| Failure::argument(&error))
}
