"""The server for the adapters' contract: an agent that names its memories by keys."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar

import mcp
import mnem
from anyio.from_thread import start_blocking_portal
from mnem import keys
from mnem_conformance import Adapter, Entry, Memory
from mnem_mcp import build_server

if TYPE_CHECKING:
    from collections.abc import Mapping


class ToolFailedError(Exception):
    """An error as the server's client sees it."""

    def __init__(self, told: str) -> None:
        super().__init__(told)
        self.code = told.partition(": ")[0]


class OverMcp(Memory):
    def __init__(self, path: str, branch: str | None) -> None:
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        client = mcp.Client(build_server(path, branch=branch))
        self._client = self._stack.enter_context(self._portal.wrap_async_context_manager(client))
        try:
            # The store is opened by the first call.
            self._use("recall", limit=1)
        except ToolFailedError:
            self.close()
            raise
        opened = self._stack.enter_context(mnem.open(path))
        on = branch or opened.head().removeprefix("ref: ")
        self._store = self._stack.enter_context(opened.on(on))

    def close(self) -> None:
        self._stack.close()

    def _use(self, tool: str, **arguments: Any) -> Any:
        answer = self._portal.call(self._client.call_tool, tool, arguments)
        if answer.is_error:
            raise ToolFailedError(answer.content[0].text)
        return answer.structured_content

    @property
    def store(self) -> mnem.Store:
        return self._store

    def node_id(self, scope: tuple[str, ...], key: str) -> str:
        return keys.join(*scope, key)

    def put(self, scope: tuple[str, ...], entries: Mapping[str, Any]) -> None:
        items = []
        for key, value in entries.items():
            id = self.node_id(scope, key)
            full = {keys.FULL: [*scope, key]} if keys.split(id) is None else {}
            items.append({"id": id, "content": value | full})
        self._use("remember_many", items=items)

    @staticmethod
    def _entry(node: dict[str, Any]) -> Entry | None:
        content = node["content"]
        if not isinstance(content, dict):
            return None
        segments = content.pop(keys.FULL, None) or keys.split(node["id"])
        return Entry(tuple(segments[:-1]), segments[-1], content)

    def get(self, scope: tuple[str, ...], key: str) -> Any:
        node = self._use("recall", id=self.node_id(scope, key), whole=True)["result"]
        return node and self._entry(node).value

    def forget(self, scope: tuple[str, ...], key: str) -> None:
        self._use("forget", id=self.node_id(scope, key))

    def list(self, scope: tuple[str, ...]) -> list[Entry]:
        entries, asked = [], {"prefix": keys.prefix(*scope), "whole": True}
        while True:
            page = self._use("recall", **asked)
            entries += [self._entry(node) for node in page["result"].values()]
            if "next_cursor" not in page:
                break
            asked["cursor"] = page["next_cursor"]
        return [entry for entry in entries if entry and entry.scope[: len(scope)] == scope]

    def why(self, scope: tuple[str, ...], key: str) -> mnem.Blame:
        answer = self._use("why", id=self.node_id(scope, key))
        node = answer["node"]
        provenance = mnem.Provenance(**node["provenance"])
        return mnem.Blame(
            answer["commit"],
            mnem.MemoryNode(node["id"], node["content"], node["content_kind"], provenance),
            answer["time"],
            answer.get("removed", False),
        )

    def history(self, limit: int) -> list[mnem.Commit]:
        commits = self._use("history", limit=limit)["result"]
        return [
            mnem.Commit(**{**commit, "parents": tuple(commit["parents"])}) for commit in commits
        ]


class Mcp(Adapter):
    refused: ClassVar[Any] = {"v": 2**64}
    lacks: ClassVar[Mapping[str, str]] = {
        "searches_find_what_is_there": "the server has no search by text",
    }

    def open(self, path: str | os.PathLike[str], branch: str | None = None) -> Memory:
        return OverMcp(os.fspath(path), branch)
