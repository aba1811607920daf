"""Stores and memories across the border: the core holds the rules, here is what crosses."""

from __future__ import annotations

import json
from pathlib import Path

import mnem
import pytest
from mnem import agents

GOLDEN = Path(__file__).parents[2] / "docs/format/export.jsonl"


@pytest.fixture
def told(store):
    """A store with a branch, a draft, and local rows."""
    agents.remember(store, "plan", "basic", source="ticket-9", time_ms=1)
    agents.remember(store.on("agent"), "guess", {"seats": [1, 1.0, 2**64 - 1]}, time_ms=2)
    agents.forget(store, "plan", time_ms=3)
    agents.remember(store, "plan", "pro", time_ms=4)
    store.add("draft", "not told")
    store.local("vectors").set(b"plan", b"1")
    return store


def test_round_trip(told, tmp_path):
    path = tmp_path / "memory.jsonl"
    carried = told.export(path)
    assert carried.to_dict() == {"nodes": 3, "states": 4, "commits": 4, "branches": 2}
    with mnem.import_store(path, tmp_path / "copy") as copy:
        assert copy.branches() == told.branches()
        assert (copy.head(), copy.head_commit()) == (told.head(), told.head_commit())
        for branch in ("main", "agent"):
            assert copy.on(branch).log() == told.on(branch).log()
            for commit in copy.on(branch).log():
                assert copy.state_at(commit.id) == told.state_at(commit.id)
        assert copy.staged() == []
        assert copy.reflog() == []
        assert copy.local("vectors").get(b"plan") is None
        assert copy.verify().ok
        copy.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "again.jsonl",
        "agent",
        "copy",
        "memory.jsonl",
    ]


def test_the_golden_export(tmp_path):
    with mnem.import_store(str(GOLDEN), str(tmp_path)) as store:
        store.export(tmp_path / "again.jsonl")
        assert len(store.log()) == 5
    assert (tmp_path / "again.jsonl").read_bytes() == GOLDEN.read_bytes()


def test_the_stream_says_what_is_left_out(told, tmp_path):
    told.export(tmp_path / "memory.jsonl")
    header = json.loads((tmp_path / "memory.jsonl").read_text().splitlines()[0])
    assert header["left_out"] == ["local rows", "reflog", "staging"]
    assert header["salted"] is True


def test_refused(told, tmp_path, bytes_of, monkeypatch):
    path = tmp_path / "memory.jsonl"
    told.export(path)
    lines = path.read_text().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[:-1]))
    with pytest.raises(mnem.CorruptStoreError, match=f"line {len(lines)}: the export ends here"):
        mnem.import_store(cut, tmp_path / "copy")
    cut.write_text("".join([lines[0].replace('"version":1', '"version":2'), *lines[1:]]))
    with pytest.raises(mnem.FormatVersionError):
        mnem.import_store(cut, tmp_path / "copy")
    with pytest.raises(mnem.StoreIoError):
        mnem.import_store(tmp_path / "missing", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    before = bytes_of(told)
    with pytest.raises(mnem.StoreExistsError):
        mnem.import_store(path, told.root)
    assert bytes_of(told) == before
    with pytest.raises(mnem.InvalidRefError):
        told.export(tmp_path)
    with pytest.raises(mnem.StoreIoError):
        told.export(tmp_path / "no/such/place")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(mnem.InvalidRefError, match="into a directory, not into memory"):
        mnem.import_store(path, ":memory:")


def test_an_export_is_never_among_the_files_of_a_store(told, tmp_path, bytes_of, monkeypatch):
    before = bytes_of(told)
    files = told.root / ".mnem"
    (tmp_path / "link").symlink_to(files / "HEAD")
    monkeypatch.chdir(files)
    for place in (files / "store.redb", files / "new.jsonl", "config", tmp_path / "link"):
        with pytest.raises(mnem.InvalidRefError, match="a store keeps its own files there"):
            told.export(place)
    assert bytes_of(told) == before


def test_import_json(store, tmp_path):
    path = tmp_path / "known.json"
    path.write_text('{"plan": {"tier": "pro", "n": [1, 1.0]}, "seats": 3}')
    report = agents.import_json(store, path, time_ms=9, author="me")
    assert report == mnem.ImportReport(2, 2, (), store.head_commit())
    assert [(c.message, c.author, c.time) for c in store.log()] == [("import known.json", "me", 9)]
    node = store.get("plan")
    assert repr(node.content) == "{'n': [1, 1.0], 'tier': 'pro'}"
    assert node.provenance == mnem.Provenance(source="known.json")
    assert agents.import_json(store, str(path)).written == 0
    again = agents.import_json(store, path, source="elsewhere", summary="from elsewhere")
    assert (again.written, store.log()[0].message) == (2, "from elsewhere")


def test_import_json_refused(store, tmp_path):
    path = tmp_path / "known.json"
    for text in ('{"a": 1e999}', "[1]", '{"": 1}', "", '{"a": 1, "a": 1}'):
        path.write_text(text)
        with pytest.raises(mnem.InvalidRefError):
            agents.import_json(store, path)
    with pytest.raises(mnem.StoreIoError):
        agents.import_json(store, tmp_path)
    assert store.head_commit() is None


def test_import_mem0_without_mem0(store):
    """The package itself is asked in tests/mem0."""
    asked = []

    class Memory:
        def get_all(self, *, filters, top_k, show_expired):
            asked.append((filters, top_k, show_expired))
            records = [{"id": str(n), "memory": f"fact {n}"} for n in range(1_500)]
            return {"results": records[:top_k]}

    report = agents.import_mem0(store, Memory(), filters={"user_id": "u"})
    assert asked == [({"user_id": "u"}, 1_000, True), ({"user_id": "u"}, 2_000, True)]
    assert (report.read, report.written, len(store.memory())) == (1_500, 1_500, 1_500)


def test_mem0_times(store):
    times = {
        "2026-01-02T03:04:05.678901+00:00": 1_767_323_045_678,
        "2026-01-02T03:04:05Z": 1_767_323_045_000,
        "2026-01-01T19:04:05-08:00": 1_767_323_045_000,
        "2026-01-02T03:04:05": 1_767_323_045_000,
        "1969-12-31T23:59:59.999+00:00": -1,
        "soon": None,
        None: None,
    }

    class Memory:
        def get_all(self, **_asked):
            rows = enumerate(times, 1)
            return {"results": [{"id": n, "memory": "x", "created_at": t} for n, t in rows]}

    agents.import_mem0(store, Memory(), filters={"user_id": "u"})
    found = [store.get(f"mem0:{n}").event_time for n in range(1, len(times) + 1)]
    assert found == list(times.values())
