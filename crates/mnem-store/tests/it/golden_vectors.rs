//! The golden vectors, `docs/format/golden-vectors.json`: objects with their bytes and ids.
//!
//! They are frozen. A vector that fails means that the format changed, which is a new
//! `format_version` and never a new vector under an old name.

use std::collections::{BTreeMap, BTreeSet};

use mnem_store::codec::{Encoded, decode};
use mnem_store::object::content::{Float, Integer, Map};
use mnem_store::object::{
    Branch, Child, Commit, Content, ContentKind, Leaf, Lineage, MemoryNode, Object, Provenance,
    StateNode,
};
use mnem_store::{CommitId, NodeId, NodeVersionId, StateId};

use crate::hex::{field, hex, rows, unhex};

fn float(value: f64) -> Content {
    Content::Float(Float::new(value).unwrap())
}

fn integer(value: i128) -> Content {
    Content::Integer(Integer::new(value).unwrap())
}

fn map<const N: usize>(entries: [(&str, Content); N]) -> Content {
    Content::Map(Map::new(entries.map(|(key, value)| (key.to_owned(), value)).to_vec()).unwrap())
}

fn note(id: &str, content: Content) -> MemoryNode {
    MemoryNode::note(NodeId::from_stored(id), content)
}

fn version(id: &str) -> NodeVersionId {
    Encoded::node(note(id, Content::text(id))).0
}

fn leaf<'a>(ids: impl IntoIterator<Item = &'a str>) -> StateNode {
    let nodes = ids.into_iter().map(|id| (NodeId::from_stored(id), version(id))).collect();
    StateNode::Leaf(Leaf { nodes })
}

/// The tree of these ids under a common prefix, each group small enough for a leaf.
fn branch(prefix: &[u8], here: Option<NodeVersionId>, groups: &[(u8, &[String])]) -> StateNode {
    let children = groups.iter().map(|(byte, ids)| {
        let id = Encoded::state(leaf(ids.iter().map(String::as_str))).0;
        (*byte, Child { id, count: ids.len() as u64 })
    });
    StateNode::Branch(Branch { prefix: prefix.to_vec(), here, children: children.collect() })
}

fn numbered(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}{number:x}")).collect()
}

/// Every vector: its name and its object, built here and not read from the file.
#[allow(clippy::too_many_lines)] // one table
fn objects() -> Vec<(&'static str, Object)> {
    const TIME: i64 = 1_757_000_000_000;
    let text = |text: &str| Some(text.to_owned());
    let greeting = note("greeting", Content::text("hello"));
    let greeting_id = Encoded::node(greeting.clone()).0;
    let full = MemoryNode {
        provenance: Provenance {
            agent_step: text("triage"),
            observation: text("ticket-4821 body"),
            tool_call: text("read-ticket"),
            source: text("ticket-4821"),
            note: text("first contact"),
        },
        event_time: Some(TIME),
        ..note(
            "customer-4821",
            map([("plan", Content::text("enterprise")), ("seats", integer(40))]),
        )
    };
    let one = StateNode::Leaf(Leaf {
        nodes: BTreeMap::from([(NodeId::from_stored("greeting"), greeting_id)]),
    });
    let commit = |parents: &[CommitId], state: StateId, message: &str, time| Commit {
        parents: parents.to_vec(),
        state,
        message: message.into(),
        author: "agent".into(),
        time,
    };
    let empty = Encoded::state(StateNode::empty()).0;
    let root = commit(&[], Encoded::state(one.clone()).0, "first commit", TIME);
    let root_id = Encoded::commit(root.clone()).0;
    let child = commit(&[root_id], empty, "second", TIME + 60_000);
    let child_id = Encoded::commit(child.clone()).0;
    let claim = MemoryNode {
        content_kind: ContentKind::Claim,
        ..note(
            "claim-1",
            map([
                ("subject", Content::text("customer-4821")),
                ("predicate", Content::text("plan")),
                ("value", Content::text("enterprise")),
                ("confidence", float(0.75)),
                ("evidence", Content::Array(vec![Content::text("ticket-4821")])),
            ]),
        )
    };
    let salt = Some(std::array::from_fn(|at| u8::try_from(at).unwrap() * 0x11));
    let lineage = |id: &str| Lineage { id: NodeId::from_stored(id), object: version(id) };
    let sixteen = numbered("node-", 16);
    let (many, few) = (numbered("user:", 16), numbered("ticket:", 2));
    let cafes = [numbered("caf\u{e8}-", 9), numbered("caf\u{e9}-", 9)];
    let under = |next: &str, count| numbered(&format!("plan{next}"), count);
    let (dash, slash) = (under("-", 10), under("/", 7));
    let node = |node: MemoryNode| Object::Node(node);
    let valued = |content| Object::Node(note("n", content));

    vec![
        ("note_minimal", node(greeting.clone())),
        ("note_full", node(full)),
        ("state_empty", Object::State(StateNode::empty())),
        ("state_one", Object::State(one)),
        ("commit_root", Object::Commit(root)),
        ("commit_child", Object::Commit(child)),
        ("claim", node(claim)),
        ("note_event_time_negative", node(MemoryNode { event_time: Some(-1), ..greeting.clone() })),
        ("note_empty_id", node(note("", Content::Null))),
        (
            "note_nested",
            valued(map([
                (
                    "b",
                    Content::Array(vec![Content::Null, Content::Bool(true), Content::Bool(false)]),
                ),
                ("aa", map([])),
                ("a", Content::Array(vec![])),
                ("\u{e9}", Content::text("\u{1f600}")),
                ("", integer(0)),
            ])),
        ),
        (
            "note_numbers_apart",
            valued(Content::Array(vec![
                integer(1),
                float(1.0),
                Content::Bool(true),
                integer(0),
                float(0.0),
                float(-0.0),
            ])),
        ),
        ("state_sixteen", Object::State(leaf(sixteen.iter().map(String::as_str)))),
        ("state_key_order", Object::State(leaf(["aa", "b", "\u{e9}", "z"]))),
        ("state_empty_id", Object::State(leaf([""]))),
        (
            "commit_merge",
            Object::Commit(commit(&[child_id, root_id], empty, "merge", TIME + 120_000)),
        ),
        ("commit_before_1970", Object::Commit(commit(&[], empty, "", -1))),
        ("note_salt", node(MemoryNode { salt, ..greeting.clone() })),
        ("note_valid_from", node(MemoryNode { valid_from: Some(TIME), ..greeting.clone() })),
        ("note_valid_to", node(MemoryNode { valid_to: Some(TIME + 1), ..greeting.clone() })),
        (
            "note_derived_from",
            node(MemoryNode {
                derived_from: vec![lineage("plan"), lineage("greeting")],
                ..greeting.clone()
            }),
        ),
        (
            "note_every_field",
            node(MemoryNode {
                salt,
                event_time: Some(TIME),
                valid_from: Some(TIME),
                valid_to: Some(i64::MAX),
                derived_from: vec![lineage("plan")],
                provenance: Provenance { source: text("ticket-4821"), ..Provenance::default() },
                ..greeting
            }),
        ),
        ("branch", Object::State(branch(b"", None, &[(b't', &few), (b'u', &many)]))),
        (
            "branch_here",
            Object::State(branch(b"plan", Some(version("plan")), &[(b'-', &dash), (b'/', &slash)])),
        ),
        ("branch_here_empty_id", Object::State(branch(b"", Some(version("")), &[(b'u', &many)]))),
        (
            "branch_prefix_not_utf8",
            Object::State(branch(b"caf\xc3", None, &[(0xa8, &cafes[0]), (0xa9, &cafes[1])])),
        ),
        ("float_1.5", valued(float(1.5))),
        ("float_0.1", valued(float(0.1))),
        ("float_0.0", valued(float(0.0))),
        ("float_-0.0", valued(float(-0.0))),
        ("float_5e-324", valued(float(5e-324))),
        ("float_65504.0", valued(float(65504.0))),
        ("float_2^-24", valued(float(2_f64.powi(-24)))),
        ("float_32_bits", valued(float(f64::from(f32::MAX)))),
        ("float_largest", valued(float(1.797_693_134_862_315_7e308))),
        ("integer_23", valued(integer(23))),
        ("integer_24", valued(integer(24))),
        ("integer_255", valued(integer(255))),
        ("integer_256", valued(integer(256))),
        ("integer_65535", valued(integer(65_535))),
        ("integer_65536", valued(integer(65_536))),
        ("integer_2^32-1", valued(integer((1 << 32) - 1))),
        ("integer_2^32", valued(integer(1 << 32))),
        ("integer_2^64-1", valued(integer((1 << 64) - 1))),
        ("integer_-1", valued(integer(-1))),
        ("integer_-24", valued(integer(-24))),
        ("integer_-25", valued(integer(-25))),
        ("integer_-256", valued(integer(-256))),
        ("integer_-257", valued(integer(-257))),
        ("integer_-65536", valued(integer(-65_536))),
        ("integer_-65537", valued(integer(-65_537))),
        ("integer_-2^32", valued(integer(-(1 << 32)))),
        ("integer_-2^32-1", valued(integer(-(1 << 32) - 1))),
        ("integer_-2^63", valued(integer(-(1 << 63)))),
    ]
}

#[test]
fn each_object_has_its_bytes_and_its_id() {
    let file: BTreeMap<_, _> = rows("golden-vectors.json")
        .into_iter()
        .map(|row| (field(&row, "name").to_owned(), row))
        .collect();
    for (name, object) in objects() {
        let encoded = Encoded::new(&object);
        let (bytes, id) = (hex(encoded.bytes()), encoded.id().to_string());
        let Some(row) = file.get(name) else {
            panic!("no vector {name:?}; it would be\n\"cbor\": \"{bytes}\",\n\"id\": \"{id}\"");
        };
        assert_eq!(bytes, field(row, "cbor"), "{name}");
        assert_eq!(id, field(row, "id"), "{name}");
        assert_eq!(decode(encoded.bytes()), Ok(object), "{name}");
    }
}

#[test]
fn each_vector_is_decoded_and_encoded_again() {
    for row in rows("golden-vectors.json") {
        let (name, bytes) = (field(&row, "name"), unhex(field(&row, "cbor")));
        let (encoded, object) = Encoded::decode(&bytes).expect(name);
        assert_eq!(encoded.id().to_string(), field(&row, "id"), "{name}");
        assert_eq!(Encoded::new(&object).bytes(), bytes, "{name}");
    }
}

#[test]
fn no_vector_is_without_an_object() {
    let names: Vec<_> =
        rows("golden-vectors.json").iter().map(|row| field(row, "name").to_owned()).collect();
    let built: Vec<_> = objects().iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names, built);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "a name stands twice");
}
