"""The session as the SDK's protocol has it: items, numbers, names, many at once, opening.

Long: its promises are many, and short tests that share their helpers.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import mnem
import pytest
from agents import SQLiteSession
from agents.memory import Session, SessionSettings
from mnem import keys
from mnem_openai_agents import MnemosyneSession


@pytest.fixture
def store(tmp_path):
    with mnem.init(tmp_path / "store") as store:
        yield store


@pytest.fixture
def session(store):
    return MnemosyneSession(store, "u1")


def run(coroutine):
    return asyncio.run(coroutine)


def user(text):
    return {"role": "user", "content": text}


def add(session, *items):
    run(session.add_items(list(items)))


def texts(session, limit=None):
    return [item["content"] for item in run(session.get_items(limit))]


def exactly(value):
    """A text that tells values apart as their types do."""
    return json.dumps(value, sort_keys=True)


# ---- what it holds ----

DEEP = "end"
for _ in range(200):
    DEEP = [DEEP]

ITEMS = [
    user("Hello"),
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'},
    {"v": [1, 1.0, True, None, "1", -0.0, 5e-324, 2**64 - 1, -(2**63)]},
    {"v": [math.nan, math.inf, -math.inf]},
    {"v": [2**64, -(2**63) - 1, 2**80]},
    {"v": "\ud800 alone"},
    {"\udfff": 1},
    {"v": "nul\x00, line\u2028, caf\u00e9, cafe\u0301, \U0001f9e0"},
    {"v": DEEP},
    {"": {"": ""}},
    {},
    [],
    "text",
    None,
    True,
    7,
    [user("in a list"), math.nan],
    {1: "one", None: "none", False: "false", 1.5: "half"},
    {1: "first", "1": "second"},
    ("a", "tuple"),
    {"mnem:json": "[1]"},
    {"mnem:json": 5, "more": 1},
    {"mnem:key": ["a", "b"], "role": "user"},
]


@pytest.mark.parametrize("name", ["u1", "x" * 5000], ids=["short", "cut"])
@pytest.mark.parametrize("together", [True, False])
def test_items_come_back_as_from_sqlite(store, name, together):
    ours, theirs = MnemosyneSession(store, name), SQLiteSession("u1")
    for items in [ITEMS] if together else [[item] for item in ITEMS]:
        add(ours, *items)
        add(theirs, *items)
    got = run(ours.get_items())
    assert [exactly(item) for item in got] == [exactly(item) for item in run(theirs.get_items())]
    assert len(got) == len(ITEMS)
    for count in range(len(ITEMS) + 1):
        assert exactly(run(ours.get_items(count))) == exactly(run(theirs.get_items(count)))
    for _ in ITEMS:
        assert exactly(run(ours.pop_item())) == exactly(run(theirs.pop_item()))
    assert run(ours.get_items()) == run(theirs.get_items()) == []
    theirs.close()


def test_ordinary_items_stand_as_they_are(store, session):
    add(session, user("Hello"), "text")
    assert store.get("u1:0000000000").content == user("Hello")
    assert store.get("u1:0000000001").content == "text"
    assert store.get("u1:_seq").content == 2


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ({"v": object()}, r"content\.v: "),
        ({"v": {1, 2}}, r"content\.v: "),
        ({"v": b"bytes"}, r"content\.v: "),
        ({("a",): 1}, "content: "),
        ({"v": [math.nan, object()]}, "object is not JSON"),
    ],
)
def test_what_is_no_json_is_refused_whole(store, session, item, told):
    add(session, user("before"))
    tip = store.head_commit()
    with pytest.raises(TypeError, match=told):
        add(session, user("good"), item, {"v": math.nan})
    assert store.head_commit() == tip
    add(session, user("after"))
    assert texts(session) == ["before", "after"]


def test_a_cycle_is_refused(store, session):
    item = {}
    item["self"] = item
    with pytest.raises(ValueError):
        add(session, item)
    assert store.head_commit() is None


def test_big_items(session):
    add(session, user("x" * 8_000_000))
    assert len(texts(session)[0]) == 8_000_000
    add(session, *(user(str(number)) for number in range(5000)))
    assert texts(session, 3) == ["4997", "4998", "4999"]
    assert len(texts(session)) == 5001


@pytest.mark.parametrize("beside", [{}, {"also": math.nan}], ids=["as it is", "as text"])
def test_an_item_that_is_too_large_is_refused_whole(store, session, beside):
    with pytest.raises(mnem.InvalidRefError, match="more than 67108864"):
        add(session, user("good"), {**user("x" * (1 << 26)), **beside})
    assert store.head_commit() is None


def test_what_is_returned_is_a_copy(session):
    item = user(["first"])
    add(session, item)
    item["content"].append("second")
    run(session.get_items())[0]["content"].append("third")
    assert texts(session) == [["first"]]


# ---- reading ----


def test_limits(store):
    session = MnemosyneSession(store, "u1", session_settings={"limit": 2})
    add(session, *map(user, "abcde"))
    limits = [(None, "de"), (1, "e"), (0, "")]
    for limit, expected in [*limits, *((all_, "abcde") for all_ in (-1, -(2**80), 99, 2**80))]:
        assert "".join(texts(session, limit)) == expected
    session.session_settings = None
    assert "".join(texts(session)) == "abcde"
    with pytest.raises(Exception, match="limitt"):
        MnemosyneSession(store, "u1", session_settings={"limitt": 1})
    for wrong in (0, "", [], False):
        with pytest.raises(TypeError, match="SessionSettings"):
            MnemosyneSession(store, "u1", session_settings=wrong)


def test_an_empty_store_is_an_empty_session(store, session):
    assert run(session.get_items()) == run(session.get_items(5)) == []
    assert run(session.pop_item()) is None
    run(session.clear_session())
    add(session)
    assert session.item_ids() == session.history() == []
    assert store.head_commit() is None


def test_it_is_a_session_of_the_protocol(session):
    assert isinstance(session, Session)
    assert session.session_id == "u1"
    assert isinstance(session.session_settings, SessionSettings)
    hooks = ["run_compaction", "_defer_compaction", "_get_items_with_generation"]
    assert not any(hasattr(session, hook) for hook in hooks)


def test_nothing_staged_is_read(store, session):
    add(session, user("committed"))
    store.add("u1:0000000000", user("a draft"))
    store.add("u1:0000000001", user("another"))
    assert texts(session) == texts(session, 5) == ["committed"]
    add(session, user("more"))
    assert run(session.pop_item()) == user("more")
    assert [id for id, _ in store.staged()] == ["u1:0000000000", "u1:0000000001"]


@pytest.mark.parametrize("name", ["u1", "x" * 5000], ids=["short", "cut"])
def test_unreadable_nodes_are_passed_over(store, name):
    session = MnemosyneSession(store, name)
    add(session, *map(user, "abcdef"))
    ids = session.item_ids()
    for at, text in [(1, "no json"), (4, 5), (5, "[" * 100_000)]:
        full = {"mnem:key": [name, f"{at:010d}"]} if name != "u1" else {}
        store.write({ids[at]: {"mnem:json": text, **full}}, message="damage")
    assert texts(session) == texts(session, -1) == ["a", "c", "d"]
    assert texts(session, 2) == ["c", "d"]
    assert session.item_ids() == [ids[0], ids[2], ids[3]]
    before = len(store.log())
    assert run(session.pop_item()) == user("d")
    assert len(store.log()) == before + 1
    assert not any(map(store.exists, ids[3:]))
    assert texts(session) == ["a", "c"]
    assert session.why(ids[1]).node.content["mnem:json"] == "no json"


# ---- writing ----


def test_a_call_is_a_commit(store, session):
    add(session, user("a"), user("b"), user("c"))
    add(session)
    add(session, user("d"))
    run(session.pop_item())
    run(session.clear_session())
    run(session.clear_session())
    run(session.pop_item())
    assert [(commit.message, commit.author) for commit in store.log()] == [
        ("clear u1", "agent"),
        ("pop from u1", "agent"),
        ("add 1 item to u1", "agent"),
        ("add 3 items to u1", "agent"),
    ]


def test_numbers_are_never_given_again(store, session):
    add(session, user("a"), user("b"))
    assert run(session.pop_item()) == user("b")
    add(session, user("c"))
    run(session.clear_session())
    add(session, user("d"))
    assert session.item_ids() == ["u1:0000000003"]
    gone = store.blame("u1:0000000001")
    assert (gone.removed, gone.node.content) == (True, user("b"))
    assert store.log()[-2].id == gone.commit
    # Nor after a revert, which takes the counter back.
    assert store.revert("HEAD").status == "reverted"
    assert store.get("u1:_seq").content == 3
    add(session, user("e"))
    assert session.item_ids() == ["u1:0000000004"]
    assert len(session.history()) == 7


@pytest.mark.parametrize("name", ["u1", "x" * 5000], ids=["short", "cut"])
def test_random_calls_agree_with_a_list(store, name):
    """Also reads with a limit, over the gaps that clearing and popping leave."""
    session, model, choose = MnemosyneSession(store, name), [], random.Random(7)
    for step in range(120):
        match choose.choice(["add", "add", "many", "pop", "pop", "clear", "read"]):
            case "add":
                model.append(user(str(step)))
                add(session, model[-1])
            case "many":
                more = [user(f"{step}.{n}") for n in range(choose.randrange(1, 40))]
                model += more
                add(session, *more)
            case "pop":
                assert run(session.pop_item()) == (model.pop() if model else None)
            case "clear" if choose.random() < 0.5:
                model.clear()
                run(session.clear_session())
            case _:
                limit = choose.randrange(1, 30)
                assert run(session.get_items(limit)) == model[-limit:]
        assert len(session.item_ids()) == len(model)
    assert run(session.get_items()) == model
    assert store.verify().ok


def test_a_path_below_another_store_is_refused(tmp_path):
    mnem.init(tmp_path).close()
    with pytest.raises(mnem.StoreExistsError, match=r"\.mnem, above"):
        MnemosyneSession("u1", tmp_path / "sessions")
    assert not (tmp_path / "sessions").exists()


def test_a_long_gap_is_passed_over_by_few_reads(store, session, monkeypatch):
    store.write(
        {"u1:0000000003": user("old"), "u1:_seq": 1_234_567_890, "u1:000000x": "foreign"},
        message="as after a long life",
    )
    reads = []
    state_at = mnem.Store.state_at

    def read(store, commit, **asked):
        reads.append(asked)
        return state_at(store, commit, **asked)

    monkeypatch.setattr(mnem.Store, "state_at", read)
    assert texts(session, 5) == ["old"]
    assert len(reads) < 100
    reads.clear()
    add(session, user("new"))
    assert texts(session, 1) == ["new"]
    # The counter, for the add and again; what comes after the last number; the last ten.
    assert len(reads) == 4
    assert run(session.pop_item()) == user("new")
    assert run(session.pop_item()) == user("old")
    assert store.exists("u1:000000x")


def test_a_neighbour_of_the_next_number_does_not_set_it_back(store, session):
    add(session, user("a"), user("b"))
    run(session.pop_item())
    store.write({"u1:0000000002:x": "of another"}, message="others")
    add(session, user("c"))
    assert session.item_ids() == ["u1:0000000000", "u1:0000000002"]


def test_an_item_that_somebody_wrote_above_a_gap_stays(store, session):
    add(session, user("a"))
    store.write({"u1:0000000005": user("b")}, message="by hand")
    add(session, *map(user, "cdefgh"))
    assert texts(session) == texts(session, 8) == list("abcdefgh")
    assert session.item_ids()[2] == "u1:0000000006"


@pytest.mark.parametrize("counter", [None, "junk", -1, 10**10 + 1, 1.0, True, 2, 0])
def test_a_counter_that_is_wrong_costs_no_item(store, session, counter):
    add(session, *map(user, "abcd"))
    change = None if counter is None else mnem.MemoryNode("u1:_seq", counter)
    store.write({"u1:_seq": change}, message="a wrong counter")
    assert texts(session, 2) == ["c", "d"]
    add(session, user("e"))
    assert texts(session) == ["a", "b", "c", "d", "e"]
    assert store.get("u1:_seq").content == 5


@pytest.mark.parametrize("name", ["u1", "x" * 5000], ids=["short", "cut"])
@pytest.mark.parametrize("gap", [1, 25])
def test_a_counter_that_is_set_back_into_a_gap_costs_no_item(store, name, gap):
    """By a revert, which takes the counter back with the item, and by a merge of the store."""
    session = MnemosyneSession(store, name)
    add(session, user("a"))
    add(session, *(user(str(number)) for number in range(gap)))
    wrong = store.head_commit()
    add(session, user("b"))
    assert store.revert(wrong, strategy="theirs").status == "reverted"
    assert texts(session) == texts(session, 5) == ["a", "b"]
    add(session, user("c"), user("d"))
    assert texts(session) == texts(session, 5) == ["a", "b", "c", "d"]
    assert [run(session.pop_item())["content"] for _ in range(4)] == ["d", "c", "b", "a"]


def test_the_last_number(store, session):
    store.write({"u1:_seq": 10**10 - 1}, message="nearly full")
    add(session, user("last"))
    assert session.item_ids() == ["u1:9999999999"]
    with pytest.raises(mnem.InvalidRefError, match="no numbers left"):
        add(session, user("one more"))
    assert texts(session, 1) == ["last"]
    assert run(session.pop_item()) == user("last")


# ---- names ----

NAMES = [
    *["", "u1", "u10", "u1:x", "u1:", ":u1", "u", "U1", "%", "100%", "u1%3Ax", "%3A", "_seq"],
    *["0000000000", "u1:0000000000", "caf\u00e9", "cafe\u0301", "../..", "nul\0", "'; drop--", " "],
    *["\U0001f9e0", "*", "x" * 957, "x" * 958, "x" * 1012, "x" * 1013, "x" * 1014, "x" * 1019],
    *["x" * 1020, "x" * 5000, "x" * 4999 + "y", ":" * 5000],
]


def test_names_are_apart(store):
    sessions = {name: MnemosyneSession(store, name) for name in NAMES}
    for round_ in range(2):
        for name, session in sessions.items():
            add(session, *(user(f"{NAMES.index(name)}.{round_}.{n}") for n in range(12)))
    ids = {name: session.item_ids() for name, session in sessions.items()}
    assert len({id for some in ids.values() for id in some}) == 24 * len(NAMES)
    for index, (name, session) in enumerate(sessions.items()):
        expected = [f"{index}.{round_}.{n}" for round_ in range(2) for n in range(12)]
        assert texts(session) == expected, name
        assert texts(session, 13) == expected[-13:], name
        assert run(session.pop_item()) == user(expected[-1]), name
        assert len(session.history()) == 3, name
    for name in ["u1", "x" * 5000, "x" * 958]:
        run(sessions[name].clear_session())
    for name, session in sessions.items():
        cleared = name in ["u1", "x" * 5000, "x" * 958]
        assert len(texts(session)) == (0 if cleared else 23), name
    assert store.verify().ok


def test_names_that_can_be_no_key_are_refused(store, tmp_path):
    for name in ["\ud800", 5, None]:
        with pytest.raises((TypeError, ValueError)):
            MnemosyneSession(store, name)
    with pytest.raises((TypeError, ValueError)):
        MnemosyneSession("\ud800", tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("name", ["100%", "a\nb"])
def test_a_session_of_the_original_goes_on(store, name):
    store.write(
        {f"{name}:0000000000": user("old"), f"{name}:_seq": 1}, message="by an older release"
    )
    session = MnemosyneSession(store, name)
    add(session, user("new"))
    assert session.item_ids() == [f"{name}:0000000000", f"{name}:0000000001"]
    assert texts(session) == texts(session, 2) == ["old", "new"]
    assert run(session.pop_item()) == user("new")
    assert not store.exists(keys.join(name, "_seq"))
    assert len(session.history()) == 3


def test_others_on_the_store_are_not_touched(store, session):
    foreign = {
        "u1": "a person's",
        "u1:note": "of another adapter",
        "u1:00000000001": "eleven digits",
        "u1:000000001": "nine",
        "u1:" + "\u0660" * 10: "digits of another script",
        "u1:0000000000:x": "deeper",
        "u10:0000000000": user("of another session"),
    }
    store.write(foreign, message="others")
    add(session, user("ours"))
    assert texts(session) == texts(session, 3) == ["ours"]
    run(session.clear_session())
    assert run(session.pop_item()) is None
    memory = store.memory()
    assert {id: memory[id].content for id in foreign} == foreign
    assert len(session.history()) == 2


def test_a_cut_key_is_believed_only_where_it_fits(store):
    name = "x" * 5000
    session = MnemosyneSession(store, name)
    add(session, user("ours"))
    other = keys.join(name, "other")
    store.write(
        {other: {"mnem:key": [name, "0000000007"], "role": "user"}}, message="says another key"
    )
    assert texts(session) == ["ours"]


# ---- at once ----


def test_concurrent_adds_are_blocks(store, session):
    async def work():
        await asyncio.gather(
            *(session.add_items([user([n, at]) for at in range(5)]) for n in range(60))
        )
        return await session.get_items()

    items = [item["content"] for item in run(work())]
    blocks = [items[at : at + 5] for at in range(0, 300, 5)]
    assert all(block == [[block[0][0], at] for at in range(5)] for block in blocks)
    assert sorted(block[0][0] for block in blocks) == list(range(60))
    assert len(store.log()) == 60


def test_concurrent_pops_are_distinct(session):
    async def work():
        await session.add_items([user(n) for n in range(120)])
        return await asyncio.gather(*(session.pop_item() for _ in range(130)))

    popped = [item["content"] for item in run(work()) if item is not None]
    assert sorted(popped) == list(range(120))


def test_threads_with_loops_of_their_own(store):
    def work(thread):
        session = MnemosyneSession(store, "u1")
        for call in range(10):
            add(session, user([thread, call, 0]), user([thread, call, 1]))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    items = texts(MnemosyneSession(store, "u1"))
    assert sorted(items) == [[t, c, n] for t in range(8) for c in range(10) for n in range(2)]
    assert [items[at][:2] for at in range(0, 160, 2)] == [items[at][:2] for at in range(1, 160, 2)]


WORKER = """
import asyncio, sys
from mnem_openai_agents import MnemosyneSession
async def main(number, path):
    session = MnemosyneSession("u1", path)
    for call in range(20):
        await session.add_items([{"role": "user", "content": [number, call, n]} for n in (0, 1)])
asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
"""


def test_processes_that_make_the_store_together(tmp_path):
    path = tmp_path / "sessions.db"
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(number), str(path)])
        for number in range(2)
    ]
    assert [worker.wait() for worker in workers] == [0, 0]
    session = MnemosyneSession("u1", path)
    items = texts(session)
    assert sorted(items) == [[w, c, n] for w in range(2) for c in range(20) for n in range(2)]
    assert [items[at][:2] for at in range(0, 80, 2)] == [items[at][:2] for at in range(1, 80, 2)]
    session.close()


@pytest.mark.parametrize("operation", ["add", "pop", "clear"])
@pytest.mark.parametrize("fails", [False, True])
def test_a_cancelled_call_is_finished_first(session, monkeypatch, operation, fails):
    add(session, user("a"), user("b"))
    reached, go_on, done = threading.Event(), threading.Event(), []
    update = mnem.Store.update

    def slow(self, *arguments, **options):
        reached.set()
        assert go_on.wait(10)
        if fails:
            done.append("failed")
            raise mnem.StoreIoError("no space left on device")
        commit = update(self, *arguments, **options)
        done.append(commit)
        return commit

    monkeypatch.setattr(mnem.Store, "update", slow)

    async def work():
        call = {
            "add": lambda: session.add_items([user("c"), user("d")]),
            "pop": session.pop_item,
            "clear": session.clear_session,
        }[operation]
        task = asyncio.create_task(call())
        await asyncio.to_thread(reached.wait, 10)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(done) == 1

    run(work())
    after = {"add": "abcd", "pop": "a", "clear": ""}[operation]
    assert "".join(texts(session)) == ("ab" if fails else after)


# ---- how it is opened ----


def test_by_store_and_by_path(store, tmp_path):
    for session in (
        MnemosyneSession(store, "u1"),
        MnemosyneSession(store, session_id="u1"),
        MnemosyneSession(store=store, session_id="u1"),
    ):
        assert session.session_id == "u1"
        add(session, user("a"))
        session.close()
    assert len(store.log()) == 3
    for session in (
        MnemosyneSession("u1", tmp_path / "store"),
        MnemosyneSession("u1", str(tmp_path / "store")),
        MnemosyneSession("u1", path=tmp_path / "store"),
        MnemosyneSession("u1", db_path=tmp_path / "store"),
        MnemosyneSession(session_id="u1", path=tmp_path / "store"),
    ):
        assert texts(session) == ["a", "a", "a"]
        session.close()
    for wrong in [(), (store,), ("u1", store, 5)]:
        with pytest.raises(TypeError):
            MnemosyneSession(*wrong)


def test_a_path_without_a_store_gets_one(tmp_path):
    session = MnemosyneSession("u1", tmp_path / "deep" / "sessions.db")
    add(session, user("a"))
    session.close()
    with mnem.open(tmp_path / "deep" / "sessions.db") as store:
        assert store.get("u1:0000000000").content == user("a")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(mnem.StoreIoError, match=r"/file, which is a file$") as caught:
        MnemosyneSession("u1", tmp_path / "file")
    assert "a store is a directory" in caught.value.hint
    assert (tmp_path / "file").read_text() == "in the way"


def test_items_of_an_older_session_are_taken_over(store, session):
    older = SQLiteSession("u1")
    add(older, *ITEMS)
    run(session.add_items(run(older.get_items())))
    assert exactly(run(session.get_items())) == exactly(run(older.get_items()))
    assert len(store.log()) == 1
    older.close()


def test_in_memory_each_has_its_own():
    first, second = MnemosyneSession("u1"), MnemosyneSession("u1")
    add(first, user("a"))
    assert (texts(first), texts(second)) == (["a"], [])


def test_closed(store):
    session = MnemosyneSession(store, "u1")
    session.close()
    session.close()
    for call in (
        session.get_items,
        session.pop_item,
        session.clear_session,
        lambda: session.add_items([]),
        lambda: session.add_items([user("a")]),
    ):
        with pytest.raises(mnem.StoreIoError, match="closed"):
            run(call())
    with pytest.raises(mnem.StoreIoError, match="closed"):
        session.switch("main")
    store.write({"still": "open"}, message="the giver's")


def test_a_branch_of_its_own(store):
    add(MnemosyneSession(store, "u1"), user("a"))
    other = MnemosyneSession(store, "u1", branch="hypothesis")
    add(other, user("b"))
    assert texts(other) == ["a", "b"]
    assert texts(MnemosyneSession(store, "u1")) == ["a"]
    assert texts(MnemosyneSession(store.on("hypothesis"), "u1")) == ["a", "b"]
    assert store.head() == "ref: main"
    with pytest.raises(mnem.InvalidRefError, match="must not be empty"):
        MnemosyneSession(store, "u1", branch="")


def test_a_detached_head_is_told(store):
    add(MnemosyneSession(store, "u1"), user("a"))
    store.checkout(store.head_commit())
    with pytest.raises(mnem.InvalidRefError, match="no branch") as caught:
        MnemosyneSession(store, "u1")
    assert "mnem checkout" in caught.value.hint
    assert texts(MnemosyneSession(store, "u1", branch="main")) == ["a"]


def test_what_is_wrong_is_told_in_the_words_of_the_caller():
    with pytest.raises(TypeError, match=r"^MnemosyneSession\(\) missing 1 .*'session_id'"):
        MnemosyneSession()
    with mnem.open(":memory:") as store:
        with pytest.raises(TypeError, match=r"^MnemosyneSession\(\) missing 1 .*'session_id'"):
            MnemosyneSession(store)
        session = MnemosyneSession(store, "chat")
        asyncio.run(session.add_items([{"role": "user", "content": "Hello"}]))
        for place in (1, -2):
            told = rf"^no item {place} in session 'chat', which has 1$"
            with pytest.raises(IndexError, match=told):
                session.why(place)
