"""The adapters published for 0.0.7 do their work on this wheel, unchanged."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import metadata
from typing import Any

import mcp
import mnem
import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from mcp.client.stdio import StdioServerParameters, stdio_client
from mnem_langgraph import MnemosyneStore
from mnem_mcp import build_server


def test_the_published_releases_stand_beside_this_wheel():
    versions = {name: metadata.version(name) for name in ("mnem-langgraph", "mnem-mcp")}
    assert versions == {"mnem-langgraph": "0.0.1", "mnem-mcp": "0.0.1"}
    assert metadata.version("mnem-agents") == mnem.__version__ != "0.0.7"


# ---- mnem-langgraph ----


@pytest.fixture
def directory(tmp_path):
    mnem.init(tmp_path).close()
    return tmp_path


@pytest.fixture
def memories(directory):
    return MnemosyneStore(str(directory), author="graph")


USER = ("memories", "u1")


def test_langgraph_items(memories):
    memories.put(USER, "plan", {"tier": "basic", "_meta": {"source": "ticket-1"}})
    memories.put(USER, "plan", {"tier": "enterprise", "_meta": {"source": "ticket-2"}})
    memories.put(USER, "seats", {"count": 3})
    memories.put(("memories", "u2"), "plan", {"tier": "team"})

    assert memories.get(USER, "plan").value["tier"] == "enterprise"
    assert memories.get(USER, "nothing") is None
    assert [item.key for item in memories.search(("memories",), filter={"count": 3})] == ["seats"]
    assert [item.namespace for item in memories.search(("memories",), query="TEAM")] == [
        ("memories", "u2")
    ]
    assert len(memories.search(("memories",), limit=2, offset=1)) == 2
    assert memories.list_namespaces() == [("memories", "u1"), ("memories", "u2")]
    assert memories.list_namespaces(max_depth=1) == [("memories",)]

    why = memories.why(USER, "plan")
    assert (why.provenance.source, why.node.content["tier"]) == ("ticket-2", "enterprise")
    assert [commit.message for commit in memories.history(limit=2)] == [
        "put memories:u2:plan",
        "put memories:u1:seats",
    ]
    assert {commit.author for commit in memories.history()} == {"graph"}

    memories.delete(USER, "plan")
    assert memories.get(USER, "plan") is None
    assert memories.history(limit=1)[0].message == "forget memories:u1:plan"


def test_langgraph_batches(memories):
    async def run() -> list[Any]:
        await memories.aput(USER, "a", {"n": 1})
        return await memories.abatch(
            [
                PutOp(USER, "b", {"n": 2}),
                GetOp(USER, "b"),
                SearchOp(USER),
                ListNamespacesOp((MatchCondition("prefix", ("memories",)),)),
            ]
        )

    put, got, found, namespaces = asyncio.run(run())
    assert put is None
    assert got.value == {"n": 2}
    assert {item.key for item in found} == {"a", "b"}
    assert namespaces == [USER]


def test_langgraph_branches(memories):
    memories.put(USER, "plan", {"tier": "basic"})
    assert memories.branch("hypothesis") == "hypothesis"
    memories.switch("hypothesis")
    memories.put(USER, "plan", {"tier": "enterprise"})
    memories.switch("main")
    assert memories.get(USER, "plan").value == {"tier": "basic"}
    memories.switch("hypothesis")
    assert memories.get(USER, "plan").value == {"tier": "enterprise"}


# ---- mnem-mcp ----


class Session:
    """A client's session; answers come as plain values."""

    def __init__(self, client: Any) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        answer = await self.client.call_tool(tool, arguments)
        assert not answer.is_error, answer.content
        value = answer.structured_content
        return value["result"] if set(value) == {"result"} else value

    async def error(self, tool: str, **arguments: Any) -> str:
        answer = await self.client.call_tool(tool, arguments)
        assert answer.is_error, answer
        return answer.content[0].text

    async def read(self, uri: str) -> Any:
        answer = await self.client.read_resource(uri)
        return json.loads(answer.contents[0].text)


async def use_every_tool(use: Session) -> None:
    names = {tool.name for tool in (await use.client.list_tools()).tools}
    first = (await use("remember", id="plan", content={"tier": "basic"}, source="t-1"))["commit"]
    second = (
        await use(
            "revise",
            id="plan",
            content={"tier": "enterprise"},
            source="t-2",
            step="7",
            observation="they said so",
            summary="they upgraded",
        )
    )["commit"]
    third = (
        await use("remember_many", items=[{"id": "a", "content": 1}, {"id": "b", "content": 2}])
    )["commit"]
    fourth = (await use("forget", id="b"))["commit"]

    assert (await use("recall", id="plan"))["content"] == {"tier": "enterprise"}
    assert set(await use("recall")) == {"a", "plan"}
    assert (await use("recall_at", commit=first, id="plan"))["content"] == {"tier": "basic"}
    assert set(await use("recall_at", commit=third)) == {"a", "b", "plan"}
    assert [commit["id"] for commit in await use("history")] == [fourth, third, second, first]
    assert [commit["message"] for commit in await use("history", limit=3)] == [
        "forget b",
        "remember 2 nodes",
        "they upgraded",
    ]
    why = await use("why", id="plan")
    assert (why["commit"], why["node"]["provenance"]["source"]) == (second, "t-2")
    assert (await use("why", id="plan", at=first))["commit"] == first
    when = await use("when_did", id="plan", equals={"tier": "enterprise"})
    assert (when["commit"], when["blame"]["node"]["provenance"]["agent_step"]) == (second, "7")
    assert (await use("when_did", id="b", absent=True, good=third))["commit"] == fourth
    assert (await use("when_did", id="a", present=True))["commit"] == third
    assert await use("whats_new", commit=third) == {"a": "added", "b": "added"}
    assert (await use.error("forget", id="nothing")).endswith("no node 'nothing' in memory")
    assert "invalid_ref: " in await use.error("recall_at", commit="nothing")

    assert set(await use.read("mnem://memory")) == {"a", "plan"}
    assert (await use.read("mnem://memory/plan"))["content"] == {"tier": "enterprise"}
    assert (await use.read("mnem://log"))[0]["id"] == fourth
    view = await use.read(f"mnem://commit/{third}")
    assert (set(view["changed"]), set(view["state"])) == ({"a", "b"}, {"a", "b", "plan"})

    if "branch" not in names:
        return
    assert await use("branch", name="hypothesis") == {"branch": "hypothesis"}
    assert await use("switch", target="hypothesis") == {"head": "ref: hypothesis"}
    await use("remember", id="plan", content="theirs")
    assert await use("switch", target="main") == {"head": "ref: main"}
    await use("remember", id="plan", content="ours")
    merged = await use("merge", theirs="hypothesis")
    assert (merged["status"], [c["id"] for c in merged["conflicts"]]) == ("conflicts", ["plan"])
    assert "invalid_ref: " in await use.error("merge", theirs="hypothesis", strategy="neither")
    merged = await use("merge", theirs="hypothesis", resolutions={"plan": "theirs"})
    assert (merged["status"], merged["conflicts"]) == ("merged", [])
    assert (await use("recall", id="plan"))["content"] == "theirs"


def test_mcp_in_memory(directory):
    async def run() -> None:
        async with mcp.Client(build_server(str(directory), tools="all")) as client:
            await use_every_tool(Session(client))

    asyncio.run(run())


@pytest.mark.parametrize("tools", ["core", "all"])
def test_mcp_over_stdio(directory, tools):
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "mnem_mcp", "--store", str(directory), "--tools", tools],
    )

    async def run() -> None:
        async with (
            stdio_client(server) as (reading, writing),
            mcp.ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            await use_every_tool(Session(session))

    asyncio.run(run())


def test_two_adapters_share_one_store(directory, memories):
    memories.put(USER, "plan", {"tier": "basic"})

    async def run() -> Any:
        async with mcp.Client(build_server(str(directory))) as client:
            return await Session(client)("recall", id="memories:u1:plan")

    assert asyncio.run(run())["content"] == {"tier": "basic"}
