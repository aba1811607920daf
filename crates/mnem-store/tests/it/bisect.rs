//! Bisect: when a belief entered, and every time it came and went.

use mnem_store::object::content::{Float, Integer};
use mnem_store::ops::{Changes, MergeOptions, MergeOutcome, NodeTest};
use mnem_store::{BranchName, CommitId, Content, Error, ErrorKind, MemoryNode, Store};

use crate::support::{id, in_memory, meta, put, remove};

fn says(text: &str) -> NodeTest {
    NodeTest::Equals(Content::text(text))
}

fn bisect(
    store: &Store,
    test: &NodeTest,
    good: Option<CommitId>,
) -> Result<Option<CommitId>, Error> {
    let good = good.map(|good| good.to_string());
    Ok(store.bisect_node(&id("x"), test, None, good.as_deref())?.first)
}

fn flips(store: &Store, test: &NodeTest) -> Vec<(CommitId, bool)> {
    let flips = store.flips(&id("x"), test, None, None).unwrap();
    flips.into_iter().map(|flip| (flip.commit, flip.holds)).collect()
}

#[test]
fn a_belief_that_was_wrong_from_the_root_on() {
    let store = in_memory();
    let root = put(&store, "x", "bad");
    put(&store, "y", "1");
    assert_eq!(bisect(&store, &says("bad"), None).unwrap(), Some(root));
    let found: Result<_, Error> = store.bisect(None, None, |memory| {
        Ok(memory.get(&id("x"))?.is_some_and(|node| node.content == Content::text("bad")))
    });
    assert_eq!(found.unwrap(), root);
    // A good that was named must not hold.
    let error = bisect(&store, &says("bad"), Some(root)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRef);
    assert_eq!(
        error.to_string(),
        format!("bisect: the predicate is already true at good ({root})")
    );
    let error = store.bisect::<Error>(None, Some(&root.to_string()), |_| Ok(true)).unwrap_err();
    assert!(error.to_string().contains("already true at good"), "{error}");
}

#[test]
fn every_flip_of_good_bad_good_bad() {
    let store = in_memory();
    put(&store, "y", "1");
    let good = put(&store, "x", "good");
    let first = put(&store, "x", "bad");
    put(&store, "y", "2");
    let fixed = put(&store, "x", "good");
    put(&store, "y", "3");
    let again = put(&store, "x", "bad");
    put(&store, "y", "4");
    assert_eq!(flips(&store, &says("bad")), [(first, true), (fixed, false), (again, true)]);
    assert_eq!(bisect(&store, &says("bad"), None).unwrap(), Some(first));
    assert_eq!(bisect(&store, &says("bad"), Some(fixed)).unwrap(), Some(again));
    let after = store.flips(&id("x"), &says("bad"), None, Some(&first.to_string())).unwrap();
    let after: Vec<_> = after.iter().map(|flip| (flip.commit, flip.holds)).collect();
    assert_eq!(after, [(fixed, false), (again, true)], "from a good that holds");

    let gone = remove(&store, "x");
    assert_eq!(bisect(&store, &NodeTest::Absent, Some(good)).unwrap(), Some(gone));
    assert_eq!(flips(&store, &NodeTest::Present), [(good, true), (gone, false)]);
    let found = store.bisect_node(&id("x"), &NodeTest::Present, None, None).unwrap();
    assert_eq!(found.first, None, "false at bad: the answer is no");
    assert_eq!(found.flips.len(), 2, "with the flips listed");
    assert_eq!(found.flips[0].node.as_ref().unwrap().content, Content::text("good"));
    assert_eq!(found.flips[1].node, None);
}

#[test]
fn absence_may_hold_since_the_root() {
    let store = in_memory();
    let root = put(&store, "y", "1");
    assert_eq!(flips(&store, &NodeTest::Absent), [(root, true)]);
    assert_eq!(flips(&store, &NodeTest::Present), []);
}

#[test]
fn numbers_and_truth_are_different_values() {
    let store = in_memory();
    let values = [
        Content::Integer(Integer::new(1).unwrap()),
        Content::Float(Float::new(1.0).unwrap()),
        Content::Bool(true),
        Content::text("1"),
        Content::Float(Float::new(0.0).unwrap()),
        Content::Float(Float::new(-0.0).unwrap()),
    ];
    let commits: Vec<_> = values
        .iter()
        .map(|value| {
            let node = MemoryNode::note(id("x"), value.clone());
            store.write(Changes::from([(id("x"), Some(node))]), &meta("x")).unwrap()
        })
        .collect();
    for (place, value) in values.iter().enumerate() {
        let mut expected = vec![(commits[place], true)];
        expected.extend(commits.get(place + 1).map(|next| (*next, false)));
        assert_eq!(flips(&store, &NodeTest::Equals(value.clone())), expected, "{value:?}");
    }
}

#[test]
fn false_at_bad_and_an_empty_range() {
    let store = in_memory();
    let root = put(&store, "x", "a");
    let tip = put(&store, "y", "1");
    let error = store.bisect::<Error>(None, None, |_| Ok(false)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRef);
    assert_eq!(error.to_string(), format!("bisect: the predicate is false at bad ({tip})"));
    let same = Some(tip.to_string());
    let error = store.bisect::<Error>(None, same.as_deref(), |_| Ok(true)).unwrap_err();
    assert_eq!(error.to_string(), format!("bisect: good and bad are the same commit ({tip})"));
    let error = store.flips(&id("x"), &says("a"), None, same.as_deref()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRef);

    let side = store.on(&BranchName::new("side").unwrap(), "t").unwrap();
    let off = put(&side, "x", "b");
    let error = store.bisect::<Error>(None, Some(&off.to_string()), |_| Ok(true)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRef);
    assert!(error.to_string().contains("is not among the first parents of bad"), "{error}");
    let error = bisect(&in_memory(), &says("a"), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRef);
    assert_eq!(bisect(&store, &says("b"), Some(root)).unwrap(), None);
}

#[test]
fn only_first_parents_are_asked_and_few_of_them() {
    let store = in_memory();
    put(&store, "y", "0");
    let side = store.on(&BranchName::new("side").unwrap(), "t").unwrap();
    let brought = put(&side, "x", "bad");
    put(&store, "y", "1");
    let MergeOutcome::Merged(merge) = store.merge("side", &MergeOptions::default()).unwrap() else {
        panic!("no merge")
    };
    for number in 0..60 {
        put(&store, "y", &number.to_string());
    }
    let mut asked = Vec::new();
    let found = store.bisect::<Error>(None, None, |memory| {
        asked.extend(memory.commit());
        Ok(memory.get(&id("x"))?.is_some())
    });
    assert_eq!(found.unwrap(), merge, "the merge brought it to this line");
    assert!(!asked.contains(&brought));
    assert!(asked.len() <= 8, "63 commits, asked {}", asked.len());
}

#[test]
fn an_error_of_the_predicate_ends_it() {
    let store = in_memory();
    put(&store, "x", "a");
    let error = store.bisect::<Error>(None, None, |_| Err(Error::conflict("mine"))).unwrap_err();
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Conflict, "mine".into()));
}
