"""Commits, times, lists and branches."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import mnem
import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from mnem_langgraph import MnemosyneStore, store

USER = ("memories", "u1")


def keys_of(items):
    return [item.key for item in items]


# ---- commits ----


def test_messages_and_author(path):
    with MnemosyneStore(path, author="graph") as memories:
        memories.put(USER, "plan", {"v": 1})
        memories.batch([PutOp(USER, key, {"v": 1}) for key in "abc"])
        memories.batch([PutOp(USER, "a", None), PutOp(USER, "b", {"v": 2})])
        memories.delete(USER, "plan")
        assert [(commit.message, commit.author) for commit in memories.history()] == [
            ("forget memories:u1:plan", "graph"),
            ("put memories:u1:b, forget memories:u1:a", "graph"),
            ("put 3 items", "graph"),
            ("put memories:u1:plan", "graph"),
        ]


def test_reads_of_a_batch_see_what_was_before(memories):
    memories.put(USER, "a", {"v": 1})
    ops = [
        PutOp(USER, "a", {"v": 2}),
        GetOp(USER, "a"),
        PutOp(("other",), "b", {"v": 3}),
        SearchOp(("other",)),
        ListNamespacesOp(),
        PutOp(USER, "a", {"v": 4}),
    ]
    none, got, _, found, namespaces, _ = memories.batch(ops)
    assert (none, got.value, found, namespaces) == (None, {"v": 1}, [], [USER])
    # The last put of a key wins.
    assert memories.get(USER, "a").value == {"v": 4}
    assert len(memories.history()) == 2


def test_an_empty_batch(memories):
    assert memories.batch([]) == []
    assert asyncio.run(memories.abatch([])) == []
    assert memories.history() == []


def test_deleting_what_is_not_there_is_silent(memories):
    memories.delete(USER, "a")
    assert memories.history() == []
    memories.put(USER, "b", {"v": 1})
    memories.delete(USER, "a")
    memories.put(USER, "b", None)
    memories.put(USER, "b", None)
    assert len(memories.history()) == 2


def test_nothing_outside_a_namespace_is_forgotten(memories):
    memories._store.write({"plan": 1}, message="a person's")
    memories.delete((), "plan")
    assert memories._store.exists("plan")


@pytest.mark.parametrize(
    "op",
    [
        PutOp((), "k", {"v": 1}),
        PutOp(("langgraph", "a"), "k", {"v": 1}),
        PutOp(("a.b",), "k", {"v": 1}),
        PutOp(("a.b",), "k", None),
        PutOp(("",), "k", {"v": 1}),
        PutOp(("nul\0",), "k", {"v": 1}),
        PutOp((5,), "k", {"v": 1}),
        GetOp(("a.b",), "k"),
        SearchOp(("a.b",)),
        ListNamespacesOp((MatchCondition("prefix", ("a.b",)),)),
    ],
)
def test_namespaces_are_checked_on_every_path(memories, op):
    good = PutOp(USER, "good", {"v": 1})
    with pytest.raises(InvalidNamespaceError):
        memories.batch([good, op])
    with pytest.raises(InvalidNamespaceError):
        asyncio.run(memories.abatch([good, op]))
    assert memories.history() == []


def test_unknown_operations_are_refused(memories):
    with pytest.raises(ValueError, match="Unknown operation type"):
        memories.batch([PutOp(USER, "good", {"v": 1}), "op"])
    assert memories.history() == []


def test_keys_are_texts(memories):
    memories.put(USER, 5, {"v": 1})
    memories.put(USER, "", {"v": 2})
    assert memories.get(USER, "5").value == {"v": 1}
    assert memories.get(USER, "").value == {"v": 2}


# ---- times and order ----


def test_times_are_of_the_commits(memories):
    memories.put(USER, "a", {"v": 1})
    memories._store.write({"memories:u1:a": {"v": 2}}, message="revise", time_ms=4_000_000_000_000)
    item = memories.get(USER, "a")
    assert item.created_at.timestamp() * 1000 == memories.history()[1].time
    assert item.updated_at == datetime.fromtimestamp(4_000_000_000, timezone.utc)
    assert item.updated_at.utcoffset() == timedelta(0)
    assert memories.search(USER)[0].dict() == item.dict() | {"score": None}


def test_created_is_since_it_was_last_absent(memories):
    write = memories._store.write
    for n, value in enumerate([{"v": 1}, {"v": 2}, None, {"v": 3}, {"v": 4}]):
        write({"memories:u1:a": value}, message="w", time_ms=1000 * n)
    for again in (memories, MnemosyneStore(memories._store)):
        item = again.get(USER, "a")
        assert (item.created_at.timestamp(), item.updated_at.timestamp()) == (3, 4)


def test_the_newest_comes_first(memories):
    for key in "abc":
        memories.put(USER, key, {"v": 1})
    memories.put(USER, "a", {"v": 2})
    for again in (memories, MnemosyneStore(memories._store)):
        assert keys_of(again.search(USER)) == ["a", "c", "b"]
        assert [keys_of(again.search(USER, limit=1, offset=n)) for n in range(4)] == [
            ["a"],
            ["c"],
            ["b"],
            [],
        ]
        assert again.search(USER, limit=0) == []
        assert keys_of(again.search(USER, limit=-1)) == ["a", "c", "b"]


def test_backdated_commits_are_in_the_order_of_their_times(memories):
    for key, at in [("a", 3000), ("b", 1000), ("c", 2000)]:
        memories._store.write({f"memories:u1:{key}": {"v": 1}}, message="w", time_ms=at)
        memories.search(USER)
    assert keys_of(memories.search(USER)) == ["a", "c", "b"]
    assert keys_of(memories.search((), limit=2)) == ["a", "c"]


def test_an_equal_put_moves_the_item_and_makes_no_commit(memories):
    for key in "abc":
        memories.put(USER, key, {"v": 1})
    before = memories.get(USER, "a")
    memories.put(USER, "a", {"v": 1})
    after = memories.get(USER, "a")
    assert len(memories.history()) == 3
    assert after.created_at == before.created_at
    assert after.updated_at >= before.updated_at
    for again in (memories, MnemosyneStore(memories._store)):
        assert keys_of(again.search(USER)) == ["a", "c", "b"]
    memories.put(USER, "d", {"v": 1})
    assert keys_of(memories.search(USER)) == ["d", "a", "c", "b"]


def test_equal_times_are_in_the_order_of_the_calls(memories, monkeypatch):
    def write(key):
        memories._store.write({f"memories:u1:{key}": {"v": 1}}, message="w", time_ms=at)

    at = 4_000_000_000_000
    monkeypatch.setattr(store, "_now", lambda: at)
    for key in "cab":
        write(key)
    memories.put(USER, "a", {"v": 1})
    assert keys_of(memories.search(USER)) == ["a", "b", "c"]
    write("d")
    memories.put(USER, "c", {"v": 1})
    assert keys_of(memories.search(USER)) == ["c", "d", "a", "b"]
    assert keys_of(MnemosyneStore(memories._store).search(USER)) == ["c", "d", "a", "b"]


def test_an_equal_put_in_a_batch_moves_the_item(memories):
    for key in "abc":
        memories.put(USER, key, {"v": 1})
    memories.batch([PutOp(USER, "a", {"v": 1}), PutOp(USER, "d", {"v": 1})])
    assert set(keys_of(memories.search(USER))[:2]) == {"a", "d"}


def test_the_same_value_from_another_source_is_a_change(memories):
    memories.put(USER, "a", {"v": 1, "_meta": {"source": "first"}})
    memories.put(USER, "a", {"v": 1, "_meta": {"source": "second"}})
    assert memories.why(USER, "a").provenance.source == "second"
    assert len(memories.history()) == 2


def test_what_others_write_is_seen(memories, path):
    memories.put(USER, "a", {"v": 1})
    assert keys_of(memories.search(USER)) == ["a"]
    with MnemosyneStore(path) as other:
        other.put(USER, "b", {"v": 2})
        other.delete(USER, "a")
    assert keys_of(memories.search(USER)) == ["b"]
    assert memories.get(USER, "a") is None


def test_a_history_is_followed_as_it_would_be_read_anew(memories):
    """Merges, undo, and more commits at once than one look reads."""
    memories.put(USER, "base", {"v": 0})
    memories.search(USER)

    def agrees():
        anew = MnemosyneStore(memories._store, branch="main")
        listed = [item.dict() for item in memories.search((), limit=1000)]
        assert listed == [item.dict() for item in anew.search((), limit=1000)]

    other = MnemosyneStore(memories._store, branch="other")
    other.put(USER, "theirs", {"v": 1})
    other.put(USER, "both", {"v": 1})
    memories.put(USER, "ours", {"v": 1})
    agrees()
    assert memories.merge("other").status == "merged"
    agrees()
    theirs = other.get(USER, "theirs")
    assert memories.get(USER, "theirs").created_at == theirs.created_at
    assert memories.get(USER, "theirs").updated_at == theirs.updated_at
    for n in range(100):
        memories._store.write({"memories:u1:base": {"v": n + 1}}, message="count")
    agrees()
    memories._store.undo()
    agrees()
    memories.put(USER, "both", {"v": 2})
    other.put(USER, "both", {"v": 3})
    resolved = mnem.MemoryNode("memories:u1:both", {"v": 4})
    assert memories.merge("other", resolutions={"memories:u1:both": resolved}).ok
    agrees()
    assert memories.get(USER, "both").value == {"v": 4}
    assert keys_of(memories.search(USER))[0] == "both"


# ---- lists ----


def test_list_namespaces(memories):
    spaces = [("a", "b", "c"), ("a", "b", "d"), ("a", "x", "c"), ("b",), ("a*",), ("a", "b")]
    for space in spaces:
        memories.put(space, "k", {"v": 1})
    listed = memories.list_namespaces
    assert listed() == sorted(spaces)
    assert listed(prefix=("a",)) == sorted(s for s in spaces if s[0] == "a")
    assert listed(suffix=("c",)) == [("a", "b", "c"), ("a", "x", "c")]
    assert listed(prefix=("a", "*", "c")) == [("a", "b", "c"), ("a", "x", "c")]
    assert listed(prefix=("*", "b"), suffix=("*",)) == [
        ("a", "b"),
        ("a", "b", "c"),
        ("a", "b", "d"),
    ]
    assert listed(prefix=("a*",)) == [("a*",)]
    assert listed(prefix=("*",), max_depth=1) == [("a",), ("a*",), ("b",)]
    assert listed(max_depth=1, limit=1, offset=1) == [("a*",)]
    assert listed(max_depth=2, prefix=("a",)) == [("a", "b"), ("a", "x")]
    assert listed(limit=0) == []
    assert listed(prefix=("a", "b", "c", "d")) == []
    memories.delete(("b",), "k")
    assert ("b",) not in listed()


def test_a_word_counts_more_where_it_stands_alone(memories):
    memories.put(USER, "alone", {"text": "a bar"})
    memories.put(USER, "within", {"text": "a barrel"})
    assert keys_of(memories.search(USER, query="bar")) == ["alone", "within"]


def test_a_query_orders_and_still_lists_the_rest(memories):
    memories.put(USER, "a", {"text": "the cafe is closed"})
    memories.put(USER, "b", {"text": "caf\u00e9 noir, open late", "tags": ["open"]})
    memories.put(USER, "c", {"text": "nothing of it"})
    assert keys_of(memories.search(USER, query="Caf\u00c9 NOIR")) == ["b", "c", "a"]
    assert keys_of(memories.search(USER, query="closed cafe")) == ["a", "c", "b"]
    assert keys_of(memories.search(USER, query="open")) == ["b", "c", "a"]
    assert keys_of(memories.search(USER, query="?")) == ["c", "b", "a"]
    assert keys_of(memories.search(USER, query="noir", limit=1, offset=1)) == ["c"]


# ---- branches ----


def test_a_branch_binds_one_instance(memories, path):
    memories.put(USER, "a", {"v": 1})
    with MnemosyneStore(path, branch="agent-a") as other, MnemosyneStore(path) as third:
        other.put(USER, "a", {"v": 2})
        assert memories.get(USER, "a").value == {"v": 1}
        third.switch("agent-a")
        assert third.get(USER, "a").value == {"v": 2}
        assert memories.get(USER, "a").value == {"v": 1}
    with mnem.open(path) as person:
        assert person.head() == "ref: main"


def test_a_call_ends_on_the_branch_it_began_on(memories, monkeypatch):
    memories.put(USER, "a", {"v": 1})
    memories.branch("hypothesis")
    update = mnem.Store.update

    def late(store, change, **options):
        memories.switch("hypothesis")  # as another thread does
        return update(store, change, **options)

    with monkeypatch.context() as patch:
        patch.setattr(mnem.Store, "update", late)
        memories.batch([PutOp(USER, "a", {"v": 1}), PutOp(USER, "b", {"v": 2})])
    assert keys_of(memories.search(USER)) == ["a"]
    memories.switch("main")
    assert set(keys_of(memories.search(USER))) == {"a", "b"}


def test_a_merge_and_a_revert(memories):
    memories.put(USER, "a", {"v": 1})
    memories.switch(memories.branch("hypothesis"))
    memories.put(USER, "a", {"v": 2})
    memories.switch("main")
    memories.put(USER, "a", {"v": 3})
    conflicts = memories.merge("hypothesis").conflicts
    assert [(c.id, c.kind) for c in conflicts] == [("memories:u1:a", "edit/edit")]
    assert memories.get(USER, "a").value == {"v": 3}
    assert memories.merge("hypothesis", strategy="theirs").ok
    assert memories.get(USER, "a").value == {"v": 2}
    assert memories.revert(memories.history(limit=1)[0].id).status == "reverted"
    assert memories.get(USER, "a").value == {"v": 3}


def test_a_branch_that_is_not_there(memories):
    with pytest.raises(mnem.InvalidRefError, match="no branch 'typo'") as error:
        memories.switch("typo")
    assert "mnem branch" in error.value.hint
    memories.put(USER, "a", {"v": 1})
    assert memories.get(USER, "a").value == {"v": 1}


def test_a_branch_is_dropped(memories):
    memories.put(USER, "a", {"v": 1})
    memories.switch(memories.branch("hypothesis"))
    memories.put(USER, "a", {"v": 2})
    with pytest.raises(mnem.InvalidRefError, match="this instance is on the branch hypothesis"):
        memories.delete_branch("hypothesis")
    memories.switch("main")
    assert memories.delete_branch("hypothesis")
    assert not memories.delete_branch("hypothesis")
    assert memories.get(USER, "a").value == {"v": 1}
    assert dict(memories._store.branches()).keys() == {"main"}


def test_a_detached_head_is_told(path):
    with mnem.open(path) as person:
        person.checkout(person.write({"a": 1}, message="w"))
    with pytest.raises(mnem.InvalidRefError, match="detached"):
        MnemosyneStore(path)
    with MnemosyneStore(path, branch="main") as memories:
        memories.put(USER, "a", {"v": 1})


def test_who_forgot(memories):
    memories.put(USER, "a", {"v": 1})
    memories.delete(USER, "a")
    blame = memories.why(USER, "a")
    assert (blame.removed, blame.commit) == (True, memories.history(limit=1)[0].id)


# ---- opening ----


def test_from_conn_string(tmp_path):
    with MnemosyneStore.from_conn_string(str(tmp_path / "new")) as memories:
        memories.setup()
        memories.put(USER, "a", {"v": 1})
    with MnemosyneStore.from_conn_string(str(tmp_path / "new")) as memories:
        assert memories.get(USER, "a").value == {"v": 1}
    with pytest.raises(mnem.StoreIoError):
        memories.put(USER, "a", {"v": 2})

    async def run():
        async with MnemosyneStore.from_conn_string(":memory:") as memories:
            await memories.setup()
            await memories.aput(USER, "a", {"v": 1})
            return memories.get(USER, "a")

    assert asyncio.run(run()).value == {"v": 1}


@pytest.mark.parametrize("below", ["user-a", "deep/user-a"])
def test_from_conn_string_below_another_store(path, below):
    """It would be one memory for all, and not the one that was named."""
    with pytest.raises(mnem.StoreExistsError, match=f"{path}/.mnem, above {path}/{below}"):
        MnemosyneStore.from_conn_string(f"{path}/{below}")
    with MnemosyneStore.from_conn_string(f"{path}/") as memories:
        assert str(memories._store.root) == path


def test_from_conn_string_of_a_path_or_what_is_no_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        with MnemosyneStore.from_conn_string(tmp_path / "new"):
            pass
    with MnemosyneStore.from_conn_string("new") as memories:
        assert memories._store.root == tmp_path / "new"
    (tmp_path / "agent.db").write_text("SQLite format 3")
    with pytest.raises(mnem.StoreIoError, match=r"agent\.db is a file"):
        MnemosyneStore.from_conn_string("agent.db")
    (tmp_path / "other" / ".mnem").mkdir(parents=True)
    with pytest.raises(mnem.NoStoreError, match="made by another program"):
        MnemosyneStore.from_conn_string("other")


def test_a_store_that_was_given_stays_open(path):
    with mnem.open(path) as store:
        with MnemosyneStore(store) as memories:
            memories.put(USER, "a", {"v": 1})
        assert store.get("memories:u1:a").content == {"v": 1}
        bound = store.on("agent-a")
        assert MnemosyneStore(bound)._branch == "agent-a"


def test_sync_and_async_from_one_object_at_once(memories):
    async def run():
        await asyncio.gather(*(memories.aput(USER, f"a{n}", {"v": n}) for n in range(20)))
        memories.put(USER, "sync", {"v": 1})
        return await memories.asearch(USER, limit=100)

    with ThreadPoolExecutor(4) as pool:
        threads = [pool.submit(memories.put, USER, f"t{n}", {"v": n}) for n in range(20)]
        found = asyncio.run(run())
        for thread in threads:
            thread.result()
    assert {f"a{n}" for n in range(20)} | {"sync"} <= set(keys_of(found))
    assert len(memories.search(USER, limit=100)) == 41


def test_what_has_landed_is_no_failure(memories, monkeypatch):
    memories.put(USER, "a", {"v": 1})
    memories.get(USER, "a")

    def fail(*_):
        raise mnem.BusyError("another process")

    with monkeypatch.context() as patch:
        patch.setattr(mnem.Store, "changed_by", fail)
        memories.batch([PutOp(USER, "a", {"v": 1}), PutOp(USER, "b", {"v": 2})])
    assert keys_of(memories.search(USER)) == ["b", "a"]
