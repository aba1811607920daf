"""When each node came and last changed, as the history of a branch has it."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from itertools import islice
from typing import NamedTuple, cast

import mnem

__all__ = ["Timeline", "Times", "times_of"]

# Local rows that let another process begin where this one stood: two points a branch, in turns.
# Each is a row that tells the commit, and behind it rows of the times of so many nodes: whoever
# looks for a row reads those beside its place, so that none is to be large. One row has the
# branches with points.
_OWNER = "mnem-langgraph:points"
_PART = 32
_BRANCHES = b"\0"
# A point is due after so many commits, and more the more nodes there are.
_EVERY, _NODES = 128, 64


class Times(NamedTuple):
    """Of one node, in Unix milliseconds: added since it was last absent, and last changed.

    ``rank`` is the number of the last change among the commits, which decides between equal
    times, and ``commit`` the change itself, where this process saw it.
    """

    created: int
    updated: int
    rank: int
    commit: str = ""


class Point(NamedTuple):
    """A commit at which the times of every node are known, and how many commits lead there.

    Of a point that was saved, ``row`` is the key of its first row, and the times are in the rest.
    """

    tip: str | None
    commits: int
    times: dict[str, Times]
    row: bytes = b""


class Timeline:
    """The times of every node at one commit; follows a branch as it moves.

    What a merge brought keeps the times it had on its own line. Each look reads what is new since
    the last one, or since a point that was saved where a line that was merged began before it.
    """

    def __init__(self, branch: str) -> None:
        self._branch = branch
        self._saved = 0
        self.tip: str | None = None
        self.times: dict[str, Times] = {}
        self.commits = 0

    def follow(self, store: mnem.Store) -> set[str]:
        """Read what is new on the store's branch; returns the ids whose times are others."""
        if store.head_commit() == self.tip:
            return set()
        tip, before = self.tip, self.times
        point, fresh = self._start(store) or (Point(None, 0, {}), store.log())
        changed = self._read(store, point, fresh)
        if point.times is not before:
            now = self.times
            ids = before.keys() | now.keys()
            changed = {id for id in ids if before.get(id, ())[:3] != now.get(id, ())[:3]}
            # Two lines may have written at the same moment, and each as many commits.
            if tip is not None:
                changed.update(change.id for change in store.diff(tip, self.tip))
        if self.commits - self._saved >= _EVERY + len(self.times) // _NODES:
            self.save(store, 1)
        return changed

    def _start(self, store: mnem.Store) -> tuple[Point, list[mnem.Commit]] | None:
        """Where a look begins, and the commits since: at the last look, else where one was saved.

        A point that another branch saved serves as well.
        """
        if self.tip is not None:
            found = _since(store, [Point(self.tip, self.commits, self.times)])
            if found is not None:
                return found
        rows = store.local(_OWNER)
        found = _since(store, _saved(rows, {self._branch, *_branches(rows)}))
        if found is None or (times := _times(rows, found[0])) is None:
            return None
        point, fresh = found
        self._saved = max(self._saved, point.commits)
        return point._replace(times=times), fresh

    def save(self, store: mnem.Store, least: int) -> None:
        """Save the point of the last look, if it is so many commits after what was saved."""
        if self.commits - self._saved < least:
            return
        self._saved = self.commits
        rows = store.local(_OWNER)
        at = {point.row: point.commits for point in _saved(rows, {self._branch})}
        point = min(_turns(self._branch), key=lambda turn: at.get(turn, -1))
        edits: dict[bytes, bytes | None] = dict.fromkeys(key for key, _ in rows.items(point))
        edits[point] = _dumped([self.tip, self.commits])
        nodes = iter(self.times.items())
        for number in range(0, len(self.times), _PART):
            part = {id: times[:3] for id, times in islice(nodes, _PART)}
            edits[point + b"\0%08d" % number] = _dumped(part)
        if self._branch not in (listed := _branches(rows)):
            there = {name for name, _ in store.branches()}
            for gone in set(listed) - there:
                edits.update((key, None) for key, _ in rows.items(gone.encode() + b"\0"))
            edits[_BRANCHES] = _dumped([*sorted(there.intersection(listed)), self._branch])
        # A store that cannot be written can be read.
        with suppress(mnem.MnemError):
            store.write(
                {}, message="times", local=[(_OWNER, key, row) for key, row in edits.items()]
            )

    def _read(self, store: mnem.Store, point: Point, log: list[mnem.Commit]) -> set[str]:
        """Read the commits after a point, newest first; returns the ids they changed."""
        children = Counter(parent for commit in log for parent in commit.parents)
        at = {} if point.tip is None else {point.tip: point.times}
        changed: set[str] = set()
        self.tip, self.commits, self.times = point.tip, point.commits, point.times
        for commit in reversed(log):
            lines = [at[parent] for parent in commit.parents]
            children.subtract(commit.parents)
            for parent in commit.parents:
                if children[parent] == 0:
                    del at[parent]
            # The last child takes its first parent's line over; earlier ones take a copy.
            times = lines[0] if lines else {}
            if lines and children[commit.parents[0]] > 0:
                times = dict(times)
            changed.update(self._apply(store, commit, times, lines[1:]))
            at[commit.id] = self.times = times
            self.tip = commit.id
        return changed

    def _apply(
        self,
        store: mnem.Store,
        commit: mnem.Commit,
        times: dict[str, Times],
        others: list[dict[str, Times]],
    ) -> list[str]:
        changes = store.changed_by(commit.id)
        for id, kind in changes.items():
            if kind == "removed":
                times.pop(id, None)
                continue
            brought = _brought(store, commit, id, others)
            if brought is not None:
                times[id] = brought
                continue
            before = times.get(id) or next((o[id] for o in others if id in o), None)
            created = commit.time if before is None else before.created
            times[id] = Times(created, commit.time, self.commits, commit.id)
        self.commits += 1
        return list(changes)


def _dumped(told: object) -> bytes:
    return json.dumps(told, separators=(",", ":")).encode()


def _turns(branch: str) -> tuple[bytes, bytes]:
    """The keys of the first rows of a branch's points."""
    return branch.encode() + b"\x000", branch.encode() + b"\x001"


def _branches(rows: mnem.LocalRows) -> list[str]:
    """The branches that have points, or had some before they were deleted."""
    return json.loads(rows.get(_BRANCHES) or "[]")


def _saved(rows: mnem.LocalRows, branches: set[str]) -> list[Point]:
    """The points of branches, without the times."""
    turns = [turn for branch in branches for turn in _turns(branch)]
    told = [(turn, row) for turn in turns if (row := rows.get(turn)) is not None]
    return [Point(*cast("tuple[str, int]", tuple(json.loads(row))), {}, at) for at, row in told]


def _times(rows: mnem.LocalRows, point: Point) -> dict[str, Times] | None:
    """The times at a point; None where another process has just put a later one in its place."""
    first, *parts = rows.items(point.row) or [(b"", b"")]
    if first[1] != _dumped([point.tip, point.commits]):
        return None
    told = [cast("dict[str, tuple[int, int, int]]", json.loads(row)) for _, row in parts]
    return {id: Times(*times) for part in told for id, times in part.items()}


def times_of(store: mnem.Store, tip: str, id: str) -> Times | None:
    """The times of one node that is there at a commit; what a merge made of it is not told here.

    Costs what the node changed, where a timeline costs what every node did.
    """
    changes = store.log(node=id, first_parent=True, at=tip)
    came = store.flips(id, present=True, bad=tip)[-1].commit
    ids = [commit.id for commit in changes]
    since = changes[: ids.index(came) + 1]
    if any(len(commit.parents) > 1 for commit in since):
        return None
    return Times(since[-1].time, since[0].time, 0)


def _since(store: mnem.Store, points: list[Point]) -> tuple[Point, list[mnem.Commit]] | None:
    """The newest of some points before which no line of later commits began, and these commits."""
    left = {point.tip: point for point in points}
    for limit in (4, 64, 1024, 16_384):
        log = store.log(limit=limit)
        for at, commit in enumerate(log):
            point = left.pop(commit.id, None)
            if point is None:
                continue
            known = {commit.id for commit in log[: at + 1]}
            if all(commit.parents and known.issuperset(commit.parents) for commit in log[:at]):
                return point, log[:at]
        if not left or len(log) < limit:
            return None
    return None


def _brought(
    store: mnem.Store, commit: mnem.Commit, id: str, others: list[dict[str, Times]]
) -> Times | None:
    """The times on the merged line whose value a merge took."""
    for parent, line in zip(commit.parents[1:], others, strict=True):
        if id in line and repr(_node(store, parent, id)) == repr(_node(store, commit.id, id)):
            return line[id]
    return None


def _node(store: mnem.Store, commit: str, id: str) -> mnem.MemoryNode | None:
    return store.state_at(commit, prefix=id, limit=1).get(id)
