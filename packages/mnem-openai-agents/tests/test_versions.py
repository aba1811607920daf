"""What the session has beyond the SDK's protocol: provenance, branches, history.

Long: its promises are many, and short tests that share their helpers.
"""

from __future__ import annotations

import asyncio
import json

import mnem
import pytest
from mnem import keys
from mnem_openai_agents import MnemosyneSession


@pytest.fixture
def store(tmp_path):
    with mnem.init(tmp_path / "store") as store:
        yield store


@pytest.fixture
def session(store):
    return MnemosyneSession(store, "u1")


def user(text):
    return {"role": "user", "content": text}


def add(session, *items):
    asyncio.run(session.add_items(list(items)))


def texts(session):
    return [item["content"] for item in asyncio.run(session.get_items())]


def talk(session, *turns):
    for turn in turns:
        add(session, user(turn), {"role": "assistant", "content": f"{turn}!"})


# ---- provenance ----


def call(id, name="find_plan", arguments='{"customer": 4821}'):
    return {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}


def output(id, text="enterprise"):
    return {"type": "function_call_output", "call_id": id, "output": text}


def told(session, at=-1):
    provenance = session.why(at).provenance
    assert (provenance.agent_step, provenance.note) == (None, None)
    return provenance.source, provenance.tool_call, provenance.observation


FOUND = ("find_plan", 'find_plan({"customer": 4821})', "enterprise")


def test_an_output_tells_its_call(session):
    add(session, user("Which plan?"), call("c1"), call("c2", "other"), output("c1"))
    assert told(session) == FOUND
    assert [told(session, at) for at in range(3)] == [(None, None, None)] * 3


def test_the_call_may_stand_earlier(session):
    add(session, call("c1"), call("c3", "far"))
    for number in range(25):
        add(session, user(str(number)))
    add(session, call("c2", "other"))
    add(session, output("c1"), output("c2"))
    assert told(session, -2) == FOUND
    assert told(session)[0] == "other"
    asyncio.run(session.clear_session())
    add(session, output("c3"))
    assert told(session) == (None, None, "enterprise")


def test_a_call_id_that_is_used_again_means_the_last_call(session):
    add(session, call("c1", "oldest"))
    add(session, call("c1", "newer"), call("c2", "old"))
    add(session, output("c1"), call("c2", "new"), output("c2"))
    assert (told(session, -3)[0], told(session)[0]) == ("newer", "new")


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([output("nobody")], (None, None, "enterprise")),
        ([call("c1", "f", "{"), output("c1", "x" * 281)], ("f", "f({)", "x" * 280 + "…")),
        ([call("c1", "f", "{}"), output("c1", "x" * 280)], ("f", "f({})", "x" * 280)),
        (
            [call("c1", "f", "\ud800"), output("c1", "\udfff")],
            ("f", "f(\\ud800)", "\\udfff"),
        ),
        (
            [call("c1", "f", ""), output("c1", [{"type": "input_text", "text": "hi"}])],
            ("f", "f()", '[{"type": "input_text", "text": "hi"}]'),
        ),
        (
            [
                {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select 1"},
                {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"},
            ],
            ("sql", "sql(select 1)", "1"),
        ),
        (
            [
                {"type": "computer_call", "call_id": "c1", "action": {"type": "click", "x": 1}},
                {"type": "computer_call_output", "call_id": "c1", "output": {"image": "..."}},
            ],
            ("computer_call", 'computer_call({"type": "click", "x": 1})', '{"image": "..."}'),
        ),
        (
            [{"type": "mcp_call", "name": "ask", "arguments": "{}", "output": "42"}],
            ("ask", "ask({})", "42"),
        ),
        (
            [call("c1", "f", ""), output("c1", {1: "x", "a": float("nan")})],
            ("f", "f()", '{"1": "x", "a": NaN}'),
        ),
        (
            [{"type": "mcp_call", "name": "ask", "arguments": "{}", "output": None, "error": "no"}],
            ("ask", "ask({})", "no"),
        ),
        ([{"type": "mcp_call", "name": "ask", "arguments": "{}"}], (None, None, None)),
        (
            [
                {"type": "local_shell_call", "id": "i1", "call_id": "c1", "action": {"x": 1}},
                {"type": "local_shell_call_output", "id": "c1", "output": "done"},
            ],
            ("local_shell_call", 'local_shell_call({"x": 1})', "done"),
        ),
        (
            [
                {"type": "apply_patch_call", "call_id": "c1", "operation": {"path": "a.py"}},
                {"type": "apply_patch_call_output", "call_id": "c1", "status": "failed"},
            ],
            ("apply_patch_call", 'apply_patch_call({"path": "a.py"})', "failed"),
        ),
        (
            [
                {"type": "program", "call_id": "c1", "code": "1 + 1"},
                {"type": "program_output", "call_id": "c1", "result": "2", "status": "completed"},
            ],
            ("program", "program(1 + 1)", "2"),
        ),
        (
            [{"type": "code_interpreter_call", "code": "1 + 1", "outputs": [{"logs": "2"}]}],
            ("code_interpreter_call", "code_interpreter_call(1 + 1)", '[{"logs": "2"}]'),
        ),
        (
            [{"type": "code_interpreter_call", "code": "1 + 1", "outputs": None}],
            (None, None, None),
        ),
        (
            [{"type": "file_search_call", "queries": ["dogs"], "results": [{"text": "none"}]}],
            ("file_search_call", 'file_search_call(["dogs"])', '[{"text": "none"}]'),
        ),
        ([{"type": "function_call_output", "call_id": 5}], (None, None, "null")),
        ([{"type": 5, "call_id": "c1", "output": "no output"}], (None, None, None)),
    ],
)
def test_provenance(session, items, expected):
    add(session, *items)
    assert told(session) == expected
    assert json.dumps(asyncio.run(session.get_items()), sort_keys=True) == json.dumps(
        json.loads(json.dumps(items)), sort_keys=True
    )


# ---- branches ----


def test_switching_moves_this_session_alone(store, session):
    session.switch("main")
    other = MnemosyneSession(store, "u1")
    talk(session, "a")
    assert session.branch("guess") == "guess"
    assert texts(session) == ["a", "a!"]
    session.switch("guess")
    talk(session, "b")
    assert (texts(session), texts(other)) == (["a", "a!", "b", "b!"], ["a", "a!"])
    assert store.head() == "ref: main"
    session.switch("main")
    assert texts(session) == ["a", "a!"]
    for wrong in ["nowhere", "HEAD"]:
        with pytest.raises(mnem.InvalidRefError, match=wrong) as caught:
            session.switch(wrong)
        assert "mnem branch" in caught.value.hint
    with pytest.raises(mnem.InvalidRefError, match="guess"):
        session.branch("guess")
    assert [name for name, _ in store.branches()] == ["guess", "main"]


def test_a_branch_at_an_earlier_commit(session):
    talk(session, "a", "b")
    session.switch(session.branch("before", start="HEAD~1"))
    assert texts(session) == ["a", "a!"]


def test_a_branch_is_merged(session):
    talk(session, "a")
    session.switch(session.branch("guess"))
    talk(session, "b")
    session.switch("main")
    assert session.merge("guess").status == "fast-forwarded"
    assert texts(session) == ["a", "a!", "b", "b!"]
    assert session.merge("guess").status == "up-to-date"


def test_two_sessions_of_two_branches_merge_cleanly(store):
    first, second = MnemosyneSession(store, "u1"), MnemosyneSession(store, "u2")
    talk(first, "a")
    second.switch(second.branch("other"))
    talk(first, "b")
    talk(second, "c")
    assert first.merge("other", message="together").status == "merged"
    assert store.log()[0].message == "together"
    second.switch("main")
    assert (texts(first), texts(second)) == (["a", "a!", "b", "b!"], ["c", "c!"])


@pytest.mark.parametrize("name", ["u1", "x" * 5000], ids=["short", "cut"])
@pytest.mark.parametrize("longer", ["ours", "theirs"])
@pytest.mark.parametrize("strategy", ["ours", "theirs"])
def test_both_sides_spoke(store, name, longer, strategy):
    session = MnemosyneSession(store, name)
    talk(session, "a")
    session.switch(session.branch("guess"))
    add(session, user("b"), *([user("c")] if longer == "theirs" else []))
    session.switch("main")
    add(session, user("d"), *([user("e")] if longer == "ours" else []))
    tip = store.head_commit()
    result = session.merge("guess")
    assert [conflict.kind for conflict in result.conflicts if "_seq" not in str(conflict)] == [
        "add/add"
    ]
    assert store.head_commit() == tip
    assert session.merge("guess", strategy=strategy).status == "merged"
    expected = ["a", "a!", "d" if strategy == "ours" else "b", "e" if longer == "ours" else "c"]
    assert texts(session) == expected
    # No number is given again, whichever side had given more.
    add(session, user("f"))
    assert texts(session) == [*expected, "f"]


def test_a_conflict_is_answered_by_hand(session):
    talk(session, "a")
    session.switch(session.branch("guess"))
    add(session, user("b"))
    session.switch("main")
    add(session, user("c"))
    id = session.item_ids()[-1]
    with pytest.raises(mnem.InvalidRefError):
        session.merge("guess", resolutions={"u1:0000000000": "ours"})
    with pytest.raises(mnem.InvalidRefError):
        session.merge("guess", strategy="neither")
    answer = mnem.MemoryNode(id, user("b, then c"))
    assert session.merge("guess", resolutions={id: answer}).status == "merged"
    assert texts(session) == ["a", "a!", "b, then c"]


def test_counters_alone_are_no_conflict(session):
    talk(session, "a")
    session.switch(session.branch("guess"))
    talk(session, "b")
    session.switch("main")
    talk(session, "c", "d")
    for _ in range(4):
        asyncio.run(session.pop_item())
    assert session.merge("guess").status == "merged"
    assert texts(session) == ["a", "a!", "b", "b!"]
    add(session, user("e"))
    assert session.item_ids()[-1] == "u1:0000000006"


def test_only_counters_are_settled_unasked(store, session):
    talk(session, "a")
    others = {"plan": 1, "x:seats": 1, "x:_seq": {"a": 1}, "_seq": 1, "a:b:_seq": 1}
    store.write(others, message="others")
    session.branch("guess")
    changed = {**dict.fromkeys(others, 2), "x:_seq": {"a": 2}}
    store.on("guess").write(changed, message="theirs")
    store.write({**dict.fromkeys(changed, 3), "x:_seq": {"a": 3}}, message="ours")
    kinds = [conflict.id for conflict in session.merge("guess").conflicts]
    assert kinds == sorted(others)
    assert store.get("plan").content == 3


def test_a_merge_that_is_overtaken_starts_over(store, session, monkeypatch):
    talk(session, "a")
    session.switch(session.branch("guess"))
    add(session, user("b"), user("c"))
    session.switch("main")
    add(session, user("d"))
    merge, looks = mnem.Store.merge, []

    def overtaken(self, *arguments, **options):
        looks.append(options.get("strategy"))
        result = merge(self, *arguments, **options)
        if len(looks) == 1:
            # What was a conflict when it was looked at is none any more.
            there = store.on("guess").memory(prefix="u1:")
            store.write(there, message="agrees meanwhile")
        return result

    monkeypatch.setattr(mnem.Store, "merge", overtaken)
    assert session.merge("guess", strategy="theirs").status == "merged"
    assert looks == [None, "theirs", None]
    assert texts(session) == ["a", "a!", "b", "c"]


@pytest.mark.parametrize("name", ["u1", "x" * 5000], ids=["short", "cut"])
def test_branch_from_turn(store, name):
    session = MnemosyneSession(store, name)
    talk(session, "a")
    add(session, user("b"), user("c"), {"role": "assistant", "content": "c!"})
    talk(session, "d")
    store.write({"plan": "of now"}, message="other memory")
    branches = {turn: session.branch_from_turn(turn, f"before-{turn}") for turn in (1, 2, 3, 4)}
    assert texts(session) == ["a", "a!", "b", "c", "c!", "d", "d!"]
    expected = {1: [], 2: ["a", "a!"], 3: ["a", "a!", "b"], 4: ["a", "a!", "b", "c", "c!"]}
    for turn, branch in branches.items():
        session.switch(branch)
        assert texts(session) == expected[turn]
        assert session.store.get("plan").content == "of now"
        assert session.store.log()[1].id == store.head_commit()
    session.switch("before-3")
    talk(session, "instead")
    session.switch("main")
    assert session.merge("before-3").status == "fast-forwarded"
    assert texts(session) == ["a", "a!", "b", "instead", "instead!"]


def test_turns_that_are_not_there(store, session):
    with pytest.raises(mnem.InvalidRefError, match="no turn 1 in session 'u1', which has 0"):
        session.branch_from_turn(1)
    talk(session, "a")
    for turn in (0, -1, 2):
        with pytest.raises(ValueError, match=f"no turn {turn} "):
            session.branch_from_turn(turn)
    first, second = session.branch_from_turn(1), session.branch_from_turn(1)
    assert first != second
    with pytest.raises(mnem.InvalidRefError):
        session.branch_from_turn(1, "main")
    assert {name for name, _ in store.branches()} == {"main", first, second}
    assert texts(session) == ["a", "a!"]


def test_a_branch_that_cannot_be_cleared_is_not_left(store, session, monkeypatch):
    talk(session, "a")

    def fails(*_, **__):
        raise mnem.StoreIoError("no space left on device")

    monkeypatch.setattr(mnem.Store, "write", fails)
    with pytest.raises(mnem.StoreIoError):
        session.branch_from_turn(1, "back")
    assert [name for name, _ in store.branches()] == ["main"]


def test_an_add_in_the_middle_is_reverted_with_one_answer(store, session):
    """As the README and the guide say."""
    talk(session, "a")
    wrong = MnemosyneSession(store, "u1", author="misread")
    talk(wrong, "b")
    talk(session, "c")
    for back in (store.revert, lambda _, **answer: store.undo(by="misread", **answer)):
        assert [conflict.id for conflict in back("HEAD~1").conflicts] == ["u1:_seq"]
    assert store.undo(by="misread", resolutions={"u1:_seq": "ours"}).status == "reverted"
    talk(session, "d")
    assert texts(session) == ["a", "a!", "c", "c!", "d", "d!"]
    assert session.item_ids()[-1] == "u1:0000000007"


# ---- history ----


def test_why(store, session):
    talk(session, "a", "b")
    first, second = (commit.id for commit in reversed(store.log()))
    assert [session.why(at).commit for at in range(4)] == [first, first, second, second]
    assert session.why(-1).node.content == {"role": "assistant", "content": "b!"}
    assert session.why("u1:0000000001").commit == first
    with pytest.raises(IndexError):
        session.why(4)
    with pytest.raises(mnem.InvalidRefError, match="u1:0000000009"):
        session.why("u1:0000000009")
    with pytest.raises(mnem.InvalidRefError):
        session.why("u1:0000000002", at=first)
    # A place is one among the items of then.
    assert session.why(-1, at=first).node.content == {"role": "assistant", "content": "a!"}
    asyncio.run(session.clear_session())
    assert session.why(2, at=second).node.content == user("b")
    with pytest.raises(IndexError, match=r"no item 2 .*, which has 2"):
        session.why(2, at=first)
    add(session, {"v": float("inf")})
    assert session.why(-1).node.content == {"v": float("inf")}


@pytest.mark.parametrize("name", ["u1", "x" * 5000], ids=["short", "cut"])
def test_history_is_this_sessions(store, name):
    session = MnemosyneSession(store, name)
    neighbour = MnemosyneSession(store, name + "0")
    talk(session, "a")
    for number in range(70):
        store.write({"plan": number}, message="other memory")
    talk(neighbour, "x")
    asyncio.run(session.pop_item())
    talk(neighbour, "y")
    messages = [commit.message.split()[0] for commit in session.history()]
    assert messages == ["pop", "add"]
    assert [len(session.history(limit)) for limit in (0, 1, 2, 3)] == [0, 1, 2, 2]
    assert session.history(1)[0].id == session.history()[0].id
    assert len(neighbour.history()) == 2


@pytest.mark.parametrize("name", ["u1", "x" * 5000], ids=["short", "cut"])
def test_history_costs_the_session_and_not_the_store(store, name, monkeypatch):
    session, neighbour = MnemosyneSession(store, name), MnemosyneSession(store, name + "0")
    talk(session, "a", "b", "c")
    asyncio.run(session.pop_item())
    asyncio.run(session.clear_session())
    for number in range(200):
        store.write({"plan": number}, message="other memory")
    talk(neighbour, "x")
    looked = []
    log, changed_by = mnem.Store.log, mnem.Store.changed_by

    def counted(store, **asked):
        commits = log(store, **asked)
        looked.append(len(commits))
        return commits

    monkeypatch.setattr(mnem.Store, "log", counted)
    monkeypatch.setattr(mnem.Store, "changed_by", lambda *of: looked.append(1) or changed_by(*of))
    messages = [commit.message.split()[0] for commit in session.history(4)]
    assert messages == ["clear", "pop", "add", "add"]
    assert sum(looked) <= 2 * 64 + 4
    looked.clear()
    assert len(session.history()) == 5
    assert sum(looked) == 5


def test_history_through_merges(store, session):
    """The commits that set or removed an item; of merges, those that made a value of their own."""
    talk(session, "a")
    session.branch("side")
    side = MnemosyneSession(store, "u1", branch="side")
    for number in range(70):
        store.write({"plan": number}, message="other memory")
    asyncio.run(session.pop_item())
    mnem.agents.forget(store.on("side"), "u1:0000000000")
    taken = session.merge("side").commit
    talk(side, "theirs")
    talk(session, "ours")
    made = session.merge("side", strategy="ours", resolutions={"u1:0000000002": "delete"}).commit

    def told(limit):
        return [commit.id for commit in session.history(limit)]

    touching = told(None)
    assert made in touching
    assert taken not in touching
    # Beside a plain reading of the whole history.
    states = {commit.id: store.state_at(commit.id, prefix="u1:") for commit in store.log()}
    expected = [
        commit.id
        for commit in store.log()
        if any(
            all(states[parent].get(id) != states[commit.id].get(id) for parent in commit.parents)
            for id in {id for each in (commit.id, *commit.parents) for id in states[each]}
        )
    ]
    assert touching == expected
    assert [told(limit) for limit in range(8)] == [expected[:limit] for limit in range(8)]


@pytest.mark.parametrize("name", ["u1", "x" * 1100], ids=["short", "cut"])
def test_a_number_that_anybody_wrote_names_no_billions(store, name):
    session = MnemosyneSession(store, name)
    talk(session, "a")
    key = [name, "9999999999"]
    last = {**user("z"), **({} if name == "u1" else {"mnem:key": key})}
    store.write({keys.join(name, "_seq"): "no number", keys.join(*key): last}, message="by hand")
    messages = [commit.message.split()[0] for commit in session.history()]
    assert messages == [commit.message.split()[0] for commit in session.history(9)] == ["by", "add"]


WRONG = {
    "limit of get": (lambda s: asyncio.run(s.get_items("1")), "limit must be an int, not str"),
    "limit": (lambda s: s.history([1]), "limit must be an int, not list"),
    "items": (lambda s: add_as_told(s, None), "items must be a list of items, not None"),
    "turn": (lambda s: s.branch_from_turn("1"), "turn must be an int, not str"),
    "item": (lambda s: s.why(None), "item must be an int or a str, not None"),
    "branch": (lambda s: s.switch(7), "name must be a str, not int"),
    "new branch": (lambda s: s.branch(b"b"), "name must be a str, not bytes"),
    "predicate of coroutines": (
        lambda s: s.bisect(no_predicate),
        "predicate must be a plain function, not a coroutine function",
    ),
    "predicate": (lambda s: s.bisect("Utrecht"), "predicate must be callable, not str"),
    "session": (lambda s: MnemosyneSession(s.store, 7), "session_id must be a str, not int"),
    "author": (
        lambda s: MnemosyneSession(s.store, "u2", author=7),
        "author must be a str or a function, not int",
    ),
    "path": (lambda _: MnemosyneSession("u2", 7), "path must be a str or a path, not int"),
}


async def no_predicate(items):
    return not items


def add_as_told(session, items):
    asyncio.run(session.add_items(items))


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_type_is_told(store, session, name):
    talk(session, "a")
    call, sentence = WRONG[name]
    with pytest.raises(TypeError) as caught:
        call(session)
    assert str(caught.value) == sentence
    assert len(store.log()) == 1
    assert [name for name, _ in store.branches()] == ["main"]


def test_a_limit_is_from_0(session):
    talk(session, "a")
    with pytest.raises(mnem.InvalidRefError, match="limit must be from 0, not -1"):
        session.history(-1)


@pytest.mark.parametrize("name", ["u1", "x" * 5000], ids=["short", "cut"])
def test_bisect_is_over_this_sessions_items(store, name):
    session, other = MnemosyneSession(store, name), MnemosyneSession(store, "other")
    for number in range(20):
        talk(session, str(number))
        talk(other, f"other {number}")
    seen = []

    def holds(items):
        seen.append(items)
        return len(items) > 12

    commit = session.bisect(holds)
    assert commit == session.why(12).commit
    assert 1 < len(seen) < 10
    assert not any("other" in item["content"] for items in seen for item in items)
    with pytest.raises(mnem.InvalidRefError):
        session.bisect(lambda items: len(items) > 99)
    assert session.bisect(holds, good="HEAD~30", bad="HEAD~2") == commit
    with pytest.raises(mnem.InvalidRefError, match="already true at good"):
        session.bisect(holds, good=commit)


def test_the_author(store):
    session = MnemosyneSession(store, "u1", author="front-desk")
    talk(session, "a")
    asyncio.run(session.pop_item())
    session.branch_from_turn(1, "back")
    assert {commit.author for commit in store.log()} == {"front-desk"}
    assert store.on("back").log()[0].author == "front-desk"
