"""Transcripts: the core holds the mapping, here is what crosses into Python and back."""

from __future__ import annotations

import mnem
import pytest
from mnem import agents


def transcript():
    def call(id, arguments):
        function = {"name": "get_reservation", "arguments": arguments}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": id, "type": "function", "function": function}],
        }

    def result(id, content):
        return {"role": "tool", "tool_call_id": id, "name": "get_reservation", "content": content}

    return [
        {"role": "user", "content": "hello"},
        call("c1", '{"reservation_id": "R1"}'),
        result("c1", '{"reservation_id": "R1", "seats": 2}'),
        call("c2", '{"ticket": 7}'),
        result("c2", '{"ticket": 7, "state": "open"}'),
    ]


def test_import_chat(store):
    messages = transcript()
    report = agents.import_chat(store, messages[:3], transcript="run-1", time_ms=5, author="me")
    assert report.to_dict() == {
        "transcript": "run-1",
        "messages": 3,
        "before": 0,
        "results": 1,
        "commits": 1,
        "written": 1,
        "unchanged": 0,
        "passed_over": 0,
        "head": store.head_commit(),
    }
    blame = store.blame("reservation:R1")
    assert blame.node.content == {"reservation_id": "R1", "seats": 2}
    assert (blame.provenance.agent_step, blame.provenance.source) == ("run-1#2", "get_reservation")
    assert (store.log()[0].author, store.log()[0].time) == ("me", 5)
    rules = [{"entity": "ticket", "id": ["ticket"]}]
    report = agents.import_chat(store, iter(messages), transcript="run-1", rules=iter(rules))
    assert (report.before, report.written) == (3, 1)
    assert store.get("ticket:7").content == {"ticket": 7, "state": "open"}
    assert agents.import_chat(store, messages, transcript="run-1").commits == 0


def test_import_chat_refuses(store, bytes_of):
    messages = transcript()
    agents.import_chat(store, messages, transcript="run-1", keep_all=True)
    before = bytes_of(store)
    messages[0]["content"] = "another beginning"
    with pytest.raises(mnem.InvalidRefError):
        agents.import_chat(store, messages, transcript="run-1")
    with pytest.raises(mnem.InvalidRefError, match=r"rules\[0\]: "):
        agents.import_chat(store, messages, transcript="run-2", rules=[{"entity": 1}])
    with pytest.raises(mnem.InvalidRefError, match=r"content\[0\]"):
        agents.import_chat(store, [{1, 2}], transcript="run-2")
    with pytest.raises(TypeError):
        agents.import_chat(store, 5, transcript="run-2")
    assert bytes_of(store) == before
