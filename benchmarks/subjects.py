"""What the benchmarks compare: each does the same work in its own way.

`peers.py` runs each in a process of its own, which makes its data and then takes orders: a line
`CELL TIMES`, answered by how many nanoseconds each repetition took.
"""

from __future__ import annotations

import json
import os
import sys
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from measure import FLOOR, Floor, allocated, content, name, peak_megabytes, spread

if TYPE_CHECKING:
    from collections.abc import Callable

    import pygit2

CELLS = ["write", "write 100", "read", "diff", "blame", "merge"]
# The node that was set once, at the start of the history.
OLD = 1


def text(number: int, revision: int = 0) -> str:
    return json.dumps(content(number, revision))


class Subject:
    """What is measured: a cell is a method, and `merge` has `prepare_merge` before it."""

    cells: ClassVar = ["write", "write 100", "read"]

    def __init__(self, folder: Path, nodes: int) -> None:
        self.folder, self.nodes = folder, nodes

    def put(self, items: list[tuple[int, int]]) -> object:
        raise NotImplementedError

    def prepare(self, cell: str, turn: int) -> Callable[[], object]:
        """One repetition, ready to be timed."""
        number = spread(turn, self.nodes)
        if cell == "write":
            return lambda: self.put([(number, turn)])
        if cell == "write 100":
            items = [(spread(turn + at, self.nodes), turn) for at in range(100)]
            return lambda: self.put(items)
        if cell == "read":
            return lambda: self.read(number)
        if cell == "merge":
            branch = self.prepare_merge(turn)
            return lambda: self.merge(branch)
        return getattr(self, cell)

    def settle(self) -> None:
        """Brings what was written to where it stays."""

    def read(self, number: int) -> object:
        raise NotImplementedError

    def prepare_merge(self, turn: int) -> str:
        raise NotImplementedError

    def merge(self, branch: str) -> None:
        raise NotImplementedError


def sides(turn: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Ten nodes for one branch and ten others for the other."""
    ours = [(number, turn) for number in range(10, 20)]
    return ours, [(number, turn) for number in range(20, 30)]


class Mnemosyne(Subject):
    """Through its Python package, as an agent writes."""

    cells: ClassVar = CELLS

    def __init__(self, folder: Path, nodes: int) -> None:
        import mnem

        super().__init__(folder, nodes)
        self.mnem = mnem
        if (folder / ".mnem").exists():
            self.store = mnem.open(folder)
        else:
            self.store = mnem.init(folder)
            self.put([(number, 0) for number in range(nodes)])

    def put(self, items: list[tuple[int, int]]) -> object:
        return self.put_on(self.store, items)

    def put_on(self, store: Any, items: list[tuple[int, int]]) -> object:
        if len(items) == 1:
            [(number, revision)] = items
            return self.mnem.agents.remember(
                store, name(number), content(number, revision), source="bench"
            )
        return self.mnem.agents.remember_many(
            store,
            [
                {"id": name(number), "content": content(number, revision), "source": "bench"}
                for number, revision in items
            ],
        )

    def read(self, number: int) -> object:
        node = self.store.get(name(number))
        assert node
        return node.content

    def diff(self) -> None:
        new, old = self.store.log(limit=2, first_parent=True)
        assert self.store.diff(old.id, new.id)

    def blame(self) -> None:
        assert self.store.blame(name(OLD))

    def prepare_merge(self, turn: int) -> str:
        branch = f"side-{turn}"
        ours, theirs = sides(turn)
        self.put_on(self.store.on(branch), theirs)
        self.put(ours)
        return branch

    def merge(self, branch: str) -> None:
        assert self.store.merge(branch).status == "merged"


class Doltlite(Subject):
    """SQLite with the version control of Dolt, through its SQL functions."""

    cells: ClassVar = CELLS

    def __init__(self, folder: Path, nodes: int) -> None:
        # It puts itself in SQLite's place, in this process alone.
        import sqlite3

        import doltlite  # noqa: F401

        super().__init__(folder, nodes)
        self.database = sqlite3.connect(folder / "data.db", isolation_level=None)
        self.run("create table memory (id text primary key, text text)")
        self.commit()
        self.run("begin")
        self.database.executemany(
            "insert into memory values (?, ?)",
            ((name(number), text(number)) for number in range(nodes)),
        )
        self.run("commit")
        self.commit()

    def run(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        return self.database.execute(sql, values).fetchall()

    def commit(self) -> None:
        self.run("select dolt_commit('-A', '-m', 'step')")

    def put(self, items: list[tuple[int, int]]) -> object:
        if len(items) > 1:
            self.run("begin")
        for number, revision in items:
            change = (text(number, revision), name(number))
            self.run("update memory set text = ? where id = ?", *change)
        if len(items) > 1:
            self.run("commit")
        return self.commit()

    def read(self, number: int) -> object:
        [(found,)] = self.run("select text from memory where id = ?", name(number))
        return json.loads(found)

    def diff(self) -> None:
        (new,), (old,) = self.run("select commit_hash from dolt_log limit 2")
        assert self.run(
            "select * from dolt_diff_memory where from_commit = ? and to_commit = ?", old, new
        )

    def blame(self) -> None:
        assert self.run("select * from dolt_blame_memory where id = ?", name(OLD))

    def prepare_merge(self, turn: int) -> str:
        branch = f"side-{turn}"
        ours, theirs = sides(turn)
        self.run("select dolt_branch(?)", branch)
        self.run("select dolt_checkout(?)", branch)
        self.put(theirs)
        self.run("select dolt_checkout('main')")
        self.put(ours)
        return branch

    def merge(self, branch: str) -> None:
        self.run("select dolt_merge(?)", branch)


class Git(Subject):
    """libgit2 with fsync: a file for each node in 256 folders, commits without a work tree.

    Each of its objects is synced by itself, so that writes of 100 nodes are left out.
    """

    cells: ClassVar = [cell for cell in CELLS if cell != "write 100"]

    def __init__(self, folder: Path, nodes: int) -> None:
        import pygit2

        super().__init__(folder, nodes)
        self.git = pygit2
        self.repository = pygit2.init_repository(str(folder), bare=True)
        self.who = pygit2.Signature("bench", "bench@example.com", 1_757_000_000, 0)
        # The fill is synced by none, as a benchmark of it is not the point.
        pygit2.settings.enable_fsync_gitdir(False)
        self.put([(number, 0) for number in range(nodes)])
        pygit2.settings.enable_fsync_gitdir(True)

    def tip(self, branch: str = "main") -> pygit2.Commit:
        commit = self.repository[self.repository.references[f"refs/heads/{branch}"].target]
        assert isinstance(commit, self.git.Commit)
        return commit

    @staticmethod
    def place(number: int) -> tuple[str, str]:
        return f"{zlib.crc32(name(number).encode()) % 256:02x}", f"{name(number)}.json"

    def put(self, items: list[tuple[int, int]]) -> object:
        return self.put_on("main", items)

    def put_on(self, branch: str, items: list[tuple[int, int]]) -> object:
        known = f"refs/heads/{branch}" in self.repository.references
        parents = [self.tip(branch)] if known else []
        root = self.repository.TreeBuilder(*[commit.tree for commit in parents])
        folders: dict[str, list[tuple[str, str]]] = {}
        for number, revision in items:
            folder, file = self.place(number)
            folders.setdefault(folder, []).append((file, text(number, revision)))
        for folder, files in folders.items():
            old = root.get(folder)
            tree = self.repository.TreeBuilder(*([old] if old else []))
            for file, written in files:
                blob = self.repository.create_blob(written.encode())
                tree.insert(file, blob, self.git.enums.FileMode.BLOB)
            root.insert(folder, tree.write(), self.git.enums.FileMode.TREE)
        return self.commit(branch, root.write(), [commit.id for commit in parents])

    def commit(self, branch: str, tree: Any, parents: list[Any]) -> object:
        return self.repository.create_commit(
            f"refs/heads/{branch}", self.who, self.who, "step", tree, parents
        )

    def read(self, number: int) -> object:
        return json.loads(self.tip().tree["/".join(self.place(number))].data)

    def diff(self) -> None:
        new = self.tip()
        assert list(self.repository.diff(new.parents[0], new).deltas)

    def blame(self) -> None:
        path = "/".join(self.place(OLD))
        commit = self.tip()
        blob = commit.tree[path].id
        while commit.parents and path in (tree := commit.parents[0].tree) and tree[path].id == blob:
            commit = commit.parents[0]

    def prepare_merge(self, turn: int) -> str:
        branch = f"side-{turn}"
        ours, theirs = sides(turn)
        self.repository.references.create(f"refs/heads/{branch}", self.tip().id)
        self.put_on(branch, theirs)
        self.put(ours)
        return branch

    def merge(self, branch: str) -> None:
        ours, theirs = self.tip().id, self.tip(branch).id
        index = self.repository.merge_commits(ours, theirs)
        assert index.conflicts is None
        self.commit("main", index.write_tree(self.repository), [ours, theirs])


class Sqlite(Subject):
    """The floor: current rows and a history, no branches and no merge."""

    def __init__(self, folder: Path, nodes: int) -> None:
        super().__init__(folder, nodes)
        self.floor = Floor(folder / "data.db")
        self.put([(number, 0) for number in range(nodes)])

    def put(self, items: list[tuple[int, int]]) -> object:
        return self.floor.put((name(number), text(number, revision)) for number, revision in items)

    def settle(self) -> None:
        self.floor.database.execute("pragma wal_checkpoint(truncate)").fetchall()

    def read(self, number: int) -> object:
        question = "select text from current where id = ?"
        [(found,)] = self.floor.database.execute(question, (name(number),)).fetchall()
        return json.loads(found)


class Lines(Subject):
    """A dict that is appended to a file of JSON lines, synced."""

    def __init__(self, folder: Path, nodes: int) -> None:
        super().__init__(folder, nodes)
        self.memory: dict[str, Any] = {}
        self.file = (folder / "data.jsonl").open("a", encoding="utf-8")
        self.put([(number, 0) for number in range(nodes)])

    def put(self, items: list[tuple[int, int]]) -> object:
        for number, revision in items:
            self.memory[name(number)] = content(number, revision)
            self.file.write(json.dumps([name(number), content(number, revision)]) + "\n")
        self.file.flush()
        return os.fsync(self.file.fileno())

    def read(self, number: int) -> object:
        return self.memory[name(number)]


class Dict(Subject):
    """A dict: nothing is kept."""

    def __init__(self, folder: Path, nodes: int) -> None:
        super().__init__(folder, nodes)
        self.memory: dict[str, Any] = {}
        self.put([(number, 0) for number in range(nodes)])

    def put(self, items: list[tuple[int, int]]) -> object:
        for number, revision in items:
            self.memory[name(number)] = content(number, revision)
        return None

    def read(self, number: int) -> object:
        return self.memory[name(number)]


class Sync(Subject):
    """The floor of floors: 4 KiB appended and made durable."""

    cells: ClassVar = ["write"]

    def __init__(self, folder: Path, nodes: int) -> None:
        super().__init__(folder, nodes)
        self.file = os.open(folder / "data", os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def put(self, items: list[tuple[int, int]]) -> object:
        os.write(self.file, b"x" * 4_096 * len(items))
        # macOS has no fdatasync.
        return getattr(os, "fdatasync", os.fsync)(self.file)


SUBJECTS: dict[str, type[Subject]] = {
    "Mnemosyne": Mnemosyne,
    "DoltLite": Doltlite,
    "git (libgit2)": Git,
    FLOOR: Sqlite,
    "JSONL + fsync": Lines,
    "dict": Dict,
    "fdatasync": Sync,
}


def serve(subject: str, folder: Path, nodes: int, commits: int) -> None:
    """Makes a subject and its history, then takes orders."""
    made = SUBJECTS[subject](folder, nodes)
    if not (folder / ".mnem").exists():
        git = made.git if isinstance(made, Git) else None
        if git:
            git.settings.enable_fsync_gitdir(False)
        for turn in range(1, commits):
            # Node 1 is set once, at the start.
            made.put([(OLD, 1) if turn == 1 else (2 + spread(turn, nodes - 2), turn)])
        if git:
            git.settings.enable_fsync_gitdir(True)
    print("ready", flush=True)
    turn = commits
    for line in sys.stdin:
        cell, times = line.rsplit(" ", 1)
        if cell == "peak":
            print(peak_megabytes(), flush=True)
            continue
        if cell == "grow":
            print(grow(made, turn, int(times)), flush=True)
            turn += int(times)
            continue
        taken = []
        for _ in range(int(times)):
            turn += 1
            operation = made.prepare(cell, turn)
            before = time.perf_counter_ns()
            operation()
            taken.append(time.perf_counter_ns() - before)
        print(json.dumps(taken), flush=True)


def grow(made: Subject, turn: int, times: int) -> float:
    """Bytes of disk for each of some writes of one node."""
    if isinstance(made, Git):
        made.git.settings.enable_fsync_gitdir(False)
    made.settle()
    os.sync()
    before = allocated(made.folder)
    for later in range(turn + 1, turn + 1 + times):
        made.put([(spread(later, made.nodes), later)])
    made.settle()
    os.sync()
    return (allocated(made.folder) - before) / times


if __name__ == "__main__":
    called, place, count, length = sys.argv[1:]
    serve(called, Path(place), int(count), int(length))
