//! Merge, case by case: every (base, ours, theirs) of one id, and every way to answer a conflict.

use std::cell::Cell;

use mnem_store::ops::{
    Changes, Conflict, ConflictKind, MergeOptions, MergeOutcome, Resolution, Resolver, Strategy,
    Verdict,
};
use mnem_store::{
    BranchName, CommitId, Content, Error, ErrorKind, InitOptions, MemoryNode, NodeVersionId, Store,
};

use crate::model::{Joined, Value, join};
use crate::support::{environment, id, in_memory, meta, note, put};

const SIDE: &str = "side";

fn side(store: &Store) -> Store {
    store.on(&BranchName::new(SIDE).unwrap(), "tester").unwrap()
}

fn set(store: &Store, value: Option<&str>) {
    let change = value.map(|value| note("x", value));
    store.write(Changes::from([(id("x"), change)]), &meta("x")).unwrap();
}

/// A store whose main has `ours` and whose side has `theirs`, both over `base`; each line has a
/// commit of its own in any case.
fn forked(base: Option<&str>, ours: Option<&str>, theirs: Option<&str>) -> (Store, Store) {
    let store = in_memory();
    put(&store, "root", "r");
    set(&store, base);
    let side = side(&store);
    set(&store, ours);
    put(&store, "ours", "o");
    set(&side, theirs);
    put(&side, "theirs", "t");
    (store, side)
}

fn text(store: &Store, name: &str) -> Option<String> {
    let node = store.snapshot().unwrap().get(&id(name)).unwrap()?;
    Some(node.content.as_text().unwrap().to_owned())
}

fn version(store: &Store, name: &str) -> NodeVersionId {
    store.snapshot().unwrap().version(&id(name)).unwrap().unwrap()
}

#[track_caller]
fn merged(outcome: Result<MergeOutcome, Error>) -> CommitId {
    match outcome.unwrap() {
        MergeOutcome::Merged(commit) => commit,
        outcome => panic!("{outcome:?}"),
    }
}

#[track_caller]
fn conflicts(outcome: Result<MergeOutcome, Error>) -> Vec<Conflict> {
    match outcome.unwrap() {
        MergeOutcome::Conflicts(conflicts) => conflicts,
        outcome => panic!("{outcome:?}"),
    }
}

fn answer(resolution: Resolution) -> MergeOptions {
    MergeOptions { resolutions: [(id("x"), resolution)].into(), ..MergeOptions::default() }
}

/// Everything a refused or conflicting merge must leave as it was.
fn everything(store: &Store) -> impl PartialEq + std::fmt::Debug {
    let verified = store.verify(|_| ()).unwrap();
    (store.branches().unwrap(), store.head().unwrap(), store.staged().unwrap(), verified)
}

#[test]
fn all_64_cases_both_ways() {
    let values = [None, Some("a"), Some("b"), Some("c")];
    let plain =
        |value: Option<&str>| -> Option<Value> { value.map(|text| (text.as_bytes()[0], 0)) };
    let mut seen = 0;
    for base in values {
        for ours in values {
            for theirs in values {
                let case = format!("{base:?} {ours:?} {theirs:?}");
                let (store, side) = forked(base, ours, theirs);
                let before = everything(&store);
                let there = store.merge(SIDE, &MergeOptions::default());
                match join(plain(base), plain(ours), plain(theirs)) {
                    Joined::Take(value) => {
                        merged(there);
                        let (back, back_side) = forked(base, theirs, ours);
                        merged(back_side.merge("main", &MergeOptions::default()));
                        for store in [&store, &back_side] {
                            let found = text(store, "x").map(|text| (text.as_bytes()[0], 0));
                            assert_eq!(found, value, "{case}");
                            assert_eq!(
                                store.snapshot().unwrap().count().unwrap(),
                                3 + u64::from(value.is_some())
                            );
                        }
                        drop(back);
                    }
                    Joined::Conflict(kind) => {
                        let found = conflicts(there);
                        assert_eq!(found.len(), 1, "{case}");
                        assert_eq!(found[0].kind, kind, "{case}");
                        let texts = [&found[0].base, &found[0].ours, &found[0].theirs]
                            .map(|node| node.as_ref().and_then(|node| node.content.as_text()));
                        assert_eq!(texts, [base, ours, theirs], "{case}");
                        assert_eq!(everything(&store), before, "{case}");
                        let back = conflicts(side.merge("main", &MergeOptions::default()));
                        let mirrored = match kind {
                            ConflictKind::DeleteEdit => ConflictKind::EditDelete,
                            ConflictKind::EditDelete => ConflictKind::DeleteEdit,
                            kind => kind,
                        };
                        assert_eq!(back[0].kind, mirrored, "{case}");
                    }
                }
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 64);
}

/// One of each kind of conflict.
const KINDS: [(ConflictKind, [Option<&str>; 3]); 4] = [
    (ConflictKind::EditEdit, [Some("a"), Some("b"), Some("c")]),
    (ConflictKind::DeleteEdit, [Some("a"), None, Some("c")]),
    (ConflictKind::EditDelete, [Some("a"), Some("b"), None]),
    (ConflictKind::AddAdd, [None, Some("b"), Some("c")]),
];

#[test]
fn each_kind_takes_each_answer() {
    for (kind, [base, ours, theirs]) in KINDS {
        let set = Resolution::Set(Box::new(note("x", "d")));
        for (resolution, expected) in [
            (Resolution::Ours, ours),
            (Resolution::Theirs, theirs),
            (Resolution::Base, base),
            (Resolution::Delete, None),
            (set, Some("d")),
        ] {
            let (store, _) = forked(base, ours, theirs);
            let tips = store.branches().unwrap();
            let before = everything(&store);
            let outcome = store.merge(SIDE, &answer(resolution.clone()));
            if resolution == Resolution::Base && kind == ConflictKind::AddAdd {
                let error = outcome.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidRef);
                assert_eq!(
                    error.to_string(),
                    "\"x\" has no base to go back to: both sides added it"
                );
                assert_eq!(everything(&store), before);
                continue;
            }
            let commit = store.commit_object(merged(outcome)).unwrap();
            assert_eq!(text(&store, "x").as_deref(), expected, "{kind:?} {resolution:?}");
            let tips: Vec<_> = ["main", SIDE].map(|b| tips[&BranchName::new(b).unwrap()]).into();
            assert_eq!(commit.parents, tips, "two parents, ours first");
            assert_eq!(commit.message, "merge side into main");
        }
    }
}

#[test]
fn a_strategy_answers_what_nothing_else_does() {
    for (_, [base, ours, theirs]) in KINDS {
        for (strategy, expected) in [(Strategy::Ours, ours), (Strategy::Theirs, theirs)] {
            let (store, _) = forked(base, ours, theirs);
            let options = MergeOptions { strategy: Some(strategy), ..MergeOptions::default() };
            merged(store.merge(SIDE, &options));
            assert_eq!(text(&store, "x").as_deref(), expected);

            let (store, _) = forked(base, ours, theirs);
            let options = MergeOptions { strategy: Some(strategy), ..answer(Resolution::Delete) };
            merged(store.merge(SIDE, &options));
            assert_eq!(text(&store, "x"), None, "an explicit answer comes first");
        }
    }
}

#[test]
fn what_is_no_answer_is_refused_and_nothing_written() {
    let conflict = || forked(Some("a"), Some("b"), Some("c")).0;
    let clean = || forked(Some("a"), Some("a"), Some("c")).0;
    let forward = || {
        let store = in_memory();
        put(&store, "root", "r");
        let side = side(&store);
        put(&side, "theirs", "t");
        store
    };
    let behind = || {
        let store = in_memory();
        put(&store, "root", "r");
        side(&store);
        put(&store, "ours", "o");
        store
    };
    let other = answer(Resolution::Set(Box::new(note("y", "d"))));
    let stray = MergeOptions {
        resolutions: [(id("x"), Resolution::Ours), (id("root"), Resolution::Ours)].into(),
        ..MergeOptions::default()
    };
    let mut broken = note("x", "d");
    broken.content = (0..200).fold(Content::Null, |inner, _| Content::Array(vec![inner]));
    let deep = answer(Resolution::Set(Box::new(broken)));
    let ours = || answer(Resolution::Ours);
    let none = "resolution given for \"x\", which is not a conflict";
    for (store, options, message) in [
        (conflict(), other, "the resolution of \"x\" is a node with the id \"y\""),
        (conflict(), stray, "resolution given for \"root\", which is not a conflict"),
        (conflict(), deep, "nested more than 128"),
        (clean(), ours(), none),
        (forward(), ours(), none),
        (behind(), ours(), none),
    ] {
        let before = everything(&store);
        let error = store.merge(SIDE, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRef);
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(everything(&store), before, "{message}");
    }
}

#[test]
fn a_node_given_as_the_answer_keeps_where_it_came_from() {
    let (store, _) = forked(Some("a"), Some("b"), Some("c"));
    let mut node = note("x", "d");
    node.provenance.observation = Some("both were wrong".into());
    node.event_time = Some(-5);
    merged(store.merge(SIDE, &answer(Resolution::Set(Box::new(node.clone())))));
    let stored = store.snapshot().unwrap().get(&id("x")).unwrap().unwrap();
    assert!(stored.same(&node), "{stored:?}");
    assert!(stored.salt.is_some());
}

#[test]
fn an_answer_that_a_side_says_already_is_that_side() {
    let (store, side) = forked(Some("a"), Some("b"), Some("c"));
    let theirs = version(&side, "x");
    merged(store.merge(SIDE, &answer(Resolution::Set(Box::new(note("x", "c"))))));
    assert_eq!(version(&store, "x"), theirs);
}

#[test]
fn twins_that_differ_in_salt_are_no_conflict() {
    // Both added the same: the smaller id, whichever side asks.
    let (store, side) = forked(None, Some("a"), Some("a"));
    let (ours, theirs) = (version(&store, "x"), version(&side, "x"));
    assert_ne!(ours, theirs, "salts differ");
    let main = store.head_commit().unwrap().unwrap().to_string();
    merged(store.merge(SIDE, &MergeOptions::default()));
    assert_eq!(version(&store, "x"), ours.min(theirs));
    merged(side.merge(&main, &MergeOptions::default()));
    assert_eq!(version(&side, "x"), ours.min(theirs));

    // Removed and written again as it was: an id that differs from the base's is no edit.
    let (store, side) = forked(Some("a"), Some("a"), Some("a"));
    let base = version(&store, "x");
    set(&side, None);
    set(&side, Some("a"));
    assert_ne!(version(&side, "x"), base);
    merged(store.merge(SIDE, &MergeOptions::default()));
    assert_eq!(version(&store, "x"), base);

    // Theirs only in salt, ours for good: ours wins without a conflict.
    let (store, side) = forked(Some("a"), Some("b"), Some("a"));
    set(&side, None);
    set(&side, Some("a"));
    merged(store.merge(SIDE, &MergeOptions::default()));
    assert_eq!(text(&store, "x").as_deref(), Some("b"));
}

/// Says the same of every conflict, and counts how often it was asked.
struct Says(Verdict, Cell<u32>);

impl Resolver for Says {
    fn resolve(&self, _: &Store, conflict: &Conflict) -> Result<Verdict, Error> {
        assert_eq!(conflict.id, id("x"));
        self.1.set(self.1.get() + 1);
        Ok(self.0.clone())
    }
}

#[test]
fn the_resolver_stands_between_the_answer_and_the_strategy() {
    let delete = || Verdict::Resolved(Resolution::Delete);
    let contradiction = || Verdict::Contradiction("they cannot both hold".into());
    let strategy = |options| MergeOptions { strategy: Some(Strategy::Theirs), ..options };
    let nothing = MergeOptions::default;
    for (verdict, options, expected, asked) in [
        (delete(), nothing(), Some(None), 1),
        (delete(), strategy(nothing()), Some(None), 1),
        (delete(), answer(Resolution::Ours), Some(Some("b")), 0),
        (contradiction(), nothing(), None, 1),
        (contradiction(), strategy(nothing()), None, 1),
        (contradiction(), answer(Resolution::Ours), Some(Some("b")), 0),
        (Verdict::Unresolved, strategy(nothing()), Some(Some("c")), 1),
        (Verdict::Unresolved, nothing(), None, 1),
    ] {
        let (store, _) = forked(Some("a"), Some("b"), Some("c"));
        let before = everything(&store);
        let reason = match &verdict {
            Verdict::Contradiction(why) => Some(why.clone()),
            _ => None,
        };
        let resolver = Says(verdict, Cell::new(0));
        let outcome = store.merge_with(SIDE, &resolver, &options);
        assert_eq!(resolver.1.get(), asked);
        if let Some(expected) = expected {
            merged(outcome);
            assert_eq!(text(&store, "x").as_deref(), expected);
        } else {
            let open = conflicts(outcome);
            assert_eq!(open.len(), 1);
            assert_eq!(open[0].contradiction, reason);
            assert_eq!(everything(&store), before);
        }
    }
}

/// Writes to the branch under the merge, once.
struct Meddles<'s>(&'s Store, Cell<Option<(&'static str, &'static str)>>);

impl Resolver for Meddles<'_> {
    fn resolve(&self, _: &Store, _: &Conflict) -> Result<Verdict, Error> {
        if let Some((name, value)) = self.1.take() {
            put(self.0, name, value);
        }
        Ok(Verdict::Resolved(Resolution::Theirs))
    }
}

#[test]
fn a_merge_under_which_the_branch_moves_is_made_anew() {
    let (store, _) = forked(Some("a"), Some("b"), Some("c"));
    let meddler = Meddles(&store, Cell::new(Some(("late", "l"))));
    merged(store.merge_with(SIDE, &meddler, &MergeOptions::default()));
    assert_eq!(text(&store, "late").as_deref(), Some("l"), "the other write is kept");
    assert_eq!(text(&store, "x").as_deref(), Some("c"));
}

#[test]
fn answers_are_not_put_on_conflicts_that_their_giver_has_not_seen() {
    let fork = || {
        let (store, side) = forked(Some("a"), Some("b"), Some("c"));
        put(&store, "y", "b");
        put(&side, "y", "c");
        store
    };
    // The conflict of y is left to the resolver, which changes x meanwhile.
    let store = fork();
    let meddler = Meddles(&store, Cell::new(Some(("x", "late"))));
    let found = conflicts(store.merge_with(SIDE, &meddler, &answer(Resolution::Theirs)));
    let shown: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["x (edit/edit)", "y (add/add)"]);
    assert_eq!(text(&store, "x").as_deref(), Some("late"));

    // The same where the conflict went away.
    let store = fork();
    let meddler = Meddles(&store, Cell::new(Some(("x", "c"))));
    let found = conflicts(store.merge_with(SIDE, &meddler, &answer(Resolution::Ours)));
    assert_eq!(found.len(), 1);
}

#[test]
fn a_merge_lands_on_the_branch_it_began_on() {
    struct Leaves<'s>(&'s Store);
    impl Resolver for Leaves<'_> {
        fn resolve(&self, _: &Store, _: &Conflict) -> Result<Verdict, Error> {
            let main = self.0.on(&BranchName::new("main").unwrap(), "tester")?;
            if self.0.head()?.render() == "ref: main" {
                self.0.checkout("other", false)?;
                put(&main, "late", "l");
            }
            Ok(Verdict::Resolved(Resolution::Theirs))
        }
    }
    let (store, _) = forked(Some("a"), Some("b"), Some("c"));
    let other = store.create_branch(&BranchName::new("other").unwrap(), None, "t").unwrap();
    let commit = merged(store.merge_with(SIDE, &Leaves(&store), &MergeOptions::default()));
    assert_eq!(store.resolve("main").unwrap(), commit);
    assert_eq!(store.resolve("other").unwrap(), other);
}

#[test]
fn lines_without_a_common_commit_merge_on_request_only() {
    let store = Store::in_memory(&InitOptions::default(), environment()).unwrap();
    store.checkout_new(&BranchName::new("other").unwrap(), None, false, "t").unwrap();
    let main = store.on(&BranchName::new("main").unwrap(), "t").unwrap();
    put(&main, "x", "b");
    put(&main, "main", "m");
    put(&store, "x", "a");
    put(&store, "other", "o");
    let error = main.merge("other", &MergeOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRef);
    assert_eq!(error.to_string(), "cannot merge other: it shares no commit with main");

    let options = MergeOptions { allow_unrelated: true, ..MergeOptions::default() };
    let found = conflicts(main.merge("other", &options));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "x (add/add)");
    assert_eq!(found[0].base, None);
    let commit = merged(
        main.merge("other", &MergeOptions { allow_unrelated: true, ..answer(Resolution::Theirs) }),
    );
    assert_eq!(text(&main, "x").unwrap(), "a");
    assert_eq!(main.snapshot().unwrap().count().unwrap(), 3);
    // Now they are related.
    assert_eq!(
        store.merge("main", &MergeOptions::default()).unwrap(),
        MergeOutcome::FastForwarded(commit)
    );
}

#[test]
fn into_a_branch_without_a_commit_a_merge_moves_forward() {
    let store = in_memory();
    let agent = store.on(&BranchName::new("agent").unwrap(), "t").unwrap();
    let commit = put(&agent, "x", "a");
    assert_eq!(
        store.merge("agent", &MergeOptions::default()).unwrap(),
        MergeOutcome::FastForwarded(commit)
    );
    assert_eq!(store.head_commit().unwrap(), Some(commit));
    assert_eq!(store.merge("agent", &MergeOptions::default()).unwrap(), MergeOutcome::UpToDate);
}

#[test]
fn provenance_alone_is_an_edit() {
    let (store, side) = forked(Some("a"), Some("a"), Some("a"));
    let with = |source: &str| {
        let mut node: MemoryNode = note("x", "a");
        node.provenance.source = Some(source.into());
        Changes::from([(id("x"), Some(node))])
    };
    store.write(with("one"), &meta("one")).unwrap();
    side.write(with("two"), &meta("two")).unwrap();
    assert_eq!(
        conflicts(store.merge(SIDE, &MergeOptions::default()))[0].kind,
        ConflictKind::EditEdit
    );
}

#[test]
fn a_plan_is_what_the_merge_comes_to_and_writes_nothing() {
    let time = MergeOptions { time: Some(7), author: "tester".into(), ..MergeOptions::default() };
    let ours = MergeOptions { strategy: Some(Strategy::Ours), ..time.clone() };
    let stray = MergeOptions { resolutions: [(id("y"), Resolution::Ours)].into(), ..time.clone() };
    let values = [None, Some("a"), Some("b"), Some("c")];
    for base in values {
        for (mine, other) in values.into_iter().flat_map(|a| values.map(|b| (a, b))) {
            for options in [&time, &ours, &stray] {
                let (store, _) = forked(base, mine, other);
                let before = (store.branches().unwrap(), store.verify(|_| ()).unwrap());
                let planned = store.plan_merge(SIDE, options);
                let after = (store.branches().unwrap(), store.verify(|_| ()).unwrap());
                assert_eq!(after, before);
                let merged = store.merge(SIDE, options);
                assert_eq!(planned.map_err(|e| e.to_string()), merged.map_err(|e| e.to_string()));
            }
        }
    }
    let (store, side) = forked(Some("a"), Some("a"), Some("b"));
    assert_eq!(store.plan_merge("main", &time).unwrap(), MergeOutcome::UpToDate);
    let tip = store.head_commit().unwrap().unwrap();
    store.create_branch(&BranchName::new("early").unwrap(), Some("main~1"), "t").unwrap();
    let early = store.on(&BranchName::new("early").unwrap(), "t").unwrap();
    assert_eq!(early.plan_merge("main", &time).unwrap(), MergeOutcome::FastForwarded(tip));
    store.stage(note("draft", "x")).unwrap();
    assert!(store.plan_merge(SIDE, &time).unwrap_err().to_string().contains("staged"));
    assert!(matches!(side.plan_merge("main", &time).unwrap(), MergeOutcome::Merged(_)));
}

/// Such a handle stands where its branch will be made, and a merge loses nothing of that.
#[test]
fn a_merge_into_a_branch_that_is_not_there_yet_begins_where_it_forks() {
    let name = BranchName::new("agent").unwrap();
    let (store, other) = forked(None, Some("a"), Some("a"));
    let agent = store.on(&name, "tester").unwrap();
    put(&other, "theirs", "1");
    put(&store, "ours", "1");
    store.delete_branch(&name, "tester").unwrap();
    let options = MergeOptions::default();
    assert!(matches!(agent.plan_merge(SIDE, &options).unwrap(), MergeOutcome::Merged(_)));
    assert!(matches!(agent.merge(SIDE, &options).unwrap(), MergeOutcome::Merged(_)));
    let memory = agent.snapshot().unwrap();
    assert!(["ours", "theirs"].iter().all(|n| memory.get(&id(n)).unwrap().is_some()));
    assert_eq!(store.branches().unwrap().get(&name).copied(), memory.commit());
}
