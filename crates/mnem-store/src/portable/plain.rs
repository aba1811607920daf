//! Memory from a file of JSON, as one commit: a plain object of id and content, or the file of
//! the reference memory server of the Model Context Protocol.
//!
//! That server keeps a graph, one record a line: `{"type":"entity","name":...,"entityType":...,
//! "observations":[...]}` and `{"type":"relation","from":...,"to":...,"relationType":...}`. A line
//! that is damaged is reported, and the others are read. A plain object is read whole or not at
//! all.

use std::collections::BTreeMap;

use super::json;
use crate::error::Error;
use crate::id::{CommitId, NodeId};
use crate::key;
use crate::object::content::{Content, MAX_CONTENT_DEPTH, Map};
use crate::object::{MemoryNode, Provenance};
use crate::ops::{Changes, Meta};
use crate::store::Store;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonForm {
    /// One object: id to content.
    Plain,
    /// Entities and relations, one a line.
    Graph,
}

impl JsonForm {
    /// The form's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Graph => "graph",
        }
    }
}

/// A line that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its number, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// What reading a file came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonReport {
    /// What the file holds.
    pub form: JsonForm,
    /// Memories that were read.
    pub read: u64,
    /// Those of them that were new or changed.
    pub written: u64,
    /// Lines that were not read.
    pub skipped: Vec<Skipped>,
    /// The branch's commit afterwards; none when nothing was ever written.
    pub head: Option<CommitId>,
}

/// Reads a file into memory as one commit, on the store's branch. `source` names the file in each
/// memory's provenance. Reading the same file again changes nothing and makes no commit.
///
/// An entity becomes the node `entity:NAME`, a relation `relation:FROM:TYPE:TO`; their content is
/// the record without its type.
///
/// ```
/// # use mnem_store::{Environment, Error, InitOptions, NodeId, Store};
/// # let store = Store::in_memory(&InitOptions::default(), Environment::fixed())?;
/// use mnem_store::ops::Meta;
/// use mnem_store::portable::plain::import_json;
/// let meta = Meta::new("what we knew", "tester");
/// let report = import_json(&store, br#"{"plan": "pro", "seats": 3}"#, "old.json", &meta)?;
/// assert_eq!((report.read, report.written), (2, 2));
/// let node = store.snapshot()?.get(&NodeId::new("plan")?)?.ok_or(Error::not_found("plan"))?;
/// assert_eq!(node.provenance.source.as_deref(), Some("old.json"));
/// # Ok::<(), Error>(())
/// ```
pub fn import_json(
    store: &Store,
    bytes: &[u8],
    source: &str,
    meta: &Meta,
) -> Result<JsonReport, Error> {
    JsonFile::read(bytes)?.write(store, source, meta)
}

/// A file that was read, and nothing of it refused.
#[derive(Clone, Debug)]
pub struct JsonFile {
    form: JsonForm,
    contents: BTreeMap<NodeId, Content>,
    skipped: Vec<Skipped>,
}

impl JsonFile {
    /// Reads a file, as [`import_json`] does before it writes.
    ///
    /// ```
    /// use mnem_store::portable::plain::JsonFile;
    /// assert!(JsonFile::read(b"{}").is_ok() && JsonFile::read(b"{").is_err());
    /// ```
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        read(bytes)
    }

    /// Writes what was read as one commit, as [`import_json`] does.
    pub fn write(self, store: &Store, source: &str, meta: &Meta) -> Result<JsonReport, Error> {
        let Self { form, contents, skipped } = self;
        let mut report =
            JsonReport { form, read: contents.len() as u64, written: 0, skipped, head: None };
        let provenance = Provenance { source: Some(source.to_owned()), ..Provenance::default() };
        report.head = store.update_if(meta, |now| {
            let mut changes = Changes::new();
            for (id, content) in contents {
                let node = MemoryNode {
                    provenance: provenance.clone(),
                    ..MemoryNode::note(id.clone(), content)
                };
                if !now.get(&id)?.is_some_and(|there| there.same(&node)) {
                    changes.insert(id, Some(node));
                }
            }
            report.written = changes.len() as u64;
            Ok(Some(changes).filter(|changes| !changes.is_empty()))
        })?;
        Ok(report)
    }
}

fn read(bytes: &[u8]) -> Result<JsonFile, Error> {
    let text = str::from_utf8(bytes).map_err(|_| Error::invalid("the file is not UTF-8 text"));
    let whole = text.and_then(|text| {
        // The object itself is around each content.
        json::parse_within(text, MAX_CONTENT_DEPTH + 1).map_err(Error::from)
    });
    match whole {
        Ok(Content::Map(map)) if !is_record(&map) => {
            let mut contents = BTreeMap::new();
            for (id, content) in map.iter() {
                let id = NodeId::new(id)?;
                content.check_writable().map_err(|error| error.under_key(id.as_str()))?;
                contents.insert(id, content.clone());
            }
            Ok(JsonFile { form: JsonForm::Plain, contents, skipped: Vec::new() })
        }
        whole => match (graph(bytes), whole) {
            (Some(file), _) => Ok(file),
            (None, Ok(_)) => Err(Error::invalid(
                "a file of memories is an object of id and content, or has an entity or relation on each line",
            )),
            (None, Err(error)) => Err(error),
        },
    }
}

fn is_record(map: &Map) -> bool {
    matches!(map.get("type").and_then(Content::as_text), Some("entity" | "relation"))
}

/// Reads line by line; none when no line is a record.
fn graph(bytes: &[u8]) -> Option<JsonFile> {
    let mut file =
        JsonFile { form: JsonForm::Graph, contents: BTreeMap::new(), skipped: Vec::new() };
    let mut lines: BTreeMap<NodeId, u64> = BTreeMap::new();
    for (line, bytes) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let reason = match record(bytes) {
            Ok((id, content)) => match lines.get(&id) {
                None => {
                    lines.insert(id.clone(), line);
                    file.contents.insert(id, content);
                    continue;
                }
                Some(_) if file.contents.get(&id) == Some(&content) => continue,
                Some(first) => format!("line {first} says something else of {:?}", id.as_str()),
            },
            Err(reason) => reason,
        };
        file.skipped.push(Skipped { line, reason });
    }
    (!file.contents.is_empty()).then_some(file)
}

fn record(bytes: &[u8]) -> Result<(NodeId, Content), String> {
    let text = str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text")?;
    // Its place is within this line, which is told already.
    let content = json::parse(text)
        .map_err(|error| error.to_string().replace(", line 1 column ", ", column "))?;
    let map = content.as_map().ok_or("it is not an object")?;
    let field = |key: &str| {
        let text = map.get(key).and_then(Content::as_text);
        text.ok_or_else(|| format!("it has no text under {key:?}"))
    };
    let id = match field("type")? {
        "entity" => {
            field("entityType")?;
            let are_texts = match map.get("observations") {
                Some(Content::Array(items)) => items.iter().all(|item| item.as_text().is_some()),
                _ => false,
            };
            if !are_texts {
                return Err("it has no list of texts under \"observations\"".into());
            }
            NodeId::new(key::encode(["entity", field("name")?]))
        }
        "relation" => NodeId::new(key::encode([
            "relation",
            field("from")?,
            field("relationType")?,
            field("to")?,
        ])),
        other => return Err(format!("{other:?} is neither an entity nor a relation")),
    };
    let rest = map.iter().filter(|(key, _)| *key != "type");
    let rest = rest.map(|(key, value)| (key.to_owned(), value.clone())).collect();
    let content = Map::new(rest).map(Content::Map).map_err(|error| error.to_string())?;
    content.check_writable().map_err(|error| error.to_string())?;
    Ok((id.map_err(|error| error.to_string())?, content))
}
