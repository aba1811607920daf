//! The codec is a bijection between objects and the bytes it accepts.

use mnem_store::NodeId;
use mnem_store::codec::canonical::{encode, encode_content};
use mnem_store::codec::encoded::hash;
use mnem_store::codec::strict::MAX_READ_DEPTH;
use mnem_store::codec::{Encoded, Refusal, decode};
use mnem_store::object::content::{Float, Map};
use mnem_store::object::{Content, MemoryNode, Object};
use proptest::prelude::*;

use crate::sample;

fn note(content: Content) -> Object {
    Object::Node(MemoryNode::note(NodeId::new("n").unwrap(), content))
}

/// `depth` containers, one in the other, arrays and maps in turn.
pub fn nested(depth: usize) -> Content {
    assert!(depth > 0, "a scalar has no depth");
    (1..depth).fold(Content::Array(Vec::new()), |inner, level| {
        if level % 2 == 0 {
            Content::Array(vec![inner])
        } else {
            Content::Map(Map::new(vec![("k".into(), inner)]).unwrap())
        }
    })
}

/// The same, but the innermost container is a map.
fn nested_map(depth: usize) -> Content {
    (1..depth).fold(Content::Map(Map::default()), |inner, _| Content::Array(vec![inner]))
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(object in sample::object()) {
        let bytes = encode(&object);
        prop_assert_eq!(decode(&bytes), Ok(object.clone()));
        let (encoded, decoded) = Encoded::decode(&bytes).unwrap();
        prop_assert_eq!(encoded.id(), hash(&bytes));
        prop_assert_eq!(encoded.kind(), object.kind());
        prop_assert_eq!(&encoded, &Encoded::new(&object));
        prop_assert_eq!(decoded, object);
    }

    /// One object has one encoding: damaged bytes are refused, or are the bytes of another object.
    #[test]
    fn what_is_accepted_is_encoded_alike(
        object in sample::object(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..4),
    ) {
        let mut bytes = encode(&object);
        for (place, byte, how) in damage {
            let at = place.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
            if bytes.is_empty() {
                break;
            }
        }
        if let Ok(object) = decode(&bytes) {
            prop_assert_eq!(encode(&object), bytes);
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(object) = decode(&bytes) {
            prop_assert_eq!(encode(&object), bytes);
        }
    }

    #[test]
    fn a_cut_object_is_refused(object in sample::object(), cut in any::<prop::sample::Index>()) {
        let bytes = encode(&object);
        prop_assert!(decode(&bytes[..cut.index(bytes.len())]).is_err());
    }

    #[test]
    fn key_order_does_not_matter(
        entries in proptest::collection::btree_map(sample::text(), sample::content(), 0..8)
            .prop_map(|map| map.into_iter().collect::<Vec<_>>()),
        seed in any::<prop::sample::Index>(),
    ) {
        let mut turned = entries.clone();
        if !turned.is_empty() {
            let middle = seed.index(turned.len());
            turned.rotate_left(middle);
            turned.reverse();
        }
        let encoded = |entries| encode_content(&Content::Map(Map::new(entries).unwrap()));
        prop_assert_eq!(encoded(entries), encoded(turned));
    }

    #[test]
    fn contents_are_equal_when_their_bytes_are(a in sample::content(), b in sample::content()) {
        prop_assert_eq!(a == b, encode_content(&a) == encode_content(&b));
    }
}

#[test]
fn numbers_of_different_kinds_stay_apart() {
    let float = |value| Content::Float(Float::new(value).unwrap());
    let integer = |value: i64| Content::Integer(value.into());
    let values = [
        integer(1),
        float(1.0),
        Content::Bool(true),
        integer(0),
        float(0.0),
        float(-0.0),
        Content::Bool(false),
        Content::Null,
    ];
    for (at, a) in values.iter().enumerate() {
        for (other, b) in values.iter().enumerate() {
            assert_eq!(a == b, at == other, "{a:?} and {b:?}");
            assert_eq!(encode_content(a) == encode_content(b), at == other, "{a:?} and {b:?}");
        }
    }
}

#[test]
fn content_is_read_down_to_its_limit() {
    for content in [nested(MAX_READ_DEPTH), nested_map(MAX_READ_DEPTH)] {
        let object = note(content);
        assert_eq!(decode(&encode(&object)), Ok(object));
    }
    for content in [nested(MAX_READ_DEPTH + 1), nested_map(MAX_READ_DEPTH + 1)] {
        let refused = decode(&encode(&note(content))).unwrap_err();
        assert_eq!(refused.refusal, Refusal::TooDeep);
    }
}

/// A length is not believed before its bytes are there: nothing of this size is allocated.
#[test]
fn a_length_beyond_the_bytes_allocates_nothing() {
    for header in [0x5b_u8, 0x7b, 0x9b, 0xbb] {
        let mut bytes = vec![0xa4, 0x62, b'i', b'd', 0x61, b'n'];
        bytes.extend(b"\x64kind\x6bmemory_node\x67content");
        bytes.push(header);
        bytes.extend((u64::MAX >> 1).to_be_bytes());
        assert_eq!(decode(&bytes).unwrap_err().refusal, Refusal::Truncated, "{header:x}");
    }
}
