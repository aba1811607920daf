"""How callers use the package, for the type checker alone: each line says what it is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mnem
from mnem import agents
from typing_extensions import assert_type


def use(store: mnem.Store) -> None:
    """Reading and writing."""
    assert_type(mnem.open("."), mnem.Store)
    assert_type(mnem.init(Path(), default_branch="main", reproducible=True), mnem.Store)
    assert_type(store.add("a", {"b": [1, None]}, event_time=3), str)
    assert_type(store.commit("m", author="me", allow_empty=True), str)
    assert_type(store.get("a"), mnem.MemoryNode | None)
    assert_type(store.memory(prefix="a", limit=3), dict[str, mnem.MemoryNode])
    assert_type(store.head_commit(), str | None)
    assert_type(store.root, Path)
    assert_type(store.staged(), list[tuple[str, str]])
    assert_type(store.log(limit=3), list[mnem.Commit])
    assert_type(store.log()[0].parents, tuple[str, ...])
    assert_type(store.diff()[0].old, mnem.MemoryNode | None)
    assert_type(store.log(node="a", at="main"), list[mnem.Commit])
    assert_type(store.changed_by("main"), dict[str, str])
    assert_type(store.blame("a").provenance, mnem.Provenance)
    assert_type(store.blame("a").removed, bool)
    assert_type(store.merge("b", resolutions={"a": "ours"}), mnem.MergeResult)
    assert_type(store.merge("b").conflicts, tuple[mnem.Conflict, ...])
    assert_type(store.flips("a", equals=1), list[mnem.Flip])
    assert_type(store.verify().problems, tuple[str, ...])
    assert_type(store.fsck().findings, tuple[mnem.Finding, ...])
    assert_type(mnem.repair(".", dry_run=True).losses, tuple[mnem.Finding, ...])
    assert_type(store.local("vectors").get(b"a"), bytes | None)
    assert_type(store.on("agent-a"), mnem.Store)
    assert_type(store.write({"a": 1, "b": None, "c": mnem.MemoryNode("c", 1)}, message="m"), str)
    rows: list[tuple[str, bytes, bytes | None]] = [("vectors", b"a", b"1"), ("v", b"b", None)]
    assert_type(store.write({}, message="m", local=rows), str)


def callables(store: mnem.Store) -> None:
    """Predicates and updates."""

    def wrong(memory: dict[str, mnem.MemoryNode]) -> bool:
        return memory["a"].content == 1

    def count(memory: mnem.Snapshot) -> dict[str, int]:
        node = memory.get("n")
        return {"n": 1 if node is None else node.content + 1}

    def rewrite(memory: mnem.Snapshot) -> dict[str, Any]:
        return dict.fromkeys(memory.memory(prefix="old:"))

    assert_type(store.bisect(wrong, good="main~3"), str)
    assert_type(store.update(count, message="m"), str)
    assert_type(store.update(rewrite, message="m", base="main"), str)


def scopes() -> None:
    """Context managers."""
    with mnem.open(":memory:", busy_timeout=0.5) as store:
        assert_type(store, mnem.Store)
        with store.branch("b", start="main") as inside:
            assert_type(inside, mnem.Store)


def agent(store: mnem.Store) -> None:
    """What an agent calls."""
    assert_type(agents.remember(store, "a", 1, source="s", base="main"), str)
    assert_type(agents.remember_many(store, ({"id": "a", "content": n} for n in range(3))), str)
    assert_type(agents.forget(store, "a"), str)
    assert_type(agents.recall(store, "a", at="main"), mnem.MemoryNode | None)
    assert_type(agents.recall(store, prefix="a"), dict[str, mnem.MemoryNode])
    assert_type(agents.import_chat(store, [], transcript="t"), mnem.ChatReport)


def errors(error: mnem.BusyError) -> tuple[mnem.ConflictError, OSError, str, str | None]:
    """Errors are what a Python programmer would catch, with data."""
    return error, error, error.code, error.hint
