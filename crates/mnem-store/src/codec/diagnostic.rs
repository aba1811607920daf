//! Objects as people read them: the diagnostic notation of RFC 8949, section 8.
//!
//! Prints what stands in the bytes, in their order, and not what was made of them. Every item is
//! in its shortest form, so no encoding indicators are needed to get the same bytes back.

use ciborium_io::Read;
use ciborium_ll::{Decoder, Header, simple};

use super::encoded::Encoded;
use crate::error::Error;

/// How many levels are broken into lines; what lies deeper stays on one.
const BROKEN_LEVELS: usize = 3;

/// The diagnostic notation of an object, without a line break at its end.
///
/// ```
/// # use mnem_store::codec::{Encoded, diagnostic};
/// # use mnem_store::{Content, MemoryNode, NodeId};
/// let (_, encoded) = Encoded::node(MemoryNode::note(NodeId::new("plan")?, Content::Null));
/// let text = diagnostic::render(&encoded)?;
/// assert_eq!(text.lines().nth(1), Some(r#"  "id": "plan","#));
/// # Ok::<(), mnem_store::Error>(())
/// ```
pub fn render(encoded: &Encoded) -> Result<String, Error> {
    let mut bytes = Decoder::from(encoded.bytes());
    let mut out = String::new();
    let mut open: Vec<Container> = Vec::new();
    loop {
        let depth = open.len();
        if let Some(container) = open.last_mut() {
            if container.left == 0 {
                if !container.is_first() {
                    break_line(&mut out, depth - 1, depth <= BROKEN_LEVELS);
                }
                out.push(container.closing());
                open.pop();
                if open.is_empty() {
                    return Ok(out);
                }
                continue;
            }
            if container.at_value() {
                out.push_str(": ");
            } else {
                if !container.is_first() {
                    out.push(',');
                }
                let broken = depth <= BROKEN_LEVELS;
                if !broken && !container.is_first() {
                    out.push(' ');
                }
                break_line(&mut out, depth, broken);
            }
            container.left -= 1;
        }
        match bytes.pull().map_err(|_| unreadable(encoded))? {
            Header::Positive(value) => out.push_str(&value.to_string()),
            Header::Negative(value) => out.push_str(&(-1 - i128::from(value)).to_string()),
            Header::Float(value) => {
                out.push_str(&serde_json::to_string(&value).map_err(|_| unreadable(encoded))?);
            }
            Header::Simple(simple::FALSE) => out.push_str("false"),
            Header::Simple(simple::TRUE) => out.push_str("true"),
            Header::Simple(simple::NULL) => out.push_str("null"),
            Header::Text(Some(length)) => {
                let text = String::from_utf8(take(&mut bytes, length, encoded)?)
                    .map_err(|_| unreadable(encoded))?;
                out.push_str(&serde_json::to_string(&text).map_err(|_| unreadable(encoded))?);
            }
            Header::Bytes(Some(length)) => {
                out.push_str("h'");
                let taken = take(&mut bytes, length, encoded)?;
                out.extend(taken.iter().map(|byte| format!("{byte:02x}")));
                out.push('\'');
            }
            Header::Array(Some(length)) => {
                out.push('[');
                open.push(Container { map: false, items: length, left: length });
            }
            Header::Map(Some(length)) => {
                let items = length.saturating_mul(2);
                out.push('{');
                open.push(Container { map: true, items, left: items });
            }
            _ => return Err(unreadable(encoded)),
        }
    }
}

/// An array or a map that is being printed.
struct Container {
    map: bool,
    /// How many items it has; keys count too.
    items: usize,
    left: usize,
}

impl Container {
    fn is_first(&self) -> bool {
        self.left == self.items
    }

    fn at_value(&self) -> bool {
        self.map && self.left % 2 == 1
    }

    fn closing(&self) -> char {
        if self.map { '}' } else { ']' }
    }
}

fn break_line(out: &mut String, depth: usize, broken: bool) {
    if broken {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    }
}

/// The bytes of a string. Whoever made the [`Encoded`] has read it, so its lengths are true.
fn take(bytes: &mut Decoder<&[u8]>, length: usize, encoded: &Encoded) -> Result<Vec<u8>, Error> {
    let mut taken = vec![0; length];
    bytes.read_exact(&mut taken).map_err(|_| unreadable(encoded))?;
    Ok(taken)
}

fn unreadable(encoded: &Encoded) -> Error {
    Error::corrupt(format!("the object {} is not canonical", encoded.id()))
}
