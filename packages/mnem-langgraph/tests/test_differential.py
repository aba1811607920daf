"""The same calls to LangGraph's stores and to ours, and the same answers."""

from __future__ import annotations

import json
import random

import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from mnem_langgraph import MnemosyneStore

LABELS = ["a", "b", "a:b", "ab", "%", "caf\u00e9", "*"]
KEYS = ["k", "k:k", "", ".", "K"]


def namespace(draw, least=1):
    return tuple(draw.choice(LABELS) for _ in range(draw.randint(least, 3)))


def operation(draw):
    kind = draw.random()
    if kind < 0.45:
        value = {
            "n": draw.randrange(4),
            "deep": {"t": draw.choice("xyz")},
            "l": [draw.randrange(2)],
        }
        return PutOp(namespace(draw), draw.choice(KEYS), value)
    if kind < 0.6:
        return PutOp(namespace(draw), draw.choice(KEYS), None)
    if kind < 0.75:
        return GetOp(namespace(draw), draw.choice(KEYS))
    if kind < 0.9:
        asked = [None, {"n": 1}, {"n": {"$gte": 2}}, {"n": {"$gt": 0, "$lt": 3}}]
        return SearchOp(namespace(draw, 0), draw.choice(asked), limit=1000)
    where = MatchCondition(draw.choice(["prefix", "suffix"]), namespace(draw))
    return ListNamespacesOp((where,), draw.choice([None, 1, 2]), draw.choice([3, 1000]))


def told(answer):
    """An answer, without the times and the order, which differ between LangGraph's own stores."""
    if isinstance(answer, list) and answer and not isinstance(answer[0], tuple):
        return sorted(
            (item.namespace, item.key, json.dumps(item.value, sort_keys=True)) for item in answer
        )
    return answer if answer is None or isinstance(answer, list) else (answer.key, answer.value)


@pytest.mark.parametrize("seed", range(6))
def test_random_batches(seed):
    draw = random.Random(seed)
    with (
        MnemosyneStore(":memory:") as ours,
        SqliteStore.from_conn_string(":memory:") as sqlite,
    ):
        in_memory = InMemoryStore()
        for _ in range(60):
            ops = [operation(draw) for _ in range(draw.randint(1, 8))]
            answers = [told(answer) for answer in ours.batch(ops)]
            assert answers == [told(answer) for answer in sqlite.batch(ops)]
            for op, answer, theirs in zip(ops, answers, in_memory.batch(ops), strict=True):
                # It lists namespaces that nothing is left in.
                if not isinstance(op, ListNamespacesOp):
                    assert answer == told(theirs)
        last = ours.search((), limit=1000)
        assert [i.updated_at for i in last] == sorted((i.updated_at for i in last), reverse=True)
        assert len(last) == len(sqlite.search((), limit=1000)) > 10
