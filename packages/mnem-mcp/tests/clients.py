"""Clients and servers to test with."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import mcp

COMMAND = Path(sys.executable).with_name("mnem-mcp")


class Use:
    """A client whose tools are called, and whose answers are looked at."""

    def __init__(self, client: mcp.Client) -> None:
        self.client = client

    async def answer(self, tool: str, **arguments: Any) -> Any:
        return await self.client.call_tool(tool, arguments)

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        """The structured answer."""
        answer = await self.answer(tool, **arguments)
        assert not answer.is_error, answer.content
        return answer.structured_content

    async def result(self, tool: str, **arguments: Any) -> Any:
        return (await self(tool, **arguments))["result"]

    async def error(self, tool: str, **arguments: Any) -> str:
        """The sentence of an error."""
        answer = await self.answer(tool, **arguments)
        assert answer.is_error, answer.structured_content
        return answer.content[0].text

    async def read(self, uri: str) -> Any:
        """The value of a resource."""
        return self.value((await self.client.read_resource(uri)).contents[0])

    @staticmethod
    def value(content: Any) -> Any:
        return json.loads(content.text)


@contextlib.contextmanager
def http_server(
    directory: Path, *words: str, listen: str = "127.0.0.1:0", token: str | None = None
) -> Iterator[str]:
    """A server on HTTP in a process of its own; its address."""
    environment = {name: value for name, value in os.environ.items() if "MNEM" not in name}
    if token is not None:
        environment["MNEM_MCP_TOKEN"] = token
    running = subprocess.Popen(
        [COMMAND, "--store", directory, "--http", listen, *words],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stderr is not None
        found = re.search(r"http://\S+", running.stderr.readline())
        assert found, running.stderr.read()
        yield found[0]
    finally:
        running.terminate()
        running.communicate(timeout=30)
