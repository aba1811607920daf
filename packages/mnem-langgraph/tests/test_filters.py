"""Filters, beside a reading of what LangGraph's stores do."""

import sys

import pytest
from langgraph.store.base import PutOp
from mnem_langgraph import MnemosyneStore

VALUES = {
    "a": {"n": 5, "s": "beta", "tags": ["x", "y"], "deep": {"in": {"er": 1}, "more": 2}},
    "b": {"n": 10.0, "s": "alpha", "ok": True, "none": None, "a.b": 7},
    "c": {"n": "unknown", "deep": {"in": {"er": 2}}},
    "d": {"caf\u00e9": 1, "a": {"b": 8}},
}
SPACE = ("filters",)


@pytest.fixture
def found(memories):
    memories.batch([PutOp(SPACE, key, value) for key, value in VALUES.items()])
    return lambda asked: "".join(sorted(i.key for i in memories.search(SPACE, filter=asked)))


@pytest.mark.parametrize(
    ("filter", "keys"),
    [
        ({"n": 5}, "a"),
        ({"n": 10}, "b"),
        ({"n": {"$eq": 5.0}}, "a"),
        ({"n": {"$gt": 5}}, "b"),
        ({"n": {"$gte": 5}}, "ab"),
        ({"n": {"$lt": 10}}, "a"),
        ({"n": {"$lte": 10}}, "ab"),
        ({"n": {"$gt": 5, "$lt": 10}}, ""),
        ({"n": {"$gte": 5, "$lt": 10}}, "a"),
        ({"s": {"$gt": "alpha"}}, "a"),
        ({"n": {"$gt": "t"}}, "c"),
        ({"n": {"$ne": 5}}, "bc"),
        ({"s": {"$ne": "beta"}}, "b"),
        ({"tags": ["x", "y"]}, "a"),
        ({"tags": ("x", "y")}, "a"),
        ({"tags": {"$eq": ["x", "y"]}}, "a"),
        ({"tags": ["x"]}, ""),
        ({"none": None}, "abcd"),
        ({"s": None}, "cd"),
        ({"s": {"$ne": None}}, "ab"),
        ({"ok": True}, "b"),
        ({"ok": 1}, "b"),
        ({"deep": {"in": {"er": 1}}}, "a"),
        ({"deep": {"in": {"er": {"$gte": 1}}}}, "ac"),
        ({"deep": {"more": 2}}, "a"),
        ({"deep.in.er": 2}, "c"),
        ({"deep.in.er": {"$lt": 2}}, "a"),
        ({"a.b": 7}, "b"),
        ({"a.b": 8}, "d"),
        ({"caf\u00e9": 1}, "d"),
        ({"cafe\u0301": 1}, ""),
        ({"n": 5, "s": "alpha"}, ""),
        ({"'; --": 1}, ""),
        ({}, "abcd"),
    ],
)
def test_filter(found, filter, keys):
    assert found(filter) == keys


@pytest.mark.parametrize("filter", [{"n": {"$in": [5]}}, {"deep": {"in": {"$nin": 1}}}])
def test_unknown_operators_are_refused(found, filter):
    with pytest.raises(ValueError, match="Unsupported operator"):
        found(filter)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"limit": None}, "limit must be an int, not None"),
        ({"limit": "10"}, "limit must be an int, not str"),
        ({"offset": [1]}, "offset must be an int, not list"),
        ({"query": 7}, "query must be a str, not int"),
        ({"filter": ["n"]}, "filter must be a dict of fields, not list"),
        ({"filter": {1: 2}}, "filter must have names that are str, not int"),
        ({"filter": {"n": {1: 2}}}, "filter must have names that are str, not int"),
    ],
)
def test_a_wrong_type_is_told(found, memories, asked, sentence):
    assert found({}) == "abcd"
    with pytest.raises(TypeError) as caught:
        memories.search(SPACE, **asked)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"limit": "10"}, "limit must be an int, not str"),
        ({"offset": None}, "offset must be an int, not None"),
        ({"max_depth": 1.5}, "max_depth must be an int, not float"),
    ],
)
def test_a_wrong_type_of_a_listing_is_told(memories, asked, sentence):
    with pytest.raises(TypeError) as caught:
        memories.list_namespaces(**asked)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("index", "sentence"),
    [
        ("text", "index must be False or a list of fields, not str"),
        (5, "index must be False or a list of fields, not int"),
        (["text", 1], "index must be a list of fields that are str, not int"),
        ([["a", "b"]], "index must be a list of fields that are str, not list"),
    ],
)
def test_a_wrong_type_of_an_index_is_told(memories, index, sentence):
    with pytest.raises(TypeError) as caught:
        memories.put(SPACE, "a", {"v": 1}, index=index)
    assert str(caught.value) == sentence
    assert memories.history() == []


@pytest.mark.parametrize("most", [sys.maxsize, 2**70])
def test_everything_may_be_asked_for(found, memories, most):
    """A limit that nothing reaches, from any offset."""
    assert found({}) == "abcd"
    keys = [item.key for item in memories.search(SPACE)]
    assert [item.key for item in memories.search(SPACE, limit=most, offset=1)] == keys[1:]
    assert memories.search(SPACE, limit=most, offset=most) == []
    assert memories.list_namespaces(limit=most, offset=most) == []


@pytest.mark.parametrize("name", ["index", "ttl"])
def test_a_configuration_is_a_dict(path, name):
    with pytest.raises(TypeError, match=f"^{name} must be a dict, LangGraph's .*Config, not list$"):
        MnemosyneStore(path, **{name: ["$"]})
