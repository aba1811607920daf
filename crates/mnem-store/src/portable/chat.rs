//! Transcripts: a list of chat messages becomes memory, one commit for each tool result that
//! taught something.
//!
//! Messages are in the form of the OpenAI chat interface: an assistant's `tool_calls`, the
//! `tool` messages that answer them, plain turns. Which results name an entity is decided by a
//! small table of rules, which a caller may replace. An entity is written only when its content
//! differs from the one in place, so that blame names the call that taught it and not the one
//! that read it again.
//!
//! Long: the mapping is one rule, read in one place.

use std::collections::BTreeMap;

use super::json;
use crate::codec::canonical::encode_content;
use crate::codec::encoded::hash;
use crate::error::{Error, Hint};
use crate::id::{CommitId, NodeId, ObjectId};
use crate::key;
use crate::object::content::{Content, Integer, Map};
use crate::object::{ContentKind, MemoryNode, Provenance};
use crate::ops::{Changes, Meta};
use crate::store::{Snapshot, Store};

/// The most characters of a result that are kept as a node's observation.
pub const MAX_OBSERVATION_CHARS: usize = 280;

/// Which results are about which entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The first segment of the node id.
    pub entity: String,
    /// The fields whose values are the other segments, in order.
    pub id: Vec<String>,
    /// Those of them that may stand in the call's arguments alone; then they are added to the
    /// content.
    pub from_arguments: Vec<String>,
    /// The tools whose results it is about; every tool when empty.
    pub tools: Vec<String>,
}

impl Rule {
    /// The rules that are used unless others are given: a reservation, a user, a flight on a day.
    pub fn defaults() -> Vec<Self> {
        let rule = |entity: &str, id: &[&str], from_arguments: &[&str], tools: &[&str]| Self {
            entity: entity.to_owned(),
            id: id.iter().map(ToString::to_string).collect(),
            from_arguments: from_arguments.iter().map(ToString::to_string).collect(),
            tools: tools.iter().map(ToString::to_string).collect(),
        };
        vec![
            rule("reservation", &["reservation_id"], &[], &[]),
            rule("flight", &["flight_number", "date"], &["date"], &[]),
            rule("user", &["user_id"], &["user_id"], &["get_user_details"]),
        ]
    }

    /// Reads rules from a list of maps: `entity` and `id`, and where they apply `arguments` and
    /// `tools`; see the fields of [`Rule`].
    pub fn table(rules: &Content) -> Result<Vec<Self>, Error> {
        let Content::Array(items) = rules else {
            return Err(Error::invalid("rules are a list of maps"));
        };
        items
            .iter()
            .enumerate()
            .map(|(number, rule)| {
                Self::read(rule).map_err(|what| Error::invalid(format!("rules[{number}]: {what}")))
            })
            .collect()
    }

    fn read(rule: &Content) -> Result<Self, String> {
        let map = rule.as_map().ok_or("a rule is a map")?;
        let known = ["entity", "id", "arguments", "tools"];
        if let Some((key, _)) = map.iter().find(|(key, _)| !known.contains(key)) {
            return Err(format!("unknown key {key:?}; a rule has {}", known.join(", ")));
        }
        let texts = |key: &str| match map.get(key) {
            None => Ok(Vec::new()),
            Some(Content::Array(items)) => items
                .iter()
                .map(|item| item.as_text().map(str::to_owned))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| format!("{key} is a list of texts")),
            Some(_) => Err(format!("{key} is a list of texts")),
        };
        let entity =
            map.get("entity").and_then(Content::as_text).ok_or("entity is a text")?.to_owned();
        let (id, from_arguments, tools) = (texts("id")?, texts("arguments")?, texts("tools")?);
        if entity.is_empty() || id.is_empty() {
            return Err("entity and id must not be empty".into());
        }
        if let Some(stray) = from_arguments.iter().find(|field| !id.contains(field)) {
            return Err(format!("arguments names {stray:?}, which is not in id"));
        }
        Ok(Self { entity, id, from_arguments, tools })
    }

    /// The entity that an object is, with its content; none when the rule does not match.
    fn apply(
        &self,
        tool: &str,
        arguments: Option<&Map>,
        object: &Map,
    ) -> Option<(Vec<String>, Content)> {
        if !self.tools.is_empty() && !self.tools.iter().any(|name| name == tool) {
            return None;
        }
        let mut segments = vec![self.entity.clone()];
        let mut added = Vec::new();
        for field in &self.id {
            let value = match object.get(field) {
                Some(value) => value,
                None if self.from_arguments.contains(field) => {
                    let value = arguments?.get(field)?;
                    added.push((field.clone(), value.clone()));
                    value
                }
                None => return None,
            };
            segments.push(match value {
                Content::Text(text) if !text.is_empty() => text.clone(),
                Content::Integer(number) => number.get().to_string(),
                _ => return None,
            });
        }
        let entries = object.iter().map(|(key, value)| (key.to_owned(), value.clone()));
        // An added field is one the object does not have.
        let content = Map::new(entries.chain(added).collect()).ok()?;
        Some((segments, Content::Map(content)))
    }
}

/// How to read a transcript.
#[derive(Clone, Debug)]
pub struct ChatOptions {
    /// Its name: what its record and every step refer to it by.
    pub transcript: String,
    /// The rules; [`Rule::defaults`] when unset.
    pub rules: Option<Vec<Rule>>,
    /// Keep results that name no entity too, under the id of their call.
    pub keep_all: bool,
    /// The author of the commits.
    pub author: String,
    /// The time of the commits, in Unix milliseconds; the store's clock when unset.
    pub time: Option<i64>,
}

/// What reading a transcript came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatReport {
    /// Its name.
    pub transcript: String,
    /// How many messages it has.
    pub messages: u64,
    /// How many of them were read before.
    pub before: u64,
    /// Tool results among the others.
    pub results: u64,
    /// Commits that were made.
    pub commits: u64,
    /// Node versions that were written, without the transcript's record.
    pub written: u64,
    /// Entities that said what was known already.
    pub unchanged: u64,
    /// Results that named no entity and were not kept.
    pub passed_over: u64,
    /// The branch's commit afterwards; none when nothing was ever written.
    pub head: Option<CommitId>,
}

/// Reads a transcript into memory, on the store's branch.
///
/// A record node, `transcript:NAME`, holds how many messages were read and a running hash of
/// them. Reading the same transcript again adds nothing; a longer one adds its tail; one whose
/// beginning changed is refused before anything is written.
pub fn import_chat(
    store: &Store,
    messages: &Content,
    options: &ChatOptions,
) -> Result<ChatReport, Error> {
    import_chat_watched(store, messages, options, |_| ())
}

/// The same; `progress` is called with the number of messages read so far.
pub fn import_chat_watched(
    store: &Store,
    messages: &Content,
    options: &ChatOptions,
    mut progress: impl FnMut(u64),
) -> Result<ChatReport, Error> {
    let messages = check_transcript(messages, &options.transcript)?;
    let mut reading = Reading::new(store, messages, options)?;
    for (index, message) in messages.iter().enumerate().skip(reading.place.read) {
        reading.message(index, message)?;
        progress(index as u64 + 1);
    }
    reading.finish()
}

/// The messages of a transcript with this name; refused as [`import_chat`] refuses it.
///
/// ```
/// use mnem_store::portable::chat::check_transcript;
/// let no_message = mnem_store::portable::json::parse("[1]")?;
/// assert!(check_transcript(&no_message, "call-7").is_err());
/// # Ok::<(), mnem_store::Error>(())
/// ```
pub fn check_transcript<'m>(messages: &'m Content, name: &str) -> Result<&'m [Content], Error> {
    let Content::Array(messages) = messages else {
        return Err(Error::invalid("a transcript is a list of messages"));
    };
    if name.is_empty() {
        return Err(Error::invalid("the name of a transcript must not be empty"));
    }
    if let Some(index) = messages.iter().position(|message| text(message, "role").is_none()) {
        return Err(Error::invalid(format!(
            "messages[{index}] is no message: a message is a map with a text under \"role\""
        )));
    }
    Ok(messages)
}

/// How far a transcript was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    read: usize,
    hash: ObjectId,
}

impl Place {
    const START: Self = Self { read: 0, hash: ObjectId::from_bytes([0; 32]) };

    /// The place after one more message: the hash of the hash so far and the message's bytes.
    fn after(self, message: &Content) -> Self {
        let bytes = [self.hash.as_bytes().as_slice(), &encode_content(message)].concat();
        Self { read: self.read + 1, hash: hash(&bytes) }
    }

    fn content(self) -> Result<Content, Error> {
        let entries = vec![
            ("hash".to_owned(), Content::text(self.hash.to_string())),
            ("messages".to_owned(), Content::Integer(Integer::from(self.read as u64))),
        ];
        Ok(Content::Map(Map::new(entries)?))
    }
}

struct Reading<'r> {
    store: &'r Store,
    messages: &'r [Content],
    options: &'r ChatOptions,
    rules: Vec<Rule>,
    record: NodeId,
    /// The latest call with each id: ids repeat in real transcripts.
    calls: BTreeMap<&'r str, Call<'r>>,
    /// The place after each message, from [`Place::START`] on.
    places: Vec<Place>,
    /// What the record says.
    place: Place,
    recorded: bool,
    report: ChatReport,
}

/// A tool call: its name and arguments.
#[derive(Clone, Debug)]
struct Call<'r> {
    name: &'r str,
    arguments: Content,
}

impl<'r> Reading<'r> {
    fn new(
        store: &'r Store,
        messages: &'r [Content],
        options: &'r ChatOptions,
    ) -> Result<Self, Error> {
        let record = NodeId::new(key::encode(["transcript", &options.transcript]))?;
        let mut places = vec![Place::START];
        for message in messages {
            let last = places.last().copied().unwrap_or(Place::START);
            places.push(last.after(message));
        }
        let mut reading = Self {
            store,
            messages,
            options,
            rules: options.rules.clone().unwrap_or_else(Rule::defaults),
            record,
            calls: BTreeMap::new(),
            places,
            place: Place::START,
            recorded: false,
            report: ChatReport {
                transcript: options.transcript.clone(),
                messages: messages.len() as u64,
                ..ChatReport::default()
            },
        };
        if let Some(node) = store.snapshot()?.get(&reading.record)? {
            reading.place = reading.check(&node.content)?;
            reading.recorded = true;
        }
        reading.report.before = reading.place.read as u64;
        for message in messages.iter().take(reading.place.read) {
            reading.note_calls(message);
        }
        Ok(reading)
    }

    /// Checks that the transcript begins with what its record says was read.
    fn check(&self, content: &Content) -> Result<Place, Error> {
        let name = &self.options.transcript;
        let read = match content.as_map().and_then(|map| map.get("messages")) {
            Some(Content::Integer(number)) => usize::try_from(number.get()).ok(),
            _ => None,
        };
        let read = read.ok_or_else(|| {
            Error::invalid(format!("the node {:?} is not the record of a transcript", self.record))
                .hint(Hint::OtherTranscript)
        })?;
        let Some(place) = self.places.get(read) else {
            return Err(Error::invalid(format!(
                "the transcript {name:?} has {} messages, but {read} were read before",
                self.messages.len()
            ))
            .hint(Hint::OtherTranscript));
        };
        if place.content()? != *content {
            return Err(Error::invalid(format!(
                "the transcript {name:?} does not begin with the {read} messages that were read before"
            ))
            .hint(Hint::OtherTranscript));
        }
        Ok(*place)
    }

    fn note_calls(&mut self, message: &'r Content) {
        let calls = field(message, "tool_calls");
        let Some(Content::Array(calls)) = calls else { return };
        for call in calls {
            let function = field(call, "function");
            let (Some(id), Some(function)) = (text(call, "id"), function) else { continue };
            let Some(name) = text(function, "name") else { continue };
            let arguments = match field(function, "arguments") {
                // The interface carries arguments as JSON text; what is no JSON stays text.
                Some(Content::Text(text)) => {
                    json::parse(text).unwrap_or_else(|_| Content::text(text.as_str()))
                }
                Some(other) => other.clone(),
                None => Content::Null,
            };
            self.calls.insert(id, Call { name, arguments });
        }
    }

    fn message(&mut self, index: usize, message: &'r Content) -> Result<(), Error> {
        self.note_calls(message);
        if text(message, "role") != Some("tool") {
            return Ok(());
        }
        self.report.results += 1;
        let call_id = text(message, "tool_call_id");
        let call = call_id.and_then(|id| self.calls.get(id)).cloned().unwrap_or_else(|| Call {
            name: text(message, "name").unwrap_or("tool"),
            arguments: Content::Null,
        });
        let body = field(message, "content").cloned().unwrap_or(Content::Null);
        let result = match &body {
            Content::Text(text) => json::parse(text).unwrap_or_else(|_| body.clone()),
            _ => body.clone(),
        };
        let mut learnt = self.entities(&call, &result);
        if learnt.is_empty() {
            if !self.options.keep_all {
                self.report.passed_over += 1;
                return Ok(());
            }
            let step = format!("{}#{index}", self.options.transcript);
            let id = call_id
                .and_then(|id| NodeId::new(id).ok())
                .map_or_else(|| NodeId::new(step), Ok)?;
            learnt.insert(id, result);
        }
        self.write(index, &call, &body, learnt)
    }

    /// The entities in a result: of each object of a list, else of the result itself, by the
    /// first rule that matches. Nested lists are flattened; nested objects make none. What would
    /// be no node id names no entity.
    fn entities(&self, call: &Call<'_>, result: &Content) -> BTreeMap<NodeId, Content> {
        let mut found = BTreeMap::new();
        let mut todo = vec![result];
        while let Some(content) = todo.pop() {
            match content {
                Content::Array(items) => todo.extend(items.iter().rev()),
                Content::Map(object) => {
                    let arguments = call.arguments.as_map();
                    let matched =
                        self.rules.iter().find_map(|rule| rule.apply(call.name, arguments, object));
                    let Some((segments, content)) = matched else { continue };
                    if let Ok(id) = NodeId::new(key::encode(segments.iter().map(String::as_str))) {
                        found.insert(id, content);
                    }
                }
                _ => {}
            }
        }
        found
    }

    fn write(
        &mut self,
        index: usize,
        call: &Call<'_>,
        body: &Content,
        learnt: BTreeMap<NodeId, Content>,
    ) -> Result<(), Error> {
        let provenance = Provenance {
            agent_step: Some(format!("{}#{index}", self.options.transcript)),
            observation: Some(excerpt(body)),
            tool_call: Some(format!("{}({})", call.name, call.arguments)),
            source: Some(call.name.to_owned()),
            note: None,
        };
        let total = learnt.len() as u64;
        let message = match learnt.keys().next() {
            Some(only) if total == 1 => format!("{}: {only}", call.name),
            _ => format!("{}: {total} nodes", call.name),
        };
        let mut written = 0;
        let after = self.places.get(index + 1).copied().unwrap_or(self.place);
        let moved = self.move_record(after, &message, |snapshot, changes| {
            for (id, content) in learnt {
                if snapshot.get(&id)?.is_some_and(|node| node.content == content) {
                    continue;
                }
                let node = MemoryNode {
                    provenance: provenance.clone(),
                    ..MemoryNode::note(id.clone(), content)
                };
                changes.insert(id, Some(node));
            }
            written = changes.len() as u64;
            Ok(written > 0)
        });
        moved?;
        self.report.written += written;
        self.report.unchanged += total - written;
        Ok(())
    }

    /// Moves the record to a place together with other changes, unless there are none.
    fn move_record(
        &mut self,
        to: Place,
        message: &str,
        others: impl FnOnce(&Snapshot, &mut Changes) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let meta =
            Meta { time: self.options.time, ..Meta::new(message, self.options.author.as_str()) };
        let (place, record, recorded) = (self.place, &self.record, self.recorded);
        let mut moved = false;
        let outcome = self.store.update_if(&meta, |snapshot| {
            let now = snapshot.get(record)?.map(|node| node.content.clone());
            let expected = if recorded { Some(place.content()?) } else { None };
            if now != expected {
                let message = format!(
                    "the transcript {:?} is being read by another writer",
                    self.options.transcript
                );
                return Err(Error::conflict(message).hint(Hint::Retry));
            }
            let mut changes = Changes::new();
            if !others(snapshot, &mut changes)? {
                return Ok(None);
            }
            moved = true;
            let node = MemoryNode {
                content_kind: ContentKind::Note,
                provenance: Provenance {
                    source: Some("import-chat".into()),
                    ..Provenance::default()
                },
                ..MemoryNode::note(record.clone(), to.content()?)
            };
            changes.insert(record.clone(), Some(node));
            Ok(Some(changes))
        })?;
        self.report.head = outcome;
        if moved {
            (self.place, self.recorded) = (to, true);
            self.report.commits += 1;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ChatReport, Error> {
        let end = self.places.last().copied().unwrap_or(Place::START);
        if self.place.read < end.read {
            let message = format!("{} read to its end, message {}", self.record, end.read);
            self.move_record(end, &message, |_, _| Ok(true))?;
        }
        self.report.head = self.store.head_commit()?;
        Ok(self.report)
    }
}

fn field<'c>(content: &'c Content, key: &str) -> Option<&'c Content> {
    content.as_map()?.get(key)
}

fn text<'c>(content: &'c Content, key: &str) -> Option<&'c str> {
    field(content, key)?.as_text()
}

/// The beginning of a result, as evidence.
fn excerpt(body: &Content) -> String {
    let whole = match body {
        Content::Text(text) => text.clone(),
        other => other.to_string(),
    };
    match whole.char_indices().nth(MAX_OBSERVATION_CHARS) {
        Some((end, _)) => format!("{}…", whole.get(..end).unwrap_or_default()),
        None => whole,
    }
}
