"""Stores that mnem-agents 0.0.7 wrote, read as it read them: before and after a migration.

We answer otherwise in one thing, the order of a log: it went by time alone. Doubles that the
original gave back altered were altered when it wrote them, so there is nothing to except.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import mnem
import pytest
from mnem import agents

FIXTURES = Path(__file__).parents[2] / "tests" / "fixtures" / "original"
COMMAND = str(Path(sys.executable).with_name("mnem"))


def load(name: str) -> dict[str, Any]:
    return json.loads((FIXTURES / name).read_text(encoding="utf-8"))


STORES = load("stores.json")
KILLED = load("killed.json")

# The logs that the original orders otherwise, and whether it shows a parent before its child.
LOG_ORDER = {"criss": False, "history": True}


def unpack(archive: str, directory: Path) -> Path:
    """Where the stores of an archive are."""
    with tarfile.open(FIXTURES / archive) as stores:
        if hasattr(tarfile, "data_filter"):
            stores.extractall(directory, filter="data")
        else:
            stores.extractall(directory)
    (top,) = directory.iterdir()
    return top


def files_of(directory: Path) -> dict[str, tuple[str, int]]:
    """A hash of each file, and when it and its directories were changed."""
    found = {}
    for path in sorted(directory.rglob("*")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(directory))] = (digest, path.stat().st_mtime_ns)
    return found


def memory(nodes: dict[str, mnem.MemoryNode]) -> dict[str, Any]:
    return {node: found.to_dict() for node, found in nodes.items()}


def reported(store: mnem.Store, expected: dict[str, Any]) -> dict[str, Any]:
    """What a store says of all that the original was asked."""

    def blame(key: str) -> dict[str, Any]:
        at, node = key.split(" ", 1)
        found = store.blame(node, at=at)
        return {"commit": found.commit, "node": found.node.to_dict(), "time": found.time}

    working = store.working_memory()
    return {
        "blame": {key: blame(key) for key in expected["blame"]},
        "branches": [list(branch) for branch in store.branches()],
        "changed_by": {commit: store.changed_by(commit) for commit in expected["changed_by"]},
        "diff_head_working": [change.to_dict() for change in store.diff()],
        "format_version": store.format_version,
        "head": store.head(),
        "head_commit": store.head_commit(),
        "log": [commit.to_dict() for commit in store.log()],
        "log_first_parent": [commit.id for commit in store.log(first_parent=True)],
        "staged": [list(row) for row in store.staged()],
        "staged_deletions": store.staged_deletions(),
        "state_at": {commit: memory(store.state_at(commit)) for commit in expected["state_at"]},
        "working_memory": memory(working),
        "working_order": list(working),
    }


def exact(value: object) -> str:
    """A text in which 1, 1.0 and true differ, and so do 0.0 and -0.0."""
    return json.dumps(value, sort_keys=True)


def check(name: str, store: mnem.Store, expected: dict[str, Any]) -> None:
    """Everything is as it should be."""
    found = reported(store, expected)
    right = {**expected, "format_version": store.format_version}
    if name in LOG_ORDER:
        shown, log = right.pop("log"), found.pop("log")
        assert shown != log
        assert exact(sorted(log, key=exact)) == exact(sorted(shown, key=exact))
        times = [commit["time"] for commit in shown]
        assert times == sorted(times, reverse=True)
        assert children_first(shown) != LOG_ORDER[name]
        assert children_first(log)
    for key, value in right.items():
        assert exact(found[key]) == exact(value), key
    assert store.verify().problems == ()


def children_first(log: list[dict[str, Any]]) -> bool:
    place = {commit["id"]: n for n, commit in enumerate(log)}
    return all(place[p] > place[commit["id"]] for commit in log for p in commit["parents"])


def reported_branches(expected: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, commit) for name, commit in expected["branches"]]


@pytest.mark.parametrize("name", STORES)
def test_read_and_migrated(name: str, tmp_path: Path) -> None:
    """The same answers, and not one byte changed; then the same from what becomes of it."""
    expected = STORES[name]
    root = unpack("stores.tgz", tmp_path) / name
    before = files_of(root)
    with mnem.open(root) as store:
        assert store.format_version == 1
        check(name, store, expected)
    trial = mnem.migrate(root, dry_run=True)
    assert files_of(root) == before

    with mnem.open(root) as store:
        store.export(tmp_path / "memory.jsonl")
        log = store.log()
    assert files_of(root) == before
    with mnem.import_store(tmp_path / "memory.jsonl", tmp_path / "copy") as copy:
        assert copy.log() == log
        assert (copy.head(), copy.branches()) == (expected["head"], reported_branches(expected))
        for commit, nodes in expected["state_at"].items():
            assert exact(memory(copy.state_at(commit))) == exact(nodes)

    migration = mnem.migrate(root)
    assert (migration.changed, trial.changed) == (True, False)
    assert migration.new_bytes <= trial.new_bytes
    assert (migration.branches, migration.staged) == (
        len(expected["branches"]),
        len(expected["staged"]) + len(expected["staged_deletions"]),
    )
    assert sorted(path.name for path in (root / ".mnem").iterdir()) == [
        "HEAD",
        "config",
        "holder",
        "lock",
        "store.2.redb",
        "want",
    ]
    with mnem.open(root) as store:
        assert store.format_version == 2
        check(name, store, expected)
        if name == "detached":
            return
        tip = agents.remember(store, "new", 1)
        assert store.log(limit=1)[0].id == tip
        assert [list(row) for row in store.staged()] == expected["staged"]
        if expected["state_at"]:
            # What says what is there makes no commit, also of a node that has no salt.
            node = [*store.memory().values()][-1]
            assert store.write({node.id: node}, message="again") == tip


@pytest.mark.parametrize("name", KILLED)
def test_of_a_killed_writer(name: str, tmp_path: Path) -> None:
    """All that was acknowledged is there; the command says what helps, and changes nothing."""
    expected = KILLED[name]
    root = unpack("killed.tgz", tmp_path) / name
    before = files_of(root)

    def check_killed(store: mnem.Store) -> None:
        log = [commit.id for commit in store.log(first_parent=True)]
        assert log == expected["log_first_parent"]
        assert log[::-1][: len(expected["acknowledged"])] == expected["acknowledged"]
        assert [list(row) for row in store.staged()] == expected["staged"]
        working = {node: found.content for node, found in store.working_memory().items()}
        assert exact(working) == exact(expected["working_memory"])
        assert store.verify().problems == ()

    with mnem.open(root) as store:
        check_killed(store)
    ran = subprocess.run(
        [COMMAND, "log", "--oneline"], cwd=root, check=True, capture_output=True, text=True
    )
    assert "hint: `mnem migrate`" in ran.stderr
    assert files_of(root) == before
    assert mnem.migrate(root).changed
    with mnem.open(root) as store:
        check_killed(store)
    ran = subprocess.run([COMMAND, "log"], cwd=root, check=True, capture_output=True, text=True)
    assert ran.stderr == ""


def test_writes_say_what_to_run(tmp_path: Path) -> None:
    root = unpack("stores.tgz", tmp_path) / "history"
    before = files_of(root)
    with mnem.open(root) as store:
        for write in (
            lambda: agents.remember(store, "plan", "Pro"),
            lambda: store.add("plan", "Pro"),
            lambda: store.rm("contact"),
            lambda: store.commit("m"),
            lambda: store.checkout("side", discard=True),
            lambda: store.new_branch("new"),
            lambda: store.delete_branch("side"),
            store.undo,
            lambda: store.merge("side"),
            lambda: store.on("new"),
            lambda: store.local("vectors").set(b"a", b"b"),
        ):
            with pytest.raises(mnem.FormatVersionError, match="has format version 1") as caught:
                write()
            assert str(caught.value.hint).startswith("`mnem migrate`")
        with pytest.raises(mnem.BusyError, match="is open in this process"):
            mnem.migrate(root)
    ran = subprocess.run(
        [COMMAND, "remember", "plan", "Pro"], cwd=root, check=False, capture_output=True, text=True
    )
    assert ran.returncode == 3
    assert "hint: `mnem migrate`" in ran.stderr
    assert files_of(root) == before
    mnem.migrate(root)
    assert mnem.migrate(root) == mnem.migrate(root, dry_run=True)
    with mnem.open(root) as store:
        assert agents.remember(store, "plan", "Pro")


FORKED = """
import os, signal, sys
import mnem

signal.alarm(60)
path = sys.argv[1]
store = mnem.open(path)
log = store.log()

def fork(run):
    begun, begin = os.pipe()
    ending, end = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(50)
        os.close(end)
        is_good = run()
        os.write(begin, b"1")
        os.read(ending, 1)
        os._exit(0 if is_good else 1)
    os.close(ending)
    os.read(begun, 1)

    def joined():
        os.close(end)
        assert os.waitpid(child, 0)[1] == 0

    return joined

# One child uses nothing of the store, another reads on with the handle that it has.
idle = fork(lambda: True)
reader = fork(lambda: store.log() == log and mnem.open(path).log() == log)
assert store.log() == log
store.close()
# The reader keeps it from being migrated, and the other does not.
try:
    mnem.migrate(path, busy_timeout=0)
    raise SystemExit("migrated under a reader")
except mnem.BusyError:
    pass
reader()
assert mnem.migrate(path, busy_timeout=5).changed
idle()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork(tmp_path: Path) -> None:
    root = unpack("stores.tgz", tmp_path) / "history"
    ran = subprocess.run(
        [sys.executable, "-c", FORKED, str(root)], check=False, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
