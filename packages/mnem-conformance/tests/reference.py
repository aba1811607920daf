"""The smallest adapter there is: nodes under keys, straight on the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mnem
from mnem import keys
from mnem_conformance import Adapter, Entry, Memory

if TYPE_CHECKING:
    from collections.abc import Mapping


class ReferenceMemory(Memory):
    def __init__(self, path: str, branch: str | None) -> None:
        opened = mnem.open(path)
        self._store = opened.on(branch or opened.head().removeprefix("ref: "))
        opened.close()

    @property
    def store(self) -> mnem.Store:
        return self._store

    def node_id(self, scope: tuple[str, ...], key: str) -> str:
        return keys.join(*scope, key)

    def content(self, scope: tuple[str, ...], key: str, value: Any) -> Any:
        cut = keys.split(self.node_id(scope, key)) is None
        return value | {keys.FULL: [*scope, key]} if cut else value

    def put(self, scope: tuple[str, ...], entries: Mapping[str, Any]) -> None:
        changes = {
            self.node_id(scope, key): self.content(scope, key, value)
            for key, value in entries.items()
        }
        self._store.write(changes, message="put")

    def entry(self, node: mnem.MemoryNode) -> Entry | None:
        if not isinstance(node.content, dict):
            return None
        segments = node.content.pop(keys.FULL, None) or keys.split(node.id)
        return Entry(tuple(segments[:-1]), segments[-1], node.content)

    def get(self, scope: tuple[str, ...], key: str) -> Any:
        node = self._store.get(self.node_id(scope, key))
        entry = None if node is None else self.entry(node)
        return None if entry is None else entry.value

    def forget(self, scope: tuple[str, ...], key: str) -> None:
        self._store.write({self.node_id(scope, key): None}, message="forget")

    def list(self, scope: tuple[str, ...]) -> list[Entry]:
        nodes = self._store.memory(prefix=keys.prefix(*scope)).values()
        entries = [entry for node in nodes if (entry := self.entry(node)) is not None]
        return [entry for entry in entries if entry.scope[: len(scope)] == scope]

    def search(self, scope: tuple[str, ...], text: str) -> list[Entry]:
        return [entry for entry in self.list(scope) if text in repr(entry.value)]

    def why(self, scope: tuple[str, ...], key: str) -> mnem.Blame:
        return self._store.blame(self.node_id(scope, key))

    def history(self, limit: int) -> list[mnem.Commit]:
        return self._store.log(limit=limit)


class Reference(Adapter):
    def open(self, path: str, branch: str | None = None) -> Memory:
        return ReferenceMemory(path, branch)
