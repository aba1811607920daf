"""A plugin for the SDK's own tests: where they say SQLiteSession, they get ours.

Of files outside of the tests of sessions, it keeps the tests that say so. What became of each
test is written, as JSON, to the file that ``UPSTREAM_REPORT`` names.
"""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path
from typing import Any

import agents

# It asks whether a session is theirs, and must not think that of ours.
import agents.extensions.memory.encrypt_session
import agents.memory
from mnem_openai_agents import MnemosyneSession


class SQLiteSession(MnemosyneSession):
    """Takes what theirs takes."""

    def __init__(
        self,
        session_id: str,
        db_path: str | Path = ":memory:",
        sessions_table: str = "agent_sessions",
        messages_table: str = "agent_messages",
        session_settings: Any = None,
    ) -> None:
        del sessions_table, messages_table
        super().__init__(session_id, db_path, session_settings=session_settings)


agents.SQLiteSession = agents.memory.SQLiteSession = SQLiteSession

outcomes: dict[str, str] = {}


def pytest_collection_modifyitems(items: list[Any]) -> None:
    items[:] = [
        item
        for item in items
        if "memory/" in item.nodeid or "SQLiteSession" in inspect.getsource(item.function)
    ]


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        outcomes[report.nodeid] = report.outcome


def pytest_sessionfinish() -> None:
    Path(os.environ["UPSTREAM_REPORT"]).write_text(json.dumps(outcomes), encoding="utf-8")
