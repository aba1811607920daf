//! The ids that adapters make of their keys: segments joined by `:`, injective, whole-segment
//! prefixes.
//!
//! In a segment `%`, `:` and control characters are percent-encoded, byte by byte, so ordinary
//! names are their own ids and different segments never make one id. Where the joined segments
//! pass [`MAX_NODE_ID_BYTES`] they are cut and end in [`CUT`] and the BLAKE3 hash of the whole;
//! no encoded segment contains [`CUT`], so a cut id is never another key's own. Whoever stores
//! under a cut id keeps the segments in the node, under the content key [`FULL`].

use crate::error::Error;
use crate::id::{MAX_NODE_ID_BYTES, NodeId};

/// Stands before the hash in the id of a key that was cut.
pub const CUT: &str = "%~";

/// The content key under which a node keeps the segments of its cut id.
pub const FULL: &str = "mnem:key";

const HASH_DIGITS: usize = 64;

/// What a cut id keeps of the joined segments, at most, in bytes.
const KEPT: usize = MAX_NODE_ID_BYTES - CUT.len() - HASH_DIGITS;

/// The segments as one text, whatever its length.
///
/// ```
/// # use mnem_store::key;
/// assert_eq!(key::encode(["user", "ada"]), "user:ada");
/// assert_eq!(key::encode(["a:b", "50%"]), "a%3Ab:50%25");
/// ```
pub fn encode<'s>(segments: impl IntoIterator<Item = &'s str>) -> String {
    let mut text = String::new();
    for (number, segment) in segments.into_iter().enumerate() {
        if number > 0 {
            text.push(':');
        }
        for character in segment.chars() {
            if character == '%' || character == ':' || character.is_control() {
                let mut bytes = [0; 4];
                for byte in character.encode_utf8(&mut bytes).bytes() {
                    text.extend(['%', hex_digit(byte >> 4), hex_digit(byte & 0xf)]);
                }
            } else {
                text.push(character);
            }
        }
    }
    text
}

/// The id of a key; an error for no segments, and for one that is empty.
///
/// ```
/// # use mnem_store::key;
/// assert_eq!(key::join(["user", "ada"]).unwrap().as_str(), "user:ada");
/// assert_eq!(key::join(["user", &"x".repeat(5000)]).unwrap().as_str().len(), 1024);
/// assert!(key::join([""]).is_err());
/// ```
pub fn join<'s>(segments: impl IntoIterator<Item = &'s str>) -> Result<NodeId, Error> {
    let text = encode(segments);
    if text.len() <= MAX_NODE_ID_BYTES {
        return NodeId::new(text);
    }
    let hash = blake3::hash(text.as_bytes()).to_hex();
    NodeId::new(format!("{}{CUT}{hash}", kept(&text)))
}

/// A prefix of the id of every key below these segments, and of no other key unless that key
/// was cut: the segments that a cut node keeps tell.
///
/// ```
/// # use mnem_store::key;
/// assert_eq!(key::prefix(["user", "u1"]), "user:u1:");
/// assert_eq!(key::prefix([]), "");
/// ```
pub fn prefix<'s>(segments: impl IntoIterator<Item = &'s str>) -> String {
    let mut segments = segments.into_iter().peekable();
    if segments.peek().is_none() {
        return String::new();
    }
    let mut text = encode(segments);
    text.push(':');
    kept(&text).to_owned()
}

/// The segments that an id was made of; `None` for an id that was cut. An escape that means
/// nothing stands for itself.
///
/// ```
/// # use mnem_store::key;
/// assert_eq!(key::split("a%3Ab:c").unwrap(), ["a:b", "c"]);
/// assert_eq!(key::split("50%:c").unwrap(), ["50%", "c"]);
/// ```
pub fn split(id: &str) -> Option<Vec<String>> {
    let cut = id.rsplit_once(CUT).is_some_and(|(_, hash)| {
        hash.len() == HASH_DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    (!cut).then(|| id.split(':').map(decode).collect())
}

/// The id that a key had where segments were joined as they are, if that id is read as these
/// segments and differs from [`join`]'s: where a read that misses looks next.
///
/// ```
/// # use mnem_store::key;
/// assert_eq!(key::unencoded(["50%", "c"]).unwrap().as_str(), "50%:c");
/// assert!(key::unencoded(["a:b", "c"]).is_none());
/// ```
pub fn unencoded<'s>(segments: impl IntoIterator<Item = &'s str>) -> Option<NodeId> {
    let segments: Vec<&str> = segments.into_iter().collect();
    let text = segments.join(":");
    let same = split(&text).is_some_and(|read| read == segments);
    let other = text != encode(segments.iter().copied());
    if same && other { NodeId::new(text).ok() } else { None }
}

/// The start of an encoded text that a cut id keeps: no character and no escape is torn.
fn kept(text: &str) -> &str {
    let end = (0..=KEPT.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let start = text.get(..end).unwrap_or_default();
    let torn = start.rfind('%').filter(|at| text.len() > end && at + 3 > end);
    start.get(..torn.unwrap_or(end)).unwrap_or_default()
}

fn decode(segment: &str) -> String {
    let mut text = String::with_capacity(segment.len());
    let mut rest = segment;
    while let Some(at) = rest.find('%') {
        let (before, escapes) = rest.split_at(at);
        text.push_str(before);
        let bytes: Vec<u8> = escapes.as_bytes().chunks(3).map_while(escaped).collect();
        let (read, behind) = escapes.split_at(bytes.len() * 3);
        match String::from_utf8(bytes) {
            Ok(decoded) if !decoded.is_empty() => text.push_str(&decoded),
            _ if read.is_empty() => text.push('%'),
            _ => text.push_str(read),
        }
        rest = if read.is_empty() { escapes.get(1..).unwrap_or_default() } else { behind };
    }
    text.push_str(rest);
    text
}

fn escaped(three: &[u8]) -> Option<u8> {
    let [b'%', high, low] = *three else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn hex_digit(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('0').to_ascii_uppercase()
}
