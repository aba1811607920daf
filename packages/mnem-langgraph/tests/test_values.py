"""What of a value becomes content, what provenance, and what comes back."""

from __future__ import annotations

import json
import uuid
from datetime import date, datetime, timedelta, timezone
from enum import Enum
from types import MappingProxyType

import mnem
import pytest
from langgraph.store.base import PutOp
from mnem_langgraph import MnemosyneStore

USER = ("memories", "u1")


def keys_of(items):
    return [item.key for item in items]


def test_ids_are_those_of_the_original(memories):
    memories.put(USER, "plan", {"tier": "basic"})
    assert list(memories._store.memory()) == ["memories:u1:plan"]


def test_an_id_of_the_original_is_read_replaced_and_forgotten(memories):
    memories._store.write({"memories:50%:plan": {"tier": "basic"}}, message="0.0.7")
    assert memories.get(("memories", "50%"), "plan").value == {"tier": "basic"}
    assert keys_of(memories.search(("memories",))) == ["plan"]
    assert memories.why(("memories", "50%"), "plan").node.id == "memories:50%:plan"
    memories.put(("memories", "50%"), "plan", {"tier": "team"})
    assert list(memories._store.memory()) == ["memories:50%25:plan"]
    assert keys_of(memories.search(("memories",))) == ["plan"]
    memories._store.write({"memories:50%:plan": {"tier": "old"}}, message="0.0.7 again")
    assert memories.get(("memories", "50%"), "plan").value == {"tier": "team"}
    assert keys_of(memories.search(("memories",))) == ["plan"]
    memories._store.write({"memories:50%25:plan": None}, message="one of both")
    assert memories.get(("memories", "50%"), "plan").value == {"tier": "old"}
    memories.delete(("memories", "50%"), "plan")
    assert memories._store.memory() == {}


@pytest.mark.parametrize("key", ["%41", "a%3ab", "%2F", "50%", "a\nb", "%25%", "%C3"])
def test_every_way_of_reading_has_an_item_under_one_key(memories, key):
    """Also one whose id has escapes that no key of ours would have: it is the original's."""
    ids = {f"memories:u1:{key}": {"v": 1}, "memories:u1:plain": {"v": 2}}
    memories._store.write(ids, message="0.0.1")
    single, listing = MnemosyneStore(memories._store), MnemosyneStore(memories._store)
    assert sorted(keys_of(listing.search(USER))) == sorted([key, "plain"])
    for again in (single, listing):
        assert again.get(USER, key).value == {"v": 1}
    assert memories.why(USER, key).node.id == f"memories:u1:{key}"
    memories.put(USER, key, {"v": 3})
    assert sorted(keys_of(memories.search(USER))) == sorted([key, "plain"])
    assert memories.get(USER, key).value == {"v": 3}
    memories.delete(USER, key)
    assert list(memories._store.memory()) == ["memories:u1:plain"]


def test_why_tells_of_what_is_served(memories):
    space, old, new = ("memories", "50%"), "memories:50%:plan", "memories:50%25:plan"
    memories._store.write({old: {"tier": "old"}, new: {"tier": "new"}}, message="both")
    assert memories.get(space, "plan").value == {"tier": "new"}
    assert memories.why(space, "plan").node.id == new
    memories._store.write({new: None}, message="one of both")
    assert memories.why(space, "plan").node.id == old
    memories.delete(space, "plan")
    assert memories.why(space, "plan").removed
    memories._store.write({"memories:50%:k": 1}, message="0.0.1")
    memories.delete(space, "k")
    assert memories.why(space, "k").removed


def test_a_message_tells_what_was_done(memories):
    space = ("memories", "50%")
    memories.put(space, "plan", {"tier": "basic"})
    memories.delete(space, "plan")
    memories._store.write({"memories:50%:plan": 1}, message="0.0.1")
    memories.put(space, "plan", {"tier": "team"})
    assert [commit.message for commit in memories.history()] == [
        "put memories:50%25:plan, forget memories:50%:plan",
        "0.0.1",
        "forget memories:50%25:plan",
        "put memories:50%25:plan",
    ]


def test_ids_of_the_original_are_listed_in_their_own_namespace(memories):
    """Many at once, which are read below a prefix; that of the namespace is another than theirs."""
    ids = {f"memories:50%:k{n}": {"n": n} for n in range(20)}
    memories._store.write({**ids, "memories:50%25:new": {"n": 20}}, message="0.0.1")
    found = memories.search(("memories", "50%"), limit=100)
    assert sorted(item.value["n"] for item in found) == list(range(21))
    assert keys_of(memories.search(("memories", "50%"), filter={"n": 7})) == ["k7"]


def test_meta_becomes_provenance(memories):
    meta = {
        "source": "ticket-1",
        "step": "7",
        "observation": "o",
        "tool_call": "t",
        "note": "n",
        "event_time": 1_700_000_000_000,
    }
    memories.put(USER, "plan", {"tier": "basic", "_meta": meta})
    node = memories._store.get("memories:u1:plan")
    assert (node.content, node.event_time) == ({"tier": "basic"}, 1_700_000_000_000)
    assert node.provenance == mnem.Provenance("7", "o", "t", "ticket-1", "n")
    item = memories.get(USER, "plan")
    assert item.value == {"tier": "basic"}
    # The times are of the commits, whatever time the belief is of.
    assert datetime.now(timezone.utc) - item.updated_at < timedelta(minutes=1)
    assert memories.why(USER, "plan").provenance.source == "ticket-1"


@pytest.mark.parametrize(
    "meta",
    [{"mood": "good"}, {"source": 5}, {"event_time": True}, {"step": None}, "text", [], None],
)
def test_what_else_is_in_meta_stays(memories, meta):
    memories.put(USER, "plan", {"tier": 1, "_meta": meta})
    assert memories.get(USER, "plan").value == {"tier": 1, "_meta": meta}


def test_the_rest_of_meta_stays(memories):
    memories.put(USER, "plan", {"_meta": {"source": "s", "mood": "good"}})
    assert memories.get(USER, "plan").value == {"_meta": {"mood": "good"}}
    assert memories.why(USER, "plan").provenance.source == "s"


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("given", "back"),
    [
        (2**80, 2**80),
        (-(2**63) - 1, -(2**63) - 1),
        (float("inf"), float("inf")),
        ("\ud800", "\ud800"),
        ((1, 2), [1, 2]),
        ({1: "a"}, {"1": "a"}),
        (date(2026, 9, 7), "2026-09-07"),
        (datetime(2026, 9, 7, tzinfo=timezone.utc), "2026-09-07T00:00:00+00:00"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Colour.RED, "red"),
        (json.loads("[" * 400 + "]" * 400), json.loads("[" * 400 + "]" * 400)),
    ],
)
def test_values_that_content_rules_refuse(memories, given, back):
    memories.put(USER, "a", {"v": given, "w": [given], "_meta": {"source": "s"}}, index=False)
    memories.put(USER, "b", {"v": 1})
    assert memories.get(USER, "a").value == {"v": back, "w": [back]}
    assert memories.search(USER)[1].value == {"v": back, "w": [back]}
    assert memories.why(USER, "a").provenance.source == "s"
    assert memories.why(USER, "a").node.content == {"v": back, "w": [back]}
    assert len(memories.history()) == 2


def nested(depth):
    """So many lists and dicts in each other, in turns."""
    value = 1
    for n in range(depth):
        value = {"v": value} if n % 2 else [value]
    return value


def test_how_deep_a_value_may_be(memories):
    """As deep as any Python reads it, also from within other calls."""

    def below(frames, call):
        return below(frames - 1, call) if frames else call()

    memories.put(USER, "a", nested(500))
    for frames in (0, 300):
        assert below(frames, lambda: memories.get(USER, "a").value) == nested(500)
        assert keys_of(below(frames, lambda: memories.search(USER, query="v"))) == ["a"]
    sentence = r"^memories:u1:b: a value is nested more than 500 deep$"
    for depth in (502, 700, 100_000):
        with pytest.raises(ValueError, match=sentence):
            memories.batch([PutOp(USER, "c", {"v": 1}), PutOp(USER, "b", nested(depth))])
    assert keys_of(memories.search(USER)) == ["a"]


@pytest.mark.parametrize("depth", [501, 900, 100_000])
def test_what_others_nest_hides_no_other_item(memories, depth):
    text = '{"a":' + "[" * depth + "]" * depth + "}"
    memories._store.write({"memories:u1:a": {"mnem:json": text}, "memories:u1:b": 1}, message="mcp")
    values = {item.key: item.value for item in memories.search(USER, query="a")}
    assert values == {"a": {}, "b": {"value": 1}}


def test_nan_comes_back(memories):
    memories.put(USER, "a", {"v": float("nan")})
    assert memories.get(USER, "a").value["v"] != memories.get(USER, "a").value["v"]


@pytest.mark.parametrize("name", ["mnem:json", "mnem:key", "mnem:ttl", "mnem:index", "mnem:"])
def test_values_may_have_keys_like_ours(memories, name):
    memories.put(USER, "a", {name: 5, "x": 1}, ttl=5)
    assert memories.get(USER, "a").value == {name: 5, "x": 1}
    assert memories.search(USER, filter={name: 5})[0].value == {name: 5, "x": 1}


@pytest.mark.parametrize("value", [{1, 2}, object(), b"bytes", {"a": {3}}])
def test_values_without_a_json_form_are_refused(memories, value):
    with pytest.raises(TypeError, match=r"^memories:u1:bad: a value of type .* cannot be stored$"):
        memories.batch([PutOp(USER, "good", {"v": 1}), PutOp(USER, "bad", {"v": value})])
    assert memories.history() == []


@pytest.mark.parametrize("value", [5, "text", [1]])
def test_a_value_is_a_mapping(memories, value):
    with pytest.raises(TypeError, match=r"^value must be a dict, not "):
        memories.put(USER, "bad", value)
    assert memories.history() == []


def test_any_mapping_is_a_value(memories):
    memories.put(USER, "a", MappingProxyType({"v": 1}))
    memories.put(USER, "b", {})
    assert memories.get(USER, "a").value == {"v": 1}
    assert memories.get(USER, "b").value == {}


def test_nodes_of_others_under_a_namespace_are_items(memories):
    memories._store.write({"memories:u1:plan": "basic", "plan": 1, "a.b:c": {}}, message="mcp")
    assert memories.get(USER, "plan").value == {"value": "basic"}
    assert memories.list_namespaces() == [USER]
    assert keys_of(memories.search(())) == ["plan"]


@pytest.mark.parametrize(
    "value", [{"v": [1, {"w": None, "caf\u00e9": -0.0, "zz": "z"}]}, {"v": (1, 2)}]
)
def test_what_was_written_is_read_as_another_instance_reads_it(memories, value):
    memories.search(USER)
    memories.put(USER, "a", value)
    here = memories.get(USER, "a").value
    anew = MnemosyneStore(memories._store).get(USER, "a").value
    assert repr(here) == repr(anew)
    value["v"] = "changed"
    here["v"].append("changed")
    assert repr(memories.get(USER, "a").value) == repr(anew)


def test_what_was_written_over_meanwhile_is_not_served(memories):
    memories.search(USER)
    memories.put(USER, "a", {"v": 1})
    memories._store.write({"memories:u1:a": {"v": 2}}, message="another")
    assert memories.get(USER, "a").value == {"v": 2}
