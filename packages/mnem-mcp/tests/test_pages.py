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


async def test_a_cursor_holds_while_memory_is_written(use):
    for n in range(10):
        await use("remember", id="n", content=n)
    every = [commit["id"] for commit in await use.result("history")]
    first = await use("history", limit=4)
    await use("remember", id="n", content="meanwhile")
    rest = await use("history", cursor=first["next_cursor"])
    assert [commit["id"] for commit in first["result"] + rest["result"]] == every


@pytest.mark.parametrize("cursor", ["", "main", "0" * 64, "0" * 63, "a,b", "é" * 9000])
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
