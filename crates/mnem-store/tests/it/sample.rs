//! Strategies that draw content and objects, every rule of the format in reach.

use std::collections::{BTreeMap, BTreeSet};

use mnem_store::object::content::{Float, INTEGER_RANGE, Integer, Map};
use mnem_store::object::state::MAX_LEAF_ENTRIES;
use mnem_store::object::{
    Branch, Child, Commit, Content, ContentKind, Leaf, Lineage, MemoryNode, Object, Provenance,
    StateNode,
};
use mnem_store::{CommitId, NodeId, NodeVersionId, StateId};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;

/// Floats of every width, edges more often than chance would.
pub fn float() -> impl Strategy<Value = f64> {
    let edges = [0.0, -0.0, 1.0, 1.5, 0.1, 5e-324, 65504.0, 65505.0, f64::MAX, f64::MIN_POSITIVE];
    prop_oneof![
        any::<f64>().prop_filter("finite", |value| value.is_finite()),
        any::<f32>().prop_map(f64::from).prop_filter("finite", |value| value.is_finite()),
        any::<i16>().prop_map(|value| f64::from(value) / 8.0),
        proptest::sample::select(edges.to_vec()),
    ]
}

/// Integers around every length edge.
pub fn integer() -> impl Strategy<Value = i128> {
    let edges = [0, 23, 24, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296];
    prop_oneof![
        any::<i64>().prop_map(i128::from),
        any::<u64>().prop_map(i128::from),
        (-300_i128..300),
        (proptest::sample::select(edges.to_vec()), -2_i128..=2).prop_map(|(a, b)| a + b),
        proptest::sample::select(vec![*INTEGER_RANGE.start(), *INTEGER_RANGE.end()]),
    ]
}

pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![".{0,12}", "[a-c]{0,3}", "[ -~]{20,30}", Just("x".repeat(256))]
}

pub fn content() -> impl Strategy<Value = Content> {
    let leaf = prop_oneof![
        Just(Content::Null),
        any::<bool>().prop_map(Content::Bool),
        integer().prop_map(|value| Content::Integer(Integer::new(value).unwrap())),
        float().prop_map(|value| Content::Float(Float::new(value).unwrap())),
        text().prop_map(Content::text),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Content::Array),
            btree_map(text(), inner, 0..6)
                .prop_map(|map| Content::Map(Map::new(map.into_iter().collect()).unwrap())),
        ]
    })
}

fn node_version() -> impl Strategy<Value = NodeVersionId> {
    any::<[u8; 32]>().prop_map(NodeVersionId::from_bytes)
}

fn provenance() -> impl Strategy<Value = Provenance> {
    let field = || option::of(text());
    (field(), field(), field(), field(), field()).prop_map(
        |(agent_step, observation, tool_call, source, note)| Provenance {
            agent_step,
            observation,
            tool_call,
            source,
            note,
        },
    )
}

fn node() -> impl Strategy<Value = MemoryNode> {
    let kind = prop_oneof![Just(ContentKind::Note), Just(ContentKind::Claim)];
    let time = || option::of(any::<i64>());
    let lineage = (text(), node_version())
        .prop_map(|(id, object)| Lineage { id: NodeId::from_stored(id), object });
    (
        (text(), content(), kind, provenance()),
        (time(), time(), time()),
        vec(lineage, 0..3),
        option::of(any::<[u8; 16]>()),
    )
        .prop_map(|((id, content, content_kind, provenance), times, derived_from, salt)| {
            let (event_time, valid_from, valid_to) = times;
            MemoryNode {
                id: NodeId::from_stored(id),
                content,
                content_kind,
                provenance,
                event_time,
                valid_from,
                valid_to,
                derived_from,
                salt,
            }
        })
}

fn leaf() -> impl Strategy<Value = StateNode> {
    btree_map(text().prop_map(NodeId::from_stored), node_version(), 0..20)
        .prop_map(|nodes| StateNode::Leaf(Leaf { nodes }))
}

/// Branches that are canonical as far as one object shows.
fn branch() -> impl Strategy<Value = StateNode> {
    let child = (any::<[u8; 32]>(), 1..1_u64 << 40)
        .prop_map(|(id, count)| Child { id: StateId::from_bytes(id), count });
    (text(), option::of(node_version()), any::<[u8; 2]>(), vec(child, 2..40)).prop_map(
        |(prefix, here, [first, step], children)| {
            let mut bytes = BTreeSet::new();
            let mut next = first;
            while bytes.len() < children.len() && bytes.insert(next) {
                next = next.wrapping_add(step | 1);
            }
            let mut children: BTreeMap<u8, Child> = bytes.into_iter().zip(children).collect();
            if let Some(mut child) = children.first_entry() {
                child.get_mut().count += MAX_LEAF_ENTRIES as u64;
            }
            StateNode::Branch(Branch { prefix: prefix.into_bytes(), here, children })
        },
    )
}

fn commit() -> impl Strategy<Value = Commit> {
    let ids = btree_set(any::<[u8; 32]>().prop_map(CommitId::from_bytes), 0..3);
    (ids, any::<[u8; 32]>(), text(), text(), any::<i64>()).prop_map(
        |(parents, state, message, author, time)| Commit {
            parents: parents.into_iter().rev().collect(),
            state: StateId::from_bytes(state),
            message,
            author,
            time,
        },
    )
}

pub fn object() -> impl Strategy<Value = Object> {
    prop_oneof![
        3 => node().prop_map(Object::Node),
        1 => leaf().prop_map(Object::State),
        1 => branch().prop_map(Object::State),
        1 => commit().prop_map(Object::Commit),
    ]
}
