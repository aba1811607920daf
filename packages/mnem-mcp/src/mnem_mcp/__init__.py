"""An agent's memory under version control, as an MCP server.

>>> import asyncio, mcp, mnem, tempfile
>>> async def learn(directory):
...     async with mcp.Client(build_server(directory)) as client:
...         await client.call_tool("remember", {"id": "plan", "content": "enterprise"})
...         answer = await client.call_tool("recall", {"id": "plan"})
...         return answer.structured_content["result"]["content"]
>>> with tempfile.TemporaryDirectory() as directory:
...     mnem.init(directory).close()
...     asyncio.run(learn(directory))
'enterprise'
"""

from __future__ import annotations

from importlib.metadata import version

from ._server import build_server

__version__ = version("mnem-mcp")

__all__ = ["__version__", "build_server"]
