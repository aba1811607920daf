"""The page for those who come from 0.0.7: what it says of Python is so."""

from __future__ import annotations

import re
from pathlib import Path

import mnem
import pytest
from mnem import agents

PAGE = Path(__file__).parents[2] / "docs/guides/from-0.0.7.md"
BLOCKS = re.findall(
    r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
)


def test_the_page_has_blocks():
    assert len(BLOCKS) == 4
    assert all("assert" in block for block in BLOCKS)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_block(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(block, {"mnem": mnem})


# ---- what stays, and is in no signature ----


def test_a_branch_scope_drops_its_drafts(store):
    agents.remember(store, "a", 1)
    with store.branch("b"):
        store.add("draft", 1)
        store.rm("a")
    assert (store.head(), store.staged(), store.staged_deletions()) == ("ref: main", [], [])
    with pytest.raises(ZeroDivisionError), store.branch("c"):
        store.add("draft", 1)
        raise ZeroDivisionError
    assert (store.head(), store.staged()) == ("ref: main", [])


def test_a_branch_scope_that_was_left_keeps_drafts(store):
    agents.remember(store, "a", 1)
    with store.branch("b"):
        store.checkout("main")
        store.add("draft", 1)
    assert (store.head(), [id for id, _ in store.staged()]) == ("ref: main", ["draft"])


def test_a_scope_makes_its_branch_at_once(store):
    agents.remember(store, "a", 1)
    scope = store.branch("b")
    assert [name for name, _ in store.branches()] == ["b", "main"]
    for _ in range(2):
        with scope:
            assert store.head() == "ref: b"
    assert store.head() == "ref: main"


def test_empty_text_is_not_given(store, monkeypatch):
    monkeypatch.delenv("MNEM_AUTHOR", raising=False)
    agents.remember(store, "a", 1, summary="", author="")
    agents.remember_many(store, [{"id": "b", "content": 1}], summary="", author="")
    agents.forget(store, "b", summary="", author="")
    monkeypatch.setenv("MNEM_AUTHOR", "Ada")
    store.add("c", 1)
    store.commit("by Ada", author="")
    said = [(commit.message, commit.author) for commit in reversed(store.log())]
    assert said == [
        ("remember a", "unknown"),
        ("remember 1 node", "unknown"),
        ("forget b", "unknown"),
        ("by Ada", "Ada"),
    ]


def test_an_empty_path_is_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with mnem.init("") as store, mnem.open("") as other:
        assert store.root == other.root == tmp_path.resolve()


def test_an_error_takes_no_message():
    for name in ("MnemError", "ConflictError", "NotFoundError", "NoStoreError", "StoreIoError"):
        assert str(getattr(mnem, name)()) == ""
