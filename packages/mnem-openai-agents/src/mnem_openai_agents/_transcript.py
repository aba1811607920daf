"""Where a session's items stand: the ids of their nodes, and reading them in their order.

An item is the node ``{session}:{number:010d}``, and ``{session}:_seq`` says the number of the
next one; ids sort as their numbers do. The ids of a session whose name is too long for that are
cut and sort by their hashes: then the nodes keep their key, and what is found is sorted here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from mnem import keys

from ._items import restored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mnem import MemoryNode

__all__ = ["COUNTER", "NUMBERS", "Transcript", "counted", "is_counter"]

COUNTER = "_seq"
_DIGITS = 10
NUMBERS = 10**_DIGITS
# The tens that a number stands in, as digits: what ids are read by.
_TENS = _DIGITS - 1


class Read(Protocol):
    """Reads nodes of one moment by the beginning of their ids: see :meth:`mnem.Store.memory`."""

    def __call__(
        self, prefix: str, limit: int | None = None, after: str | None = None
    ) -> dict[str, MemoryNode]: ...


def is_counter(node: MemoryNode) -> bool:
    """Whether a node is the counter of some session."""
    match keys.split(node.id) or node.content:
        case (_, str(name)) | {keys.FULL: [_, str(name)]}:
            return name == COUNTER and counted(node) is not None
        case _:
            return False


def counted(node: MemoryNode | None) -> int | None:
    """The number a counter says, if it is one."""
    try:
        number = None if node is None else restored(node.content)
    except ValueError:
        return None
    return number if type(number) is int and 0 <= number <= NUMBERS else None


class Transcript:
    """The nodes of one session, as ``read`` finds them at one moment."""

    def __init__(self, session_id: str, read: Read) -> None:
        self._session = session_id
        self._read = read
        self._prefix = keys.prefix(session_id)
        self._cut = not self._prefix.endswith(":")
        # A session begun by a release that joined names as they are goes on under its ids.
        original = keys.unencoded(session_id, COUNTER)
        if original is not None and original in read(original, 1):
            self._prefix = original.removesuffix(COUNTER)
            self._cut = False

    def key(self, name: str) -> tuple[str, list[str] | None]:
        """The id of a node, and its key where the id is cut."""
        if not self._cut:
            return self._prefix + name, None
        id = keys.join(self._session, name)
        return id, [self._session, name] if keys.split(id) is None else None

    def item(self, number: int) -> tuple[str, list[str] | None]:
        """The id of an item's node, and its key where the id is cut."""
        return self.key(f"{number:0{_DIGITS}d}")

    def counter(self) -> int:
        """The number that the counter says; 0 where it says none."""
        id, _ = self.key(COUNTER)
        return counted(self._read(id, 1).get(id)) or 0

    @property
    def prefix(self) -> str:
        """What the id of each of its nodes begins with."""
        return self._prefix

    def owns(self, id: str, content: Any) -> bool:
        """Whether a node of this id and content is one of this session's."""
        return id.startswith(self._prefix) and _is_name(self._name(id, content))

    def all(self) -> list[tuple[int, MemoryNode]]:
        """Every item's number and node, oldest first."""
        return self._numbered(self._read(self._prefix))

    def newest_first(self) -> Iterator[tuple[int, MemoryNode]]:
        """Every item's number and node, newest first; reads ten at a time."""
        return self._before(self.end())

    def end(self) -> int:
        """The number of the next item; larger than that of any item there is."""
        number = self.counter()
        if not self._cut:
            last = self._prefix if number == 0 else self.item(number - 1)[0]
            if self._read(self._prefix, 1, last).keys() <= {self._prefix + COUNTER}:
                return number
        # Whoever merged or reverted past the adapter may have left a counter that is behind.
        newest = next(self._before(NUMBERS), None)
        return number if newest is None else max(number, newest[0] + 1)

    def _before(self, end: int) -> Iterator[tuple[int, MemoryNode]]:
        if self._cut:
            yield from reversed(self.all())
            return
        tens = (end - 1) // 10
        while tens >= 0:
            digits = f"{tens:0{_TENS}d}"
            found = self._read(self._prefix + digits)
            if not found:
                # A gap of any length is passed over by the beginnings of ids.
                last = self._last_tens("", digits)
                if last is None:
                    return
                tens = int(last)
                found = self._read(self._prefix + last)
            yield from reversed(self._numbered(found))
            tens -= 1

    def _last_tens(self, head: str, limit: str) -> str | None:
        """The largest tens up to ``limit`` that begin with ``head`` and have a node."""
        if not self._read(self._prefix + head, 1):
            return None
        if len(head) == _TENS:
            return head
        top = int(limit[len(head)]) if limit.startswith(head) else 9
        for digit in range(top, -1, -1):
            last = self._last_tens(f"{head}{digit}", limit)
            if last is not None:
                return last
        return None

    def _numbered(self, found: dict[str, MemoryNode]) -> list[tuple[int, MemoryNode]]:
        names = ((self._name(id, node.content), node) for id, node in found.items())
        items = [(int(name), node) for name, node in names if _is_name(name) and name != COUNTER]
        return sorted(items, key=lambda item: item[0]) if self._cut else items

    def _name(self, id: str, content: Any) -> str:
        if not self._cut:
            return id.removeprefix(self._prefix)
        match keys.split(id) or content:
            case (_, str(name)) | {keys.FULL: [_, str(name)]}:
                return name if keys.join(self._session, name) == id else ""
            case _:
                return ""


def _is_name(name: str) -> bool:
    digits = len(name) == _DIGITS and name.isascii() and name.isdigit()
    return digits or name == COUNTER
