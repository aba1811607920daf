"""Two agents and a person over MCP: a guess on a branch, a wrong belief traced, a merge settled.

The server runs as an agent's host would start it, on stdio; what a model would decide is written
out here, so that nothing else is needed. With the `mnem-mcp` package installed:

    python examples/adapters/mcp_memory.py
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from typing import Any

import mcp
from mcp.client.stdio import StdioServerParameters


def server(store: str, *words: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "mnem_mcp", "--store", store, "--init", *words]
    )


async def use(client: mcp.Client, tool: str, **arguments: Any) -> Any:
    """What a tool answers; an error is one sentence with a code."""
    answer = await client.call_tool(tool, arguments)
    if answer.is_error:
        raise SystemExit(answer.content[0].text)
    return answer.structured_content


async def desk(store: str) -> None:
    """The agent at the desk sees the tools of an agent alone."""
    async with mcp.Client(server(store, "--author", "desk")) as client:
        tools = (await client.list_tools()).tools
        print("tools:", ", ".join(tool.name for tool in tools))
        await use(
            client,
            "remember_many",
            items=[
                {"id": "guest:17:diet", "content": "vegetarian", "source": "booking form"},
                {"id": "guest:17:room", "content": "ground floor", "source": "booking form"},
            ],
        )
        await use(
            client,
            "revise",
            id="guest:17:diet",
            content="none",
            source="note 88",
            observation="71: eats anything",
            summary="read the notes",
        )


async def planner(store: str) -> None:
    """A harness lets the planner guess on a branch, and nobody else sees the guess."""
    async with mcp.Client(server(store, "--author", "planner", "--tools", "all")) as client:
        await use(client, "branch", name="guess")
        await use(client, "switch", target="guess")
        await use(client, "remember", id="guest:17:room", content="with a cot", source="a guess")
        await use(client, "remember", id="guest:17:arrival", content="18:00", source="train times")
        page = await use(client, "recall", prefix="guest:17:")
        for id, node in page["result"].items():
            print(f"  guess  {id} = {node['content']}")


async def person(store: str) -> None:
    """What is believed, since when, and why; then the branch is merged."""
    async with mcp.Client(server(store, "--author", "ada", "--tools", "all")) as client:
        page = await use(client, "recall")
        for id, node in page["result"].items():
            print(f"  main   {id} = {node['content']}")
        when = await use(client, "when_did", id="guest:17:diet", equals="none")
        why = await use(client, "why", id="guest:17:diet")
        came_from = why["node"]["provenance"]
        assert when["commit"] == why["commit"]
        print(f"diet: {why['author']} - {why['message']}")
        print(f"  because of {came_from['source']}: {came_from['observation']}")
        await use(client, "revert", commit=why["commit"])
        await use(client, "remember", id="guest:17:room", content="first floor", source="phone")

        merged = await use(client, "merge", theirs="guess")
        for conflict in merged["conflicts"]:
            ours, theirs = conflict["ours"]["content"], conflict["theirs"]["content"]
            print(f"conflict: {conflict['id']}: {ours} or {theirs}")
        answer = {"content": "first floor, with a cot", "source": "ada asked"}
        merged = await use(client, "merge", theirs="guess", resolutions={"guest:17:room": answer})
        print("merge:", merged["status"])
        page = await use(client, "recall")
        for id, node in page["result"].items():
            print(f"  main   {id} = {node['content']} ({node['provenance']['source']})")
        print("told with every answer:", page["notice"])


async def main() -> None:
    with tempfile.TemporaryDirectory() as store:
        await desk(store)
        await planner(store)
        await person(store)


if __name__ == "__main__":
    asyncio.run(main())
