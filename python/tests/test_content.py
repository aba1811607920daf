"""Content from Python: what is stored as what, what comes back, and what is refused."""

from __future__ import annotations

import enum
import math
import struct
import threading
from collections import OrderedDict, defaultdict, namedtuple

import mnem
import pytest
from hypothesis import given
from hypothesis import strategies as st

MAX_DEPTH = 128


class Colour(enum.IntEnum):
    RED = 1


class Word(str, enum.Enum):
    HELLO = "hello"


class Text(str):
    __slots__ = ()

    def __str__(self):
        return "something else"


class Whole(int):
    def __repr__(self):
        return "something else"

    __str__ = __repr__


class Real(float):
    def __repr__(self):
        return "something else"


Point = namedtuple("Point", "x y")  # noqa: PYI024 - a tuple's subclass is the point


def nested(depth, container=list):
    value = 1
    for _ in range(depth):
        value = [value] if container is list else {"k": value}
    return value


STORED = {
    "null": (None, None),
    "true": (True, True),
    "false": (False, False),
    "zero": (0, 0),
    "smallest": (-(2**63), -(2**63)),
    "largest": (2**64 - 1, 2**64 - 1),
    "beyond i64": (2**63, 2**63),
    "one": (1.0, 1.0),
    "last place": (0.42451918914251396, 0.42451918914251396),
    "smallest double": (5e-324, 5e-324),
    "largest double": (1.7976931348623157e308, 1.7976931348623157e308),
    "text": ("café \U0001f980 \0", "café \U0001f980 \0"),
    "empty": ([[], {}, ""], [[], {}, ""]),
    "tuple": ((1, (2,)), [1, [2]]),
    "named tuple": (Point(1, 2), [1, 2]),
    "ordered": (OrderedDict(a=1), {"a": 1}),
    "default": (defaultdict(list, a=[1]), {"a": [1]}),
    "int enum": (Colour.RED, 1),
    "text enum": (Word.HELLO, "hello"),
    "text subclass": (Text("a"), "a"),
    "int subclass": (Whole(7), 7),
    "float subclass": (Real(0.5), 0.5),
    # True and 1 are one key to Python already.
    "keys": (
        {None: 1, True: 2, False: 3, 7: 4, -(2**70): 5, 1.5: 6, 1e16: 7, Word.HELLO: 8},
        {
            "null": 1,
            "true": 2,
            "false": 3,
            "7": 4,
            str(-(2**70)): 5,
            "1.5": 6,
            "1e+16": 7,
            "hello": 8,
        },
    ),
    "subclass keys": (
        {Colour.RED: 1, Whole(7): 2, Real(0.5): 3, Text("t"): 4},
        {"1": 1, "7": 2, "0.5": 3, "t": 4},
    ),
    "as deep as may be": (nested(MAX_DEPTH), nested(MAX_DEPTH)),
    "maps as deep": (nested(MAX_DEPTH, dict), nested(MAX_DEPTH, dict)),
    "one object twice": ([shared := [1], shared], [[1], [1]]),
}


def plain(value):
    """Whether a value consists of the base types alone."""
    if type(value) is list:
        return all(plain(item) for item in value)
    if type(value) is dict:
        return all(type(key) is str and plain(item) for key, item in value.items())
    return value is None or type(value) in (bool, int, float, str)


def exactly(a, b):
    """Equality that keeps 1, 1.0 and True apart, and 0.0 and -0.0."""
    if type(a) is not type(b):
        return False
    if type(a) is list:
        return len(a) == len(b) and all(map(exactly, a, b))
    if type(a) is dict:
        return a.keys() == b.keys() and all(exactly(a[key], b[key]) for key in a)
    if type(a) is float:
        return struct.pack("d", a) == struct.pack("d", b)
    return a == b


@pytest.fixture(scope="module")
def memory_store():
    with mnem.open(":memory:") as store:
        yield store


def through(store, content):
    store.write({"a": mnem.MemoryNode("a", content)}, message="m", allow_empty=True)
    return store.get("a").content


@pytest.mark.parametrize("name", STORED)
def test_stored(memory_store, name):
    given_, expected = STORED[name]
    content = through(memory_store, given_)
    assert plain(content)
    assert exactly(content, expected)


def test_kinds_of_number_stay_apart(memory_store):
    values = [1, 1.0, True, 0.0, -0.0, 0, False]
    assert exactly(through(memory_store, values), values)
    commits = {
        through(memory_store, value) is not None and memory_store.head_commit() for value in values
    }
    assert len(commits) == len(values)
    assert math.copysign(1, through(memory_store, -0.0)) == -1


UNSUPPORTED = (
    "a value of type {} cannot be stored; "
    "content is null, a boolean, a number, text, a list or a map"
)
KEY = "a value of type {} cannot be a key; keys are text, a number, a boolean or null"
DEEP = "nested more than 128 arrays and maps deep"


def cycle():
    inner: list[object] = [1]
    inner.append({"again": inner})
    return {"loop": inner}


# What is given, the error's second class, its sentence.
REFUSED = {
    "nan": (
        {"items": [0, 0, 0, {"price": math.nan}]},
        ValueError,
        "content.items[3].price: not a finite number",
    ),
    "inf": ([math.inf], ValueError, "content[0]: not a finite number"),
    "-inf": (-math.inf, ValueError, "content: not a finite number"),
    "nan key": ({"a": {math.nan: 1}}, ValueError, "content.a: not a finite number"),
    "2**64": ({"a b": 2**64}, ValueError, 'content["a b"]: an integer outside -2^63 to 2^64-1'),
    "-2**63-1": (-(2**63) - 1, ValueError, "content: an integer outside -2^63 to 2^64-1"),
    "2**64+1": (2**64 + 1, ValueError, "content: an integer outside -2^63 to 2^64-1"),
    "10**10000": (10**10000, ValueError, "content: an integer outside -2^63 to 2^64-1"),
    "bytes": ({"a": b"x"}, TypeError, "content.a: " + UNSUPPORTED.format("bytes")),
    "set": ([1, {2}], TypeError, "content[1]: " + UNSUPPORTED.format("set")),
    "object": (object(), TypeError, "content: " + UNSUPPORTED.format("object")),
    "complex": (1j, TypeError, "content: " + UNSUPPORTED.format("complex")),
    "node": (mnem.Provenance(), TypeError, "content: " + UNSUPPORTED.format("Provenance")),
    "bytes key": ({"a": {b"k": 1}}, TypeError, "content.a: " + KEY.format("bytes")),
    "tuple key": ({(1, 2): 1}, TypeError, "content: " + KEY.format("tuple")),
    "keys that meet": (
        {"m": {1: "a", "1": "b"}},
        ValueError,
        'content.m: the key "1" stands twice',
    ),
    "more keys that meet": (
        {None: 1, "null": 2},
        ValueError,
        'content: the key "null" stands twice',
    ),
    "surrogate": ({"a": ["\ud800"]}, ValueError, "content.a[0]: text with a lone surrogate"),
    "surrogate key": ({"a": {"\udfff": 1}}, ValueError, "content.a: text with a lone surrogate"),
    "cycle": (cycle(), ValueError, "content.loop[1].again: a container that contains itself"),
    "one too deep": (nested(MAX_DEPTH + 1), ValueError, "content" + "[0]" * 64),
    "maps too deep": (nested(MAX_DEPTH + 1, dict), ValueError, "content" + ".k" * 96),
    "100,000 deep": (nested(100_000), ValueError, DEEP),
    "100,000 maps deep": (nested(100_000, dict), ValueError, DEEP),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(store, bytes_of, raised, name):
    content, kind, sentence = REFUSED[name]
    mnem.agents.remember(store, "a", 1)
    before = bytes_of(store)
    ways = (
        lambda: store.add("a", content),
        lambda: store.write({"b": 1, "a": content}, message="m"),
        lambda: store.update(lambda _: {"b": 1, "a": content}, message="m"),
        lambda: mnem.agents.remember(store, "a", content),
        lambda: mnem.agents.remember_many(
            store, [{"id": "b", "content": 1}, {"id": "a", "content": content}]
        ),
    )
    for way in ways:
        error = raised(way)
        assert isinstance(error, mnem.InvalidRefError), repr(error)
        assert isinstance(error, kind)
        assert isinstance(error, TypeError) is (kind is TypeError)
        assert type(error).__name__ == "InvalidRefError"
        assert sentence in str(error)
        if kind is not ValueError or DEEP not in str(error):
            assert str(error) == sentence
    assert bytes_of(store) == before


def test_too_large(store):
    # Not byte by byte: this may take longer than a store stays open without work.
    before = sum(path.stat().st_size for path in store.root.rglob("*") if path.is_file())
    with pytest.raises(
        mnem.InvalidRefError, match=r"67108869 bytes once encoded, more than 67108864"
    ):
        store.write({"a": "x" * (64 * 1024 * 1024)}, message="m")
    after = sum(path.stat().st_size for path in store.root.rglob("*") if path.is_file())
    assert after <= before
    assert store.verify().nodes == 0


def test_as_large_as_may_be(store):
    # A text of this length has a head of five bytes.
    text = "x" * (64 * 1024 * 1024 - 5)
    store.write({"a": text}, message="m")
    assert store.get("a").content == text


def test_a_cycle_longer_than_the_limit_is_refused(store):
    ring = [[] for _ in range(1000)]
    for here, there in zip(ring, ring[1:] + ring[:1], strict=True):
        here.append(there)
    with pytest.raises(mnem.InvalidRefError):
        store.add("a", ring[0])


def test_nothing_is_left_behind_in_a_small_stack(store):
    """The deepest content goes through a thread whose stack is small."""
    errors: list[BaseException] = []

    def run():
        try:
            assert through(store, nested(MAX_DEPTH)) == nested(MAX_DEPTH)
            with pytest.raises(ValueError, match="deep"):
                store.add("a", nested(100_000))
        except BaseException as error:
            errors.append(error)

    size = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    assert errors == []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
)


@given(JSON)
def test_whatever_json_holds_comes_back(memory_store, content):
    assert exactly(through(memory_store, content), content)


FIELDS = ["agent_step", "observation", "tool_call", "source", "note"]


def test_every_field_comes_back(store):
    provenance = mnem.Provenance(*(f"the {field}" for field in FIELDS))
    parent = store.add("parent", 1)
    node = mnem.MemoryNode(
        "a",
        {"b": 1},
        "claim",
        provenance,
        event_time=-1,
        valid_from=0,
        valid_to=2**63 - 1,
        derived_from=[{"id": "parent", "object": parent}],
    )
    store.add_node(node)
    commit = store.commit("m", time_ms=-5, author="me")
    assert store.get("a") == node
    assert store.blame("a") == mnem.Blame(commit, node, -1)
    assert store.log()[0].time == -5


@pytest.mark.parametrize("field", ["id", *FIELDS])
def test_a_surrogate_in_a_text_is_named(store, field):
    texts = dict.fromkeys([field], "a\ud800")
    node_id = texts.pop("id", "a")
    with pytest.raises(mnem.InvalidRefError, match="lone surrogate"):
        store.add(node_id, 1, provenance=mnem.Provenance(**texts))
    with pytest.raises(mnem.InvalidRefError, match="lone surrogate"):
        store.commit("a\ud800")
    with pytest.raises(mnem.InvalidRefError, match="lone surrogate"):
        store.get("a\ud800")


@pytest.mark.parametrize(
    "lineage",
    [[{"id": "a", "object": "zz"}], [{"id": "", "object": "00" * 32}], [{"id": "a"}], [1], 1],
)
def test_lineage_is_checked(store, lineage):
    with pytest.raises((mnem.InvalidRefError, KeyError, TypeError)):
        store.add_node(mnem.MemoryNode("a", 1, derived_from=lineage))
