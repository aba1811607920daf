//! Transcripts of agents that anybody may have recorded.

use mnem_store::ops::log::LogOptions;
use mnem_store::portable::chat::{ChatOptions, ChatReport, MAX_OBSERVATION_CHARS, Rule};
use mnem_store::portable::{chat, json};
use mnem_store::store::snapshot::Memory;
use mnem_store::{Content, Error, ErrorKind, InitOptions, Store};

use super::{Answer, is_one_sentence};
use crate::support::environment;

/// A transcript that is read again adds nothing, and one that is read in two parts teaches what it
/// teaches as a whole; one that is refused leaves what its beginning taught.
///
/// The input is a list of messages, or a map with `messages`, and where they apply `rules` and
/// `keep_all`.
pub fn transcript(bytes: &[u8]) -> Answer {
    let Ok(text) = str::from_utf8(bytes) else { return Answer::Refused };
    let content = match json::parse(text) {
        Ok(content) => content,
        Err(error) => {
            assert!(is_one_sentence(&error.into()));
            return Answer::Refused;
        }
    };
    assert_eq!(json::parse(&content.to_string()).unwrap(), content);
    let field = |key: &str| content.as_map().and_then(|map| map.get(key));
    let Ok(rules) = field("rules").map(Rule::table).transpose() else { return Answer::Refused };
    let options = ChatOptions {
        transcript: "t".into(),
        rules,
        keep_all: field("keep_all") == Some(&Content::Bool(true)),
        author: "reader".into(),
        time: Some(0),
    };
    let messages = field("messages").unwrap_or(&content);
    let store = reproducible();
    let report = match chat::import_chat(&store, messages, &options) {
        Ok(report) => report,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidRef, "{error}");
            assert!(is_one_sentence(&error), "{error}");
            check(&store);
            return Answer::Refused;
        }
    };
    let Content::Array(messages) = messages else { panic!("a transcript that is no list") };
    let whole = check(&store);
    check_report(&store, &report, messages, &whole);
    let again = chat::import_chat(&store, &Content::Array(messages.clone()), &options).unwrap();
    let nothing = ChatReport {
        before: report.messages,
        results: 0,
        commits: 0,
        written: 0,
        unchanged: 0,
        passed_over: 0,
        ..report
    };
    assert_eq!(again, nothing);

    let (beginning, _) = messages.split_at(bytes.len() % (messages.len() + 1));
    let parts = reproducible();
    for part in [beginning, messages] {
        let read = read(&parts, part, &options).unwrap();
        assert_eq!(read.messages, part.len() as u64);
    }
    assert!(check(&parts) == whole, "two parts teach something else");
    if !beginning.is_empty() {
        let shorter = read(&parts, &messages[..beginning.len() - 1], &options);
        assert_eq!(shorter.unwrap_err().kind(), ErrorKind::InvalidRef);
    }
    Answer::Accepted
}

fn read(store: &Store, messages: &[Content], options: &ChatOptions) -> Result<ChatReport, Error> {
    chat::import_chat(store, &Content::Array(messages.to_vec()), options)
}

fn reproducible() -> Store {
    let options = InitOptions { reproducible: true, ..InitOptions::default() };
    Store::in_memory(&options, environment()).unwrap()
}

fn check_report(store: &Store, report: &ChatReport, messages: &[Content], memory: &Memory) {
    let role = |message: &Content| message.as_map()?.get("role")?.as_text().map(str::to_owned);
    let results = messages.iter().filter(|message| role(message).as_deref() == Some("tool"));
    assert_eq!(report.results, results.count() as u64);
    assert_eq!(report.messages, messages.len() as u64);
    let log = store.head_commit().unwrap().map(|_| store.log(&LogOptions::default()).unwrap());
    assert_eq!(report.commits, log.map_or(0, |log| log.len() as u64));
    assert_eq!(report.head, store.head_commit().unwrap());
    assert!(report.written >= memory.len().saturating_sub(1) as u64);
}

/// What every memory holds that came from a transcript.
fn check(store: &Store) -> Memory {
    assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
    let memory = store.snapshot().unwrap().memory("", None).unwrap();
    for node in memory.values() {
        assert!(node.provenance.source.is_some());
        let observation = node.provenance.observation.as_deref().unwrap_or_default();
        assert!(observation.chars().count() <= MAX_OBSERVATION_CHARS + 1);
        assert!(node.content.check_writable().is_ok());
    }
    memory
}
