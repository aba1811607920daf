"""The contract: :class:`Contract`, a test for each promise."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import mnem
import pytest

from mnem_conformance.segments import SEGMENTS, VALUES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mnem_conformance.adapter import Adapter, Entry, Memory

__all__ = ["Contract"]

THREADS, CALLS, PROCESSES = 8, 10, 2

# What stands on a store that others share: ids in the forms of other adapters and of people.
FOREIGN: dict[str, Any] = {
    "plan": "a person's note",
    "a-session:0000000000": {"role": "user", "content": "blue whale"},
    "a-session:_seq": 1,
    "a-scope/of/crew": {"text": "blue whale"},
    "entity:42": ["blue whale"],
    "zz:zz:zz:zz": None,
}


def commits(store: mnem.Store) -> int:
    """How many commits the branch has."""
    return len(store.log())


def pairs(entries: list[Entry]) -> Counter[tuple[tuple[str, ...], str]]:
    """Which items a list has, and how often."""
    return Counter((entry.scope, entry.key) for entry in entries)


def exactly(value: Any) -> str:
    """A text that tells values apart as their types do: 1, 1.0 and True are three."""
    if isinstance(value, dict):
        inner = sorted((exactly(key), exactly(item)) for key, item in value.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return f"dict{inner}"
    if isinstance(value, (list, tuple)):
        return f"list{[exactly(item) for item in value]}"  # pyright: ignore[reportUnknownVariableType]
    return f"{type(value).__name__}:{value!r}"


class Contract:
    """What every adapter promises. Take it over in a class whose name begins with ``Test``."""

    @pytest.fixture(autouse=True)
    def _unless_lacking(self, adapter: Adapter, request: pytest.FixtureRequest) -> None:
        name = str(getattr(request.node, "originalname", request.node.name))
        reason = adapter.lacks.get(name.removeprefix("test_"))
        if reason is not None:
            pytest.skip(reason)

    @pytest.fixture
    def path(self, tmp_path: Path) -> str:
        """The path of a fresh store."""
        mnem.init(tmp_path / "store").close()
        return str(tmp_path / "store")

    @pytest.fixture
    def memory(self, adapter: Adapter, path: str) -> Iterator[Memory]:
        """The adapter, open on a fresh store."""
        memory = adapter.open(path)
        yield memory
        memory.close()

    # ---- keys ----

    def test_keys_are_injective(self, adapter: Adapter, memory: Memory) -> None:
        """Any two names are two items, and come back as they were given."""
        scopes = [(segment,) for segment in SEGMENTS if adapter.allows_scope(segment)]
        if adapter.depth > 1:
            scopes += [("u1", "x"), ("u1", "u1", "x")[: adapter.depth], ("u", "1:x"), ("a", "b:c")]
            scopes += [("a:b", "c"), ("a", "b", "c")[: adapter.depth]]
        scopes = list(dict.fromkeys(scopes))
        keys = [key for key in SEGMENTS if adapter.allows_key(key)]
        expected: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {}
        for number, scope in enumerate(scopes):
            # Every key in a few scopes, a few keys in every scope.
            some = keys if number in (0, 2) else keys[:4]
            entries = {key: {"v": f"{number}.{at}"} for at, key in enumerate(some)}
            memory.put(scope, entries)
            expected |= {(scope, key): value for key, value in entries.items()}
        for (scope, key), value in expected.items():
            assert memory.get(scope, key) == value, (scope, key)
        for scope in scopes:
            below = {
                (given, key): value
                for (given, key), value in expected.items()
                if given[: len(scope)] == scope
            }
            listed = {(entry.scope, entry.key): entry.value for entry in memory.list(scope)}
            assert listed == below, scope

    def test_a_prefix_means_whole_segments(self, adapter: Adapter, memory: Memory) -> None:
        """u1 is not the beginning of u10, nor of u1:x."""
        scopes = [("u1",), ("u10",), ("u1:x",), ("u1%3Ax",), ("U1",), ("u",), ("u1/x",)]
        if adapter.depth > 1:
            scopes += [("u1", "x"), ("u1", "xy"), ("x", "u1")]
        for scope in scopes:
            memory.put(scope, {"k": {"v": "/".join(scope)}})
        for scope in scopes:
            below = [other for other in scopes if other[: len(scope)] == scope]
            assert pairs(memory.list(scope)) == Counter((other, "k") for other in below), scope

    def test_a_missing_item_is_none(self, memory: Memory) -> None:
        """Reading what is not there is no error and leaves nothing."""
        assert memory.get(("u1",), "k") is None
        assert memory.list(("u1",)) == []
        memory.put(("u1",), {"k": {"v": 1}})
        assert memory.get(("u1",), "k1") is None
        assert memory.get(("u10",), "k") is None
        assert memory.list(("u10",)) == []

    # ---- values ----

    def test_values_come_back(self, memory: Memory) -> None:
        """What JSON holds comes back equal and of its type, from every kind of read."""
        entries = {f"k{at}": {"v": value, "key": f"k{at}"} for at, value in enumerate(VALUES)}
        memory.put(("u1",), entries)
        for key, value in entries.items():
            assert exactly(memory.get(("u1",), key)) == exactly(value)
        listed = {entry.key: exactly(entry.value) for entry in memory.list(("u1",))}
        assert listed == {key: exactly(value) for key, value in entries.items()}

    def test_values_are_copies(self, memory: Memory) -> None:
        """Changing a value after a write or a read changes nothing that is stored."""
        value: dict[str, Any] = {"v": ["first"]}
        memory.put(("u1",), {"k": value})
        value["v"].append("second")
        memory.get(("u1",), "k")["v"].append("third")
        memory.list(("u1",))[0].value["v"].append("fourth")
        assert memory.get(("u1",), "k") == {"v": ["first"]}

    # ---- commits ----

    def test_one_call_is_at_most_one_commit(self, memory: Memory) -> None:
        """Also a call with many items, and a call that forgets."""
        memory.put(("u1",), {"k": {"v": 1}})
        before = commits(memory.store)
        memory.put(("u1",), {f"k{n}": {"v": n} for n in range(20)})
        assert commits(memory.store) == before + 1
        memory.get(("u1",), "k")
        memory.list(("u1",))
        assert commits(memory.store) == before + 1
        memory.forget(("u1",), "k19")
        assert commits(memory.store) == before + 2

    def test_nothing_uncommitted_is_seen(self, memory: Memory, path: str) -> None:
        """What a person has staged is not memory yet, and a write leaves it staged."""
        memory.put(("u1",), {"k": {"v": "committed"}})
        node = memory.node_id(("u1",), "k")
        kept = memory.store.memory()[node].content
        with mnem.open(path) as person:
            person.add(node, "a draft")
            person.add("another", "draft")
            assert memory.get(("u1",), "k") == {"v": "committed"}
            assert [entry.value for entry in memory.list(("u1",))] == [{"v": "committed"}]
            memory.put(("u2",), {"k": {"v": 1}})
            assert memory.store.memory()[node].content == kept
            assert [id for id, _ in person.staged()] == sorted([node, "another"])

    def test_a_failed_batch_leaves_nothing(
        self, adapter: Adapter, memory: Memory, path: str
    ) -> None:
        """One bad item, and none of the call is there, nor staged."""
        memory.put(("u1",), {"k": {"v": 1}})
        tip, before = memory.store.head_commit(), memory.store.memory()
        with pytest.raises(Exception):  # noqa: B017, PT011
            memory.put(("u1",), {"a": {"v": 1}, "b": adapter.refused, "c": {"v": 3}})
        assert memory.store.head_commit() == tip
        assert memory.store.memory() == before
        with mnem.open(path) as person:
            assert person.staged() == []
        assert memory.get(("u1",), "a") is None
        assert pairs(memory.list(("u1",))) == Counter([(("u1",), "k")])
        memory.put(("u1",), {"after": {"v": 4}})
        assert memory.get(("u1",), "after") == {"v": 4}

    # ---- many at once ----

    def test_threads_lose_nothing(self, memory: Memory) -> None:
        """Threads that share one adapter, each with calls of its own."""

        def work(thread: int) -> None:
            for call in range(CALLS):
                memory.put(("shared",), {f"{thread}.{call}": {"v": [thread, call]}})

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, range(THREADS)))
        self._all_there(memory, THREADS)

    def test_one_event_loop_loses_nothing(self, memory: Memory) -> None:
        """Calls that wait for each other on one loop."""

        async def work(task: int) -> None:
            for call in range(CALLS):
                await memory.aput(("shared",), {f"{task}.{call}": {"v": [task, call]}})

        async def run() -> None:
            await asyncio.gather(*(work(task) for task in range(THREADS)))

        asyncio.run(run())
        self._all_there(memory, THREADS)

    def test_two_processes_lose_nothing(self, adapter: Adapter, memory: Memory, path: str) -> None:
        """Processes that share one store, each with an adapter of its own."""
        kind = type(adapter)
        workers = [
            subprocess.Popen(  # noqa: S603
                [
                    sys.executable,
                    "-m",
                    "mnem_conformance.worker",
                    inspect.getfile(kind),
                    kind.__qualname__,
                    path,
                    str(number),
                    str(CALLS),
                ]
            )
            for number in range(PROCESSES)
        ]
        assert [worker.wait() for worker in workers] == [0] * PROCESSES
        self._all_there(memory, PROCESSES)

    def _all_there(self, memory: Memory, writers: int) -> None:
        expected = {f"{w}.{c}": {"v": [w, c]} for w in range(writers) for c in range(CALLS)}
        listed = memory.list(("shared",))
        assert len(listed) == len(expected)
        assert {entry.key: entry.value for entry in listed} == expected
        assert commits(memory.store) <= len(expected)
        assert memory.store.verify().ok

    # ---- forgetting ----

    def test_what_is_forgotten_is_gone(self, memory: Memory) -> None:
        """From point reads, lists and prefixes; the past still has it."""
        memory.put(("u1",), {"keep": {"v": "kept"}, "drop": {"v": "blue whale"}})
        node, past = memory.node_id(("u1",), "drop"), memory.store.head_commit()
        content = memory.store.memory()[node].content
        memory.forget(("u1",), "drop")
        assert memory.get(("u1",), "drop") is None
        assert pairs(memory.list(("u1",))) == Counter([(("u1",), "keep")])
        assert "blue whale" not in repr(memory.store.memory())
        assert past is not None
        assert memory.store.state_at(past)[node].content == content
        blame = memory.store.blame(node)
        assert (blame.removed, blame.commit) == (True, memory.store.head_commit())

    def test_searches_find_what_is_there(self, memory: Memory) -> None:
        """A search finds an item by its text, and not once it is forgotten."""
        memory.put(("u1",), {"a": {"v": "green tea"}, "b": {"v": "blue whale"}})
        found = memory.search(("u1",), "blue whale")
        assert found
        assert (found[0].key, found[0].value) == ("b", {"v": "blue whale"})
        memory.forget(("u1",), "b")
        assert "b" not in {entry.key for entry in memory.search(("u1",), "blue whale")}
        assert "blue whale" not in repr(memory.search(("u1",), "blue whale"))

    # ---- history ----

    def test_history_and_blame_reach_through(self, memory: Memory) -> None:
        """The adapter tells which commit set an item, and what came last."""
        memory.put(("u1",), {"a": {"v": 1}})
        first = memory.store.head_commit()
        memory.put(("u1",), {"b": {"v": 2}})
        second = memory.store.head_commit()
        assert memory.why(("u1",), "a").commit == first
        assert memory.why(("u1",), "b").commit == second
        assert [commit.id for commit in memory.history(2)] == [second, first]
        assert [commit.id for commit in memory.history(1)] == [second]

    def test_a_branch_is_apart(self, adapter: Adapter, memory: Memory, path: str) -> None:
        """What is written on one branch is not seen on another, and HEAD stays."""
        memory.put(("u1",), {"a": {"v": "main"}})
        head = memory.store.head()
        other = adapter.open(path, "hypothesis")
        try:
            assert other.get(("u1",), "a") == {"v": "main"}
            other.put(("u1",), {"b": {"v": "guess"}})
            assert memory.get(("u1",), "b") is None
            assert other.get(("u1",), "b") == {"v": "guess"}
        finally:
            other.close()
        with mnem.open(path) as person:
            assert person.head() == head

    def test_it_is_there_after_reopening(self, adapter: Adapter, memory: Memory, path: str) -> None:
        """Another handle reads what the first one wrote."""
        memory.put(("u1",), {"a": {"v": 1}})
        memory.close()
        again = adapter.open(path)
        try:
            assert again.get(("u1",), "a") == {"v": 1}
            assert pairs(again.list(("u1",))) == Counter([(("u1",), "a")])
        finally:
            again.close()

    # ---- one store, several adapters ----

    def test_others_on_the_store_are_not_disturbed(self, memory: Memory) -> None:
        """Nodes of others are in none of this adapter's lists, and are as they were."""
        mnem.agents.remember_many(
            memory.store, [{"id": id, "content": content} for id, content in FOREIGN.items()]
        )
        memory.put(("u1",), {"a": {"v": 1}, "b": {"v": 2}})
        assert pairs(memory.list(("u1",))) == Counter([(("u1",), "a"), (("u1",), "b")])
        memory.forget(("u1",), "b")
        assert pairs(memory.list(("u1",))) == Counter([(("u1",), "a")])
        there = memory.store.memory()
        assert {id: there[id].content for id in FOREIGN} == FOREIGN

    # ---- errors ----

    def test_a_missing_store_is_named(self, adapter: Adapter, tmp_path: Path) -> None:
        """no_store, where there is none."""
        with pytest.raises(Exception) as error:  # noqa: PT011
            adapter.open(str(tmp_path / "nothing")).get(("u1",), "k")
        assert adapter.code(error.value) == "no_store"

    def test_an_item_that_never_was_has_no_blame(self, adapter: Adapter, memory: Memory) -> None:
        """invalid_ref, and the memory goes on."""
        memory.put(("u1",), {"k": {"v": 1}})
        with pytest.raises(Exception) as error:  # noqa: PT011
            memory.why(("u1",), "never")
        assert adapter.code(error.value) == "invalid_ref"
        assert memory.get(("u1",), "k") == {"v": 1}

    def test_a_store_from_the_future_is_refused(
        self, adapter: Adapter, path: str, tmp_path: Path
    ) -> None:
        """format_version, before anything is written."""
        config = tmp_path / "store" / ".mnem" / "config"
        text = config.read_text("utf-8")
        config.write_text(text.replace("format_version = 2", "format_version = 99"), "utf-8")
        assert "99" in config.read_text("utf-8")
        with pytest.raises(Exception) as error:  # noqa: PT011
            adapter.open(path).put(("u1",), {"k": {"v": 1}})
        assert adapter.code(error.value) == "format_version"

    def test_a_damaged_store_is_told(self, adapter: Adapter, path: str, tmp_path: Path) -> None:
        """corrupt_store, and never other data."""
        adapter_memory = adapter.open(path)
        adapter_memory.put(("u1",), {"k": {"v": 1}})
        adapter_memory.close()
        for file in (tmp_path / "store" / ".mnem").glob("*.redb"):
            file.write_bytes(b"\0" * file.stat().st_size)
        with pytest.raises(Exception) as error:  # noqa: PT011
            adapter.open(path).get(("u1",), "k")
        assert adapter.code(error.value) == "corrupt_store"
