"""A pytest plugin that puts our store in the place of LangGraph's, for LangGraph's own tests."""

import os

import langgraph.store.memory
import langgraph.store.sqlite
import langgraph.store.sqlite.aio
import pytest
from excluded import EXCLUDED
from mnem_langgraph import MnemosyneStore
from mnem_langgraph.sweeper import Sweeper


class InMemoryStore(MnemosyneStore):
    """Takes what LangGraph's takes."""

    def __init__(self, *, index=None):
        super().__init__(":memory:", index=index)


class SqliteStore(MnemosyneStore):
    """A store is a directory, and these tests make a file."""

    @classmethod
    def from_conn_string(cls, conn_string, **options):
        place = conn_string if conn_string == ":memory:" else f"{conn_string}.store"
        return super().from_conn_string(place, **options)


class AsyncSqliteStore(SqliteStore):
    """Where these tests await what needs no waiting."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._sweeper = Sweeper(super().sweep_ttl)

    async def sweep_ttl(self):
        return super().sweep_ttl()

    async def start_ttl_sweeper(self, sweep_interval_minutes=None):
        return super().start_ttl_sweeper(sweep_interval_minutes)

    async def stop_ttl_sweeper(self, timeout=None):
        return super().stop_ttl_sweeper(timeout)


langgraph.store.memory.InMemoryStore = InMemoryStore
langgraph.store.sqlite.SqliteStore = SqliteStore
langgraph.store.sqlite.AsyncSqliteStore = AsyncSqliteStore
langgraph.store.sqlite.aio.AsyncSqliteStore = AsyncSqliteStore


def pytest_collection_modifyitems(items):
    """What cannot apply is expected to fail, and must."""
    reasons = EXCLUDED[os.environ["SUITE"]]
    for item in items:
        if (why := reasons.get(item.nodeid.partition("[")[0])) is not None:
            item.add_marker(pytest.mark.xfail(reason=why, strict=True))
