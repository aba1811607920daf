"""What the handle promises: staging apart from writes, threads, scopes, local rows."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import mnem
import pytest
from mnem import agents

# ---- staging never leaks into what an agent writes or reads ----


def test_a_failed_write_leaves_nothing_behind(store):
    agents.remember(store, "a", 1)
    with pytest.raises(TypeError):
        agents.remember(store, "b", 2, summary=5)
    with pytest.raises(KeyError):
        agents.remember_many(store, [{"id": "c", "content": 3}, {"content": 4}])
    with pytest.raises(ValueError, match="finite"):
        agents.remember_many(
            store, [{"id": "c", "content": 3}, {"id": "d", "content": float("nan")}]
        )
    with pytest.raises(ValueError, match="empty"):
        store.write({"c": 3, "": 4}, message="m")
    assert (store.staged(), store.staged_deletions()) == ([], [])
    assert list(store.working_memory()) == list(store.memory()) == ["a"]
    assert len(store.log()) == 1


def test_a_write_commits_its_own_change_alone(store):
    agents.remember_many(store, [{"id": "a", "content": 1}, {"id": "gone", "content": 1}])
    store.add("draft", 1)
    store.add("a", "draft of a")
    store.rm("gone")
    commit = agents.remember(store, "b", 2)
    assert store.changed_by(commit) == {"b": "added"}
    assert [id for id, _ in store.staged()] == ["a", "draft"]
    assert store.staged_deletions() == ["gone"]
    assert store.get("draft") is None
    assert store.get("a").content == agents.recall(store, "a").content == 1
    assert store.working_node("a").content == "draft of a"
    assert list(store.memory()) == ["a", "b", "gone"]
    assert list(store.working_memory()) == ["a", "b", "draft"]
    assert store.changed_by(store.commit("drafts")) == {
        "a": "modified",
        "draft": "added",
        "gone": "removed",
    }


def test_a_detached_head_refuses_before_anything_is_written(store, bytes_of):
    agents.remember(store, "a", 1)
    store.checkout(store.head_commit())
    before = bytes_of(store)
    transcript = [{"role": "user", "content": "hello"}]
    for write in (
        lambda: agents.remember(store, "b", 2),
        lambda: agents.revise(store, "a", 2),
        lambda: agents.remember_many(store, [{"id": "b", "content": 2}]),
        lambda: agents.forget(store, "a"),
        lambda: agents.import_chat(store, transcript, transcript="t"),
        lambda: store.update(lambda _: {"b": 2}, message="m"),
    ):
        with pytest.raises(mnem.InvalidRefError, match="detached HEAD"):
            write()
    assert bytes_of(store) == before
    assert list(store.working_memory()) == ["a"]
    store.checkout("main")


def test_staging_verbs(store):
    store.add("a", 1)
    store.rm("a")
    assert (store.staged(), store.staged_deletions()) == ([], [])
    store.add("a", 1)
    commit = store.commit("m")
    assert store.commit("nothing") == commit
    assert store.commit("nothing", allow_empty=True) != commit
    store.rm("a")
    store.add("a", 1)
    assert store.staged_deletions() == []
    assert store.unstage("a") is True
    assert store.unstage("a") is False
    store.rm("a")
    store.commit("only a deletion")
    assert store.memory() == {}


def test_an_equal_write_makes_no_commit(store):
    first = agents.remember(store, "a", {"b": 1}, source="s")
    assert agents.remember(store, "a", {"b": 1}, source="s") == first
    assert agents.remember_many(store, []) == first
    assert agents.remember(store, "a", {"b": 1}, source="another") != first
    assert agents.remember(store, "a", {"b": 1.0}, source="another") != first
    assert len(store.log()) == 3


def test_default_messages(store):
    agents.remember(store, "a", 1)
    agents.revise(store, "a", 2)
    agents.remember_many(store, [{"id": "b", "content": 1}])
    agents.remember_many(store, [{"id": id, "content": 1} for id in "cd"])
    agents.forget(store, "a")
    agents.remember(store, "a", 3, summary="a again")
    assert [commit.message for commit in reversed(store.log())] == [
        "remember a",
        "revise a",
        "remember 1 node",
        "remember 2 nodes",
        "forget a",
        "a again",
    ]
    assert {commit.author for commit in store.log()} == {"agent"}


def test_provenance_of_many(store):
    fields = ("source", "step", "observation", "tool_call", "note")
    item = {"id": "a", "content": 1, "event_time": 5, **{field: field for field in fields}}
    agents.remember_many(store, [item, {"id": "b", "content": 1}], event_time=7, time_ms=9)
    node = store.get("a")
    assert node.provenance == mnem.Provenance("step", "observation", "tool_call", "source", "note")
    assert (node.event_time, store.get("b").event_time, store.log()[0].time) == (5, 7, 9)


def test_nodes_read_together_are_each_their_own(store):
    near, far = mnem.Provenance(source="near"), mnem.Provenance(source="far", note="by phone")
    long = "a key that is longer than any that is shared " * 3
    nodes = [
        mnem.MemoryNode("a", {"key": 1, long: [1.5, None]}, provenance=near),
        mnem.MemoryNode("b", {"key": {"key": "text"}, long: 2}, "claim", near, event_time=5),
        mnem.MemoryNode("c", [], provenance=far),
        mnem.MemoryNode("d", {str(number): number for number in range(600)}),
        mnem.MemoryNode("e", "text", provenance=near, event_time=-1),
    ]
    for node in nodes:
        store.add_node(node)
    store.commit("learn")
    expected = {node.id: node for node in nodes}
    assert store.memory() == store.working_memory() == expected
    assert {id: store.get(id) for id in expected} == expected
    memory = store.memory()
    memory["a"].content["key"] = memory["a"].provenance = None
    assert store.memory() == expected
    assert memory["e"] == expected["e"]


# ---- threads ----


def test_each_commit_holds_its_callers_change(store):
    """480 commits of 8 threads on one handle: each holds exactly its caller's key."""

    def write(thread):
        made = []
        for number in range(60):
            id = f"{thread}-{number}"
            made.append((agents.remember(store, id, number), id))
        return made

    with ThreadPoolExecutor(8) as pool:
        made = [pair for pairs in pool.map(write, range(8)) for pair in pairs]
    assert len({commit for commit, _ in made}) == 480
    for commit, id in made:
        assert store.changed_by(commit) == {id: "added"}
    assert len(store.log()) == 480
    assert len(store.memory()) == 480


def test_updates_lose_nothing(store):
    def count(memory):
        seen = memory.get("n")
        return {"n": 1 if seen is None else seen.content + 1}

    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda _: store.update(count, message="m"), range(80)):
            pass
    assert store.get("n").content == 80


def test_other_threads_run_while_a_call_waits(store):
    """A predicate that waits for another thread's read and write would hang on a held lock."""
    commits = [agents.remember(store, "n", n) for n in range(4)]
    entered, done = threading.Event(), threading.Event()

    def other():
        entered.wait()
        agents.remember(store, "from another thread", 1)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()

    def predicate(memory):
        entered.set()
        assert done.wait(60)
        return memory["n"].content >= 2

    assert store.bisect(predicate, bad=commits[-1]) == commits[2]
    thread.join()


def test_update_sees_what_it_lands_on(store):
    first = agents.remember(store, "a", 1)
    seen = []

    def change(memory):
        assert isinstance(memory, mnem.Snapshot)
        seen.append((memory.commit, memory.exists("a"), memory.exists("b"), memory.get("b")))
        seen.append(list(memory.memory(prefix="a", limit=1)))
        seen.append(list(memory.memory(after="a")))
        return {"a": None, "b": mnem.MemoryNode("b", None, event_time=3)}

    commit = store.update(change, message="m", author="me", time_ms=4)
    assert seen == [(first, True, False, None), ["a"], []]
    assert store.changed_by(commit) == {"a": "removed", "b": "added"}
    assert store.get("b") == mnem.MemoryNode("b", None, event_time=3)
    assert (store.log()[0].author, store.log()[0].time) == ("me", 4)


def test_a_failed_update_writes_nothing_and_frees_the_writer(store, bytes_of):
    agents.remember(store, "a", 1)
    before = bytes_of(store)
    for change in (lambda _: {"a": {1}}, lambda _: {"": 1}, lambda _: None, lambda _: 1 / 0):
        with pytest.raises((mnem.InvalidRefError, TypeError, ZeroDivisionError)):
            store.update(change, message="m")
    assert bytes_of(store) == before
    agents.remember(store, "a", 2)


def test_base_refuses_what_its_caller_has_not_seen(store):
    base = agents.remember_many(store, [{"id": "a", "content": 1}, {"id": "b", "content": 1}])
    agents.remember(store, "a", 2)
    for write in (
        lambda: store.write({"a": 3}, message="m", base=base),
        lambda: store.update(lambda _: {"a": 3}, message="m", base=base),
        lambda: agents.remember(store, "a", 3, base=base),
        lambda: agents.remember_many(store, [{"id": "a", "content": 3}], base=base),
        lambda: agents.forget(store, "a", base=base),
    ):
        with pytest.raises(mnem.ConflictError, match='"a" has changed since'):
            write()
    agents.remember(store, "b", 2, base=base)


# ---- handles and scopes ----


def test_two_handles_share_one_store(store):
    with mnem.open(store.root) as other:
        agents.remember(other, "a", 1)
        assert store.get("a").content == 1
    assert store.get("a").content == 1


def test_a_closed_handle_says_so(store):
    store.close()
    store.close()
    with pytest.raises(mnem.StoreIoError, match="closed"):
        store.memory()


def test_memory_stores_are_each_their_own():
    with mnem.open(":memory:") as one, mnem.init(":memory:", default_branch="trunk") as other:
        agents.remember(one, "a", 1)
        assert other.memory() == {}
        assert other.head() == "ref: trunk"
        assert str(one.root) == ":memory:"
        assert not os.path.exists(":memory:")  # noqa: PTH110


def test_init_options(tmp_path):
    ids = []
    for name in ("one", "two"):
        with mnem.init(tmp_path / name, default_branch="trunk", reproducible=True) as store:
            assert store.head() == "ref: trunk"
            ids.append(agents.remember(store, "a", 1, time_ms=1))
    assert ids[0] == ids[1]
    with mnem.init(tmp_path / "salted") as store:
        assert agents.remember(store, "a", 1, time_ms=1) != ids[0]
        assert store.format_version == 2


def test_open_finds_the_store_above(store):
    below = store.root / "a" / "b"
    below.mkdir(parents=True)
    with mnem.open(below) as other, mnem.Store.open(str(below)) as another:
        assert other.root == another.root == store.root
    assert repr(store) == f"<mnem.Store root={str(store.root)!r}>"


def test_a_branch_scope_returns_where_it_came_from(store):
    first = agents.remember(store, "a", 1)
    agents.remember(store, "a", 2)
    with store.branch("b", start=first) as inside:
        assert inside is store
        assert store.head() == "ref: b"
        assert store.get("a").content == 1
    assert store.head() == "ref: main"
    store.checkout(first)
    with pytest.raises(ZeroDivisionError), store.branch("c"):
        raise ZeroDivisionError
    assert store.head() == first
    assert [name for name, _ in store.branches()] == ["b", "c", "main"]


def test_a_branch_scope_is_not_entered_where_no_way_leads_back(store):
    """After the undo of the first commit HEAD is on a branch that there is no more."""
    agents.remember(store, "a", 1)
    store.new_branch("other")
    assert store.undo().commit is None
    scope = store.branch("b", start="other")
    with pytest.raises(mnem.InvalidRefError, match="main has no commit yet"), scope:
        agents.remember(store, "a", 2)
    assert (store.head(), store.get("a")) == ("ref: main", None)
    assert store.on("b").get("a").content == 1


def test_a_branch_scope_over_drafts_makes_no_branch(store):
    agents.remember(store, "a", 1)
    for draft in (lambda: store.add("draft", 1), lambda: store.rm("a")):
        draft()
        with pytest.raises(mnem.InvalidRefError, match="staged changes"):
            store.branch("b")
        assert [name for name, _ in store.branches()] == ["main"]
        store.checkout("main")
        store.unstage("draft")


def test_agents_on_an_empty_store_share_a_base(store):
    agents.remember(store.on("a"), "plan", "basic")
    agents.remember(store.on("b"), "seats", 3)
    root = store.head_commit()
    assert store.memory() == {}
    assert [store.on(name).log()[-1].id for name in "ab"] == [root, root]
    assert store.on("a").merge("b").status == "merged"
    assert list(store.on("a").memory()) == ["plan", "seats"]


def test_a_bound_handle_never_moves_head(store):
    agents.remember(store, "a", 1)
    store.add("draft", 1)
    bound = store.on("agent")
    assert repr(bound).endswith("branch='agent'>")
    agents.remember(bound, "a", 2)
    assert (store.head(), bound.head()) == ("ref: main", "ref: agent")
    assert (store.get("a").content, bound.get("a").content) == (1, 2)
    assert list(bound.working_memory()) == ["a"]
    store.unstage("draft")
    assert store.merge("agent").status == "fast-forwarded"


def test_new_ids_sort_by_time():
    ids = [mnem.new_id()]
    for _ in range(3):
        time.sleep(0.002)
        ids.append(mnem.new_id())
    assert ids == sorted(set(ids))


# ---- the author ----


def test_the_author(store, monkeypatch):
    monkeypatch.delenv("MNEM_AUTHOR", raising=False)
    store.write({"a": 1}, message="m")
    monkeypatch.setenv("MNEM_AUTHOR", "Ada")
    store.add("a", 2)
    store.commit("m")
    store.commit("m", author="Grace", allow_empty=True)
    monkeypatch.setenv("MNEM_AUTHOR", "")
    store.write({"a": 3}, message="m")
    authors = [commit.author for commit in reversed(store.log())]
    assert authors == ["unknown", "Ada", "Grace", "unknown"]
    monkeypatch.setenv("MNEM_AUTHOR", "Ada")
    agents.remember(store.on("other"), "b", 1)
    agents.remember(store, "c", 1)
    store.merge("other")
    assert store.log()[0].author == "Ada"


# ---- local rows ----


def test_local_rows(store):
    rows, others = store.local("vectors"), store.local("vec")
    rows.set(b"a\0", b"\xff\0")
    rows.set(b"b", b"")
    others.set(b"a", b"another's")
    assert (rows.get(b"a\0"), rows.get(b"b"), rows.get(b"c")) == (b"\xff\0", b"", None)
    assert rows.items() == [(b"a\0", b"\xff\0"), (b"b", b"")]
    assert rows.items(b"a") == [(b"a\0", b"\xff\0")]
    rows.delete(b"b")
    rows.delete(b"b")
    assert rows.items(b"b") == []
    with pytest.raises(TypeError):
        rows.set("a", b"")
    with mnem.open(store.root) as other:
        assert other.local("vec").items() == [(b"a", b"another's")]
    assert store.log() == []


def test_a_local_row_is_deleted_by_delete_alone(store):
    rows = store.local("vectors")
    rows.set(b"a", bytearray(b"1"))
    with pytest.raises(mnem.InvalidRefError, match=r"^value must be bytes, not None$"):
        rows.set(b"a", None)
    assert rows.items() == [(b"a", b"1")]


def test_local_rows_land_with_a_write_or_not_at_all(store):
    rows = store.local("vectors")
    tip = store.write({"a": 1}, message="m", local=[("vectors", b"a", b"1"), ("other", b"", b"")])
    assert (rows.items(), store.local("other").items()) == ([(b"a", b"1")], [(b"", b"")])
    store.write({"a": 2}, message="m")
    refused = {"message": "m", "local": [("vectors", b"a", b"2"), ("vectors", b"b", b"2")]}
    for write in (
        lambda: store.write({"a": 3}, base=tip, **refused),
        lambda: store.write({"a": {1, 2}}, **refused),
        lambda: store.update(lambda _: {"a": 3}, base=tip, **refused),
        lambda: store.update(lambda _: 1 / 0, **refused),
    ):
        with pytest.raises((mnem.MnemError, ZeroDivisionError)):
            write()
    assert rows.items() == [(b"a", b"1")]
    # Also where nothing changes.
    assert store.update(lambda _: {"a": 2}, **refused) == store.head_commit()
    assert rows.items() == [(b"a", b"2"), (b"b", b"2")]
    store.write({}, message="m", local=(("vectors", key, None) for key in (b"a", b"b", b"c")))
    assert rows.items() == []
    assert len(store.log()) == 2


@pytest.mark.parametrize(
    "local", [[("v", b"k")], [("v", "k", b"")], [(b"v", b"k", b"")], [("v", b"k", 1)], [1], 1]
)
def test_what_is_no_local_row_is_refused(store, local):
    for write, changes in ((store.write, {"a": 1}), (store.update, lambda _: {"a": 1})):
        with pytest.raises((TypeError, ValueError)):
            write(changes, message="m", local=local)
    assert store.head_commit() is None


# ---- what is read of the past ----


def test_the_log_of_a_node_and_from_a_revision(store):
    first = store.write({"a": 1}, message="a1")
    store.write({"b": 1}, message="b1")
    store.write({"a": 2}, message="a2")
    store.write({"a": None}, message="gone")

    def said(**options):
        return [commit.message for commit in store.log(**options)]

    assert said(node="a") == ["gone", "a2", "a1"]
    assert said(node="a", limit=1, at="HEAD~1") == ["a2"]
    assert said(node="a", first_parent=True, at=first) == ["a1"]
    assert said(node="never") == []
    assert said(at="HEAD~2") == ["b1", "a1"]
    with pytest.raises(mnem.InvalidRefError):
        said(at="no-such-branch")


def test_what_a_write_keeps_at_hand_is_what_the_disk_says(store):
    ids = [f"n{n}" for n in range(40)]
    tips = [store.write({id: {"v": n} for id in ids[n:]}, message="m") for n in range(3)]
    tips.append(store.write({"n1": None, "n2": {"v": 2}, "new": 1.0}, message="m"))
    answers = [str((store.changed_by(tip), store.state_at(tip), store.log(at=tip))) for tip in tips]
    assert store.changed_by(tips[-1]) == {"n1": "removed", "new": "added"}
    store.close()
    code = """
import sys, mnem
store = mnem.open(sys.argv[1])
for tip in sys.argv[2:]:
    print((store.changed_by(tip), store.state_at(tip), store.log(at=tip)))
"""
    run = [sys.executable, "-c", code, str(store.root), *tips]
    done = subprocess.run(run, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == answers
