"""Following a branch: from a saved point, over merges, and after a failure."""

from __future__ import annotations

import json

import mnem
import pytest
from langgraph.store.base import GetOp
from mnem_langgraph import MnemosyneStore, timeline
from mnem_langgraph.shelf import Shelf

USER = ("memories", "u1")


@pytest.fixture
def looked_at(monkeypatch):
    """The commits whose changes were read."""
    commits = []
    changed_by = mnem.Store.changed_by

    def count(store, commit):
        commits.append(commit)
        return changed_by(store, commit)

    monkeypatch.setattr(mnem.Store, "changed_by", count)
    return commits


def write(store, count, key="k"):
    for n in range(count):
        store.write({f"memories:u1:{key}{n % 7}": {"v": n}}, message="count")


def listed(memories):
    return [item.dict() for item in memories.search((), limit=1000)]


def anew(memories, branch="main"):
    """What an instance lists that begins with the first commit."""
    rows = memories._store.local("mnem-langgraph:points")
    for row in rows.items():
        rows.delete(row[0])
    return listed(MnemosyneStore(memories._store, branch=branch))


def test_another_instance_begins_where_one_was_saved(memories, path, looked_at):
    write(memories._store, 300)
    expected = listed(memories)
    assert len(looked_at) == 300
    looked_at.clear()
    write(memories._store, 5, "new")
    with MnemosyneStore(path) as again:
        found = listed(again)
        assert len(looked_at) == 5
        assert found[5:] == expected
        assert found == anew(again)


def test_a_new_branch_begins_where_another_was_saved(memories, looked_at):
    write(memories._store, 300)
    listed(memories)
    looked_at.clear()
    memories.switch(memories.branch("hypothesis"))
    write(memories._store, 3, "new")
    found = listed(memories)
    assert len(looked_at) == 3
    assert found == anew(memories, "hypothesis")


def test_a_merge_is_read_from_the_point_before_its_lines(memories, looked_at):
    write(memories._store, 300)
    listed(memories)
    memories.branch("hypothesis")
    write(memories._store.on("hypothesis"), 4, "theirs")
    write(memories._store, 6, "ours")
    listed(memories)
    assert memories.merge("hypothesis").status == "merged"
    looked_at.clear()
    found = listed(memories)
    assert len(looked_at) == 4 + 6 + 1
    assert found == anew(memories)


def test_a_merge_of_lines_that_wrote_at_the_same_moment(memories):
    # Which of the two lines is read first is chance: eight rounds meet both.
    for n in range(8):

        def write(store, value, at, n=n):
            store.write({f"memories:u1:{n}": {"v": value}}, message="w", time_ms=at)

        write(memories._store, 1, n)
        memories.branch(f"side-{n}")
        write(memories._store.on(f"side-{n}"), 2, n + 1)
        write(memories._store, 3, n + 1)
        assert memories.get(USER, str(n)).value == {"v": 3}
        assert memories.merge(f"side-{n}", strategy="theirs").ok
        assert memories.get(USER, str(n)).value == {"v": 2}


def test_points_are_saved_in_turns(memories):
    rows = memories._store.local("mnem-langgraph:points")
    for _ in range(4):
        write(memories._store, 150)
        listed(memories)
    points = [key for key, _ in rows.items(b"main\0") if key.count(b"\0") == 1]
    assert points == [b"main\x000", b"main\x001"]


def test_a_point_has_no_large_row(memories, path, looked_at):
    # Reads pass by the rows that stand beside the place they look at.
    many = {f"memories:u{n % 9}:{n}": {"v": n} for n in range(2_000)}
    memories._store.write(many, message="many")
    write(memories._store, 200)
    expected = listed(memories)
    rows = memories._store.local("mnem-langgraph:points")
    assert len(rows.items()) > 2_000 // 32
    assert max(len(row) for _, row in rows.items()) < 4_096
    looked_at.clear()
    with MnemosyneStore(path) as again:
        assert listed(again) == expected
        assert looked_at == []


def test_a_point_takes_the_place_of_a_larger_one(memories, path):
    rows = memories._store.local("mnem-langgraph:points")
    many = {f"memories:u1:{n}": {"v": n} for n in range(500)}
    for changes in (many, dict.fromkeys(many), {}):
        memories._store.write(changes, message="all")
        write(memories._store, 300)
        expected = listed(memories)
    assert len(rows.items(b"main\0")) == 4
    with MnemosyneStore(path) as again:
        assert listed(again) == expected


def test_points_of_branches_that_are_gone_are_dropped(memories):
    rows = memories._store.local("mnem-langgraph:points")
    write(memories._store, 1)
    for name in ("first", "second", "third"):
        memories.branch(name)
        with MnemosyneStore(memories._store, branch=name) as there:
            write(there._store, 20, name)
            listed(there)
        if name != "second":
            memories._store.delete_branch(name)
    assert json.loads(rows.get(b"\0")) == ["second", "third"]
    assert rows.items(b"first\0") == []
    assert rows.items(b"second\0") != []


def test_a_branch_made_anew_begins_where_another_was_saved(memories, looked_at):
    write(memories._store, 300)
    listed(memories)
    memories.branch("again")
    with MnemosyneStore(memories._store, branch="again") as there:
        write(there._store, 20, "again")
        listed(there)
    memories._store.delete_branch("again")
    memories.branch("again")
    looked_at.clear()
    with MnemosyneStore(memories._store, branch="again") as there:
        assert listed(there) == listed(memories)
    assert looked_at == []


def test_a_point_that_another_process_puts_over_is_left(memories, monkeypatch):
    times, replaced = timeline._times, []

    def late(rows, point):
        rows.set(point.row, b'["another",1]')
        rows.set(point.row + b"\0" + b"00000000", b"{}")
        replaced.append(point)
        return times(rows, point)

    write(memories._store, 200)
    listed(memories)
    monkeypatch.setattr(timeline, "_times", late)
    assert listed(MnemosyneStore(memories._store)) == listed(memories)
    assert len(replaced) == 1


def test_where_nothing_can_be_saved_reads_go_on(memories, monkeypatch):
    def refuse(*_, **__):
        raise mnem.StoreIoError("read-only")

    write(memories._store, 200)
    with monkeypatch.context() as patch:
        patch.setattr(mnem.Store, "write", refuse)
        assert len(listed(memories)) == 7
    assert memories._store.local("mnem-langgraph:points").items() == []


def test_after_a_failure_the_next_look_is_whole(memories, monkeypatch):
    write(memories._store, 3)
    listed(memories)
    write(memories._store, 3, "new")
    changed_by, left = mnem.Store.changed_by, [True, True, False]

    def fail(store, commit):
        if not left.pop(0):
            raise mnem.BusyError("another process")
        return changed_by(store, commit)

    with monkeypatch.context() as patch:
        patch.setattr(mnem.Store, "changed_by", fail)
        with pytest.raises(mnem.BusyError):
            listed(memories)
    assert listed(memories) == anew(memories)
    assert len(listed(memories)) == 6


def test_closing_saves_what_is_worth_it(path, looked_at):
    for puts, read in ((10, 10), (20, 0)):
        with MnemosyneStore(path) as memories:
            for n in range(puts):
                memories.put(USER, f"k{n}", {"v": puts})
            assert memories.search(USER, limit=1)[0].value == {"v": puts}
        looked_at.clear()
        with MnemosyneStore(path) as again:
            assert len(again.search(USER, limit=100)) == puts
            assert len(looked_at) == read
    again.close()


def test_one_item_is_read_without_looking_at_all(memories, looked_at):
    write(memories._store, 300)
    memories._store.write({"memories:50%:k": {"v": "old"}}, message="0.0.7")
    there = [(USER, f"k{n}") for n in range(7)] + [(("memories", "50%"), "k"), (USER, "none")]
    fresh = MnemosyneStore(memories._store)
    found = [fresh.get(*place) for place in there]
    assert looked_at == []
    fresh.search(())
    assert len(looked_at) == 301
    assert found == [fresh.get(*place) for place in there]
    assert found[-1] is None
    assert [item.created_at < item.updated_at for item in found[:-2]] == [True] * 7


@pytest.mark.parametrize("side", ["theirs", "ours"])
def test_one_item_has_the_times_that_all_have(memories, side):
    def write(store, value, at):
        store.write({"memories:u1:k": value}, message="w", time_ms=at)

    def compare():
        fresh = [MnemosyneStore(memories._store) for _ in range(2)]
        fresh[1].search(())
        one, other = (store.get(USER, "k") for store in fresh)
        assert one == other
        assert fresh[0].get(("memories", "u2"), "k") is None

    store, at = memories._store, iter(range(1_000, 99_000, 1_000))
    for value in (1, 2, None, 3, 4):
        write(store, value, next(at))
        compare()
    # A merge brings the times of its line, or makes a value of its own, which is changed again.
    memories.branch("side")
    write(store.on("side"), None, next(at))
    write(store.on("side"), 5, next(at))
    write(store, 6, next(at))
    assert memories.merge("side", strategy=side).ok
    compare()
    write(store, 7, next(at))
    compare()
    write(store, None, next(at))
    compare()
    write(store, 8, next(at))
    compare()


def test_single_reads_of_a_batch_are_of_one_moment(memories, monkeypatch):
    store = memories._store
    store.write({f"memories:u1:{key}": 1 for key in "abc"}, message="w")
    memories.branch("side")
    store.on("side").write({"memories:u1:b": 2}, message="w")
    store.write({"memories:u1:c": 2}, message="w")
    assert memories.merge("side").ok
    fresh, follow = MnemosyneStore(store), Shelf.follow

    def late(shelf, handle):
        store.write({f"memories:u1:{key}": 3 for key in "abc"}, message="meanwhile")
        follow(shelf, handle)

    monkeypatch.setattr(Shelf, "follow", late)
    found = fresh.batch([GetOp(USER, key) for key in "abc"])
    assert [item.value for item in found] == [{"value": 3}] * 3


def test_many_single_reads_look_at_all(memories, looked_at, monkeypatch):
    monkeypatch.setattr("mnem_langgraph.shelf.POINTS", 5)
    write(memories._store, 10)
    for n in range(5):
        assert memories.get(USER, "k0").value == {"v": 7}
        assert memories.batch([GetOp(USER, "k1")])[0].value == {"v": 8}
        assert len(looked_at) == (0 if n < 2 else 10)


@pytest.mark.parametrize("looks", [False, True])
def test_a_branch_whose_first_commit_is_taken_back_has_nothing(memories, path, looks):
    memories.put(USER, "a", {"v": 1})
    memories.branch("other")
    assert memories.get(USER, "a").value == {"v": 1}
    if looks:
        assert len(memories.search(USER)) == 1
    with mnem.open(path) as another:
        another.on("main").undo()
    for _ in range(2):
        assert memories.get(USER, "a") is None
        assert memories.batch([GetOp(USER, "a")]) == [None]
    assert memories.search(USER) == []
    memories.put(USER, "b", {"v": 1})
    assert memories.get(USER, "a") is None
    assert memories.get(USER, "b").value == {"v": 1}


def test_who_only_writes_looks_now_and_then(memories, looked_at):
    memories.put(USER, "k", {"v": 0})
    memories.search(USER)
    looked_at.clear()
    for n in range(150):
        memories.put(USER, "k", {"v": n + 1})
    assert len(looked_at) == 128
    assert memories.get(USER, "k").value == {"v": 150}
    assert listed(memories) == anew(memories)
