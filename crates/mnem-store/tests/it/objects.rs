//! Objects by a prefix of their id, and how they read.

use mnem_store::codec::{Encoded, diagnostic};
use mnem_store::object::content::{Float, Integer, Map};
use mnem_store::object::{Branch, Child, Kind, Object, StateNode};
use mnem_store::{Content, ErrorKind, MemoryNode, NodeVersionId, StateId};
use proptest::prelude::*;

use crate::sample;
use crate::support::{id, in_memory, note, put};

#[test]
fn every_kind_is_found_by_a_prefix_of_any_length() {
    let store = in_memory();
    let commit = put(&store, "plan", "pro");
    let snapshot = store.snapshot().unwrap();
    let version = snapshot.version(&id("plan")).unwrap().unwrap();
    let ids = [commit.to_string(), snapshot.state().unwrap().to_string(), version.to_string()];
    for (text, kind) in ids.iter().zip([Kind::Commit, Kind::State, Kind::Node]) {
        for length in [4, 5, 12, 13, 63, 64] {
            let (encoded, object) = store.find_object(&text[..length]).unwrap();
            assert_eq!(encoded.id().to_string(), *text);
            assert_eq!((encoded.kind(), object.kind()), (kind, kind));
        }
    }
}

#[test]
fn an_ambiguous_prefix_lists_ten_with_their_kinds() {
    let store = in_memory();
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    let crowded = (0..2_000).find_map(|n| {
        let commit = put(&store, "n", &n.to_string()).to_string();
        let count = seen.entry(commit[..4].to_owned()).or_default();
        *count += 1;
        // Of 65,536 prefixes one is met twice within a few hundred.
        (*count == 2).then(|| commit[..4].to_owned())
    });
    let prefix = crowded.unwrap();
    let error = store.find_object(&prefix).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRef);
    let text = error.to_string();
    assert!(text.starts_with(&format!("{prefix:?} is ambiguous: {prefix}")), "{text}");
    assert!(text.matches("(commit)").count() >= 2, "{text}");
}

#[test]
fn what_is_no_prefix_and_what_matches_nothing() {
    let store = in_memory();
    put(&store, "plan", "pro");
    for (prefix, sentence) in [
        ("", "is not an object id prefix"),
        ("abc", "is not an object id prefix"),
        ("main", "is not an object id prefix"),
        ("ABCDEF", "is not an object id prefix"),
        (&"0".repeat(65), "is not an object id prefix"),
        ("00000000", "no object matching"),
    ] {
        let error = store.find_object(prefix).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRef, "{prefix}");
        assert!(error.to_string().contains(sentence), "{prefix}: {error}");
    }
}

fn rendered(object: &Object) -> String {
    diagnostic::render(&Encoded::new(object)).unwrap()
}

#[test]
fn a_node_reads_as_it_is_encoded() {
    let float = |value| Content::Float(Float::new(value).unwrap());
    let integer = |value| Content::Integer(Integer::new(value).unwrap());
    let items = vec![
        integer(-(1 << 63)),
        integer((1 << 64) - 1),
        float(-0.0),
        float(1.0),
        float(0.1),
        float(5e-324),
        Content::Bool(true),
        Content::Null,
        Content::Array(vec![Content::Array(vec![]), Content::Array(vec![integer(1), integer(2)])]),
        Content::Map(Map::default()),
    ];
    let map = Map::new(vec![
        ("long key".into(), Content::Bool(false)),
        ("é".into(), Content::text("\"\n")),
    ]);
    let content = Content::Array([items, vec![Content::Map(map.unwrap())]].concat());
    let node = MemoryNode { salt: Some([0xa5; 16]), ..MemoryNode::note(id("plan"), content) };
    let expected = r#"{
  "id": "plan",
  "kind": "memory_node",
  "salt": h'a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5',
  "content": [
    -9223372036854775808,
    18446744073709551615,
    -0.0,
    1.0,
    0.1,
    5e-324,
    true,
    null,
    [
      [],
      [1, 2]
    ],
    {},
    {
      "é": "\"\n",
      "long key": false
    }
  ],
  "content_kind": "note"
}"#;
    let expected = expected.replace("\"\\\"\n\"", r#""\"\n""#);
    assert_eq!(rendered(&Object::Node(node)), expected);
}

#[test]
fn a_branch_of_the_tree_reads_as_it_is_encoded() {
    let child = |byte, count| (byte, Child { id: StateId::from_bytes([byte; 32]), count });
    let branch = Branch {
        prefix: b"user:".to_vec(),
        here: Some(NodeVersionId::from_bytes([0xee; 32])),
        children: [child(b'a', 20), child(b'b', 3)].into(),
    };
    let text = rendered(&Object::State(StateNode::Branch(branch)));
    assert_eq!(
        text,
        format!(
            "{{\n  \"here\": h'{}',\n  \"kind\": \"state\",\n  \"prefix\": h'757365723a',\n  \
             \"children\": {{\n    \"61\": [\n      h'{}',\n      20\n    ],\n    \
             \"62\": [\n      h'{}',\n      3\n    ]\n  }}\n}}",
            "ee".repeat(32),
            "61".repeat(32),
            "62".repeat(32)
        )
    );
}

#[test]
fn depth_costs_no_stack_and_no_width() {
    let mut content = Content::Null;
    for _ in 0..128 {
        content = Content::Array(vec![content]);
    }
    let text = rendered(&Object::Node(MemoryNode { content, ..note("deep", "") }));
    assert_eq!(text.matches('[').count(), 128);
    assert!(text.contains(&format!("null{}", "]".repeat(126))), "{text}");
}

proptest! {
    #[test]
    fn every_object_reads_with_all_its_items(object in sample::object()) {
        let encoded = Encoded::new(&object);
        let text = diagnostic::render(&encoded).unwrap();
        let whole = text.starts_with('{') && text.ends_with('}');
        prop_assert!(whole, "{}", text);
        let kind = format!("\"kind\": \"{}\"", encoded.kind().as_str());
        prop_assert!(text.contains(&kind), "{}", text);
        if let Object::Node(node) = object {
            // With the byte strings left out, what is left is JSON that says the same.
            if node.salt.is_none() && node.derived_from.is_empty() {
                let json: serde_json::Value = serde_json::from_str(&text).unwrap();
                let content = serde_json::to_value(&node.content).unwrap();
                prop_assert_eq!(&json["content"], &content);
                prop_assert_eq!(&json["id"], node.id.as_str());
            }
        }
    }
}
