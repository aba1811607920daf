"""Taking things back: revert, restore, undo, the reflog, unrelated lines."""

from __future__ import annotations

import mnem
import pytest
from mnem import agents


def contents(store):
    return {id: node.content for id, node in store.memory().items()}


def test_revert(store):
    agents.remember(store, "a", 1)
    wrong = agents.remember(store, "a", 2)
    agents.remember(store, "b", 1)
    result = store.revert(wrong, author="eve", time_ms=7)
    assert (result.status, result.ok) == ("reverted", True)
    assert contents(store) == {"a": 1, "b": 1}
    commit = store.log()[0]
    assert (commit.id, commit.author, commit.time) == (result.commit, "eve", 7)
    assert store.revert(wrong).to_dict() == {
        "status": "unchanged",
        "commit": None,
        "conflicts": [],
    }
    agents.remember(store, "a", 3)
    result = store.revert(wrong)
    assert (result.status, result.conflicts[0].kind) == ("conflicts", "edit/edit")
    assert store.revert(wrong, resolutions={"a": "base"}, message="m").status == "reverted"
    assert contents(store) == {"a": 2, "b": 1}
    with pytest.raises(mnem.InvalidRefError):
        store.revert("nope")
    with pytest.raises(ValueError, match="strategy"):
        store.revert(wrong, strategy="x")


def test_restore(store):
    first = agents.remember(store, "a", 1)
    agents.forget(store, "a")
    agent = store.on("agent")
    commit = agent.restore("a", first, author="eve")
    assert (agent.head_commit(), contents(agent)) == (commit, {"a": 1})
    assert agent.log()[0].message == f"restore a from {first}"
    assert agent.restore("a", first) == commit
    assert contents(store) == {}
    with pytest.raises(mnem.NotFoundError):
        store.restore("b", first)


def test_undo_and_reflog(store):
    first = agents.remember(store, "a", 1, author="ada")
    second = agents.remember(store, "a", 2, author="bob")
    result = store.undo(author="eve")
    assert (result.status, result.commit, result.ok) == ("moved-back", first, True)
    assert result.undone == store.reflog(limit=2)[1]
    assert store.undo(author="eve").commit == second
    agents.remember(store, "b", 1, author="ada")
    result = store.undo(by="bob", author="eve")
    assert (result.status, result.undone.author) == ("reverted", "bob")
    assert contents(store) == {"a": 1, "b": 1}
    moves = [(move.operation, move.author) for move in store.reflog()]
    assert moves == [
        ("undo", "eve"),
        ("write", "ada"),
        ("undo", "eve"),
        ("undo", "eve"),
        ("write", "bob"),
        ("write", "ada"),
    ]
    assert result.to_dict()["undone"]["new"] == second
    agents.remember(store, "a", 9)
    assert store.undo(by="bob").status == "conflicts"
    with pytest.raises(mnem.InvalidRefError):
        store.undo(by="nobody")
    with pytest.raises(mnem.InvalidRefError):
        store.reflog("nowhere")


def test_undo_of_the_first_commit(store):
    first = agents.remember(store, "a", 1)
    assert store.undo().commit is None
    assert (store.head_commit(), contents(store)) == (None, {})
    assert store.undo().commit == first


def test_lines_that_share_nothing(store):
    agents.remember(store, "a", 1)
    store.new_branch("other")
    store.undo()
    agents.remember(store, "b", 1)
    with pytest.raises(mnem.InvalidRefError):
        store.merge("other")
    assert store.merge("other", allow_unrelated=True).status == "merged"
    assert contents(store) == {"a": 1, "b": 1}
