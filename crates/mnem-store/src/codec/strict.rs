//! The strict decoder: it refuses whatever the encoder would not write.
//!
//! Written by hand because a decoder for untrusted bytes must be bounded: content is read with
//! a stack of its own, and no count in the input decides how much is allocated.
//!
//! Long: one reader and every rule it holds, beside the list of what it refuses.

use std::collections::BTreeMap;
use std::fmt;

use half::f16;

use crate::id::{CommitId, NodeId, NodeVersionId, ObjectId, StateId};
use crate::object::content::{Content, Float, Integer, Map, key_order};
use crate::object::state::MAX_LEAF_ENTRIES;
use crate::object::{
    Branch, Child, Commit, ContentKind, Kind, Leaf, Lineage, MemoryNode, Object, Provenance,
    StateNode,
};

/// The deepest content that is read. Writing stops far below, at
/// [`MAX_CONTENT_DEPTH`](crate::object::content::MAX_CONTENT_DEPTH); the original's own reader
/// stopped at 256.
pub const MAX_READ_DEPTH: usize = 1_024;

/// Why bytes are refused, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The offset of the item that was refused.
    pub at: usize,
    /// Why.
    pub refusal: Refusal,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.refusal, self.at)
    }
}

impl std::error::Error for DecodeError {}

/// The refused list of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The bytes end within an item.
    #[error("the bytes end too early")]
    Truncated,
    /// Bytes follow the object.
    #[error("bytes follow the object")]
    TrailingBytes,
    /// An integer or a length in a longer form than it needs.
    #[error("a number or length in a longer form than it needs")]
    LongForm,
    /// A float in a longer form than it needs.
    #[error("a float in a longer form than it needs")]
    LongFloat,
    /// NaN or an infinity.
    #[error("a float that is not finite")]
    NotFinite,
    /// An integer below -2^63.
    #[error("an integer below -2^63")]
    IntegerOutOfRange,
    /// A string, array or map of indefinite length.
    #[error("an item of indefinite length")]
    Indefinite,
    /// A tag.
    #[error("a tag")]
    Tag,
    /// A simple value other than false, true and null.
    #[error("a simple value other than false, true and null")]
    Simple,
    /// A reserved additional-information value.
    #[error("a reserved header")]
    Reserved,
    /// A map key that is no text.
    #[error("a key that is not text")]
    NonTextKey,
    /// Text that is no UTF-8.
    #[error("text that is not UTF-8")]
    InvalidUtf8,
    /// Map keys out of canonical order.
    #[error("keys out of order")]
    UnsortedKeys,
    /// A map key that stands twice.
    #[error("a key that stands twice")]
    DuplicateKey,
    /// A key that the object's kind does not have.
    #[error("a key that this kind of object does not have")]
    UnknownKey,
    /// A key that the object's kind must have.
    #[error("a key of this kind of object is missing")]
    MissingKey,
    /// No object, or one of an unknown kind.
    #[error("an unknown kind of object")]
    UnknownKind,
    /// An item of another type, or a value outside its range.
    #[error("an item of the wrong type")]
    WrongType,
    /// Content nested deeper than [`MAX_READ_DEPTH`].
    #[error("content nested more than {MAX_READ_DEPTH} deep")]
    TooDeep,
    /// A field that is written only when set, empty.
    #[error("an empty field that is left out when empty")]
    EmptyField,
    /// A branch that the shape rules do not allow.
    #[error("a tree node that is not canonical")]
    NotCanonicalTree,
}

impl Refusal {
    /// Every entry of the list.
    pub const ALL: [Self; 21] = [
        Self::Truncated,
        Self::TrailingBytes,
        Self::LongForm,
        Self::LongFloat,
        Self::NotFinite,
        Self::IntegerOutOfRange,
        Self::Indefinite,
        Self::Tag,
        Self::Simple,
        Self::Reserved,
        Self::NonTextKey,
        Self::InvalidUtf8,
        Self::UnsortedKeys,
        Self::DuplicateKey,
        Self::UnknownKey,
        Self::MissingKey,
        Self::UnknownKind,
        Self::WrongType,
        Self::TooDeep,
        Self::EmptyField,
        Self::NotCanonicalTree,
    ];
}

/// Decodes one object from exactly these bytes.
pub fn decode(bytes: &[u8]) -> Result<Object, DecodeError> {
    let mut reader = Reader::new(bytes);
    let object = match reader.peek_kind()? {
        Kind::Node => Object::Node(reader.node()?),
        Kind::State => Object::State(reader.state()?),
        Kind::Commit => Object::Commit(reader.commit()?),
    };
    reader.end()?;
    Ok(object)
}

/// Reads canonical items one after the other.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

enum Item<'a> {
    Integer(Integer),
    Bytes(&'a [u8]),
    Text(&'a str),
    Array(usize),
    Map(usize),
    Bool(bool),
    Null,
    Float(Float),
}

type Result<T, E = DecodeError> = std::result::Result<T, E>;

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn end(&self) -> Result<()> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            self.refuse(self.at, Refusal::TrailingBytes)
        }
    }

    #[allow(clippy::unused_self)] // reads as what it is at every call
    fn refuse<T>(&self, at: usize, refusal: Refusal) -> Result<T> {
        Err(DecodeError { at, refusal })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count);
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(taken) => {
                self.at += count;
                Ok(taken)
            }
            None => self.refuse(self.at, Refusal::Truncated),
        }
    }

    fn take_array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let at = self.at;
        self.take(N)?.try_into().or_else(|_| self.refuse(at, Refusal::Truncated))
    }

    /// The argument of a header, in the shortest form that holds it.
    fn argument(&mut self, info: u8, start: usize) -> Result<u64> {
        let (value, least) = match info {
            0..=23 => return Ok(info.into()),
            24 => (u64::from(u8::from_be_bytes(self.take_array()?)), 24),
            25 => (u64::from(u16::from_be_bytes(self.take_array()?)), 1 << 8),
            26 => (u64::from(u32::from_be_bytes(self.take_array()?)), 1 << 16),
            27 => (u64::from_be_bytes(self.take_array()?), 1 << 32),
            31 => return self.refuse(start, Refusal::Indefinite),
            _ => return self.refuse(start, Refusal::Reserved),
        };
        if value < least { self.refuse(start, Refusal::LongForm) } else { Ok(value) }
    }

    fn length(&mut self, info: u8, start: usize) -> Result<usize> {
        let length = self.argument(info, start)?;
        usize::try_from(length).or_else(|_| self.refuse(start, Refusal::Truncated))
    }

    fn item(&mut self) -> Result<Item<'a>> {
        let start = self.at;
        let [first] = self.take_array()?;
        let info = first & 0x1f;
        match first >> 5 {
            0 => Ok(Item::Integer(self.argument(info, start)?.into())),
            1 => match Integer::new(-1 - i128::from(self.argument(info, start)?)) {
                Ok(value) => Ok(Item::Integer(value)),
                Err(_) => self.refuse(start, Refusal::IntegerOutOfRange),
            },
            2 => {
                let length = self.length(info, start)?;
                Ok(Item::Bytes(self.take(length)?))
            }
            3 => {
                let length = self.length(info, start)?;
                match std::str::from_utf8(self.take(length)?) {
                    Ok(text) => Ok(Item::Text(text)),
                    Err(_) => self.refuse(start, Refusal::InvalidUtf8),
                }
            }
            4 => Ok(Item::Array(self.length(info, start)?)),
            5 => Ok(Item::Map(self.length(info, start)?)),
            6 => self.refuse(start, Refusal::Tag),
            _ => self.simple_or_float(info, start),
        }
    }

    fn simple_or_float(&mut self, info: u8, start: usize) -> Result<Item<'a>> {
        let value = match info {
            20 => return Ok(Item::Bool(false)),
            21 => return Ok(Item::Bool(true)),
            22 => return Ok(Item::Null),
            25 => f16::from_be_bytes(self.take_array()?).to_f64(),
            26 => f64::from(f32::from_be_bytes(self.take_array()?)),
            27 => f64::from_be_bytes(self.take_array()?),
            28..=30 => return self.refuse(start, Refusal::Reserved),
            31 => return self.refuse(start, Refusal::Indefinite),
            _ => return self.refuse(start, Refusal::Simple),
        };
        let Ok(float) = Float::new(value) else {
            return self.refuse(start, Refusal::NotFinite);
        };
        // The header's 25, 26 and 27 are 2, 4 and 8 bytes.
        if self.at - start - 1 > float.width() {
            self.refuse(start, Refusal::LongFloat)
        } else {
            Ok(Item::Float(float))
        }
    }

    pub(crate) fn text(&mut self) -> Result<&'a str> {
        let at = self.at;
        match self.item()? {
            Item::Text(text) => Ok(text),
            _ => self.refuse(at, Refusal::WrongType),
        }
    }

    fn key(&mut self) -> Result<&'a str> {
        let at = self.at;
        match self.item()? {
            Item::Text(text) => Ok(text),
            _ => self.refuse(at, Refusal::NonTextKey),
        }
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let at = self.at;
        match self.item()? {
            Item::Bytes(bytes) => bytes.try_into().or_else(|_| self.refuse(at, Refusal::WrongType)),
            _ => self.refuse(at, Refusal::WrongType),
        }
    }

    fn id(&mut self) -> Result<ObjectId> {
        Ok(ObjectId::from_bytes(self.bytes()?))
    }

    pub(crate) fn integer<T: TryFrom<i128>>(&mut self) -> Result<T> {
        let at = self.at;
        match self.item()? {
            Item::Integer(value) => {
                T::try_from(value.get()).or_else(|_| self.refuse(at, Refusal::WrongType))
            }
            _ => self.refuse(at, Refusal::WrongType),
        }
    }

    pub(crate) fn array(&mut self) -> Result<usize> {
        let at = self.at;
        match self.item()? {
            Item::Array(count) => Ok(count),
            _ => self.refuse(at, Refusal::WrongType),
        }
    }

    pub(crate) fn map(&mut self) -> Result<Keys<'a>> {
        let at = self.at;
        match self.item()? {
            Item::Map(left) => Ok(Keys { left, last: None }),
            _ => self.refuse(at, Refusal::WrongType),
        }
    }

    /// Whether the next item is null, which is then passed over.
    pub(crate) fn null(&mut self) -> bool {
        let null = self.bytes.get(self.at) == Some(&0xf6);
        self.at += usize::from(null);
        null
    }

    fn kind(&mut self, kind: Kind) -> Result<()> {
        let at = self.at;
        if self.text()? == kind.as_str() { Ok(()) } else { self.refuse(at, Refusal::UnknownKind) }
    }

    fn required<T>(&self, start: usize, value: Option<T>) -> Result<T> {
        value.map_or_else(|| self.refuse(start, Refusal::MissingKey), Ok)
    }

    /// The value of `kind`, without moving on. Whatever may stand before it is text or bytes.
    fn peek_kind(&mut self) -> Result<Kind> {
        let start = self.at;
        let mut keys = match self.item()? {
            Item::Map(left) => Keys { left, last: None },
            _ => return self.refuse(start, Refusal::UnknownKind),
        };
        while let Some(key) = keys.next(self)? {
            let at = self.at;
            match (key, self.item()?) {
                ("kind", Item::Text(name)) => {
                    self.at = start;
                    let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == name);
                    return kind.map_or_else(|| self.refuse(at, Refusal::UnknownKind), Ok);
                }
                (_, Item::Text(_) | Item::Bytes(_)) => {}
                _ => return self.refuse(at, Refusal::UnknownKind),
            }
        }
        self.refuse(start, Refusal::UnknownKind)
    }

    fn node(&mut self) -> Result<MemoryNode> {
        let start = self.at;
        let (mut id, mut content, mut content_kind) = (None, None, None);
        let mut provenance = Provenance::default();
        let (mut event_time, mut valid_from, mut valid_to, mut salt) = (None, None, None, None);
        let mut derived_from = Vec::new();
        let mut keys = self.map()?;
        while let Some(key) = keys.next(self)? {
            let at = self.at;
            match key {
                "id" => id = Some(NodeId::from_stored(self.text()?)),
                "kind" => self.kind(Kind::Node)?,
                "salt" => salt = Some(self.bytes()?),
                "content" => content = Some(self.content()?),
                "valid_to" => valid_to = Some(self.integer()?),
                "event_time" => event_time = Some(self.integer()?),
                "provenance" => provenance = self.provenance()?,
                "valid_from" => valid_from = Some(self.integer()?),
                "content_kind" => {
                    let kind = ContentKind::from_name(self.text()?);
                    content_kind =
                        Some(kind.map_or_else(|| self.refuse(at, Refusal::WrongType), Ok)?);
                }
                "derived_from" => derived_from = self.derived_from()?,
                _ => return self.refuse(at, Refusal::UnknownKey),
            }
        }
        Ok(MemoryNode {
            id: self.required(start, id)?,
            content: self.required(start, content)?,
            content_kind: self.required(start, content_kind)?,
            provenance,
            event_time,
            valid_from,
            valid_to,
            derived_from,
            salt,
        })
    }

    fn provenance(&mut self) -> Result<Provenance> {
        let start = self.at;
        let mut provenance = Provenance::default();
        let mut keys = self.map()?;
        while let Some(key) = keys.next(self)? {
            let at = self.at;
            let field = match key {
                "note" => &mut provenance.note,
                "source" => &mut provenance.source,
                "tool_call" => &mut provenance.tool_call,
                "agent_step" => &mut provenance.agent_step,
                "observation" => &mut provenance.observation,
                _ => return self.refuse(at, Refusal::UnknownKey),
            };
            *field = Some(self.text()?.to_owned());
        }
        if provenance.is_empty() {
            return self.refuse(start, Refusal::EmptyField);
        }
        Ok(provenance)
    }

    fn derived_from(&mut self) -> Result<Vec<Lineage>> {
        let start = self.at;
        let count = self.array()?;
        if count == 0 {
            return self.refuse(start, Refusal::EmptyField);
        }
        let mut parents = Vec::with_capacity(count.min(64));
        for _ in 0..count {
            let start = self.at;
            let (mut id, mut object) = (None, None);
            let mut keys = self.map()?;
            while let Some(key) = keys.next(self)? {
                match key {
                    "id" => id = Some(NodeId::from_stored(self.text()?)),
                    "object" => object = Some(NodeVersionId::from(self.id()?)),
                    _ => return self.refuse(self.at, Refusal::UnknownKey),
                }
            }
            let (id, object) = (self.required(start, id)?, self.required(start, object)?);
            parents.push(Lineage { id, object });
        }
        Ok(parents)
    }

    fn state(&mut self) -> Result<StateNode> {
        let start = self.at;
        let (mut here, mut prefix, mut children, mut nodes) = (None, None, None, None);
        let mut keys = self.map()?;
        while let Some(key) = keys.next(self)? {
            let at = self.at;
            match key {
                "here" => here = Some(NodeVersionId::from(self.id()?)),
                "kind" => self.kind(Kind::State)?,
                "nodes" => nodes = Some(self.leaf()?),
                "prefix" => match self.item()? {
                    Item::Bytes(bytes) => prefix = Some(bytes.to_vec()),
                    _ => return self.refuse(at, Refusal::WrongType),
                },
                "children" => children = Some(self.children()?),
                _ => return self.refuse(at, Refusal::UnknownKey),
            }
        }
        match (nodes, here, prefix, children) {
            (Some(nodes), None, None, None) => Ok(StateNode::Leaf(Leaf { nodes })),
            (Some(_), ..) => self.refuse(start, Refusal::UnknownKey),
            (None, here, Some(prefix), Some(children)) => {
                let branch = StateNode::Branch(Branch { prefix, here, children });
                if is_canonical(&branch) {
                    Ok(branch)
                } else {
                    self.refuse(start, Refusal::NotCanonicalTree)
                }
            }
            _ => self.refuse(start, Refusal::MissingKey),
        }
    }

    fn leaf(&mut self) -> Result<BTreeMap<NodeId, NodeVersionId>> {
        let mut nodes = BTreeMap::new();
        let mut keys = self.map()?;
        while let Some(key) = keys.next(self)? {
            nodes.insert(NodeId::from_stored(key), self.id()?.into());
        }
        Ok(nodes)
    }

    fn children(&mut self) -> Result<BTreeMap<u8, Child>> {
        let mut children = BTreeMap::new();
        let mut keys = self.map()?;
        while let Some(key) = keys.next(self)? {
            let at = self.at;
            let byte = match key.as_bytes() {
                [a, b] if [a, b].iter().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f')) => {
                    u8::from_str_radix(key, 16).or_else(|_| self.refuse(at, Refusal::UnknownKey))?
                }
                _ => return self.refuse(at, Refusal::UnknownKey),
            };
            if self.array()? != 2 {
                return self.refuse(at, Refusal::WrongType);
            }
            children.insert(byte, Child { id: StateId::from(self.id()?), count: self.integer()? });
        }
        Ok(children)
    }

    fn commit(&mut self) -> Result<Commit> {
        let start = self.at;
        let (mut time, mut state, mut author, mut message, mut parents) =
            (None, None, None, None, None);
        let mut keys = self.map()?;
        while let Some(key) = keys.next(self)? {
            match key {
                "kind" => self.kind(Kind::Commit)?,
                "time" => time = Some(self.integer()?),
                "state" => state = Some(StateId::from(self.id()?)),
                "author" => author = Some(self.text()?.to_owned()),
                "message" => message = Some(self.text()?.to_owned()),
                "parents" => {
                    let count = self.array()?;
                    let ids = (0..count).map(|_| self.id().map(CommitId::from));
                    parents = Some(ids.collect::<Result<Vec<_>>>()?);
                }
                _ => return self.refuse(self.at, Refusal::UnknownKey),
            }
        }
        Ok(Commit {
            parents: self.required(start, parents)?,
            state: self.required(start, state)?,
            message: self.required(start, message)?,
            author: self.required(start, author)?,
            time: self.required(start, time)?,
        })
    }

    /// One content value, with a stack of its own.
    fn content(&mut self) -> Result<Content> {
        // The innermost container, and those around it.
        let mut inner: Option<Open<'a>> = None;
        let mut open: Vec<Open<'a>> = Vec::new();
        loop {
            let at = self.at;
            let mut value = match self.item()? {
                Item::Null => Content::Null,
                Item::Bool(value) => Content::Bool(value),
                Item::Integer(value) => Content::Integer(value),
                Item::Float(value) => Content::Float(value),
                Item::Text(text) => Content::text(text),
                Item::Bytes(_) => return self.refuse(at, Refusal::WrongType),
                Item::Array(_) | Item::Map(_)
                    if open.len() + usize::from(inner.is_some()) >= MAX_READ_DEPTH =>
                {
                    return self.refuse(at, Refusal::TooDeep);
                }
                Item::Array(0) => Content::Array(Vec::new()),
                Item::Array(left) => {
                    let items = Vec::with_capacity(left.min(64));
                    open.extend(inner.replace(Open::Array(items, left)));
                    continue;
                }
                Item::Map(left) => {
                    let mut keys = Keys { left, last: None };
                    match keys.next(self)? {
                        None => Content::Map(Map::default()),
                        Some(key) => {
                            let entries = Vec::with_capacity(left.min(64));
                            open.extend(inner.replace(Open::Map(entries, keys, key)));
                            continue;
                        }
                    }
                }
            };
            loop {
                match &mut inner {
                    None => return Ok(value),
                    Some(Open::Array(items, left)) => {
                        items.push(value);
                        *left -= 1;
                        if *left > 0 {
                            break;
                        }
                        value = Content::Array(std::mem::take(items));
                    }
                    Some(Open::Map(entries, keys, key)) => {
                        entries.push(((*key).to_owned(), value));
                        if let Some(next) = keys.next(self)? {
                            *key = next;
                            break;
                        }
                        value = Content::Map(Map::from_sorted(std::mem::take(entries)));
                    }
                }
                inner = open.pop();
            }
        }
    }
}

/// A container that is being read.
enum Open<'a> {
    Array(Vec<Content>, usize),
    Map(Vec<(String, Content)>, Keys<'a>, &'a str),
}

/// The keys of a map, checked for order as they come.
pub(crate) struct Keys<'a> {
    left: usize,
    last: Option<&'a str>,
}

impl<'a> Keys<'a> {
    pub(crate) fn next(&mut self, reader: &mut Reader<'a>) -> Result<Option<&'a str>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let at = reader.at;
        let key = reader.key()?;
        match self.last.map(|last| key_order(last, key)) {
            Some(std::cmp::Ordering::Equal) => return reader.refuse(at, Refusal::DuplicateKey),
            Some(std::cmp::Ordering::Greater) => return reader.refuse(at, Refusal::UnsortedKeys),
            _ => {}
        }
        self.last = Some(key);
        Ok(Some(key))
    }
}

/// What a tree node shows of its shape on its own (`docs/format/`, "The tree").
fn is_canonical(node: &StateNode) -> bool {
    let StateNode::Branch(branch) = node else { return true };
    node.count().is_some_and(|count| count > MAX_LEAF_ENTRIES as u64)
        && branch.children.len() + usize::from(branch.here.is_some()) >= 2
        && branch.children.values().all(|child| child.count > 0)
        && (branch.here.is_none() || std::str::from_utf8(&branch.prefix).is_ok())
}
