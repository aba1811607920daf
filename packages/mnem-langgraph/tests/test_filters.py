"""Filters, beside a reading of what LangGraph's stores do."""

import pytest
from langgraph.store.base import PutOp

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
