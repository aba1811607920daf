"""Two hundred recorded runs of a support agent, replayed into one store.

`MNEM_TAU_BENCH` names the recording. The model below knows nothing of the core: plain dicts, its
own reading of the messages, and other packages for CBOR and BLAKE3.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import blake3
import cbor2
import mnem
import pytest

RECORDING = os.environ.get("MNEM_TAU_BENCH")
# The largest node id and observation do not occur in the recording, so the model has no limits.
OBSERVATION_CHARS = 280


@dataclass
class Model:
    """Memory as one dict, and what each commit is expected to hold."""

    memory: dict[str, Any] = field(default_factory=dict)
    commits: list[dict[str, Any]] = field(default_factory=list)
    taught: dict[str, tuple[int, str | None]] = field(default_factory=dict)
    results: int = 0

    def commit(self, changes: dict[str, Any], step: str | None, record: str) -> None:
        for node_id in changes:
            self.taught[node_id] = (len(self.commits), None if node_id == record else step)
        self.memory = self.memory | changes
        self.commits.append(self.memory)

    def replay(self, transcript: str, messages: list[dict[str, Any]]) -> None:
        record = f"transcript:{transcript}"
        calls: dict[str, tuple[str, Any]] = {}
        digest, recorded = bytes(32), 0
        for index, message in enumerate(messages):
            digest = blake3.blake3(digest + cbor2.dumps(message, canonical=True)).digest()
            place = {"messages": index + 1, "hash": digest.hex()}
            for call in message.get("tool_calls") or []:
                function = call["function"]
                calls[call["id"]] = (function["name"], json.loads(function["arguments"]))
            if message["role"] != "tool":
                continue
            self.results += 1
            name, arguments = calls[message["tool_call_id"]]
            learnt = entities(name, arguments, message["content"])
            news = {k: v for k, v in learnt.items() if k not in self.memory or self.memory[k] != v}
            if news:
                self.commit(news | {record: place}, f"{transcript}#{index}", record)
                recorded = index + 1
        if recorded < len(messages):
            place = {"messages": len(messages), "hash": digest.hex()}
            self.commit({record: place}, None, record)


def entities(name: str, arguments: dict[str, Any], text: str) -> dict[str, Any]:
    try:
        result = json.loads(text)
    except ValueError:
        return {}
    found: dict[str, Any] = {}

    def look(value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                look(item)
        elif isinstance(value, dict):
            if "reservation_id" in value:
                found[f"reservation:{value['reservation_id']}"] = value
            elif "flight_number" in value:
                whole = {"date": arguments.get("date")} | value
                found[f"flight:{whole['flight_number']}:{whole['date']}"] = whole
            elif name == "get_user_details":
                user_id = arguments["user_id"]
                found[f"user:{user_id}"] = value | {"user_id": user_id}

    look(result)
    return found


def contents(memory: dict[str, mnem.MemoryNode]) -> dict[str, Any]:
    return {node_id: node.content for node_id, node in memory.items()}


@pytest.mark.skipif(RECORDING is None, reason="MNEM_TAU_BENCH names no recording to replay")
def test_the_recorded_runs_replay_exactly(tmp_path: Path) -> None:
    assert RECORDING is not None
    runs = json.loads(Path(RECORDING).read_text(encoding="utf-8"))
    assert len(runs) == 200
    check_replay(tmp_path, {f"run-{n:03}": run["traj"] for n, run in enumerate(runs)})


def test_a_made_up_run_replays_exactly(tmp_path: Path) -> None:
    flight = {"flight_number": "F1", "seats": 3}
    run: list[dict[str, Any]] = [
        {"role": "user", "content": "hello"},
        *call("a", "get_user_details", {"user_id": "ada"}, {"name": "Ada"}),
        *call("b", "get_reservation_details", {}, {"reservation_id": "R", "price": 10.5}),
        *call("b", "get_reservation_details", {}, {"reservation_id": "R", "price": 10.5}),
        *call("c", "search_direct_flight", {"date": "2026-01-02"}, [flight, [flight]]),
        *call("d", "calculate", {"expression": "1"}, 1.0),
        *call("e", "cancel_reservation", {}, {"reservation_id": "R", "status": "cancelled"}),
        {"role": "assistant", "content": "done"},
    ]
    check_replay(tmp_path, {"first": run, "second": run, "third": run[:5]})


def call(call_id: str, name: str, arguments: Any, result: Any) -> list[dict[str, Any]]:
    asked = {"id": call_id, "function": {"name": name, "arguments": json.dumps(arguments)}}
    answer = {"role": "tool", "tool_call_id": call_id, "name": name, "content": json.dumps(result)}
    return [{"role": "assistant", "content": None, "tool_calls": [asked]}, answer]


def check_replay(directory: Path, runs: dict[str, list[dict[str, Any]]]) -> None:
    model = Model()
    with mnem.init(directory) as store:
        results = 0
        for transcript, messages in runs.items():
            model.replay(transcript, messages)
            report = mnem.agents.import_chat(store, messages, transcript=transcript)
            results += report.results
        assert results == model.results

        commits = [commit.id for commit in reversed(store.log(first_parent=True))]
        assert len(commits) == len(model.commits)
        for commit, expected in zip(commits, model.commits, strict=True):
            assert contents(store.state_at(commit)) == expected

        for node_id, (number, step) in model.taught.items():
            blame = store.blame(node_id)
            assert (blame.commit, blame.provenance.agent_step) == (commits[number], step), node_id

        for transcript, messages in runs.items():
            report = mnem.agents.import_chat(store, messages, transcript=transcript)
            assert (report.commits, report.written, report.before) == (0, 0, len(messages))
        assert store.head_commit() == commits[-1]
        assert store.verify().problems == ()
