"""Whoever subscribed is told of changes, by whichever process they were made."""

from __future__ import annotations

import subprocess
import sys
from contextlib import asynccontextmanager

import anyio
import anyio.from_thread
import mcp
import mnem
import pytest
from clients import Use
from mcp.client.stdio import StdioServerParameters
from mcp.server.connection import Connection
from mcp_types import ResourceUpdatedNotification
from mnem_mcp import build_server
from mnem_mcp._memory import Memory

pytestmark = [
    pytest.mark.anyio,
    # Clients of earlier versions of the protocol subscribe so.
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),
]

# A notice comes within a second; a machine that is busy with other things gets more.
PATIENCE = 30


def in_another_process(directory, *words):
    script = (
        "import mnem, sys\n"
        "with mnem.open(sys.argv[1]) as store:\n"
        "    store.write({id: sys.argv[2] for id in sys.argv[3:]}, message='elsewhere')\n"
    )
    command = [sys.executable, "-c", script, str(directory), *words]
    subprocess.run(command, check=True)


class Heard:
    """What a client was told of, until it has all that is waited for."""

    def __init__(self):
        self.uris = []
        self.every = []
        self._more = anyio.Event()

    def add(self, uri):
        self.uris.append(uri)
        self.every.append(uri)
        self._more.set()
        self._more = anyio.Event()

    async def all_of(self, *uris):
        with anyio.fail_after(PATIENCE):
            while not set(uris) <= set(self.uris):
                await self._more.wait()
        self.uris.clear()


@asynccontextmanager
async def listening(server, mode, uris):
    """A client that subscribed, by the way of its version of the protocol."""
    heard = Heard()

    async def on_message(message):
        if isinstance(message, ResourceUpdatedNotification):
            heard.add(str(message.params.uri))

    # A client of today hears of a change on its stream, and would hear of it here too.
    hearing = on_message if mode == "legacy" else None
    async with mcp.Client(server, mode=mode, message_handler=hearing) as client:
        if mode == "legacy":
            for uri in uris:
                await client.subscribe_resource(uri)
            yield client, heard
            return
        async with (
            client.listen(resource_subscriptions=uris) as events,
            anyio.create_task_group() as tasks,
        ):

            async def collect():
                async for event in events:
                    heard.add(event.uri)

            tasks.start_soon(collect)
            yield client, heard
            tasks.cancel_scope.cancel()


@pytest.fixture(params=["2026-07-28", "legacy"])
def mode(request):
    return request.param


@pytest.fixture(params=["in process", "stdio"])
def server(request, directory):
    if request.param == "stdio":
        words = ["-m", "mnem_mcp", "--store", str(directory), "--tools", "all"]
        return StdioServerParameters(command=sys.executable, args=words)
    return build_server(directory, "all")


async def test_changes_are_told(server, mode, directory):
    odd = "a/b c"
    uris = ["mnem://memory", "mnem://log", "mnem://memory/plan", "mnem://memory/a%2Fb%20c"]
    async with listening(server, mode, uris) as (client, heard):
        use = Use(client)
        # The first commit of all.
        await use("remember", id="plan", content="basic")
        await heard.all_of("mnem://memory", "mnem://log", "mnem://memory/plan")
        await use("remember", id="seats", content=3)
        await heard.all_of("mnem://memory")
        in_another_process(directory, "enterprise", "plan", odd)
        await heard.all_of("mnem://memory/plan", "mnem://memory/a%2Fb%20c")
        await use("forget", id="plan")
        await heard.all_of("mnem://memory/plan")
    # Once for each of its three changes, and not for the change of another.
    assert heard.every.count("mnem://memory/plan") == 3
    assert set(heard.every) == set(uris)


async def test_a_resource_may_be_written_in_any_way(directory, mode):
    with mnem.open(directory) as store:
        store.write({"a/b": 1, "other": 1}, message="first")
    told = ["mnem://memory/a%2fb", "mnem://memory/a/b", "mnem://memory/%61%2Fb?whole=true"]
    told += ["mnem://memory?prefix=a", "mnem://log?limit=3", "mnem://commit/main"]
    silent = ["mnem://memory/other", "mnem://memory/a", f"mnem://commit/{'0' * 64}", "mnem://no/a"]
    silent += ["file:///a/b", "mnem://["]
    async with listening(build_server(directory), mode, [*told, *silent]) as (client, heard):
        # In Python both are the same.
        await Use(client)("remember", id="a/b", content=True)
        await heard.all_of(*told)
        await Use(client)("remember", id="other", content=2)
        await heard.all_of("mnem://memory/other")
    assert set(heard.every) == {*told, "mnem://memory/other"}


async def test_a_large_change_costs_those_who_hear_nothing(directory, monkeypatch):
    read, node = [], Memory.node

    def reading(memory, commit, name):
        read.append(name)
        return node(memory, commit, name)

    monkeypatch.setattr(Memory, "node", reading)
    uris = ["mnem://memory", "mnem://memory/n7"]
    async with listening(build_server(directory), "2026-07-28", uris) as (_, heard):
        with mnem.open(directory) as store:
            store.write({f"n{n}": n for n in range(10_000)}, message="import")
        await heard.all_of(*uris)
    assert set(read) == {"n7"}
    assert heard.every == uris


async def test_who_does_not_listen_holds_nobody_up(directory, monkeypatch):
    """A client that stopped reading, as a suspended one does, still has its subscription."""
    server = build_server(directory)
    stuck, free = anyio.Event(), anyio.Event()
    send = Connection.send_resource_updated

    async def slowly(connection, uri, **more):
        if uri == "mnem://memory/stuck":
            stuck.set()
            await free.wait()
        await send(connection, uri, **more)

    monkeypatch.setattr(Connection, "send_resource_updated", slowly)
    async with (
        listening(server, "legacy", ["mnem://memory/stuck"]) as (_, late),
        listening(server, "legacy", ["mnem://memory"]) as (client, heard),
    ):
        for n in range(3):
            await Use(client)("remember", id="stuck", content=n)
            await heard.all_of("mnem://memory")
        assert stuck.is_set()
        assert late.every == []
        free.set()
        await late.all_of("mnem://memory/stuck")
    assert 1 <= len(late.every) <= 2


async def test_a_switch_is_a_change(directory):
    with mnem.open(directory) as store:
        mnem.agents.remember(store, "plan", "basic")
        mnem.agents.remember(store.on("other"), "plan", "enterprise")
    server = build_server(directory, "all")
    async with listening(server, "2026-07-28", ["mnem://memory/plan"]) as (client, heard):
        await Use(client)("switch", target="other")
        await heard.all_of("mnem://memory/plan")


async def test_who_unsubscribed_is_not_told(directory):
    server = build_server(directory)
    uris = ["mnem://memory", "mnem://memory/plan"]
    async with listening(server, "legacy", uris) as (client, heard):
        await client.unsubscribe_resource("mnem://memory/plan")
        await Use(client)("remember", id="plan", content=1)
        await heard.all_of("mnem://memory")
        await Use(client)("remember", id="plan", content=2)
        await heard.all_of("mnem://memory")
    assert "mnem://memory/plan" not in heard.every


async def test_nobody_looks_while_nobody_listens(directory, monkeypatch):
    server = build_server(directory)
    looks, looked = [], anyio.Event()
    changed = server.notices._changed

    def look(tip):
        looks.append(tip)
        anyio.from_thread.run_sync(looked.set)
        return changed(tip)

    monkeypatch.setattr(server.notices, "_changed", look)
    async with mcp.Client(server) as client:
        await Use(client)("remember", id="plan", content=1)
        await anyio.sleep(1)
        assert looks == []
        async with client.listen(resource_subscriptions=["mnem://memory"]):
            with anyio.fail_after(PATIENCE):
                await looked.wait()
        await anyio.sleep(1)
        looks.clear()
        await anyio.sleep(1)
        assert looks == []


async def test_a_store_that_cannot_be_read_does_not_end_the_server(directory, monkeypatch, caplog):
    server = build_server(directory)
    async with listening(server, "2026-07-28", ["mnem://memory"]) as (client, heard):
        changed, failures, failed = server.notices._changed, [], anyio.Event()

        def fail(tip):
            failures.append(tip)
            if len(failures) == 3:
                failed.set()
            raise mnem.BusyError("busy")

        monkeypatch.setattr(server.notices, "_changed", fail)
        await Use(client)("remember", id="plan", content=1)
        with anyio.fail_after(PATIENCE):
            await failed.wait()
        monkeypatch.setattr(server.notices, "_changed", changed)
        await heard.all_of("mnem://memory")
    # Once, and not as often as it looked.
    assert [record.getMessage() for record in caplog.records] == [
        "cannot look for changes: busy: busy"
    ]


async def test_what_is_put_in_the_place_of_a_store_is_used_and_told(directory, tmp_path_factory):
    place = directory / "place"
    place.mkdir()
    # The first, and the one that is put in its place.
    stores = []
    for content in ("basic", "enterprise"):
        made = tmp_path_factory.mktemp(content)
        with mnem.init(made) as store:
            mnem.agents.remember(store, "plan", content)
        stores.append(made / ".mnem")
    stores[0].rename(place / ".mnem")
    uris = ["mnem://memory", "mnem://memory/plan"]
    async with listening(build_server(place), "2026-07-28", uris) as (client, heard):
        use = Use(client)
        assert (await use.result("recall"))["plan"]["content"] == "basic"
        (place / ".mnem").rename(place / "old")
        # The one above is another's.
        for _ in range(3):
            assert (await use.error("recall")).startswith("no_store: ")
        stores[1].rename(place / ".mnem")
        await heard.all_of(*uris)
        assert (await use.result("recall"))["plan"]["content"] == "enterprise"
