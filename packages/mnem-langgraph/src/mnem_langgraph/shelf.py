"""The items of a branch as the adapter holds them in memory."""

from __future__ import annotations

from itertools import islice
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, cast

from mnem import keys

from mnem_langgraph.items import fingerprint, original_id, segments_of, ttl_of, value_of
from mnem_langgraph.timeline import Timeline, Times, times_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import mnem

__all__ = ["Entry", "Shelf", "row_key"]

# What is held of values, about, in characters and elements. Above it, what is held is let go.
MOST = 64 * 1024 * 1024
# Own commits after which a branch is looked at without a read.
BEHIND = 64
# Commits for which a process that ends saves where it stands.
WORTH = 16
# Up to so many nodes are read one by one, and more as all below their prefix.
FEW = 8
# Items that are read one by one before all are looked at.
POINTS = 64
# A prefix with less than this part of all items is gathered and sorted by itself.
SMALL = 8


class Entry:
    """One version of one item: where it is, its times, and what it says once that was read.

    ``order`` sorts newest first. ``value`` is not to be changed; ``ttl`` is minutes to live
    since the item was last put or read.
    """

    __slots__ = (
        "_row",
        "id",
        "key",
        "namespace",
        "node",
        "order",
        "times",
        "ttl",
        "value",
        "vectors",
    )

    def __init__(self, id: str, namespace: tuple[str, ...], key: str, times: Times) -> None:
        self.id = id
        self.namespace = namespace
        self.key = key
        self.times = times
        self.order = (-times.updated, -times.rank, id)
        self.vectors: list[list[float]] | None = None
        self._row: bytes | None = None
        self.hold(None)

    def hold(self, node: mnem.MemoryNode | None) -> None:
        """Keep what the item says, or let go of it."""
        self.node = node
        self.value: dict[str, Any] = {}
        self.ttl: float | None = None
        if node is not None:
            self.value = value_of(node)
            # The adapter's own content keys are no part of the value.
            if self.value is not node.content:
                self.ttl = ttl_of(node)

    @property
    def row(self) -> bytes:
        """The key of local rows about this version: the node's id and its fingerprint."""
        if self._row is None and self.node is not None:
            self._row = row_key(self.node)
        return self._row or b""


def _order(entry: Entry) -> tuple[int, int, str]:
    return entry.order


def row_key(node: mnem.MemoryNode) -> bytes:
    """The key of local rows about one version of a node."""
    return node.id.encode() + b"\0" + fingerprint(node)


def _is_namespace(labels: tuple[str, ...]) -> bool:
    """Whether there can be items of LangGraph's here."""
    return bool(labels) and all(label and "." not in label for label in labels)


def _full(node: mnem.MemoryNode) -> tuple[str, ...] | None:
    """The key that a node keeps, since its id had to be cut."""
    content = cast("dict[str, Any]", node.content) if isinstance(node.content, dict) else {}
    full = content.get(keys.FULL)
    return tuple(map(str, cast("list[Any]", full))) if isinstance(full, list) else None


class Shelf:
    """Every item of a branch by namespace and key, at the commit of the last look.

    Not for several threads at once.
    """

    def __init__(self, branch: str) -> None:
        self._branch = branch
        self._clear()

    def _clear(self) -> None:
        self._timeline = Timeline(self._branch)
        # Oldest first, while they are sorted.
        self._entries: dict[str, Entry] = {}
        self._sorted = True
        self.by_namespace: dict[tuple[str, ...], dict[str, Entry]] = {}
        self._held = 0
        self._behind = 0
        self._points = 0
        self._point: str | None = None

    @property
    def commits(self) -> int:
        """How many commits the branch has."""
        return self._timeline.commits

    def follow(self, store: mnem.Store) -> None:
        """Look at what the branch says now."""
        # Where single items were read stands back, also when the branch has no commit any more.
        self._point = None
        try:
            changed = self._timeline.follow(store)
        except BaseException:
            # Half a look is none: the next one begins anew.
            self._clear()
            raise
        self._behind = 0
        if not changed:
            return
        fresh: list[Entry] = []
        for id in changed:
            self._take_off(id)
            times = self._timeline.times.get(id)
            segments = None if times is None else self._segments(store, id)
            if times is not None and segments is not None:
                fresh.append(Entry(id, segments[:-1], segments[-1], times))
        fresh.sort(key=_order, reverse=True)
        if fresh and self._entries:
            newest = next(reversed(self._entries.values()))
            self._sorted = self._sorted and fresh[0].order < newest.order
        for entry in fresh:
            self._put_on(entry)

    def follow_for(self, store: mnem.Store, gets: int) -> None:
        """Look at what the branch says now, for so many calls of :meth:`get`.

        Until they are many, or something else was asked, only the items that are asked for are
        looked at.
        """
        if self.started or self._points >= POINTS:
            self.follow(store)
        else:
            self._points += gets
            self._point = store.head_commit()

    def wrote(self, store: mnem.Store) -> None:
        """Look now and then, while what the commits changed is at hand."""
        self._behind += 1
        if self._behind >= BEHIND and self.started:
            self.follow(store)

    def save(self, store: mnem.Store) -> None:
        """Let the next process begin where this one stands, if it ever looked."""
        if self.started:
            self.follow(store)
            self._timeline.save(store, WORTH)

    def newest(self, prefix: tuple[str, ...], count: int) -> list[Entry]:
        """The newest entries below a prefix, newest first."""
        length = len(prefix)
        spaces = [space for name, space in self.by_namespace.items() if name[:length] == prefix]
        if sum(map(len, spaces)) * SMALL < len(self._entries):
            return sorted((entry for space in spaces for entry in space.values()), key=_order)[
                :count
            ]
        if not self._sorted:
            entries = sorted(self._entries.values(), key=_order, reverse=True)
            self._entries = {entry.id: entry for entry in entries}
            self._sorted = True
        below = (
            entry
            for entry in reversed(self._entries.values())
            if entry.namespace[:length] == prefix
            and self.by_namespace[entry.namespace][entry.key] is entry
        )
        return list(islice(below, min(count, len(self._entries))))

    def _segments(self, store: mnem.Store, id: str) -> tuple[str, ...] | None:
        """The key behind an id; None for a node that is no item of LangGraph's."""
        segments = segments_of(id)
        if segments is None:
            node = self._read(store, id, 1).get(id)
            segments = None if node is None else _full(node)
            if segments is None:
                return None
        return segments if _is_namespace(segments[:-1]) else None

    def _put_on(self, entry: Entry) -> None:
        self._entries[entry.id] = entry
        there = self.by_namespace.setdefault(entry.namespace, {})
        # An id as the original joined it stands back behind the encoded one.
        if entry.key not in there or entry.id == keys.join(*entry.namespace, entry.key):
            there[entry.key] = entry

    def _take_off(self, id: str) -> None:
        entry = self._entries.pop(id, None)
        if entry is None:
            return
        there = self.by_namespace[entry.namespace]
        if there[entry.key] is entry:
            del there[entry.key]
            other = original_id(id, (*entry.namespace, entry.key))
            if other in self._entries:
                there[entry.key] = self._entries[other]
        if not there:
            del self.by_namespace[entry.namespace]

    @property
    def started(self) -> bool:
        """Whether it ever looked at a commit."""
        return self._timeline.tip is not None

    def get(self, store: mnem.Store, namespace: tuple[str, ...], key: str) -> Entry | None:
        """The entry of one item."""
        if not self.started and self._point is not None:
            return self._get_point(store, self._point, namespace, key)
        there = self.by_namespace.get(namespace)
        return None if there is None else there.get(key)

    def _get_point(
        self, store: mnem.Store, tip: str, namespace: tuple[str, ...], key: str
    ) -> Entry | None:
        if not _is_namespace(namespace):
            return None
        segments = (*namespace, key)
        encoded = keys.join(*segments)
        for id in (encoded, original_id(encoded, segments)):
            node = None if id is None else store.state_at(tip, prefix=id, limit=1).get(id)
            if id is None or node is None:
                continue
            if (segments_of(id) or _full(node)) != segments:
                return None  # another's node, under an id that was cut
            times = times_of(store, tip, id)
            if times is None:
                self.follow(store)
                return self.get(store, namespace, key)
            entry = Entry(id, namespace, key, times)
            entry.hold(node)
            return entry
        return None

    def under(self, prefix: tuple[str, ...]) -> Iterator[Entry]:
        """The entries in a namespace and those below it."""
        length = len(prefix)
        for namespace, there in self.by_namespace.items():
            if namespace[:length] == prefix:
                yield from there.values()

    def load_one(self, store: mnem.Store, entry: Entry) -> None:
        """Read the node of an entry that was not read yet."""
        node = self._read(store, entry.id, 1)[entry.id]
        entry.hold(node)
        self._held += _weight(node.content)

    def load(self, store: mnem.Store, entries: Iterable[Entry]) -> None:
        """Read the nodes of entries that were not read yet."""
        missing = [entry for entry in entries if entry.node is None]
        if not missing:
            return
        if self._held > MOST:
            for entry in self._entries.values():
                entry.hold(None)
            self._held = 0
            missing = list(entries)
        if len(missing) <= FEW:
            read = {entry.id: self._read(store, entry.id, 1)[entry.id] for entry in missing}
        else:
            # An id as the original joined it does not begin as its namespace does.
            begin = commonprefix([entry.id for entry in missing])  # noqa: RUF071 by characters
            read = self._read(store, begin, None)
        for entry in missing:
            node = read[entry.id]
            entry.hold(node)
            self._held += _weight(node.content)

    def _read(
        self, store: mnem.Store, prefix: str, limit: int | None
    ) -> dict[str, mnem.MemoryNode]:
        tip = self._timeline.tip
        return {} if tip is None else store.state_at(tip, prefix=prefix, limit=limit)


def _weight(value: Any) -> int:
    """About how much is held of a value: its characters, and 8 for all else."""
    if type(value) is str:
        return len(value)
    weight = 8
    inner = (
        cast("dict[str, Any]", value).values()
        if type(value) is dict
        else cast("list[Any]", value)
        if type(value) is list
        else ()
    )
    for item in inner:
        weight += _weight(item) if type(item) in (str, dict, list) else 8
    return weight
