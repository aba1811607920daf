"""The store behind a server: one branch of it, read and written as one author."""

from __future__ import annotations

import re
import threading
from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mnem

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# What may be a time rather than a branch or a commit: ISO 8601, or Unix milliseconds.
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}.*|-?\d{9,}")
# The cursor of a history: where it goes on, by the first digits of commits, and how many to pass
# over from there. It stands three times in an answer, so it must not get long.
_DIGITS = 16
_WIDEST = 128
_CURSOR = re.compile(r"[0-9a-f]{16}(,[0-9a-f]{16}){0,127}(\+[0-9]{1,9})?")
# How many commits keep the sorted ids of their memory at hand, for paging.
_KEPT = 4


class Memory:
    """A store that is opened when it is first used, and bound to a branch then.

    The branch is the one that HEAD is on unless one is named. Where HEAD is detached there is
    none: then memory is read there, and a write is refused.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        branch: str | None = None,
        author: str = "agent",
        read_only: bool = False,
    ) -> None:
        self.author = author
        self._path = path
        self._branch = branch
        self._read_only = read_only
        self._handle: mnem.Store | None = None
        self._root: Path | None = None
        self._was_there = False
        self._ids: OrderedDict[str, list[str]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def store(self) -> mnem.Store:
        """The handle, bound to this server's branch."""
        handle = self._bound()
        # Without its branch a handle reads as if it began at the default one, and would make it so.
        if self._read_only and self._was_there and self._branch not in dict(handle.branches()):
            raise mnem.InvalidRefError(f"there is no branch {self._branch!r} any more")
        return handle

    def _bound(self) -> mnem.Store:
        with self._lock:
            if self._handle is None:
                store = mnem.open(self._path)
                if self._root is None:
                    self._root = store.root
                elif store.root != self._root:
                    # The nearest one above is another.
                    raise mnem.NoStoreError(f"the store at {self._root} is gone")
                branch = self._branch
                if branch is None and store.head().startswith("ref: "):
                    branch = store.head().removeprefix("ref: ")
                elif self._read_only and branch is not None:
                    need_branch(store, branch)
                self._was_there = branch in dict(store.branches())
                self._handle = store if branch is None else store.on(branch)
                self._branch = branch
            return self._handle

    def close(self) -> None:
        """Let go of the store. It is opened again when it is used again, on the same branch."""
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            handle.close()

    def heard(self, error: mnem.MnemError) -> None:
        """Let go of a store that is gone, so that one is used that was put in its place."""
        if isinstance(error, mnem.NoStoreError):
            self.close()
            with self._lock:
                self._ids.clear()

    def switch(self, branch: str) -> mnem.Store:
        """Bind this server to another branch, which must be there; HEAD stays."""
        store = self.store
        need_branch(store, branch, "`branch` makes one; `recall_at` reads a commit")
        other = store.on(branch)
        with self._lock:
            self._handle, self._branch, self._was_there = other, branch, True
        return other

    def resolve(self, revision: str) -> str:
        """The commit that a revision names, or at which the branch was at a time."""
        try:
            return self.store.resolve(revision)
        except mnem.InvalidRefError:
            if not _TIME.fullmatch(revision):
                raise
            return self.store.resolve(f"@{{{revision}}}")

    def node(self, commit: str, id: str) -> mnem.MemoryNode | None:
        """One node of memory at a commit."""
        return self._bound().state_at(commit, prefix=id, limit=1).get(id)

    def nodes(self, commit: str, ids: list[str]) -> Iterator[mnem.MemoryNode]:
        """Nodes of memory at a commit, read as they are asked for."""
        for id in ids:
            if (node := self.node(commit, id)) is not None:
                yield node

    def ids(self, commit: str, *, prefix: str = "", after: str | None = None) -> list[str]:
        """The ids of memory at a commit, in order; of these, the ones after a given one."""
        ids = self._all_ids(commit)
        start = bisect_left(ids, prefix)
        if after is not None:
            start = max(start, bisect_right(ids, after))
        # What begins with the prefix stands together.
        end = bisect_left(ids, 1, lo=start, key=lambda one: int(not one.startswith(prefix)))
        return ids[start:end]

    def _all_ids(self, commit: str) -> list[str]:
        with self._lock:
            known = next(reversed(self._ids.items()), None)
            ids = self._ids.get(commit)
        if ids is None:
            ids = self._read_ids(commit) if known is None else self._changed_ids(*known, commit)
        with self._lock:
            self._ids[commit] = ids
            self._ids.move_to_end(commit)
            if len(self._ids) > _KEPT:
                self._ids.popitem(last=False)
        return ids

    def _read_ids(self, commit: str) -> list[str]:
        return self._bound().ids(at=commit)

    def _changed_ids(self, known: str, ids: list[str], commit: str) -> list[str]:
        """The ids at a commit from those at another one: it costs what differs."""
        ids = list(ids)
        for change in self._bound().diff(known, commit):
            if change.kind == "added":
                insort(ids, change.id)
            elif change.kind == "removed":
                del ids[bisect_left(ids, change.id)]
        return ids

    def history(self, limit: int, cursor: str | None) -> Walk:
        """Commits, newest first, from a cursor on."""
        places, skipped = ([], 0) if cursor is None else _places(cursor)
        try:
            read = self.store.log(at=places or None, limit=skipped + limit + 1)
        except mnem.InvalidRefError:
            if cursor is None:
                raise
            raise _no_cursor(cursor) from None
        if not places and read:
            places = [read[0].id[:_DIGITS]]
        return Walk(places, skipped, limit, read)

    def flips(self, id: str, question: dict[str, Any], good: str | None) -> list[mnem.Flip]:
        """Every commit at which the answer to a question about a node changed, oldest first."""
        if good is None:
            return self.store.flips(id, **question)
        before = self.store.flips(id, bad=good, **question)
        if before and before[-1].holds:
            raise mnem.InvalidRefError(
                f"{id!r}: the answer is yes already at good ({good})",
                hint="leave `good` out to look from the first commit on",
            )
        return self.store.flips(id, good=good, **question)


@dataclass(frozen=True)
class Walk:
    """Commits that were read from some places on, of which the first ones are passed over."""

    places: list[str]
    skipped: int
    limit: int
    read: list[mnem.Commit]

    @property
    def commits(self) -> list[mnem.Commit]:
        """Those of this page."""
        return self.read[self.skipped : self.skipped + self.limit]

    @property
    def more(self) -> bool:
        """Whether there are others after them."""
        return len(self.read) > self.skipped + self.limit

    def cursor_after(self, shown: int) -> str:
        """Where the history goes on after so many of this page.

        At the parents of what was passed that were not passed themselves. Where these are very
        many, since as many branches were merged, at the places of this page: then all that was
        passed since is read again.
        """
        passed = self.read[: self.skipped + shown]
        ahead = set(self.places).union(*(_short(commit.parents) for commit in passed))
        ahead.difference_update(_short([commit.id for commit in passed]))
        if len(ahead) <= _WIDEST:
            return ",".join(sorted(ahead))
        return f"{','.join(self.places)}+{len(passed)}"


def _short(commits: Sequence[str]) -> set[str]:
    return {commit[:_DIGITS] for commit in commits}


def _places(cursor: str) -> tuple[list[str], int]:
    if not _CURSOR.fullmatch(cursor):
        raise _no_cursor(cursor)
    places, _, skipped = cursor.partition("+")
    return places.split(","), int(skipped or 0)


def _no_cursor(cursor: str | None) -> mnem.InvalidRefError:
    return mnem.InvalidRefError(
        f"the cursor {cursor!r} is no place in the history",
        hint="leave `cursor` out for the first page, and take `next_cursor` from it as it is",
    )


def need_branch(
    store: mnem.Store, branch: str, hint: str = "`mnem branch` lists the branches"
) -> None:
    """A handle would make a branch that is not there."""
    if branch not in dict(store.branches()) and store.head() != f"ref: {branch}":
        raise mnem.InvalidRefError(f"there is no branch {branch!r}", hint=hint)
