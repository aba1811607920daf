"""Memory larger than a context is read a page at a time."""

from __future__ import annotations

import json

import mcp
import mnem
import pytest
from clients import Use
from mnem_mcp import build_server

pytestmark = pytest.mark.anyio


@pytest.fixture
async def use(directory):
    async with mcp.Client(build_server(directory, "all")) as client:
        yield Use(client)


async def fill(use, count, text="a memory of ordinary length about a customer"):
    items = [{"id": f"user:{n:05}", "content": {"text": text, "n": n}} for n in range(count)]
    await use("remember_many", items=items)
    return [item["id"] for item in items]


async def pages(use, tool, **arguments):
    while True:
        answer = await use(tool, **arguments)
        yield answer
        if "next_cursor" not in answer:
            assert "left_out" not in answer
            return
        arguments["cursor"] = answer["next_cursor"]


async def test_recall_goes_through_memory_page_by_page(use):
    ids = await fill(use, 500)
    await use("remember", id="other", content=1)
    seen = []
    async for answer in pages(use, "recall", prefix="user:"):
        seen += answer["result"]
        assert answer.get("left_out", 0) == 500 - len(seen)
    assert seen == ids
    sizes = [len(answer["result"]) async for answer in pages(use, "recall", limit=200)]
    assert sizes == [200, 200, 101]
    assert list(await use.result("recall", prefix="user:0010", limit=3)) == ids[100:103]
    assert list(await use.result("recall", prefix="user:0010", cursor="user:00107")) == ids[108:110]
    assert await use.result("recall", prefix="user:0010", cursor="user:00109") == {}
    assert list(await use.result("recall", prefix="user:0010", cursor="a", limit=1)) == [ids[100]]
    at = [answer["result"] async for answer in pages(use, "recall_at", commit="HEAD~1")]
    assert [id for result in at for id in result] == ids


async def test_a_page_reads_the_nodes_that_it_shows(use, monkeypatch):
    await fill(use, 300)
    read, state_at = [], mnem.Store.state_at

    def count(store, *arguments, **asked):
        found = state_at(store, *arguments, **asked)
        read.extend(found)
        return found

    monkeypatch.setattr(mnem.Store, "state_at", count)
    assert len(await use.result("recall", limit=3)) == 3
    assert len(read) <= 4


async def test_a_page_is_of_memory_as_it_is_now(use):
    ids = await fill(use, 300)
    first = await use("recall", limit=100)
    await use("forget", id=ids[150])
    await use("remember", id="user:00150b", content=1)
    seen = list(first["result"])
    async for answer in pages(use, "recall", cursor=first["next_cursor"], limit=100):
        seen += answer["result"]
        assert answer.get("left_out", 0) == 300 - len(seen)
    assert seen == [*ids[:150], "user:00150b", *ids[151:]]


TOKENS = 8_000


def tokens(answer):
    """At four bytes a token, the whole answer: as text and as its structure."""
    return len(answer.model_dump_json(by_alias=True).encode()) / 4


@pytest.mark.parametrize("text", ["short", "long " * 100, "é" * 1500, "記憶" * 500], ids=len)
async def test_default_answers_fit_a_context(use, text):
    await fill(use, 1000, text)
    await use("branch", name="other")
    for n in range(30):
        await use("remember", id="user:00000", content=f"{n}", summary=text * 50)
    for n in range(40):
        await use("remember", id=f"user:{n:05}", content="ours", observation=text * 50)
    await use("switch", target="other")
    for n in range(40):
        await use("remember", id=f"user:{n:05}", content="theirs")
    await use("switch", target="main")
    for tool, arguments in [
        ("recall", {}),
        ("recall_at", {"commit": "HEAD~1"}),
        ("history", {}),
        ("why", {"id": "user:00000"}),
        ("when_did", {"id": "user:00000", "present": True}),
        ("whats_new", {"commit": "other~40"}),
        ("merge", {"theirs": "other"}),
    ]:
        answer = await use.answer(tool, **arguments)
        assert not answer.is_error, answer.content
        assert tokens(answer) < TOKENS, tool
        assert tokens(answer) > 100, tool
    for uri in ["mnem://memory", "mnem://log", "mnem://commit/other~40"]:
        assert tokens(await use.client.read_resource(uri)) < TOKENS, uri


@pytest.mark.parametrize("text", ['"\\\\', "\\\\", "🦀", "\x01"], ids=ascii)
async def test_no_text_makes_an_answer_too_long(directory, use, text):
    """Of these the JSON is several times as long as they are, and so is its text in an answer."""

    def node(id, n):
        came_from = mnem.Provenance(*[text * 500] * 5)
        return mnem.MemoryNode(id, f"{n}{text * 900}", provenance=came_from)

    lineage = [{"id": f"{text}{n}", "object": "0" * 64} for n in range(2000)]
    message = {"message": text * 500, "author": text * 500}
    ids = [f"{text}{n:03}" for n in range(60)]
    with mnem.open(directory) as store:
        store.write({id: node(id, 0) for id in ids}, **message)
        store.write({"derived": mnem.MemoryNode("derived", 1, derived_from=lineage)}, **message)
        store.on("other").write({id: node(id, 1) for id in ids}, **message)
        store.write({id: node(id, 2) for id in ids}, **message)
        for n in range(300):
            store.write({"turn": node("turn", n % 2)}, **message)
        store.write({f"short:{n:04}": text * 40 for n in range(600)}, **message)
        # No id is ever cut: of control characters alone, one does not fit.
        long = (text if text.isprintable() else "n") * (1000 // len(text.encode()))
        store.write({f"named:{n:03}{long}": n for n in range(60)}, **message)
        mnem.agents.forget(store, "derived", summary=text * 500, author=text * 50_000)
    for tool, arguments in [
        ("recall", {}),
        ("recall", {"id": ids[0]}),
        ("recall_at", {"commit": "HEAD~1", "id": "derived"}),
        ("recall_at", {"commit": "HEAD~1", "prefix": "derived"}),
        ("recall", {"prefix": "short:"}),
        ("recall", {"prefix": "named:"}),
        ("history", {}),
        ("why", {"id": ids[0]}),
        ("why", {"id": "derived"}),
        ("when_did", {"id": "turn", "equals": f"1{text * 900}"}),
        ("when_did", {"id": "derived", "absent": True}),
        ("whats_new", {"commit": "HEAD~1"}),
        ("whats_new", {"commit": "HEAD~303"}),
        ("merge", {"theirs": "other"}),
        ("revert", {"commit": "HEAD~305"}),
        ("undo", {}),
    ]:
        answer = await use.answer(tool, **arguments)
        assert not answer.is_error, answer.content
        assert tokens(answer) < TOKENS, (tool, arguments)
    for uri in ["mnem://memory", "mnem://log", "mnem://commit/HEAD~303", "mnem://memory/derived"]:
        assert tokens(await use.client.read_resource(uri)) < TOKENS, uri
    node = await use.result("recall_at", commit="HEAD~1", id="derived")
    assert node["derived_from"] == lineage[: len(node["derived_from"])]
    assert node["left_out"]["derived_from"] == len(json.dumps(lineage, ensure_ascii=False).encode())
    whole = await use.result("recall_at", commit="HEAD~1", id="derived", whole=True)
    assert whole["derived_from"] == lineage


LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall_at", {"commit": LONG}),
        ("history", {"cursor": LONG}),
        ("why", {"id": LONG}),
        ("forget", {"id": LONG}),
        ("undo", {"by": LONG}),
        ("merge", {"theirs": "main", "strategy": LONG}),
        ("remember", {LONG: 1}),
        ("remember_many", {"items": [{LONG[:99]: n} for n in range(2000)]}),
        (LONG, {}),
    ],
    ids=["commit", "cursor", "id", "forget", "by", "strategy", "argument", "items", "tool"],
)
async def test_an_error_does_not_repeat_all_that_it_was_given(use, tool, arguments):
    await use("remember", id="plan", content=1)
    answer = await use.answer(tool, **arguments)
    assert answer.is_error
    assert answer.content[0].text.partition(": ")[0] in {"invalid_ref", "not_found"}
    assert "…" in "".join(part.text for part in answer.content)
    assert tokens(answer) < 1_000
    with pytest.raises(mcp.MCPError, match="not_found: ") as raised:
        await use.read(f"mnem://{LONG}")
    assert len(raised.value.error.message) < 2_000


async def test_conflicts_that_are_left_out_come_when_the_ones_before_have_answers(directory, use):
    ids = [f"{n:03}" for n in range(200)]
    with mnem.open(directory) as store:
        store.write(dict.fromkeys(ids, 0), message="base")
        store.on("other").write(dict.fromkeys(ids, "theirs"), message="theirs")
        store.write(dict.fromkeys(ids, "ours"), message="ours")
    resolutions = {}
    while (merged := await use("merge", theirs="other", resolutions=resolutions))["conflicts"]:
        assert merged.get("left_out", 0) == 200 - len(resolutions) - len(merged["conflicts"])
        resolutions |= {conflict["id"]: "theirs" for conflict in merged["conflicts"]}
    assert list(resolutions) == ids
    assert merged["status"] == "merged"


async def test_what_is_very_long_is_left_out_and_told(use):
    text = "x" * 100_000
    await use("remember", id="long", content={"text": text}, observation=text, summary=text)
    await use("remember", id="short", content=1)
    answer = await use.answer("recall")
    assert tokens(answer) < TOKENS
    assert list(answer.structured_content["result"]) == ["long", "short"]
    node = answer.structured_content["result"]["long"]
    assert node["content"] is None
    assert node["beginning"] == '{"text": "' + "x" * 990
    assert node["provenance"]["observation"] == "x" * 500 + "…"
    assert node["left_out"] == {"content": 100_012, "observation": 100_000}
    assert "left_out" not in answer.structured_content
    for whole in [
        await use.result("recall", id="long", whole=True),
        (await use.result("recall", whole=True, limit=1))["long"],
        await use.result("recall_at", commit="HEAD", id="long", whole=True),
        await use.read("mnem://memory/long?whole=true"),
    ]:
        assert whole["content"] == {"text": text}
        assert whole["provenance"]["observation"] == text
        assert "left_out" not in whole
    commit = (await use.result("history"))[1]
    assert (commit["message"], commit["left_out"]) == ("x" * 500 + "…", {"message": 100_000})


async def test_history_goes_page_by_page(use):
    for n in range(60):
        await use("remember", id="n", content=n)
    every = [commit["id"] for commit in await use.result("history", limit=100)]
    assert len(every) == 60
    seen = [commit["id"] async for answer in pages(use, "history") for commit in answer["result"]]
    assert seen == every
    seen = [len(answer["result"]) async for answer in pages(use, "history", limit=25)]
    assert seen == [25, 25, 10]
    assert (await use.error("history", cursor="nothing")).startswith("invalid_ref: the cursor")


async def test_a_page_of_the_history_costs_a_page(directory, use, monkeypatch):
    """Also where it was merged, from where no single commit leads to the rest."""
    with mnem.open(directory) as store:
        mnem.agents.remember(store, "root", 1)
        sides = [store.on(f"side-{n}") for n in range(3)]
        for n in range(40):
            for at, side in enumerate([store, *sides]):
                mnem.agents.remember(side, f"{at}", n)
            if n % 8 == 7:
                store.merge(f"side-{n % 3}")
        for n in range(3):
            store.merge(f"side-{n}")
        every = [commit.id for commit in store.log()]
    read, log = [], mnem.Store.log

    def counted(store, **asked):
        commits = log(store, **asked)
        read.append(len(commits))
        return commits

    monkeypatch.setattr(mnem.Store, "log", counted)
    for limit in (1, 7, 20):
        read.clear()
        seen = [
            commit["id"]
            async for answer in pages(use, "history", limit=limit)
            for commit in answer["result"]
        ]
        assert seen == every
        assert max(read) == limit + 1
        assert len(read) == -(-len(every) // limit)
    assert len(every) > 160


async def test_a_cursor_stays_short_where_very_many_branches_were_merged(directory, use):
    with mnem.open(directory) as store:
        mnem.agents.remember(store, "root", 1)
        for n in range(300):
            mnem.agents.remember(store.on(f"side-{n}"), f"{n}", n)
        for n in range(300):
            store.merge(f"side-{n}")
        every = [commit.id for commit in store.log()]
    seen = []
    async for answer in pages(use, "history"):
        seen += [commit["id"] for commit in answer["result"]]
        assert len(answer.get("next_cursor", "")) < 2_200
    assert seen == every
    assert len(every) == 600


async def test_a_cursor_holds_while_memory_is_written(use):
    for n in range(10):
        await use("remember", id="n", content=n)
    every = [commit["id"] for commit in await use.result("history")]
    first = await use("history", limit=4)
    await use("remember", id="n", content="meanwhile")
    rest = await use("history", cursor=first["next_cursor"])
    assert [commit["id"] for commit in first["result"] + rest["result"]] == every


@pytest.mark.parametrize(
    "cursor", ["", "main", "0" * 64, "0" * 16, "0" * 15, "a,b", f"{'0' * 16}+", "é" * 9000]
)
async def test_a_cursor_that_is_none(use, cursor):
    await use("remember", id="n", content=1)
    assert (await use.error("history", cursor=cursor)).startswith("invalid_ref: the cursor ")


async def test_what_a_commit_changed_goes_page_by_page(use):
    ids = await fill(use, 1000)
    answer = await use.answer("whats_new", commit="HEAD")
    changed = dict(answer.structured_content)
    while "next_cursor" in answer.meta:
        assert answer.meta["left_out"] == 1000 - len(changed)
        assert json.dumps(answer.meta["next_cursor"]) in answer.content[1].text
        cursor = answer.meta["next_cursor"]
        answer = await use.answer("whats_new", commit="HEAD", cursor=cursor)
        changed |= answer.structured_content
    assert changed == dict.fromkeys(ids, "added")
    assert list(await use("whats_new", commit="HEAD", limit=2)) == ids[:2]
