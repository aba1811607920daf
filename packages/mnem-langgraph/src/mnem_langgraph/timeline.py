"""When each node came and last changed, as the history of a branch has it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import mnem

__all__ = ["Timeline", "Times"]


class Times(NamedTuple):
    """Of one node, in Unix milliseconds: added since it was last absent, and last changed.

    ``rank`` is the number of the last change among the commits, which decides between equal
    times.
    """

    created: int
    updated: int
    rank: int


class Timeline:
    """The times of every node at one commit; follows a branch as it moves.

    What a merge brought keeps the times it had on its own line. The first look reads the whole
    history, later ones what is new; a history that is no longer a straight line from the last
    look on is read anew.
    """

    def __init__(self) -> None:
        self.tip: str | None = None
        self.times: dict[str, Times] = {}
        self.commits = 0

    def follow(self, store: mnem.Store) -> set[str] | None:
        """Read what is new on the store's branch: the ids it changed, or None for all of them."""
        if store.head_commit() == self.tip:
            return set()
        fresh = self._fresh(store)
        if fresh is None:
            self._read(store, store.log())
            return None
        changed: set[str] = set()
        for commit in reversed(fresh):
            changed.update(self._apply(store, commit, self.times))
            self.tip = commit.id
        return changed

    def _fresh(self, store: mnem.Store) -> list[mnem.Commit] | None:
        """The commits since the last look, newest first; None unless they are one line."""
        if self.tip is None:
            return None
        for limit in (4, 64, 1024):
            log = store.log(limit=limit)
            for at, commit in enumerate(log):
                if commit.id == self.tip:
                    return log[:at]
                if len(commit.parents) != 1 or (
                    at + 1 < len(log) and (commit.parents[0] != log[at + 1].id)
                ):
                    return None
        return None

    def _read(self, store: mnem.Store, log: list[mnem.Commit]) -> None:
        """Read a whole history, newest commit first."""
        children = Counter(parent for commit in log for parent in commit.parents)
        at: dict[str, dict[str, Times]] = {}
        self.commits, self.times = 0, {}
        self.tip = log[0].id if log else None
        for commit in reversed(log):
            lines = [at[parent] for parent in commit.parents]
            children.subtract(commit.parents)
            for parent in commit.parents:
                if children[parent] == 0:
                    at.pop(parent, None)
            # The last child takes its first parent's line over; earlier ones take a copy.
            times = {} if not lines else lines[0]
            if lines and children[commit.parents[0]] > 0:
                times = dict(times)
            self._apply(store, commit, times, lines[1:])
            at[commit.id] = self.times = times

    def _apply(
        self,
        store: mnem.Store,
        commit: mnem.Commit,
        times: dict[str, Times],
        others: list[dict[str, Times]] | None = None,
    ) -> list[str]:
        changes = store.changed_by(commit.id)
        for id, kind in changes.items():
            if kind == "removed":
                times.pop(id, None)
                continue
            brought = self._brought(store, commit, id, others or [])
            if brought is not None:
                times[id] = brought
                continue
            before = times.get(id) or next((o[id] for o in others or [] if id in o), None)
            created = commit.time if before is None else before.created
            times[id] = Times(created, commit.time, self.commits)
        self.commits += 1
        return list(changes)

    @staticmethod
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
