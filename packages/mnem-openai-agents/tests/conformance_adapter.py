"""How the kit of mnem-conformance reaches a session: a scope is one, an item keeps its key."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

import mnem
from mnem_conformance import Adapter, Entry, Memory
from mnem_openai_agents import MnemosyneSession

if TYPE_CHECKING:
    from collections.abc import Mapping


class SessionMemory(Memory):
    def __init__(self, path: str, branch: str | None) -> None:
        with mnem.open(path) as opened:
            self._store = opened.on(branch or opened.head().removeprefix("ref: "))
        self._last = ""

    @property
    def store(self) -> mnem.Store:
        return self._store

    def session(self, scope: tuple[str, ...]) -> MnemosyneSession:
        (self._last,) = scope
        return MnemosyneSession(self._store, self._last)

    def put(self, scope: tuple[str, ...], entries: Mapping[str, Any]) -> None:
        asyncio.run(self.aput(scope, entries))

    async def aput(self, scope: tuple[str, ...], entries: Mapping[str, Any]) -> None:
        items: list[Any] = [{"key": key, "value": value} for key, value in entries.items()]
        await self.session(scope).add_items(items)

    def list(self, scope: tuple[str, ...]) -> list[Entry]:
        items: list[Any] = asyncio.run(self.session(scope).get_items())
        return [Entry(scope, item["key"], item["value"]) for item in items]

    def get(self, scope: tuple[str, ...], key: str) -> Any:
        return next((entry.value for entry in self.list(scope) if entry.key == key), None)

    def forget(self, scope: tuple[str, ...], key: str) -> None:
        popped: Any = asyncio.run(self.session(scope).pop_item())
        assert popped["key"] == key

    def node_id(self, scope: tuple[str, ...], key: str) -> str:
        keys = [entry.key for entry in self.list(scope)]
        # One that is not there is asked for by the number that comes next.
        return f"{scope[0]}:{keys.index(key) if key in keys else len(keys):010d}"

    def why(self, scope: tuple[str, ...], key: str) -> mnem.Blame:
        return self.session(scope).why(self.node_id(scope, key))

    def history(self, limit: int) -> list[mnem.Commit]:
        return self.session((self._last,)).history(limit)


class Sessions(Adapter):
    depth = 1
    lacks: ClassVar[Mapping[str, str]] = {"searches_find_what_is_there": "a session has no search"}

    def open(self, path: str, branch: str | None = None) -> Memory:
        return SessionMemory(path, branch)

    def allows_scope(self, segment: str) -> bool:
        del segment
        return True
