"""Whatever a tool is given, its answer is a value or an error with a code."""

from __future__ import annotations

import mcp
import mnem
import pytest
from clients import Use
from mnem_mcp import build_server

pytestmark = pytest.mark.anyio

ODD = [
    *(None, True, 0, -1, 2**63, 2**70, -(2**70), 1.5, 1e308, "", "x", "\x00", "\u202e"),
    *("a" * 2000, "é" * 600, "HEAD", "HEAD~99999999999999999999", "@{", "@{99999999999999999999}"),
    *("9" * 20, "2026-13-45", "2026-01-01}~1", "main@{2026-01-01}", "0" * 64),
    *([], [1], {}, {"a": 1}, [[]], {"x": "base"}, {"x": {"content": 2**80}}, {"x": {}}),
    *([{"content": 1, "event_time": 2**70}], [{"content": 1, "id": ""}], [{"content": 1, "id": 5}]),
]
NEEDED = {
    "id": "x",
    "content": 1,
    "items": [{"id": "x", "content": 2}],
    "commit": "HEAD",
    "name": "n",
    "target": "main",
    "theirs": "main",
}
CODES = {"invalid_ref", "not_found"}


async def test_answers_have_a_value_or_a_code(directory):
    with mnem.open(directory) as store:
        for n in range(3):
            mnem.agents.remember(store, "x", n)
    async with mcp.Client(build_server(directory, "all")) as client:
        refused = 0
        for tool in (await client.list_tools()).tools:
            for name in tool.input_schema["properties"]:
                for value in ODD:
                    given = {need: NEEDED[need] for need in tool.input_schema.get("required", [])}
                    if tool.name == "when_did" and name != "equals":
                        given["present"] = True
                    answer = await client.call_tool(tool.name, given | {name: value})
                    if answer.is_error:
                        refused += 1
                        told = answer.content[0].text
                        assert told.partition(": ")[0] in CODES, (tool.name, name, value, told)
        assert refused > 300
        assert mnem.open(directory).verify().ok
        assert await Use(client).result("recall", id="nothing") is None


async def test_an_argument_that_there_is_not_is_told(directory):
    async with mcp.Client(build_server(directory, "all")) as client:
        use = Use(client)
        answer = await client.call_tool("remember", {"id": "plan", "content": 1, "sorce": "t-9"})
        told, hint = (part.text for part in answer.content)
        assert (answer.is_error, told) == (
            True,
            "invalid_ref: remember has no argument 'sorce'",
        )
        assert hint.startswith("hint: its arguments are id, content, source, ")
        item = {"id": "plan", "content": "basic", "sorce": "ticket-9"}
        told = await use.error("remember_many", items=[item])
        assert told.startswith("invalid_ref: remember_many: argument items.0.sorce: ")
        assert await use.result("recall") == {}
        for tool in (await client.list_tools()).tools:
            assert tool.input_schema["additionalProperties"] is False


async def test_no_error_drives_a_terminal(directory):
    """Whatever a caller made up: ids, names of arguments, revisions."""
    bad = "\x1b[31m\u202e<b>\n\r\x00../"
    async with mcp.Client(build_server(directory, "all")) as client:
        await client.call_tool("remember", {"id": "x", "content": 1})
        for tool, arguments in [
            (bad, {}),
            ("recall", {bad: 1}),
            ("remember", {"id": bad, "content": 1}),
            ("remember", {"id": "y", "content": {bad: 2**70}}),
            ("remember_many", {"items": [{"content": 1, bad: 1}]}),
            ("forget", {"id": bad}),
            ("why", {"id": bad}),
            ("why", {"id": "x", "at": bad}),
            ("when_did", {"id": bad, "present": True}),
            ("recall_at", {"commit": bad}),
            ("history", {"cursor": bad}),
            ("branch", {"name": bad}),
            ("switch", {"target": bad}),
            ("merge", {"theirs": bad}),
            ("merge", {"theirs": "main", "strategy": bad}),
            ("merge", {"theirs": "main", "resolutions": {bad: "ours"}}),
            ("merge", {"theirs": "main", "resolutions": {"x": bad}}),
            ("merge", {"theirs": "main", "resolutions": {bad: {"content": 1, bad: 1}}}),
            ("undo", {"by": bad}),
        ]:
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error, (tool, arguments)
            for part in answer.content:
                assert part.text.isprintable(), (tool, part.text)


async def test_a_resolution_that_is_none_is_told(directory):
    async with mcp.Client(build_server(directory, "all")) as client:
        use = Use(client)
        await use("remember", id="x", content=1)
        assert await use.error("merge", theirs="main", resolutions={"x": "mine"}) == (
            "invalid_ref: the resolution of 'x' is 'ours', 'theirs', 'base', 'delete' or "
            """{"content": ...}, not 'mine'"""
        )
