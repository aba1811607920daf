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
from mcp_types import ResourceUpdatedNotification
from mnem_mcp import build_server

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


async def test_a_store_that_cannot_be_read_does_not_end_the_server(directory, monkeypatch):
    server = build_server(directory)
    async with listening(server, "2026-07-28", ["mnem://memory"]) as (client, heard):
        changed, failed = server.notices._changed, anyio.Event()

        def fail(_tip):
            failed.set()
            raise mnem.BusyError("busy")

        monkeypatch.setattr(server.notices, "_changed", fail)
        await Use(client)("remember", id="plan", content=1)
        with anyio.fail_after(PATIENCE):
            await failed.wait()
        monkeypatch.setattr(server.notices, "_changed", changed)
        await heard.all_of("mnem://memory")
