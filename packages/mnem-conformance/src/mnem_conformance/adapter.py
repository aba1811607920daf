"""How the kit reaches an adapter: :class:`Adapter` and :class:`Memory`."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    import mnem

__all__ = ["Adapter", "Entry", "Memory"]


@dataclass(frozen=True)
class Entry:
    """One item as an adapter lists it: its scope and key as they were given, and its value."""

    scope: tuple[str, ...]
    key: str
    value: Any


class Memory(ABC):
    """An open adapter, in words that fit each of them.

    A *scope* is a path of segments: a namespace, a session, the first segments of an id. A *key*
    names an item in it. Values are dicts. An adapter that numbers its items itself keeps the key
    in the value it stores; the kit forgets only the newest item of a scope.
    """

    @property
    @abstractmethod
    def store(self) -> mnem.Store:
        """A handle of the store that is on the adapter's branch."""

    @abstractmethod
    def put(self, scope: tuple[str, ...], entries: Mapping[str, Any]) -> None:
        """Write items with one call of the adapter, in the order of the mapping."""

    async def aput(self, scope: tuple[str, ...], entries: Mapping[str, Any]) -> None:
        """Write items with one call on the event loop; in a thread unless overridden."""
        await asyncio.to_thread(self.put, scope, entries)

    @abstractmethod
    def get(self, scope: tuple[str, ...], key: str) -> Any:
        """The value of one item, by the adapter's point read; None when there is none."""

    @abstractmethod
    def forget(self, scope: tuple[str, ...], key: str) -> None:
        """Forget one item, with one call; it is the newest of its scope."""

    @abstractmethod
    def list(self, scope: tuple[str, ...]) -> list[Entry]:
        """Every item in a scope and the scopes below it."""

    def search(self, scope: tuple[str, ...], text: str) -> list[Entry]:
        """The items that a search for a text finds; only asked when ``search`` is not lacking."""
        raise NotImplementedError(scope, text)

    @abstractmethod
    def node_id(self, scope: tuple[str, ...], key: str) -> str:
        """The id of the node that holds an item that is there."""

    @abstractmethod
    def why(self, scope: tuple[str, ...], key: str) -> mnem.Blame:
        """Which commit set an item, asked through the adapter."""

    @abstractmethod
    def history(self, limit: int) -> list[mnem.Commit]:
        """The newest commits, asked through the adapter."""

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()


class Adapter(ABC):
    """What the kit has to know of an adapter.

    The class is made without arguments, also in another process: the file that defines it is
    run there by its path, so it must not need fixtures or relative imports.
    """

    #: How many segments a scope may have, at most.
    depth: ClassVar[int] = 3
    #: A value that the adapter refuses to store.
    refused: ClassVar[Any] = {"v": object()}
    #: Checks that cannot apply, by the name of the method without ``test_``, with the reason.
    lacks: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def open(self, path: str, branch: str | None = None) -> Memory:
        """Open the adapter on the store at a path, on HEAD's branch unless one is named."""

    def allows_scope(self, segment: str) -> bool:
        """Whether the framework allows a segment in a scope."""
        return segment != ""

    def allows_key(self, segment: str) -> bool:
        """Whether the framework allows a key."""
        return segment != ""

    def code(self, error: BaseException) -> str:
        """The code of an error, as the adapter's callers see it."""
        return str(getattr(error, "code", type(error).__name__))
