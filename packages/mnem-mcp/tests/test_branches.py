"""Where a server reads and writes: branches, authors, and what it leaves out."""

from __future__ import annotations

import json

import mcp
import mnem
import pytest
from clients import Use
from mnem_mcp import build_server

pytestmark = pytest.mark.anyio

PAST = ["recall_at", "history", "why", "when_did", "whats_new", "branch", "switch", "merge"]
PAST += ["revert", "undo"]


@pytest.fixture
async def use(directory):
    async with mcp.Client(build_server(directory, "all")) as client:
        yield Use(client)


async def test_a_hypothesis_is_merged_with_resolutions(use):
    await use("remember_many", items=[{"id": id, "content": "basic"} for id in "abcd"])
    await use("branch", name="hypothesis")
    assert await use.error("branch", name="hypothesis") == (
        "invalid_ref: the branch hypothesis already exists"
    )
    await use("switch", target="hypothesis")
    await use("remember_many", items=[{"id": id, "content": "theirs"} for id in "abcd"])
    await use("switch", target="main")
    assert (await use.result("recall", id="a"))["content"] == "basic"
    await use("remember_many", items=[{"id": id, "content": "ours"} for id in "abc"])
    merged = await use("merge", theirs="hypothesis")
    assert (merged["status"], merged["commit"]) == ("conflicts", None)
    assert [(conflict["id"], conflict["kind"]) for conflict in merged["conflicts"]] == [
        (id, "edit/edit") for id in "abc"
    ]
    assert merged["conflicts"][0]["theirs"]["content"] == "theirs"
    assert (await use.error("merge", theirs="hypothesis", strategy="neither")).startswith("invalid")
    merged = await use(
        "merge",
        theirs="hypothesis",
        resolutions={"a": "theirs", "b": "delete", "c": {"content": "both", "source": "a person"}},
    )
    assert merged["status"] == "merged"
    nodes = await use.result("recall")
    assert {id: node["content"] for id, node in nodes.items()} == {
        "a": "theirs",
        "c": "both",
        "d": "theirs",
    }
    assert nodes["c"]["provenance"]["source"] == "a person"


async def test_switch_is_of_this_server_alone(directory):
    with mnem.open(directory) as store:
        mnem.agents.remember(store, "plan", "basic")
        async with (
            mcp.Client(build_server(directory, "all")) as client,
            mcp.Client(build_server(directory, "all")) as other,
        ):
            one, two = Use(client), Use(other)
            await two("recall")
            await one("branch", name="hypothesis")
            await one("switch", target="hypothesis")
            await one("remember", id="plan", content="enterprise")
            assert store.head() == "ref: main"
            assert (await two.result("recall", id="plan"))["content"] == "basic"
            # A person's checkout does not move a server either.
            store.checkout("hypothesis")
            assert (await two.result("recall", id="plan"))["content"] == "basic"
            assert (await one.error("switch", target="nothing")).startswith("invalid_ref: there is")
            assert (await one.error("switch", target="HEAD~1")).startswith("invalid_ref: there is")
            assert [name for name, _ in store.branches()] == ["hypothesis", "main"]


async def test_revert_and_undo(use):
    await use("remember", id="plan", content="basic")
    wrong = (await use("remember", id="plan", content="enterprise"))["commit"]
    await use("remember", id="seats", content=3)
    assert (await use("revert", commit=wrong))["status"] == "reverted"
    assert (await use.result("recall", id="plan"))["content"] == "basic"
    undone = await use("undo")
    assert (undone["status"], undone["undone"]["operation"]) == ("moved-back", "revert")
    assert (await use.result("recall", id="plan"))["content"] == "enterprise"
    await use("remember", id="plan", content="team")
    conflicts = (await use("revert", commit=wrong))["conflicts"]
    assert [conflict["id"] for conflict in conflicts] == ["plan"]
    assert (await use("revert", commit=wrong, strategy="theirs"))["status"] == "reverted"
    assert (await use.error("undo", by="nobody")).startswith("invalid_ref: ")


async def test_a_server_bound_to_a_branch(directory):
    with mnem.open(directory) as store:
        mnem.agents.remember(store, "plan", "basic")
        server = build_server(directory, branch="agent-a", author="ada")
        async with mcp.Client(server) as client:
            use = Use(client)
            await use("remember", id="plan", content="enterprise")
            assert store.head() == "ref: main"
            assert store.get("plan").content == "basic"
            assert (await use.result("recall", id="plan"))["content"] == "enterprise"
            assert [commit["author"] for commit in await use.result("history")] == ["ada", "agent"]


async def test_a_server_that_only_reads_makes_no_branch(directory):
    server = build_server(directory, branch="nothing", read_only=True)
    async with mcp.Client(server) as client:
        use = Use(client)
        assert (await use.error("recall")).startswith("invalid_ref: there is no branch 'nothing'")
        assert await use.error("remember", id="x", content=1) == (
            "not_found: there is no tool 'remember'"
        )


async def test_a_server_that_only_reads_shows_no_other_branch_for_its_own(directory):
    with mnem.open(directory) as store:
        mnem.agents.remember(store, "plan", "a secret")
        mnem.agents.forget(store.on("public"), "plan")
        server = build_server(directory, branch="public", read_only=True, history=False)
        async with mcp.Client(server) as client:
            use = Use(client)
            assert await use.result("recall") == {}
            store.delete_branch("public")
            told = "invalid_ref: there is no branch 'public' any more"
            for arguments in ({}, {"id": "plan"}, {"prefix": "p", "cursor": "a"}):
                assert await use.error("recall", **arguments) == told
            for uri in ("mnem://memory", "mnem://memory/plan"):
                with pytest.raises(mcp.MCPError, match=told):
                    await use.read(uri)
            store.new_branch("public")
            assert list(await use.result("recall")) == ["plan"]
            assert [name for name, _ in store.branches()] == ["main", "public"]


@pytest.mark.parametrize("read_only", [True, False])
async def test_a_store_without_a_commit_is_read(directory, read_only):
    with mnem.open(directory) as store:
        for branch in (None, "main"):
            server = build_server(directory, branch=branch, read_only=read_only)
            async with mcp.Client(server) as client:
                assert await Use(client).result("recall") == {}
                assert await Use(client).result("history") == []
        assert store.branches() == []


async def test_without_history_what_is_forgotten_is_not_seen(directory):
    async with mcp.Client(build_server(directory, history=False)) as client:
        use = Use(client)
        commit = (await use("remember", id="plan", content="a secret"))["commit"]
        await use("remember", id="plan", content="basic")
        page = await use("recall", limit=1)
        assert "a secret" not in json.dumps(page)
        await use("forget", id="plan")
        for tool in PAST:
            assert (await use.error(tool, id="plan", commit=commit)).startswith("not_found: ")
        for uri in [f"mnem://commit/{commit}", "mnem://log", "mnem://log?limit=3"]:
            with pytest.raises(mcp.MCPError, match="not_found"):
                await use.read(uri)
        assert await use.read("mnem://memory") == {}
        listed = str((await client.list_resources()).resources)
        listed += str((await client.list_resource_templates()).resource_templates)
        assert "mnem://log" not in listed
        assert "mnem://commit" not in listed


async def test_on_a_detached_head_memory_is_read_and_not_written(directory):
    with mnem.open(directory) as store:
        first = mnem.agents.remember(store, "plan", "basic")
        mnem.agents.remember(store, "plan", "enterprise")
        store.checkout(first)
    async with mcp.Client(build_server(directory)) as client:
        use = Use(client)
        assert (await use.result("recall", id="plan"))["content"] == "basic"
        assert (await use.error("remember", id="x", content=1)).startswith("invalid_ref: ")


async def test_a_server_lets_go_of_the_store_and_stays_on_its_branch(directory, monkeypatch):
    closed = []
    close = mnem.Store.close
    monkeypatch.setattr(mnem.Store, "close", lambda store: closed.append(store) or close(store))
    with mnem.open(directory) as store:
        mnem.agents.remember(store, "plan", "basic")
        mnem.agents.remember(store.on("other"), "plan", "enterprise")
        server = build_server(directory, "all")
        async with mcp.Client(server) as client:
            await Use(client)("switch", target="other")
            async with mcp.Client(server):
                pass
            assert closed == []
        assert len(closed) == 1
        async with mcp.Client(server) as client:
            assert (await Use(client).result("recall", id="plan"))["content"] == "enterprise"
