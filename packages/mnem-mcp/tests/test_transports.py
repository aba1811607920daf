"""The server as it is run: on stdio and on HTTP, alone and beside others."""

from __future__ import annotations

import errno
import http.client
import json
import os
import socket
import sys
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import anyio
import httpx2
import mcp
import mnem
import pytest
from clients import COMMAND, Use, http_server
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mnem_mcp import __version__
from mnem_mcp.__main__ import main

pytestmark = pytest.mark.anyio


def on_stdio(*words):
    return StdioServerParameters(command=sys.executable, args=["-m", "mnem_mcp", *map(str, words)])


@pytest.fixture
def run(capfd, monkeypatch):
    """The command, in this process, where it ends before it serves."""
    for name in [name for name in os.environ if "MNEM" in name]:
        monkeypatch.delenv(name)

    def run(*words):
        try:
            code = main(words)
        except SystemExit as ended:
            code = ended.code
        return code, *capfd.readouterr()

    return run


async def work(use):
    """What a server does, the same by every way to it."""
    first = (await use("remember", id="plan", content={"tier": "basic"}, source="t-1"))["commit"]
    exact = {"float": 0.42451918914251396, "big": 2**64 - 1, "text": '{"é": 🦀}', "none": None}
    second = (await use("remember", id="exact", content=exact, source="t-2"))["commit"]
    back = (await use.result("recall", id="exact"))["content"]
    assert repr(back) == repr(dict(sorted(exact.items(), key=lambda item: (len(item[0]), item[0]))))
    assert (await use("why", id="plan"))["commit"] == first
    assert (await use.error("forget", id="nothing")).startswith("invalid_ref: ")
    deep = json.loads("[" * 127 + "]" * 127)
    await use("remember", id="deep", content=deep)
    assert (await use.result("recall", id="deep"))["content"] == deep
    assert [commit["id"] for commit in await use.result("history")][1:] == [second, first]
    assert set(await use.read("mnem://memory")) == {"deep", "exact", "plan"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_on_stdio(directory, mode):
    async with mcp.Client(on_stdio("--store", directory), mode=mode) as client:
        assert client.server_info.name == "mnem"
        await work(Use(client))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_on_http(directory, mode):
    with http_server(directory) as url:
        async with mcp.Client(url, mode=mode) as client:
            await work(Use(client))


async def test_ten_servers_on_one_store_lose_nothing(directory):
    with http_server(directory) as url:
        servers = [on_stdio("--store", directory, "--author", f"agent-{n}") for n in range(9)]

        async def write(server, name):
            async with mcp.Client(server) as client, anyio.create_task_group() as tasks:
                # A model calls several tools in one turn.
                for n in range(8):
                    arguments = {"id": f"{name}:{n}", "content": n}
                    tasks.start_soon(client.call_tool, "remember", arguments)

        async with anyio.create_task_group() as tasks:
            for n, server in enumerate([*servers, url]):
                tasks.start_soon(write, server, f"agent-{n}")
    with mnem.open(directory) as store:
        expected = {f"agent-{agent}:{n}": n for agent in range(10) for n in range(8)}
        assert {id: node.content for id, node in store.memory().items()} == expected
        assert len(store.log()) == 80
        assert [len(store.changed_by(commit.id)) for commit in store.log()] == [1] * 80
        assert store.verify().ok


# ---- who may call a server on HTTP ----


def request(url, path="/mcp", **headers):
    """A request by hand; the status of its answer."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest("POST", path, skip_host=True)
    for name, value in {
        "Host": parts.netloc,
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Content-Length": str(len(body)),
        **given,
    }.items():
        connection.putheader(name, value)
    connection.endheaders(body.encode())
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_page_cannot_rebind_its_name_to_a_server(directory):
    with http_server(directory) as url:
        port = urlsplit(url).port
        refused = {421, 403}
        assert request(url) not in refused
        assert request(url, Host=f"localhost:{port}") not in refused
        assert request(url, Origin=f"http://localhost:{port}") not in refused
        assert request(url, Host="evil.example") == 421
        assert request(url, Host=f"evil.example:{port}") == 421
        assert request(url, Host=f"localhost.evil.example:{port}") == 421
        assert request(url, Host="") == 421
        assert request(url, Origin="http://evil.example") == 403
        assert request(url, Origin=f"http://127.0.0.1.evil.example:{port}") == 403
        assert request(url, Origin="null") == 403


@asynccontextmanager
async def with_token(url, token):
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as sending,
        mcp.Client(streamable_http_client(url, http_client=sending)) as client,
    ):
        yield Use(client)


async def test_with_a_token_nobody_calls_without(directory, tmp_path_factory):
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text("s3cret\n")
    for words, token in [(["--token-file", str(file)], None), ([], "s3cret"), ([], "s3cret\n")]:
        with http_server(directory, *words, token=token) as url:
            assert request(url) == 401
            assert request(url, Authorization="Bearer wrong") == 401
            assert request(url, Authorization="Bearer s3cret2") == 401
            assert request(url, Authorization="Basic s3cret") == 401
            assert request(url, Authorization="Bearer ") == 401
            assert request(url, Authorization="Bearer s3cre") == 401
            assert request(url, Authorization="s3cret") == 401
            assert request(url, path="/elsewhere") == 401
            assert request(url, path="/mcp?access_token=s3cret") == 401
            assert request(url, Authorization="Bearer s3cret") != 401
            # The scheme is written in any case.
            assert request(url, Authorization="bearer s3cret") != 401
            async with with_token(url, "s3cret") as use:
                await use("remember", id="plan", content="basic")
                assert list(await use.result("recall")) == ["plan"]


async def test_beyond_loopback_it_takes_a_token_and_its_names(directory, run):
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.com:0"]:
        code, out, told = run("--store", str(directory), "--http", address)
        assert (code, out) == (2, "")
        assert "takes a token" in told
    words = ["--allow-host", "memory.example"]
    with http_server(directory, *words, listen="0.0.0.0:0", token="s3cret") as url:
        port = urlsplit(url).port
        here = f"http://127.0.0.1:{port}/mcp"
        token = {"Authorization": "Bearer s3cret"}
        assert request(here, Host=f"memory.example:{port}") == 401
        assert request(here, Host=f"memory.example:{port}", **token) not in {401, 421}
        assert request(here, Host="memory.example", **token) not in {401, 421}
        assert request(here, Host=f"evil.example:{port}", **token) == 421
        assert request(here, Host=f"localhost:{port}", **token) == 421


@pytest.mark.parametrize("listen", ["127.0.0.5:0", "localhost:0", "[::1]:0"])
async def test_it_is_called_by_the_name_that_it_says(directory, listen):
    with http_server(directory, listen=listen) as url:
        async with mcp.Client(url) as client:
            assert await Use(client).result("recall") == {}


def test_names_are_written_in_lower_case_by_clients(directory):
    words = ["--allow-host", "Memory.Example", "--allow-host", "2001:DB8::1"]
    with http_server(directory, *words) as url:
        assert request(url, Host="memory.example") != 421
        assert request(url, Host="[2001:db8::1]:8000") != 421


async def test_a_memory_over_http_is_as_large_as_another(directory):
    with http_server(directory) as url:
        async with mcp.Client(url) as client:
            await Use(client)("remember", id="large", content="x" * 7_000_000)
            whole = await Use(client).result("recall", id="large", whole=True)
    assert len(whole["content"]) == 7_000_000


def test_what_is_wrong_with_an_address_is_told(directory, run, monkeypatch):
    wrong = ["8000", "127.0.0.1", "127.0.0.1:", ":8000", "127.0.0.1:x", "127.0.0.1:70000", "::1"]
    for address in [*wrong, "http://127.0.0.1:80", "[::1:80", "[localhost]:80", "a b:80", "::1]:1"]:
        code, out, told = run("--store", str(directory), "--http", address)
        assert (code, out) == (2, ""), address
        assert "is not HOST:PORT" in told, address
    for name in ["https://memory.example", "memory.example:443", "*", "", "a b"]:
        words = ["--http", "127.0.0.1:0", "--allow-host", name]
        code, out, told = run("--store", str(directory), *words)
        assert (code, out) == (2, ""), name
        assert f"--allow-host: {name!r} is no host name" in told
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, out, told = run("--store", str(directory), "--http", address)
    assert (code, out) == (3, "")
    assert told == (
        f"mnem-mcp: cannot listen on {address}: {os.strerror(errno.EADDRINUSE)}\n"
        "hint: `--http HOST:0` takes a free port\n"
    )
    monkeypatch.setenv("MNEM_MCP_TOKEN", "s3cret")
    code, out, told = run("--store", str(directory), "--http", "192.0.2.1:0")
    assert (code, out) == (3, "")
    assert told.startswith("mnem-mcp: cannot listen on 192.0.2.1:0: ")
    assert told.endswith("hint: give an address of this machine, such as 127.0.0.1:8000\n")


def test_what_is_no_token_is_told(directory, run, monkeypatch, tmp_path_factory):
    file = tmp_path_factory.mktemp("token") / "token"
    words = ["--store", str(directory), "--http", "0.0.0.0:0", "--token-file", str(file)]
    for text, wrong in [
        (b" \n", f"--token-file: {file} is empty"),
        (b"two words\n", f"--token-file: {file} holds no token"),
        (b"two\nlines\n", f"--token-file: {file} holds no token"),
        (b"\xff\xfe\x00", f"--token-file: {file} holds no token"),
    ]:
        file.write_bytes(text)
        code, out, told = run(*words)
        assert (code, out) == (2, ""), text
        assert wrong in told
    monkeypatch.setenv("MNEM_MCP_TOKEN", "é")
    code, out, told = run(*words[:4])
    assert (code, out) == (2, "")
    assert "MNEM_MCP_TOKEN holds no token" in told
    # A client's configuration is read by no shell.
    monkeypatch.setenv("HOME", str(file.parent))
    file.write_text("two words")
    code, out, told = run(*words[:5], "~/token")
    assert (code, out) == (2, "")
    assert "--token-file: ~/token holds no token" in told


# ---- the command ----


async def test_where_the_store_is(tmp_path):
    here, there, given = (tmp_path / name for name in ("here", "there", "given"))
    for path in (here, there, given):
        mnem.init(path).close()

    async def used(*words, **environment):
        # The client passes no more of the environment on than it is told to.
        server = StdioServerParameters(
            command=str(COMMAND), args=list(words), env=environment, cwd=here
        )
        async with mcp.Client(server) as client:
            await Use(client)("remember", id="used", content=1)
        for path in (here, there, given):
            with mnem.open(path) as store:
                if store.exists("used"):
                    author = store.log()[0].author
                    mnem.agents.forget(store, "used")
                    return path.name, author
        return None

    assert await used("--store", str(given), MNEM_STORE=str(there)) == ("given", "agent")
    assert await used(MNEM_STORE=str(there), MNEM_AUTHOR="ada") == ("there", "ada")
    assert await used("--author", "grace", MNEM_AUTHOR="ada") == ("here", "grace")
    # A client's configuration is read by no shell.
    assert await used("--store", "~/given", HOME=str(tmp_path)) == ("given", "agent")


async def test_init_makes_the_store_once(tmp_path, run):
    code, out, told = run("--store", str(tmp_path / "new"))
    assert (code, out) == (3, "")
    assert told.startswith("mnem-mcp: no_store: ")
    assert told.endswith("hint: `mnem-mcp --init` makes the store\n")
    assert not (tmp_path / "new").exists()
    # What another program made is not to be made over.
    (tmp_path / "other" / ".mnem").mkdir(parents=True)
    for words in ([], ["--init"]):
        code, out, told = run("--store", str(tmp_path / "other"), *words)
        assert (code, out) == (3, "")
        assert "was made by another program" in told
        assert told.endswith("hint: `mnem-mcp --store PATH` takes another place\n")
    # Nor is one made for a server that is refused.
    for words in (["a b"], [""], ["0" * 64], ["agent-a", "--read-only"]):
        code, out, told = run("--store", str(tmp_path / "new"), "--init", "--branch", *words)
        assert (code, out) == (3, "")
        assert told.startswith("mnem-mcp: invalid_ref: ")
        assert not (tmp_path / "new").exists()
    server = on_stdio("--store", tmp_path / "new", "--init", "--branch", "agent-a")
    for known in (0, 1):
        async with mcp.Client(server) as client:
            assert len(await Use(client).result("recall")) == known
            await Use(client)("remember", id="plan", content="basic")


async def test_several_at_once_make_one_store(tmp_path):
    server = on_stdio("--store", tmp_path, "--init")

    async def write(name):
        async with mcp.Client(server) as client:
            await Use(client)("remember", id=name, content=1)

    async with anyio.create_task_group() as tasks:
        for name in "abcd":
            tasks.start_soon(write, name)
    with mnem.open(tmp_path) as store:
        assert list(store.memory()) == list("abcd")


def test_what_the_command_refuses(directory, run):
    for words, wrong in [
        (["--tools", "some"], "invalid choice"),
        (["--tools", "all", "--no-history"], "reaches past states"),
        (["--token-file", "x"], "--token-file: cannot read x: No such file"),
        (["--allow-host", "x"], "are for --http"),
    ]:
        code, out, told = run("--store", str(directory), *words)
        assert (code, out) == (2, ""), words
        assert wrong in told
    for words, wrong in [
        (["--branch", "bad name"], "invalid_ref: the branch name"),
        (["--branch", "nothing", "--read-only"], "invalid_ref: there is no branch 'nothing'"),
    ]:
        code, out, told = run("--store", str(directory), *words)
        assert (code, out) == (3, ""), words
        assert told.startswith(f"mnem-mcp: {wrong}")
    (directory / ".mnem" / "config").write_text("format_version = 99\nhash_algo = blake3\n")
    code, out, told = run("--store", str(directory))
    assert (code, out) == (3, "")
    assert told.startswith("mnem-mcp: format_version: ")
    assert run("--version") == (0, f"mnem-mcp {__version__}\n", "")


@pytest.mark.parametrize("words", [["--read-only"], ["--no-history"]])
async def test_what_the_command_leaves_out(directory, words):
    async with mcp.Client(on_stdio("--store", directory, *words)) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert ("remember" in names, "history" in names) == (
        words == ["--no-history"],
        words == ["--read-only"],
    )
