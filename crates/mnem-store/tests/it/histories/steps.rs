//! The steps of a history, and how they are drawn.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::NODES;
use crate::model::Value;

/// Nodes, each with its new value, or with none to be removed.
pub type Edits = Vec<(u8, Option<Value>)>;

/// One step; numbers are places in lists that may have grown or not, so that every part of a
/// failing history can be left out.
///
/// `on` is the branch of a bound handle: up to 3 of a fresh one, from 4 on of one that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Write(Write),
    Update { on: Option<u8>, node: u8, skip: bool },
    ImportJson { on: Option<u8>, edits: Edits, source: u8 },
    Local { owner: u8, key: u8, value: Option<u8> },
    Stage(u8, Value),
    Remove(u8),
    Unstage(u8),
    Commit { empty: bool },
    Branch { name: u8, start: Option<u8> },
    Delete(u8),
    Checkout { branch: u8, discard: bool },
    Detach { commit: u8, discard: bool },
    CheckoutNew { name: u8, start: Option<u8>, discard: bool },
    Merge(Merge),
    Revert { on: Option<u8>, commit: u8, answers: Vec<Answer>, strategy: Option<bool> },
    Restore { on: Option<u8>, node: u8, commit: u8 },
    Undo { on: Option<u8>, by: Option<bool>, answers: Vec<Answer>, strategy: Option<bool> },
    Reopen { all: bool },
    Carry,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Write {
    pub on: Option<u8>,
    pub edits: Edits,
    pub empty: bool,
    pub time: Option<i64>,
    pub base: Option<u8>,
    pub local: bool,
}

/// `theirs` is a branch up to 3, and from 4 on a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merge {
    pub on: Option<u8>,
    pub theirs: u8,
    pub answers: Vec<Answer>,
    pub strategy: Option<bool>,
    pub stray: bool,
    pub unrelated: bool,
    /// What a resolver goes by, where there is one.
    pub resolver: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    None,
    Ours,
    Theirs,
    Base,
    Delete,
    Set(Value),
}

fn value() -> impl Strategy<Value = Value> {
    (0..3_u8, 0..2_u8)
}

/// Few nodes most of the time, so that branches meet in them.
fn contested() -> impl Strategy<Value = u8> {
    prop_oneof![4 => 0..5_u8, 1 => 0..NODES]
}

fn answers() -> impl Strategy<Value = Vec<Answer>> {
    let answer = prop_oneof![
        Just(Answer::None),
        Just(Answer::Ours),
        Just(Answer::Theirs),
        Just(Answer::Base),
        Just(Answer::Delete),
        value().prop_map(Answer::Set),
    ];
    vec(answer, 1..5)
}

fn write() -> impl Strategy<Value = Step> {
    let edits = prop_oneof![
        6 => btree_map(contested(), option::weighted(0.75, value()), 1..4),
        1 => btree_map(0..NODES, option::weighted(0.8, value()), 8..NODES as usize),
    ];
    let flag = |chance| prop::bool::weighted(chance);
    let time = option::weighted(0.3, 0..3_i64);
    let base = option::weighted(0.15, any::<u8>());
    (on(), edits, flag(0.1), time, base, flag(0.15)).prop_map(
        |(on, edits, empty, time, base, local)| {
            let edits = edits.into_iter().collect();
            Step::Write(Write { on, edits, empty, time, base, local })
        },
    )
}

fn on() -> impl Strategy<Value = Option<u8>> {
    option::weighted(0.75, 0..8_u8)
}

fn merge() -> impl Strategy<Value = Step> {
    // Mostly a branch: most commits are behind every branch soon.
    let theirs = prop_oneof![4 => 0..4_u8, 1 => 4..=u8::MAX];
    let strategy = option::weighted(0.3, any::<bool>());
    let flag = |chance| prop::bool::weighted(chance);
    let resolver = option::weighted(0.25, any::<u8>());
    (on(), theirs, answers(), strategy, flag(0.05), flag(0.3), resolver).prop_map(
        |(on, theirs, answers, strategy, stray, unrelated, resolver)| {
            // Mostly a resolver is what answers.
            let is_asked = resolver.is_some_and(|number| number % 4 > 0);
            let answers = if is_asked { vec![Answer::None] } else { answers };
            Step::Merge(Merge { on, theirs, answers, strategy, stray, unrelated, resolver })
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let strategy = || option::weighted(0.3, any::<bool>());
    let revert = (on(), any::<u8>(), answers(), strategy())
        .prop_map(|(on, commit, answers, strategy)| Step::Revert { on, commit, answers, strategy });
    let undo = (on(), option::weighted(0.4, any::<bool>()), answers(), strategy())
        .prop_map(|(on, by, answers, strategy)| Step::Undo { on, by, answers, strategy });
    let restore = (on(), contested(), any::<u8>()).prop_map(|(on, node, commit)| Step::Restore {
        on,
        node,
        commit,
    });
    let import = (on(), btree_map(contested(), 0..3_u8, 0..4), 0..2_u8).prop_map(
        |(on, contents, source)| {
            let edits = contents.into_iter().map(|(node, value)| (node, Some((value, source))));
            Step::ImportJson { on, edits: edits.collect(), source }
        },
    );
    let local = (0..2_u8, 0..3_u8, option::weighted(0.7, any::<u8>()))
        .prop_map(|(owner, key, value)| Step::Local { owner, key, value });
    prop_oneof![
        14 => write(),
        2 => (on(), contested(), prop::bool::weighted(0.2))
            .prop_map(|(on, node, skip)| Step::Update { on, node, skip }),
        1 => import,
        1 => local,
        3 => (contested(), value()).prop_map(|(node, value)| Step::Stage(node, value)),
        3 => contested().prop_map(Step::Remove),
        1 => contested().prop_map(Step::Unstage),
        3 => prop::bool::weighted(0.1).prop_map(|empty| Step::Commit { empty }),
        2 => (0..4_u8, option::of(any::<u8>()))
            .prop_map(|(name, start)| Step::Branch { name, start }),
        1 => (0..4_u8).prop_map(Step::Delete),
        2 => (0..4_u8, any::<bool>())
            .prop_map(|(branch, discard)| Step::Checkout { branch, discard }),
        1 => (any::<u8>(), any::<bool>())
            .prop_map(|(commit, discard)| Step::Detach { commit, discard }),
        1 => (0..4_u8, option::of(any::<u8>()), any::<bool>())
            .prop_map(|(name, start, discard)| Step::CheckoutNew { name, start, discard }),
        14 => merge(),
        4 => revert,
        3 => restore,
        5 => undo,
        1 => any::<bool>().prop_map(|all| Step::Reopen { all }),
        1 => Just(Step::Carry),
    ]
}

/// Steps, most often after some that give every branch a base and something of its own; the base
/// is small, or large enough for a tree; or after two merges that cross, so that what the two last
/// agreed on is in two places; or after some that begin the default branch a second time, so that it
/// shares nothing with the others.
pub fn history(longest: usize) -> impl Strategy<Value = Vec<Step>> {
    let write = |on, value: u8, nodes: std::ops::Range<u8>| {
        let edits = nodes.map(|node| (node, Some((value, 0)))).collect();
        Step::Write(Write { on, edits, ..Write::default() })
    };
    let base =
        move |size| vec![write(None, 0, 0..size), write(Some(1), 1, 2..5), write(Some(2), 2, 1..3)];
    let unrelated = move || {
        let undo = Step::Undo { on: None, by: None, answers: vec![Answer::None], strategy: None };
        vec![write(None, 0, 0..5), write(Some(1), 1, 2..4), undo, write(None, 2, 1..3)]
    };
    let crossed = move || {
        let merge = |on, theirs, answer| {
            Step::Merge(Merge { on: Some(on), theirs, answers: vec![answer], ..Merge::default() })
        };
        // The second takes in what was on the other branch before the first: commit 1.
        let crossing = [merge(1, 2, Answer::Ours), merge(2, 4 + 1, Answer::Theirs)];
        base(4).into_iter().chain(crossing).collect::<Vec<_>>()
    };
    let beginning = prop_oneof![
        2 => Just(Vec::new()),
        4 => Just(base(4)),
        4 => Just(base(NODES)),
        3 => Just(crossed()),
        1 => Just(unrelated()),
    ];
    (beginning, vec(step(), 1..longest))
        .prop_map(|(beginning, steps)| beginning.into_iter().chain(steps).collect())
}
