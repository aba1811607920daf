"""Reading: prefixes and limits, log, blame, diff, bisect, flips, merges."""

from __future__ import annotations

import mnem
import pytest
from mnem import agents


def test_prefixes_and_limits(store):
    agents.remember_many(store, [{"id": id, "content": 1} for id in ("a", "b:1", "b:2", "b:3")])
    first = store.head_commit()
    store.add("b:0", 1)
    store.rm("b:1")
    assert list(store.memory(prefix="b:", limit=2)) == ["b:1", "b:2"]
    assert list(store.working_memory(prefix="b:", limit=2)) == ["b:0", "b:2"]
    assert list(store.state_at(first, prefix="b:", limit=1)) == ["b:1"]
    assert list(agents.recall(store, prefix="b:", limit=2)) == ["b:1", "b:2"]
    assert list(agents.recall(store, at="main", prefix="a")) == ["a"]
    assert store.memory(limit=0) == store.memory(prefix="z") == {}
    assert list(store.memory(after="b:1")) == ["b:2", "b:3"]
    assert list(store.memory(prefix="b:", after="a", limit=1)) == ["b:1"]
    assert list(store.working_memory(after="b:0", limit=1)) == ["b:2"]
    assert list(store.working_memory(prefix="b:", after="a")) == ["b:0", "b:2", "b:3"]
    assert list(store.state_at(first, prefix="b:", after="b:1", limit=1)) == ["b:2"]
    assert list(agents.recall(store, after="b:2")) == ["b:3"]
    assert list(agents.recall(store, at="main", after="b", limit=1)) == ["b:1"]
    assert store.ids() == ["a", "b:1", "b:2", "b:3"]
    assert store.ids(prefix="b:", after="b:1", limit=1) == store.ids(at=first, after="b:1", limit=1)
    assert store.ids(prefix="b:", after="b:1", limit=1) == ["b:2"]
    store.write({"a": None}, message="forget")
    assert (store.ids(at=first, limit=1), store.ids(limit=1)) == (["a"], ["b:1"])
    with pytest.raises(mnem.InvalidRefError):
        store.ids(at="nowhere")
    store.write({"a": 1}, message="learn again")
    assert store.memory(after="b:3") == store.memory(prefix="a", after="b") == {}
    assert store.exists("a")
    assert not store.exists("b")
    assert agents.recall(store, "b", at="main") is None
    assert agents.recall(store, "b:1", at="main").id == "b:1"


def test_history(store):
    commits = [agents.remember(store, "n", n, time_ms=10 - n) for n in range(5)]
    commits.append(agents.forget(store, "n"))
    assert [commit.id for commit in store.log()] == commits[::-1]
    assert [commit.id for commit in store.log(first_parent=True, limit=2)] == commits[:-3:-1]
    assert store.log(limit=0) == []
    assert [commit.id for commit in store.log(at="HEAD~3")] == commits[2::-1]
    assert [commit.id for commit in store.log(at=commits[1], limit=1)] == commits[1:2]
    side = agents.remember(store.on("side"), "other", 1)
    assert [commit.id for commit in store.log(at="side", limit=2)] == [side, commits[-1]]
    with pytest.raises(mnem.InvalidRefError):
        store.log(at="no such revision")
    assert store.resolve("HEAD~5") == store.resolve(commits[0][:12]) == commits[0]
    blame = store.blame("n")
    assert (blame.commit, blame.removed, blame.node.content) == (commits[-1], True, 4)
    assert store.blame("n", commits[2]).commit == commits[2]
    assert [change.kind for change in store.diff(commits[0], commits[-1])] == ["removed"]
    changes = store.diff(commits[0], commits[1])
    assert [(change.old.content, change.new.content) for change in changes] == [(0, 1)]
    store.add("draft", 1)
    assert [(c.id, c.kind) for c in store.diff()] == [("draft", "added")]
    assert [(c.id, c.kind) for c in store.diff(commits[0])] == [
        ("draft", "added"),
        ("n", "removed"),
    ]


def test_bisect_answers_from_the_root(store):
    commits = [agents.remember(store, "n", n) for n in range(5)]
    assert store.bisect(lambda _: True) == commits[0]
    assert store.bisect(lambda memory: memory["n"].content >= 3, good=commits[1]) == commits[3]


def test_every_flip(store):
    wrong = [agents.remember(store, "n", value) for value in (1, 2, 1, 3)]
    wrong.append(agents.forget(store, "n"))
    flips = store.flips("n", equals=1)
    assert [(flip.commit, flip.holds) for flip in flips] == [
        (wrong[0], True),
        (wrong[1], False),
        (wrong[2], True),
        (wrong[3], False),
    ]
    assert flips[0].node.content == 1
    assert store.flips("n", equals=1.0) == store.flips("n", equals=True) == []
    assert [flip.commit for flip in store.flips("n", present=True)] == [wrong[0], wrong[4]]
    assert [flip.commit for flip in store.flips("n", absent=True, good=wrong[0])] == [wrong[4]]
    assert [flip.commit for flip in store.flips("n", equals=1, bad=wrong[1])] == wrong[:2]
    agents.remember(store, "n", None)
    assert [flip.holds for flip in store.flips("n", equals=None)] == [True]


def test_verify(store):
    agents.remember(store, "a", 1)
    verified = store.verify()
    assert verified.ok
    assert verified.to_dict() == {
        "nodes": 1,
        "states": 1,
        "commits": 1,
        "branches": 1,
        "problems": [],
    }


def test_fsck(store):
    agents.remember(store, "a", 1)
    found = store.fsck()
    assert found.ok
    assert found.to_dict() == {
        "nodes": 1,
        "states": 1,
        "commits": 1,
        "records": 1,
        "branches": 1,
        "findings": [],
    }


def test_merges(store):
    agents.remember_many(store, [{"id": id, "content": 0} for id in "abcde"])
    other = store.on("other")
    for id in "abcd":
        agents.remember(store, id, "ours", source="us")
        agents.remember(other, id, "theirs", source="them", event_time=7)
    assert store.merge("main").status == "up-to-date"
    result = store.merge("other", strategy=None)
    assert (result.status, result.commit, result.ok) == ("conflicts", None, False)
    conflict = result.conflicts[0]
    assert (conflict.id, conflict.kind, conflict.base.content) == ("a", "edit/edit", 0)
    assert (conflict.ours.content, conflict.theirs.content) == ("ours", "theirs")
    chosen = mnem.MemoryNode("a", "both", "claim", mnem.Provenance(note="we talked"), 3)
    result = store.merge(
        "other",
        resolutions={"a": chosen, "b": "base", "c": "delete"},
        strategy="theirs",
        message="join",
        author="me",
        time_ms=11,
    )
    assert (result.status, result.ok) == ("merged", True)
    assert store.get("a") == chosen
    assert [store.get(id) and store.get(id).content for id in "bcd"] == [0, None, "theirs"]
    commit = store.log()[0]
    assert (commit.id, commit.message, commit.author, commit.time) == (
        result.commit,
        "join",
        "me",
        11,
    )
    assert len(commit.parents) == 2
    assert store.blame("d").provenance.source == "them"
