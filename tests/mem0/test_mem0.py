"""Mem0's own package, with its own embedded store and nothing beyond this machine."""

from __future__ import annotations

import asyncio
import os
import socket
import uuid
from datetime import datetime
from importlib import metadata

# Read when the package is imported.
os.environ["MEM0_TELEMETRY"] = "False"

import mnem
import pytest
from mem0 import AsyncMemory, Memory
from mem0.configs.base import MemoryConfig
from mnem import agents

VECTOR = [0.5] * 8


class Embedder:
    """Where text becomes numbers: no model, and every text is alike."""

    def embed(self, *_asked):
        return VECTOR

    def embed_batch(self, texts, *_asked):
        return [VECTOR for _ in texts]


def opened(kind, tmp_path):
    config = {
        "vector_store": {
            "provider": "qdrant",
            "config": {
                "path": str(tmp_path / "qdrant"),
                "embedding_model_dims": len(VECTOR),
                "on_disk": True,
            },
        },
        "llm": {"provider": "openai", "config": {"api_key": "none"}},
        "embedder": {"provider": "openai", "config": {"api_key": "none"}},
        "history_db_path": str(tmp_path / "history.db"),
    }
    memory = kind(MemoryConfig(**config))
    memory.embedding_model = Embedder()
    return memory


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No address is reached."""

    def refuse(_socket, address):
        raise AssertionError(f"a connection to {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def memory(tmp_path):
    memory = opened(Memory, tmp_path)
    yield memory
    memory.vector_store.client.close()


@pytest.fixture
def store(tmp_path):
    with mnem.init(tmp_path / "agent") as store:
        yield store


def insert(memory, payloads):
    """Puts records into its store as they are, also such as its interface would not write."""
    ids = [str(uuid.uuid5(uuid.NAMESPACE_URL, str(number))) for number in range(len(payloads))]
    if ids:
        memory.vector_store.insert(vectors=[VECTOR] * len(ids), payloads=payloads, ids=ids)
    return ids


def test_the_newest_release_stands_here():
    assert metadata.version("mem0ai") == "2.2.1"


def test_what_mem0_wrote_is_carried_over(memory, store):
    added = memory.add(
        [{"role": "user", "content": "I prefer tea", "name": "ada"}],
        user_id="u1",
        run_id="r1",
        metadata={"topic": "drinks", "score": 0.1, "tags": ["a", 1, None]},
        infer=False,
    )["results"][0]
    memory.add("An order is open", user_id="u1", agent_id="a1", infer=False)
    memory.add("Someone else's", user_id="u2", infer=False)
    there = {each["id"]: each for each in memory.get_all(filters={"user_id": "u1"})["results"]}

    report = agents.import_mem0(store, memory, filters={"user_id": "u1"}, time_ms=7)

    assert (report.read, report.written, report.skipped) == (2, 2, ())
    assert report.head == store.head_commit()
    assert [(c.message, c.time) for c in store.log()] == [("import 2 memories from Mem0", 7)]
    assert sorted(store.memory()) == sorted(f"mem0:{id}" for id in there)
    node = store.get(f"mem0:{added['id']}")
    record = there[added["id"]]
    assert record["actor_id"] == "ada"
    assert node.provenance == mnem.Provenance(source="ada")
    assert node.content["memory"] == "I prefer tea"
    expected = {k: v for k, v in record.items() if k not in {"id", "memory", "metadata"}}
    expected = {k: v for k, v in expected.items() if v is not None} | record["metadata"]
    assert node.content["metadata"] == expected
    assert expected["topic"] == "drinks"
    assert expected["tags"] == ["a", 1, None]
    assert expected["created_at"]
    seconds = node.event_time / 1000
    assert abs(seconds - datetime.fromisoformat(record["created_at"]).timestamp()) < 0.001
    other = next(id for id in there if id != added["id"])
    assert store.get(f"mem0:{other}").provenance.source == "user"


def test_again_changes_nothing_and_an_update_is_a_change(memory, store):
    added = memory.add("Tea", user_id="u1", infer=False)["results"][0]
    memory.add("Milk", user_id="u1", infer=False)
    first = agents.import_mem0(store, memory, filters={"user_id": "u1"})
    again = agents.import_mem0(store, memory, filters={"user_id": "u1"})
    assert (again.read, again.written, again.head) == (2, 0, first.head)
    memory.update(added["id"], "Coffee")
    third = agents.import_mem0(store, memory, filters={"user_id": "u1"})
    assert (third.read, third.written) == (2, 1)
    assert store.get(f"mem0:{added['id']}").content["memory"] == "Coffee"
    assert len(store.log()) == 2


def test_expired_memories_come_too(memory, store):
    memory.add("Old", user_id="u1", infer=False, expiration_date="2020-01-01")
    assert memory.get_all(filters={"user_id": "u1"})["results"] == []
    report = agents.import_mem0(store, memory, filters={"user_id": "u1"})
    assert report.written == 1
    (node,) = store.memory().values()
    assert node.content["metadata"]["expiration_date"] == "2020-01-01"


def test_empty_memories_are_skipped_and_named(memory, store):
    payloads = [
        {"data": "kept", "user_id": "u1"},
        {"data": "", "user_id": "u1"},
        {"user_id": "u1"},
        {"data": " \n", "user_id": "u1"},
        {"data": "too large", "user_id": "u1", "n": 2**64},
    ]
    kept, *others = insert(memory, payloads[:4])
    report = agents.import_mem0(store, memory, filters={"user_id": "u1"})
    assert list(store.memory()) == [f"mem0:{kept}"]
    assert sorted(report.skipped) == sorted((id, "it has no text") for id in others)


def test_a_record_that_is_no_json_is_skipped_and_named(store):
    class Answers:
        def get_all(self, **_asked):
            return {
                "results": [
                    {"id": "a", "memory": "kept"},
                    {"id": "b", "memory": "x", "metadata": {"n": float("nan")}},
                    {"id": "c", "memory": "x", "metadata": {"n": {1, 2}}},
                    {"id": "d" * 1100, "memory": "x"},
                    {"id": "", "memory": "x"},
                    {"id": "e", "memory": "both", "role": "user", "metadata": {"role": "mine"}},
                ]
            }

    report = agents.import_mem0(store, Answers(), filters={"user_id": "u1"})
    assert list(store.memory()) == ["mem0:a", "mem0:e"]
    assert [id for id, _ in report.skipped] == ["b", "c", "d" * 1100, ""]
    assert "metadata.n" in dict(report.skipped)["b"]
    metadata_of = store.get("mem0:e").content["metadata"]
    assert metadata_of == {"metadata": {"role": "mine"}, "role": "user"}


@pytest.mark.parametrize("count", [0, 1, 999, 1_000, 1_001, 2_500])
def test_paging_goes_to_the_end(memory, store, count):
    insert(memory, [{"data": f"fact {n}", "user_id": "u1"} for n in range(count)])
    report = agents.import_mem0(store, memory, filters={"user_id": "u1"})
    assert (report.read, report.written) == (count, count)
    assert len(store.memory()) == count
    assert len(store.log()) == min(count, 1)


def test_mem0_asks_for_a_scope(memory, store):
    with pytest.raises(ValueError, match="user_id"):
        agents.import_mem0(store, memory, filters={})
    assert store.head_commit() is None


def test_what_is_no_memory_is_refused(tmp_path, store):
    class Other:
        def get_all(self, **_asked):
            return ["text"]

    with pytest.raises(mnem.InvalidRefError, match="list of results"):
        agents.import_mem0(store, Other(), filters={"user_id": "u1"})

    async def run():
        memory = opened(AsyncMemory, tmp_path / "async")
        with pytest.raises(mnem.InvalidRefError, match=r"mem0\.Memory"):
            agents.import_mem0(store, memory, filters={"user_id": "u1"})

    asyncio.run(run())
    assert store.head_commit() is None


def test_it_lands_on_a_branch_and_leaves_drafts_alone(memory, store):
    agents.remember(store, "plan", "pro")
    store.add("draft", "not told")
    memory.add("Tea", user_id="u1", infer=False)
    agents.import_mem0(store.on("mem0"), memory, filters={"user_id": "u1"}, author="me")
    assert list(store.memory()) == ["plan"]
    assert len(store.on("mem0").memory()) == 2
    assert store.on("mem0").log()[0].author == "me"
    assert [id for id, _ in store.staged()] == ["draft"]
