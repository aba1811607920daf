//! The canonical encoder.

use std::convert::Infallible;

use ciborium_ll::{Encoder, Header, simple};

use crate::object::content::{Content, key_order};
use crate::object::{Commit, MemoryNode, Object, Provenance, Shared, StateNode};

/// The canonical bytes of an object.
pub fn encode(object: &Object) -> Vec<u8> {
    match object {
        Object::Node(node) => written(|out| out.node(node)),
        Object::State(state) => written(|out| out.state(state)),
        Object::Commit(commit) => written(|out| out.commit(commit)),
    }
}

/// The canonical bytes of an object that is shared.
pub(super) fn encode_shared(object: &Shared) -> Vec<u8> {
    match object {
        Shared::Node(node) => written(|out| out.node(node)),
        Shared::State(state) => written(|out| out.state(state)),
        Shared::Commit(commit) => written(|out| out.commit(commit)),
    }
}

/// The canonical bytes of content alone: what equality of content is defined by.
pub fn encode_content(content: &Content) -> Vec<u8> {
    let mut out = Writer::new();
    out.content(content);
    out.finish()
}

fn written(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut out = Writer::for_an_object();
    write(&mut out);
    out.finish()
}

/// What most objects take, a leaf of 16 entries among them, in bytes.
const OBJECT_BYTES: usize = 1_024;

/// Writes canonical items. Whoever calls it brings map keys in canonical order.
pub(crate) struct Writer(Bytes);

struct Bytes(Vec<u8>);

impl ciborium_io::Write for &mut Bytes {
    type Error = Infallible;

    fn write_all(&mut self, data: &[u8]) -> Result<(), Infallible> {
        self.0.extend_from_slice(data);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self(Bytes(Vec::new()))
    }

    /// With room for what most objects take.
    fn for_an_object() -> Self {
        Self(Bytes(Vec::with_capacity(OBJECT_BYTES)))
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0.0
    }

    fn encoder(&mut self) -> Encoder<&mut Bytes> {
        Encoder::from(&mut self.0)
    }

    fn header(&mut self, header: Header) {
        let Ok(()) = self.encoder().push(header);
    }

    pub(crate) fn map(&mut self, entries: usize) {
        self.header(Header::Map(Some(entries)));
    }

    pub(crate) fn array(&mut self, items: usize) {
        self.header(Header::Array(Some(items)));
    }

    pub(crate) fn text(&mut self, text: &str) {
        let Ok(()) = self.encoder().text(text, None);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let Ok(()) = self.encoder().bytes(bytes, None);
    }

    pub(crate) fn null(&mut self) {
        self.header(Header::Simple(simple::NULL));
    }

    pub(crate) fn integer(&mut self, value: i128) {
        // Major type 1 holds -1 - n.
        let header = match u64::try_from(value) {
            Ok(value) => Header::Positive(value),
            Err(_) => Header::Negative(u64::try_from(-1 - value).unwrap_or(u64::MAX)),
        };
        self.header(header);
    }

    pub(crate) fn content(&mut self, content: &Content) {
        match content {
            Content::Null => self.null(),
            Content::Bool(false) => self.header(Header::Simple(simple::FALSE)),
            Content::Bool(true) => self.header(Header::Simple(simple::TRUE)),
            Content::Integer(value) => self.integer(value.get()),
            Content::Float(value) => self.header(Header::Float(value.get())),
            Content::Text(text) => self.text(text),
            Content::Array(items) => {
                self.array(items.len());
                for item in items {
                    self.content(item);
                }
            }
            Content::Map(map) => {
                self.map(map.len());
                for (key, value) in map.iter() {
                    self.text(key);
                    self.content(value);
                }
            }
        }
    }

    fn kind(&mut self, kind: &str) {
        self.text("kind");
        self.text(kind);
    }

    fn time(&mut self, key: &str, time: Option<i64>) {
        if let Some(time) = time {
            self.text(key);
            self.integer(time.into());
        }
    }

    fn node(&mut self, node: &MemoryNode) {
        let optional = [
            node.salt.is_some(),
            node.valid_to.is_some(),
            node.event_time.is_some(),
            !node.provenance.is_empty(),
            node.valid_from.is_some(),
            !node.derived_from.is_empty(),
        ];
        self.map(4 + optional.iter().filter(|set| **set).count());
        self.text("id");
        self.text(node.id.as_str());
        self.kind("memory_node");
        if let Some(salt) = &node.salt {
            self.text("salt");
            self.bytes(salt);
        }
        self.text("content");
        self.content(&node.content);
        self.time("valid_to", node.valid_to);
        self.time("event_time", node.event_time);
        if !node.provenance.is_empty() {
            self.text("provenance");
            self.provenance(&node.provenance);
        }
        self.time("valid_from", node.valid_from);
        self.text("content_kind");
        self.text(node.content_kind.as_str());
        if !node.derived_from.is_empty() {
            self.text("derived_from");
            self.array(node.derived_from.len());
            for parent in &node.derived_from {
                self.map(2);
                self.text("id");
                self.text(parent.id.as_str());
                self.text("object");
                self.bytes(parent.object.as_bytes());
            }
        }
    }

    fn provenance(&mut self, provenance: &Provenance) {
        let fields = [
            ("note", &provenance.note),
            ("source", &provenance.source),
            ("tool_call", &provenance.tool_call),
            ("agent_step", &provenance.agent_step),
            ("observation", &provenance.observation),
        ];
        self.map(fields.iter().filter(|(_, value)| value.is_some()).count());
        for (key, value) in fields {
            if let Some(value) = value {
                self.text(key);
                self.text(value);
            }
        }
    }

    fn state(&mut self, state: &StateNode) {
        match state {
            StateNode::Leaf(leaf) => {
                self.map(2);
                self.kind("state");
                self.text("nodes");
                self.map(leaf.nodes.len());
                let mut entries: Vec<_> = leaf.nodes.iter().collect();
                entries.sort_by(|(a, _), (b, _)| key_order(a.as_str(), b.as_str()));
                for (id, version) in entries {
                    self.text(id.as_str());
                    self.bytes(version.as_bytes());
                }
            }
            StateNode::Branch(branch) => {
                self.map(3 + usize::from(branch.here.is_some()));
                if let Some(here) = &branch.here {
                    self.text("here");
                    self.bytes(here.as_bytes());
                }
                self.kind("state");
                self.text("prefix");
                self.bytes(&branch.prefix);
                self.text("children");
                self.map(branch.children.len());
                // Two lowercase hexadecimal digits sort as the byte they stand for.
                let mut digits = String::with_capacity(2);
                for (byte, child) in &branch.children {
                    digits.clear();
                    let digit = |half| char::from_digit(u32::from(half), 16);
                    digits.extend([byte >> 4, byte & 15].into_iter().filter_map(digit));
                    self.text(&digits);
                    self.array(2);
                    self.bytes(child.id.as_bytes());
                    self.integer(child.count.into());
                }
            }
        }
    }

    fn commit(&mut self, commit: &Commit) {
        self.map(6);
        self.kind("commit");
        self.text("time");
        self.integer(commit.time.into());
        self.text("state");
        self.bytes(commit.state.as_bytes());
        self.text("author");
        self.text(&commit.author);
        self.text("message");
        self.text(&commit.message);
        self.text("parents");
        self.array(commit.parents.len());
        for parent in &commit.parents {
            self.bytes(parent.as_bytes());
        }
    }
}
