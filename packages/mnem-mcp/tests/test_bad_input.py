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
