//! What is typed, piped or read from a file.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use mnem_store::object::{ContentError, ContentProblem};
use mnem_store::portable::json;
use mnem_store::{Content, Error, MemoryNode, NodeId, Provenance};

use crate::context::time;
use crate::error::{Failure, HINT_EMPTY, HINT_JSON_TEXT, HINT_NEW};
use crate::output::prompt;

/// Content, in one of four ways.
#[derive(Clone, Debug, clap::Args)]
pub struct ContentArgs {
    /// The content as plain text [default: standard input, without its last line break]
    #[arg(allow_negative_numbers = true)]
    pub content: Option<String>,
    /// The content as JSON: a number, a boolean, a map, a list, null or text in double quotes
    #[arg(long, value_name = "JSON", conflicts_with_all = ["content", "content_file"], allow_hyphen_values = true)]
    content_json: Option<String>,
    /// Read the content from a file of JSON
    #[arg(long, value_name = "FILE", conflicts_with = "content")]
    content_file: Option<PathBuf>,
}

impl ContentArgs {
    /// Takes text as the content; refused beside any other.
    pub fn set_text(&mut self, text: String) -> Result<(), Failure> {
        if self.content.is_some() || self.content_json.is_some() || self.content_file.is_some() {
            return Err(Failure::usage(
                "--new makes the id, so one argument at most is the content",
            )
            .hint(HINT_NEW));
        }
        self.content = Some(text);
        Ok(())
    }

    /// Reads the content.
    pub fn read(self) -> Result<Content, Failure> {
        let content = match (self.content, self.content_json, self.content_file) {
            (Some(text), ..) => Content::Text(text),
            (None, Some(text), _) => parse("--content-json", &text)?,
            (None, None, Some(path)) => read_json(&path)?,
            (None, None, None) => read_stdin().map(Content::Text)?,
        };
        // Refused here, before a branch is made for it.
        content.check_writable().map_err(Error::from)?;
        Ok(content)
    }
}

/// Where a memory came from.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Where it came from")]
pub struct ProvenanceArgs {
    /// The step of the agent's run
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    step: Option<String>,
    /// The document, ticket or tool it stood in
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    source: Option<String>,
    /// What was observed
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    observation: Option<String>,
    /// The tool call whose result it was
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    tool_call: Option<String>,
    /// Anything else
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
    /// When the belief was formed: Unix milliseconds or ISO 8601
    ///
    /// A time without an offset is in UTC.
    #[arg(long, value_name = "TIME", value_parser = time, allow_negative_numbers = true)]
    event_time: Option<i64>,
}

impl ProvenanceArgs {
    /// The node with this content.
    pub fn node(self, id: NodeId, content: Content) -> MemoryNode {
        MemoryNode {
            provenance: Provenance {
                agent_step: self.step,
                observation: self.observation,
                tool_call: self.tool_call,
                source: self.source,
                note: self.note,
            },
            event_time: self.event_time,
            ..MemoryNode::note(id, content)
        }
    }
}

/// A node id that is about to be written.
pub fn new_id(text: String) -> Result<NodeId, Failure> {
    NodeId::new(text).map_err(|error| Failure::argument(&error))
}

/// JSON from the command line, given to an option.
pub fn parse(option: &str, text: &str) -> Result<Content, Failure> {
    json::parse(text).map_err(|error| {
        // The shell takes one pair of quotes, and then it is no JSON.
        if matches!(error.problem(), ContentProblem::NotJson(_)) {
            named(option, error).hint(HINT_JSON_TEXT)
        } else {
            Error::from(error).into()
        }
    })
}

fn named(what: &str, error: ContentError) -> Failure {
    let failure = Failure::from(Error::from(error));
    Failure { message: format!("{what}: {}", failure.message), ..failure }
}

/// JSON from a file; `-` is standard input.
pub fn read_json(path: &Path) -> Result<Content, Failure> {
    let (name, bytes) = read_bytes(path)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{name} is not UTF-8 text")))?;
    json::parse(&text).map_err(|error| named(&name, error))
}

/// What a file holds, and its name; `-` is standard input.
pub fn read_bytes(path: &Path) -> Result<(String, Vec<u8>), Failure> {
    if path.as_os_str() == "-" {
        return Ok(("standard input".into(), read_stdin()?.into_bytes()));
    }
    let name = path.display().to_string();
    let bytes =
        fs::read(path).map_err(|error| Failure::system(format!("cannot read {name}: {error}")))?;
    Ok((name, bytes))
}

/// Text from standard input, without its last line break, which is the shell's.
fn read_stdin() -> Result<String, Failure> {
    prompt("Reading from the terminal; end with Ctrl-D on a line of its own.");
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::system(format!("cannot read standard input: {error}")))?;
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not UTF-8 text"))?;
    let line = text
        .strip_suffix('\n')
        .map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    if line.is_empty() {
        return Err(Failure::usage(
            "there is no content: none was given and standard input is empty",
        )
        .hint(HINT_EMPTY));
    }
    Ok(line.to_owned())
}
