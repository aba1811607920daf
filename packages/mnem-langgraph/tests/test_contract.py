"""The contract that every adapter keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langgraph.store.base import PutOp
from mnem import keys
from mnem_conformance import Adapter, Contract, Entry, Memory
from mnem_langgraph import MnemosyneStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    import mnem


class LangGraphMemory(Memory):
    def __init__(self, path: str, branch: str | None) -> None:
        self.memories = MnemosyneStore(path, branch=branch)

    @property
    def store(self) -> mnem.Store:
        return self.memories._store

    def put(self, scope: tuple[str, ...], entries: Mapping[str, Any]) -> None:
        self.memories.batch([PutOp(scope, key, value) for key, value in entries.items()])

    async def aput(self, scope: tuple[str, ...], entries: Mapping[str, Any]) -> None:
        await self.memories.abatch([PutOp(scope, key, value) for key, value in entries.items()])

    def get(self, scope: tuple[str, ...], key: str) -> Any:
        item = self.memories.get(scope, key)
        return None if item is None else item.value

    def forget(self, scope: tuple[str, ...], key: str) -> None:
        self.memories.delete(scope, key)

    def list(self, scope: tuple[str, ...]) -> list[Entry]:
        found = self.memories.search(scope, limit=10_000)
        return [Entry(item.namespace, item.key, item.value) for item in found]

    def search(self, scope: tuple[str, ...], text: str) -> list[Entry]:
        found = self.memories.search(scope, query=text)
        return [Entry(item.namespace, item.key, item.value) for item in found]

    def node_id(self, scope: tuple[str, ...], key: str) -> str:
        return keys.join(*scope, key)

    def why(self, scope: tuple[str, ...], key: str) -> mnem.Blame:
        return self.memories.why(scope, key)

    def history(self, limit: int) -> list[mnem.Commit]:
        return self.memories.history(limit=limit)

    def close(self) -> None:
        self.memories.close()


class LangGraph(Adapter):
    def open(self, path: str, branch: str | None = None) -> Memory:
        return LangGraphMemory(path, branch)

    def allows_scope(self, segment: str) -> bool:
        return segment != "" and "." not in segment and "\0" not in segment

    def allows_key(self, segment: str) -> bool:
        return True


@pytest.fixture
def adapter():
    return LangGraph()


class TestContract(Contract):
    pass
