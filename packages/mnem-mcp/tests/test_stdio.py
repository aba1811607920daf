"""Standard input and output, byte by byte: what clients send that no client library would."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading

import mnem
import pytest

PATIENCE = 60
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(id, tool, /, **arguments):
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def remember(content):
    """A call whose content is text that is no JSON that this test could make."""
    return json.dumps(call(7, "remember", id="x", content="HERE")).replace('"HERE"', content)


class Server:
    def __init__(self, directory):
        environment = {name: value for name, value in os.environ.items() if "MNEM" not in name}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mnem_mcp", "--store", directory],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        # A server that does not answer is a failure and no wait without an end.
        self.patience = threading.Timer(PATIENCE, self.process.kill)
        self.patience.start()

    def send(self, *messages, end=b"\n"):
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + end)
        self.process.stdin.flush()

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def ended(self):
        """The exit code, and what is on both outputs, once its input is closed."""
        # It may have ended before.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        out, told = self.process.stdout, self.process.stderr
        rest = (b"" if out.closed else out.read(), told.read())
        return (self.process.wait(timeout=60), *rest)


@pytest.fixture
def server(directory):
    server = Server(directory)
    try:
        yield server
    finally:
        server.patience.cancel()
        server.process.kill()
        server.process.wait()
        for pipe in (server.process.stdin, server.process.stdout, server.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


@pytest.fixture
def ready(server):
    server.send(HELLO, READY)
    assert server.answer()["id"] == 1
    return server


def test_it_ends_when_its_input_does_and_prints_nothing_else(ready):
    ready.send(call(2, "recall"), call(3, "nothing"))
    assert {ready.answer()["id"], ready.answer()["id"]} == {2, 3}
    assert ready.ended() == (0, b"", b"")


@pytest.mark.parametrize(("begin", "end"), [(b"", b"\r\n"), (b"\xef\xbb\xbf", b"\n")])
def test_lines_of_windows_and_a_byte_order_mark(server, begin, end):
    server.send(begin + json.dumps(HELLO).encode(), READY, call(2, "recall"), end=end)
    assert [server.answer()["id"] for _ in range(2)] == [1, 2]


@pytest.mark.parametrize(
    ("line", "id", "told"),
    [
        # Half of an emoji, as a client in JavaScript sends it when it has cut a text there.
        (remember(r'"\ud83e"'), 7, "hex escape"),
        (remember("9" * 5000), 7, "number out of range"),
        (remember("[" * 100_000 + "]" * 100_000), None, "recursion limit"),
        ("\ufeff" + remember(r'"\ud83e"'), 7, "hex escape"),
        ("\ufeff{", None, "EOF"),
        ("no JSON", None, "Invalid JSON"),
        ("[]", None, "it is no request"),
        ('{"jsonrpc": "2.0", "id": 8, "method": "ping", "params": [1]}', 8, "it is no request"),
        ('{"jsonrpc": "2.0", "id": "a", "method": 5}', "a", "it is no request"),
        ('{"id": 8, "method": "ping"}', 8, "it is no request"),
        # No answer is due to an answer.
        ('{"jsonrpc": "2.0", "id": 8}', None, "it is no request"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_line_that_is_no_message_is_answered(ready, directory, line, id, told):
    ready.send(line.encode(), b"", b"  \r")
    answer = ready.answer()
    assert answer["id"] == id
    assert answer["error"]["code"] in {-32700, -32600}
    assert answer["error"]["message"].startswith("invalid_ref: the message cannot be read: ")
    assert told in answer["error"]["message"]
    # The connection goes on, an empty line is nothing, and nothing was written.
    ready.send(call(9, "recall"))
    assert ready.answer()["id"] == 9
    with mnem.open(directory) as store:
        assert store.memory() == {}


@pytest.mark.skipif(sys.platform == "win32", reason="there an interrupt is of a console")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_its_input_is_open(ready, directory, number):
    ready.send(*(call(n, "remember", id=f"{n}", content="x" * 2000) for n in range(100, 400)))
    told = {ready.answer()["id"] for _ in range(50)}
    ready.process.send_signal(number)
    assert ready.process.wait(timeout=60) == -number
    # What was answered is there; the last line may have been cut.
    for line in ready.process.stdout.read().splitlines():
        with contextlib.suppress(ValueError):
            told.add(json.loads(line)["id"])
    assert ready.process.stderr.read() == b""
    with mnem.open(directory) as store:
        assert {f"{n}" for n in told} <= set(store.memory())
        assert store.verify().ok


def test_a_client_that_does_not_read_on_is_no_fault(ready):
    ready.process.stdout.close()
    # Answered before the next line is read, so that there is an answer when the input ends.
    ready.send(b"no JSON", b"no JSON")
    code, out, told = ready.ended()
    assert (code, out) == (0, b"")
    # Python of 3.13 has a line of its own about what it could not flush.
    assert b"Traceback" not in told


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_person_is_told_what_it_waits_for(directory):
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "mnem_mcp", "--store", directory],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            assert b"waiting for a client program" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=PATIENCE) == -signal.SIGINT
            assert process.stdout.read() == b""
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)
