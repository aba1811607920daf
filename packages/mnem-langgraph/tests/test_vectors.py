"""Semantic search, with an embedding whose answers can be worked out by hand."""

import asyncio
import math
from datetime import date

import mnem
import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from mnem_langgraph import MnemosyneStore

SPACE = ("docs",)
LETTERS = "abcdefgh"


class Counting(Embeddings):
    """Counts letters, and what it is asked."""

    def __init__(self, model="counting"):
        self.model = model
        self.texts = []

    def embed_documents(self, texts):
        self.texts += texts
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        return [float(text.count(letter)) for letter in LETTERS]

    async def aembed_documents(self, texts):
        return self.embed_documents(texts)

    async def aembed_query(self, text):
        return self.embed_query(text)


def index(embed, **more):
    return {"dims": len(LETTERS), "embed": embed, "fields": ["text"], **more}


@pytest.fixture
def embed():
    return Counting()


@pytest.fixture
def memories(path, embed):
    with MnemosyneStore(path, index=index(embed)) as memories:
        yield memories


def found(memories, query, **options):
    return [(i.key, i.score) for i in memories.search(SPACE, query=query, **options)]


def test_the_score_is_the_cosine(memories):
    memories.put(SPACE, "a", {"text": "aaab"})
    memories.put(SPACE, "b", {"text": "ab"})
    memories.put(SPACE, "c", {"text": "c"})
    memories.put(SPACE, "none", {"other": "ab"})
    (b, one), (a, less), (c, nothing), last = found(memories, "ab")
    assert (b, a, c, last) == ("b", "a", "c", ("none", None))
    assert one == pytest.approx(1, abs=1e-12)
    assert less == pytest.approx(4 / math.sqrt(20), abs=1e-12)
    assert nothing == 0
    assert [key for key, _ in found(memories, "ab", limit=2, offset=1)] == ["a", "c"]
    assert [key for key, _ in found(memories, "ab", filter={"text": "c"})] == ["c"]


def test_vectors_are_neither_in_the_node_nor_in_its_id(memories, path):
    memories.put(SPACE, "a", {"text": "ab"})
    assert memories._store.get("docs:a").content == {"text": "ab"}
    with MnemosyneStore(path) as plain:
        assert found(plain, "ab") == [("a", None)]


def test_vectors_survive_reopening(memories, path):
    memories.put(SPACE, "a", {"text": "ab"})
    memories.put(SPACE, "b", {"text": "b"})
    fresh = Counting()
    with MnemosyneStore(path, index=index(fresh)) as again:
        assert [key for key, _ in found(again, "b")] == ["b", "a"]
    assert fresh.texts == []


def test_vectors_are_rebuilt_when_the_model_changes(memories, path):
    memories.put(SPACE, "a", {"text": "ab", "title": "cd"}, index=["title"])
    memories.put(SPACE, "b", {"text": "b"})
    memories.put(SPACE, "c", {"text": "c"}, index=False)
    for options in ({}, {"fields": ["text", "title"]}):
        fresh = Counting("another")
        with MnemosyneStore(path, index=index(fresh) | options) as again:
            assert found(again, "cd")[0] == ("a", pytest.approx(1))
            assert found(again, "cd")[-1] == ("c", None)
        assert sorted(fresh.texts) == (["b", "cd"] if not options else ["b"])


def test_what_was_written_elsewhere_is_embedded_when_it_is_searched(memories, embed):
    memories._store.write({"docs:a": {"text": "ab"}}, message="mcp")
    assert found(memories, "ab") == [("a", pytest.approx(1))]
    assert found(memories, "ab") == [("a", pytest.approx(1))]
    assert embed.texts == ["ab"]


def test_nothing_is_left_of_what_was_put_over(memories):
    memories.put(SPACE, "a", {"text": "aaaa"})
    memories.put(SPACE, "a", {"text": "bbbb"})
    assert found(memories, "a") == [("a", 0)]
    memories.delete(SPACE, "a")
    assert found(memories, "a") == []
    memories.put(SPACE, "a", {"text": "aaaa"}, index=False)
    assert found(memories, "a") == [("a", None)]
    memories.put(SPACE, "a", {"text": "aaaa"})
    assert found(memories, "a") == [("a", pytest.approx(1))]


def test_the_vectors_of_what_is_forgotten_go(memories):
    memories.put(SPACE, "a", {"text": "aaaa"})
    rows = memories._store.local("mnem-langgraph:vectors")
    assert len(rows.items()) == 1
    memories.delete(SPACE, "a")
    assert rows.items() == []


def test_rows_are_those_of_what_a_branch_has(memories, embed):
    """However often an item is put over, and by whom."""
    rows = memories._store.local("mnem-langgraph:vectors")

    def texts():
        return sorted(memories._store.state_at(tip)["docs:a"].content["text"] for tip in tips())

    def tips():
        return {tip for _, tip in memories._store.branches()}

    for n in range(20):
        memories.put(SPACE, "a", {"text": "a" * n})
    assert len(rows.items()) == 1
    memories.switch(memories.branch("side"))
    for n in range(5):
        memories.put(SPACE, "a", {"text": "b" * n})
    assert texts() == ["a" * 19, "bbbb"]
    assert len(rows.items()) == 2
    memories.switch("main")
    memories.put(SPACE, "a", {"text": "bbbb"})
    assert len(rows.items()) == 1
    embed.texts.clear()
    assert found(memories, "b") == [("a", pytest.approx(1))]
    memories._store.delete_branch("side")
    memories.delete(SPACE, "a")
    assert rows.items() == []
    # What history brings back is embedded anew.
    assert embed.texts == []
    assert memories.revert(memories.history(limit=1)[0].id).ok
    assert found(memories, "b") == [("a", pytest.approx(1))]
    assert embed.texts == ["bbbb"]


def test_a_damaged_branch_does_not_keep_others_from_being_written(memories, monkeypatch):
    memories.put(SPACE, "a", {"text": "a"})
    memories.branch("side")

    def damaged(*_, **__):
        raise mnem.CorruptStoreError("damaged")

    with monkeypatch.context() as patch:
        patch.setattr(mnem.Store, "state_at", damaged)
        memories.put(SPACE, "a", {"text": "b"})
    assert found(memories, "b") == [("a", pytest.approx(1))]


def test_fields_of_one_put(memories, embed):
    memories.put(SPACE, "a", {"text": "aa", "title": "bb"}, index=["title"])
    memories.put(SPACE, "b", {"rows": [{"t": "c"}, {"t": "d"}]}, index=["rows[*].t"])
    assert embed.texts == ["bb", "c", "d"]
    assert found(memories, "b")[0] == ("a", pytest.approx(1))
    assert found(memories, "d")[0] == ("b", pytest.approx(1))
    assert memories.get(SPACE, "a").value == {"text": "aa", "title": "bb"}


def test_the_whole_value_unless_fields_are_given(path, embed):
    with MnemosyneStore(path, index={"dims": 8, "embed": embed}) as memories:
        memories.put(SPACE, "a", {"b": "a", "a": "b", "_meta": {"source": "s"}})
    assert embed.texts == ['{"a": "b", "b": "a"}']


def test_full_pages_until_there_is_no_more(memories):
    for n in range(11):
        memories.put(SPACE, f"k{n:02}", {"rows": ["a", "ab"] * (n + 1)}, index=["rows[*]"])
    pages = [found(memories, "a", limit=2, offset=2 * n) for n in range(6)]
    assert [len(page) for page in pages] == [2, 2, 2, 2, 2, 1]
    assert len({key for page in pages for key, _ in page}) == 11


def test_branches_share_vectors_and_not_items(memories, embed):
    memories.put(SPACE, "a", {"text": "ab"})
    memories.switch(memories.branch("other"))
    memories.put(SPACE, "b", {"text": "b"})
    memories.switch("main")
    assert [key for key, _ in found(memories, "b")] == ["a"]
    assert memories.merge("other").ok
    assert [key for key, _ in found(memories, "b")] == ["b", "a"]
    assert embed.texts == ["ab", "b"]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_functions(path, kind):
    counting = Counting()

    def embed(texts):
        return counting.embed_documents(texts)

    async def aembed(texts):
        return counting.embed_documents(texts)

    async def run(memories):
        await memories.abatch([PutOp(SPACE, "a", {"text": "ab"}), PutOp(SPACE, "b", {"text": "b"})])
        memories._store.write({"docs:c": {"text": "bb"}}, message="elsewhere")
        return await memories.asearch(SPACE, query="b")

    config = index(aembed if kind == "async" else embed)
    with MnemosyneStore(path, index=config) as memories:
        assert [item.key for item in asyncio.run(run(memories))] == ["c", "b", "a"]


def test_a_failing_embedding_writes_nothing(path):
    def embed(texts):
        raise RuntimeError("no network")

    with MnemosyneStore(path, index=index(embed)) as memories:
        with pytest.raises(RuntimeError, match="no network"):
            memories.put(SPACE, "a", {"text": "ab"})
        assert memories.history() == []
        memories.put(SPACE, "a", {"other": "ab"})
        assert len(memories.history()) == 1


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 1e200])
def test_vectors_without_a_cosine_are_refused(path, number):
    """One of them would leave the order of all others to chance."""

    def embed(texts):
        return [[number if "x" in text else 1.0] * len(LETTERS) for text in texts]

    with MnemosyneStore(path, index=index(embed)) as memories:
        memories.put(SPACE, "a", {"text": "a"})
        for call in (
            lambda: memories.put(SPACE, "b", {"text": "x"}),
            lambda: memories.search(SPACE, query="x"),
        ):
            with pytest.raises(ValueError, match="not finite, or too large"):
                call()
        assert found(memories, "a") == [("a", pytest.approx(1))]


def test_an_empty_configuration_is_none(path):
    with MnemosyneStore(path, index={}) as memories:
        memories.put(SPACE, "a", {"text": "a"})
        assert found(memories, "a") == [("a", None)]


@pytest.mark.parametrize("vectors", [[[1.0]], [], [[1.0] * 8, [1.0] * 8]])
def test_vectors_of_another_size_are_refused(path, vectors):
    with MnemosyneStore(path, index=index(lambda _: vectors)) as memories:
        with pytest.raises(ValueError):
            memories.put(SPACE, "a", {"text": "ab"})
        assert memories.history() == []


def test_a_damaged_row_is_made_anew(memories, embed):
    memories.put(SPACE, "a", {"text": "ab"})
    rows = memories._store.local("mnem-langgraph:vectors")
    [(key, row)] = rows.items()
    for damaged in (b"", b"{}\n", row[:-3], row[:-8], b"\xff" * 40):
        rows.set(key, damaged)
        again = MnemosyneStore(memories._store, index=index(embed))
        assert found(again, "ab") == [("a", pytest.approx(1))]
        assert rows.get(key) == row


def test_a_store_that_cannot_be_written_is_searched(memories, path, monkeypatch):
    memories.put(SPACE, "a", {"text": "ab"})
    memories._store.write({"docs:b": {"text": "b"}}, message="elsewhere")
    fresh, refused = Counting("another"), []

    def refuse(*_, local=(), **__):
        refused.append(len(local))
        raise mnem.StoreIoError("read-only")

    with MnemosyneStore(path, index=index(fresh)) as again, monkeypatch.context() as patch:
        patch.setattr(mnem.Store, "write", refuse)
        for _ in range(2):
            assert found(again, "b") == [("b", 1), ("a", pytest.approx(math.sqrt(1 / 2)))]
        # Made once, and kept in memory.
        assert (sorted(fresh.texts), refused) == (["ab", "b"], [2])


@pytest.fixture
def published(monkeypatch):
    """The calls that publish, which is an fsync each."""
    calls = []
    for owner, name in (
        (mnem.Store, "write"),
        (mnem.Store, "update"),
        (mnem.LocalRows, "set"),
        (mnem.LocalRows, "delete"),
    ):
        whole = getattr(owner, name)

        def count(*args, name=name, whole=whole, **options):
            calls.append(name)
            return whole(*args, **options)

        monkeypatch.setattr(owner, name, count)
    return calls


def test_what_is_put_and_forgotten_is_published_once(memories, published):
    def took(call):
        published.clear()
        call()
        return len(published)

    def puts(text):
        return [PutOp(SPACE, f"k{n}", {"text": f"{text}{n}"}) for n in range(5)]

    rows = memories._store.local("mnem-langgraph:vectors")
    assert took(lambda: memories.batch(puts("a"))) == 1
    assert len(rows.items()) == 5
    # What is there makes no commit, and notes the times of all in one step.
    assert took(lambda: memories.batch(puts("a"))) == 2
    assert took(lambda: memories.put(SPACE, "k0", {"text": "b"})) == 1
    assert took(lambda: memories.delete(SPACE, "k0")) == 1
    assert len(rows.items()) == 4
    memories._store.write({f"docs:{n}": {"text": "b"} for n in range(5)}, message="elsewhere")
    assert took(lambda: found(memories, "b")) == 1
    assert len(memories.history()) == 4


def test_a_refused_put_leaves_no_vectors(memories, monkeypatch):
    memories.put(SPACE, "b", {"text": "ab"}, index=False)
    monkeypatch.setattr("mnem_langgraph.store.message_of", lambda _: "\ud800")
    with pytest.raises(mnem.InvalidRefError):
        memories.put(SPACE, "a", {"text": "ab"})
    assert memories._store.local("mnem-langgraph:vectors").items() == []


@pytest.mark.parametrize("more", [{"when": date(2026, 9, 7)}, {1: 1, "b": 2}, {"n": float("nan")}])
def test_vectors_of_values_that_are_stored_otherwise(memories, path, more):
    memories.put(SPACE, "a", {"text": "ab", "more": more})
    fresh = Counting()
    with MnemosyneStore(path, index=index(fresh)) as again:
        assert found(again, "ab") == [("a", pytest.approx(1))]
    assert fresh.texts == []


def test_a_whole_value_is_embedded_as_it_is_stored(path, embed):
    with MnemosyneStore(path, index={"dims": len(LETTERS), "embed": embed}) as memories:
        memories.put(SPACE, "a", {"when": date(2026, 9, 7)})
        assert memories.get(SPACE, "a").value == {"when": "2026-09-07"}
        with pytest.raises(TypeError, match=r"^docs:b: a value of type set cannot be stored$"):
            memories.put(SPACE, "b", {"v": {1}})
    assert embed.texts == ['{"when": "2026-09-07"}']


def test_no_index_means_no_vectors(path):
    with MnemosyneStore(path) as memories:
        memories.put(SPACE, "a", {"text": "ab"}, index=["text"])
        assert memories._store.local("mnem-langgraph:vectors").items() == []
        assert memories.get(SPACE, "a").value == {"text": "ab"}


def test_many_items_at_once(memories):
    memories._store.write({f"docs:{n}": {"text": "a" * (n + 1)} for n in range(50)}, message="w")
    assert len(found(memories, "a", limit=100)) == 50
    assert isinstance(memories._store, mnem.Store)


def test_as_many_vectors_as_texts(path):
    for made in ([], [[1.0] * len(LETTERS)] * 2):
        with (
            MnemosyneStore(path, index=index(lambda texts, made=made: made)) as memories,
            pytest.raises(ValueError, match=rf"embed made {len(made)} vectors of 1 texts"),
        ):
            memories.put(SPACE, "a", {"text": "ab"})
    with mnem.open(path) as store:
        assert store.memory() == {}
