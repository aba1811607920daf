"""Times to live, on a clock that the tests move."""

import asyncio
import threading

import mnem
import pytest
from langgraph.store.base import GetOp, PutOp
from langgraph.store.sqlite import SqliteStore
from mnem_langgraph import MnemosyneStore, store

SPACE = ("ttl",)


class Clock:
    def __init__(self, now):
        self.now, self.passed = now, 0

    def __call__(self):
        return self.now() + self.passed

    def minutes(self, minutes):
        self.passed += int(minutes * 60_000)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock(store._now)
    monkeypatch.setattr(store, "_now", clock)
    return clock


def opened(path, **ttl):
    return MnemosyneStore(path, ttl=ttl or None)


def test_expired_items_are_seen_until_they_are_swept(path, clock):
    with opened(path) as memories:
        memories.put(SPACE, "short", {"v": 1}, ttl=1)
        memories.put(SPACE, "long", {"v": 1}, ttl=10)
        memories.put(SPACE, "ever", {"v": 1})
        clock.minutes(2)
        assert memories.get(SPACE, "short", refresh_ttl=False) is not None
        tip = memories.history(limit=1)[0].id
        assert memories.sweep_ttl() == 1
        assert memories.get(SPACE, "short") is None
        assert memories.history(limit=1)[0].message == "forget 1 expired item"
        assert memories.history(limit=2)[1].id == tip
        assert memories.why(SPACE, "short").removed
        clock.minutes(20)
        assert memories.sweep_ttl() == 1
        assert memories.sweep_ttl() == 0
        assert {item.key for item in memories.search(SPACE)} == {"ever"}


def test_expired_items_are_omitted_from_every_read(path, clock):
    with opened(path, omit_expired=True, refresh_on_read=False) as memories:
        memories.put(SPACE, "a", {"v": 1}, ttl=1)
        memories.put((*SPACE, "below"), "b", {"v": 1}, ttl=5)
        assert memories.get(SPACE, "a") is not None
        clock.minutes(2)
        assert memories.get(SPACE, "a") is None
        assert [item.key for item in memories.search(SPACE)] == ["b"]
        assert [item.key for item in memories.search(SPACE, query="v")] == ["b"]
        assert memories.list_namespaces() == [(*SPACE, "below")]
        # The commit's time is the store's own, two minutes behind this clock.
        memories.put(SPACE, "a", {"v": 2}, ttl=10)
        assert memories.get(SPACE, "a").value == {"v": 2}


@pytest.mark.parametrize("read", ["get", "search", "batch", "aget"])
def test_reading_begins_the_time_anew_without_a_commit(path, clock, read):
    reads = {
        "get": lambda m: m.get(SPACE, "a"),
        "search": lambda m: m.search(SPACE),
        "batch": lambda m: m.batch([GetOp(SPACE, "a")]),
        "aget": lambda m: asyncio.run(m.aget(SPACE, "a")),
    }
    with opened(path, refresh_on_read=True) as memories:
        memories.put(SPACE, "a", {"v": 1}, ttl=10)
        before = memories.get(SPACE, "a", refresh_ttl=False)
        clock.minutes(8)
        assert reads[read](memories)
        clock.minutes(8)
        with opened(path) as again:
            assert again.sweep_ttl() == 0
            assert again.get(SPACE, "a", refresh_ttl=False) == before
        assert len(memories.history()) == 1
        clock.minutes(3)
        assert memories.sweep_ttl() == 1


@pytest.mark.parametrize(
    ("config", "refresh", "swept"),
    [
        (None, None, 0),
        (None, False, 1),
        ({"refresh_on_read": True}, None, 0),
        ({"refresh_on_read": True}, False, 1),
        ({"refresh_on_read": False}, None, 1),
        ({"refresh_on_read": False}, True, 0),
        # As the SQLite and Postgres stores: a configuration that does not say it means no.
        ({"default_ttl": 10}, None, 1),
    ],
)
def test_which_reads_refresh(path, clock, config, refresh, swept):
    with MnemosyneStore(path, ttl=config) as memories:
        memories.put(SPACE, "a", {"v": 1}, ttl=10)
        clock.minutes(8)
        memories.get(SPACE, "a", refresh_ttl=refresh)
        clock.minutes(8)
        assert memories.sweep_ttl() == swept


def test_a_moment_later_nothing_is_noted(path, clock):
    with opened(path) as memories:
        memories.put(SPACE, "a", {"v": 1}, ttl=10)
        memories.get(SPACE, "a")
        assert memories._seen_rows.items() == []
        clock.minutes(1)
        memories.get(SPACE, "a")
        assert len(memories._seen_rows.items()) == 1


def test_a_put_begins_the_time_anew(path, clock):
    with opened(path, default_ttl=10, refresh_on_read=False) as memories:
        memories.put(SPACE, "a", {"v": 1})
        memories.put(SPACE, "b", {"v": 1})
        memories.put(SPACE, "c", {"v": 1})
        clock.minutes(8)
        memories.put(SPACE, "a", {"v": 1})
        memories.put(SPACE, "b", {"v": 1}, ttl=None)
        assert [item.key for item in memories.search(SPACE)] == ["a", "b", "c"]
        clock.minutes(8)
        assert memories.sweep_ttl() == 1
        clock.minutes(8)
        assert memories.sweep_ttl() == 1
        assert [item.key for item in memories.search(SPACE)] == ["b"]


@pytest.mark.parametrize("ttl", [0, -1])
def test_no_time_to_live_is_expired_at_once(path, ttl):
    with opened(path, omit_expired=True) as memories:
        memories.put(SPACE, "a", {"v": 1}, ttl=ttl)
        assert memories.get(SPACE, "a") is None
        assert memories.sweep_ttl() == 1


def test_a_failed_batch_refreshes_nothing(path, clock):
    with opened(path) as memories:
        memories.put(SPACE, "a", {"v": 1}, ttl=10)
        clock.minutes(8)
        with pytest.raises(TypeError):
            memories.batch([GetOp(SPACE, "a"), PutOp(SPACE, "b", {"v": object()})])
        clock.minutes(3)
        assert memories.sweep_ttl() == 1


def test_branches_keep_the_time_to_live(path, clock):
    with opened(path) as memories:
        memories.put(SPACE, "a", {"v": 1}, ttl=10)
        memories.switch(memories.branch("hypothesis"))
        clock.minutes(11)
        assert memories.sweep_ttl() == 1
        memories.switch("main")
        assert memories.get(SPACE, "a", refresh_ttl=False) is not None
        assert memories.sweep_ttl() == 1


@pytest.mark.parametrize("meanwhile", ["other", "equal", "read"])
def test_what_was_put_or_read_meanwhile_is_not_swept(path, clock, monkeypatch, meanwhile):
    with opened(path) as memories, opened(path) as other:
        memories.put(SPACE, "a", {"v": 1}, ttl=1)
        clock.minutes(2)
        update = memories._store.update

        def late(change, **options):
            if meanwhile == "read":
                other.get(SPACE, "a")
            else:
                other.put(SPACE, "a", {"v": 1 if meanwhile == "equal" else 2}, ttl=1)
            return update(change, **options)

        monkeypatch.setattr(memories._store, "update", late)
        assert memories.sweep_ttl() == 0
        assert memories.get(SPACE, "a").value == {"v": 2 if meanwhile == "other" else 1}


def test_an_equal_put_that_was_swept_before_it_was_noted_is_put(path, clock, monkeypatch):
    with opened(path) as memories, opened(path) as other:
        memories.put(SPACE, "a", {"v": 1}, ttl=1)
        clock.minutes(2)
        note, swept = memories._note_again, []

        def late(nodes):
            swept.append(other.sweep_ttl())
            note(nodes)

        monkeypatch.setattr(memories, "_note_again", late)
        memories.put(SPACE, "a", {"v": 1}, ttl=1)
        assert swept == [1]
        assert memories.get(SPACE, "a").value == {"v": 1}


@pytest.mark.parametrize("last", [{"v": 9}, None])
def test_rows_go_with_what_is_put_over_or_forgotten(path, clock, last):
    with opened(path, refresh_on_read=True) as memories:
        for n in range(5):
            memories.put(SPACE, "a", {"v": n}, ttl=1)
            clock.minutes(0.5)
            memories.get(SPACE, "a")
        assert len(memories._seen_rows.items()) == 1
        memories.put(SPACE, "a", last)
        assert memories._seen_rows.items() == []


def test_rows_go_with_what_was_swept(path, clock):
    with opened(path) as memories:
        memories.put(SPACE, "a", {"v": 1}, ttl=1)
        clock.minutes(0.5)
        memories.get(SPACE, "a")
        assert len(memories._seen_rows.items()) == 1
        clock.minutes(2)
        memories.sweep_ttl()
        assert memories._seen_rows.items() == []


def test_the_sweeper(path, monkeypatch):
    with opened(path, default_ttl=0) as memories:
        swept, sweep = threading.Event(), memories._sweeper._sweep

        def told():
            found = sweep()
            swept.set()
            return found

        monkeypatch.setattr(memories._sweeper, "_sweep", told)
        memories.put(SPACE, "a", {"v": 1})
        ended = memories.start_ttl_sweeper(0.0001)
        assert swept.wait(60)
        assert memories.get(SPACE, "a") is None
        assert memories.stop_ttl_sweeper(60)
        assert ended.done()
        assert memories.start_ttl_sweeper(100).cancel()
        assert memories.stop_ttl_sweeper(60)


def test_the_sweeper_outlives_a_failure(path, monkeypatch):
    with opened(path, default_ttl=0) as memories:
        calls, twice = [], threading.Event()

        def fail():
            calls.append(1)
            if len(calls) > 1:
                twice.set()
            raise OSError("busy")

        monkeypatch.setattr(memories._sweeper, "_sweep", fail)
        memories.start_ttl_sweeper(0.0001)
        assert twice.wait(60)
        assert memories.stop_ttl_sweeper()


def test_without_a_configuration_there_is_no_sweeper(memories):
    assert memories.start_ttl_sweeper().done()
    assert memories.stop_ttl_sweeper()


def test_a_refresh_that_cannot_be_noted_is_no_failure_of_the_read(path, clock, monkeypatch):
    asked = []

    def refuse(*_, **rows):
        asked.append(len(rows["local"]))
        raise mnem.StoreIoError("read-only")

    with opened(path) as memories:
        memories.put(SPACE, "a", {"v": 1}, ttl=10)
        clock.minutes(8)
        monkeypatch.setattr(mnem.Store, "write", refuse)
        assert memories.get(SPACE, "a").value == {"v": 1}
        assert asked == [1]


@pytest.mark.parametrize(
    ("ttl", "sentence"),
    [
        ("5", "ttl must be a number of minutes, not str"),
        ([5], "ttl must be a number of minutes, not list"),
        (float("nan"), "ttl must be a number of minutes, not nan"),
        (float("inf"), "ttl must be a number of minutes, not inf"),
        (float("-inf"), "ttl must be a number of minutes, not -inf"),
        (2**70, f"ttl must be a number of minutes, not {2**70}"),
    ],
)
def test_no_number_of_minutes(path, ttl, sentence):
    """What the SQLite store refuses, with a sentence; what it takes is taken, as -1 is."""
    with SqliteStore.from_conn_string(":memory:") as theirs:
        theirs.setup()
        with pytest.raises((TypeError, ValueError, OverflowError)):
            theirs.put(SPACE, "a", {"v": 1}, ttl=ttl)
    for configured in (False, True):
        with MnemosyneStore(path, ttl={"default_ttl": ttl} if configured else None) as memories:
            with pytest.raises((TypeError, ValueError)) as caught:
                if configured:
                    memories.put(SPACE, "a", {"v": 1})
                else:
                    memories.put(SPACE, "a", {"v": 1}, ttl=ttl)
            assert str(caught.value) == sentence
            assert memories.get(SPACE, "a") is None
            assert memories.history() == []
