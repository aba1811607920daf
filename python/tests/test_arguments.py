"""Arguments of wrong types: a sentence that names the argument, and nothing written."""

from __future__ import annotations

import inspect
import math
import pathlib

import mnem
import pytest
from mnem import agents, keys


class Thing:
    pass


class Text(str):
    """A text like any other."""

    __slots__ = ()


WRONG = {
    "None": None,
    "a list": [1],
    "an int": 7,
    "a negative int": -1,
    "a huge int": 2**70,
    "a float": 1.5,
    "nan": math.nan,
    "a bool": True,
    "bytes": b"x",
    "a subclass of str": Text("sub"),
    "a lone surrogate": "\ud800",
    "a dict with int keys": {1: 2},
    "a path": pathlib.Path("p"),
    "a set": {1},
    "a thing": Thing(),
}
# What an error of ours never says: texts of the binding, of Python's internals, and private names.
FOREIGN = (
    "object",
    "instance",
    "convert",
    "interpreted",
    "subscriptable",
    "iterable",
    "attribute",
    "Py",
    "_",
    "argument",
    "processing",
)


def handles(directory):
    store = mnem.open(":memory:")
    first = agents.remember(store, "a", 0)
    store.new_branch("other")
    agents.remember(store, "a", 2)
    snapshots = []
    store.update(lambda memory: snapshots.append(memory) or {}, message="look")
    right = {
        "at": first,
        "base": first,
        "branch": "other",
        "changes": {"a": 1},
        "commit": first,
        "content": 1,
        "filters": {"user_id": "ada"},
        "fn": lambda _: {"a": 1},
        "id": "a",
        "items": [{"id": "a", "content": 1}],
        "key": b"k",
        "message": "learn",
        "messages": [],
        "name": "fresh",
        "node": mnem.MemoryNode("a", 1),
        "node_id": "a",
        "predicate": lambda memory: memory["a"].content == 2,
        "spec": "main",
        "store": store,
        "target": "main",
        "theirs": "other",
        "transcript": "run-1",
        "value": b"v",
    }
    for name in ("path", "src", "dest"):
        right[name] = directory / "elsewhere"

    class Mem0:
        def get_all(self, **_):
            return {"results": []}

    right["mem0_memory"] = Mem0()
    places = {
        "store": store,
        "mnem": mnem,
        "agents": agents,
        "keys": keys,
        "local": store.local("vectors"),
        "snapshot": snapshots[0],
    }
    return places, right


FUNCTIONS = {
    "store": [
        name
        for name in dir(mnem.Store)
        if not name.startswith("_")
        and callable(getattr(mnem.Store, name))
        and name not in {"init", "open"}
    ],
    "mnem": ["init", "open", "import_store", "migrate", "repair"],
    "agents": agents.__all__,
    "keys": ["join", "prefix", "split", "unencoded"],
    "local": ["get", "set", "delete", "items"],
    "snapshot": ["get", "exists", "memory"],
}
EVERY = [(place, name) for place, names in FUNCTIONS.items() for name in names]


def says(store):
    return store.branches(), store.head(), store.staged(), store.staged_deletions()


def calls(place, name, directory):
    """Each parameter once with each wrong value, and the others as they should be."""
    places, _ = handles(directory)
    parameters = list(inspect.signature(getattr(places[place], name)).parameters.values())
    for parameter in parameters:
        for told, wrong in WRONG.items():
            places, right = handles(directory)
            positional, named = [], {}
            for other in parameters:
                if other is parameter:
                    value = wrong
                elif other.default is not inspect.Parameter.empty:
                    continue
                else:
                    value = right[other.name]
                if other.kind is inspect.Parameter.VAR_POSITIONAL:
                    positional.append(value)
                else:
                    named[other.name] = value
            function = getattr(places[place], name)
            yield (
                parameter.name,
                told,
                right["store"],
                lambda f=function, p=positional, n=named: f(*p, **n),
            )


@pytest.mark.parametrize(("place", "name"), EVERY, ids=[".".join(pair) for pair in EVERY])
def test_a_wrong_type_is_told(tmp_path, monkeypatch, place, name):
    monkeypatch.chdir(tmp_path)
    refused = 0
    for parameter, told, store, call in calls(place, name, tmp_path):
        before = says(store)
        error = None
        try:
            call()
        except mnem.MnemError as caught:
            error = caught
        if error is None:
            continue
        refused += 1
        assert says(store) == before, (parameter, told)
        if isinstance(error, (TypeError, OverflowError)):
            sentence, wrong = str(error), (parameter, told, str(error))
            assert type(error).__name__ == "InvalidRefError", wrong
            # What is inside an argument is named by its own place in it.
            inside = ("content", "messages", "rules", "a node id must", "each ")
            named = parameter in sentence.partition(" must ")[0]
            assert named or sentence.startswith(inside), wrong
            said = sentence.partition(", not ")[0].replace("agent_step", "").replace(parameter, "")
            assert not [word for word in FOREIGN if word in said], wrong
    parameters = inspect.signature(getattr(handles(tmp_path)[0][place], name)).parameters
    assert refused or not parameters


def test_a_range_is_told_and_what_is_larger_than_memory_is_no_limit(store):
    commit = store.write({"a": 1}, message="learn")
    with pytest.raises(mnem.InvalidRefError, match=r"^limit must be from 0, not -1$") as caught:
        store.log(limit=-1)
    assert isinstance(caught.value, OverflowError)
    assert [commit.id for commit in store.log(limit=2**70)] == [commit]
    told = r"^time_ms must be Unix milliseconds, from -2\^63 to 2\^63-1$"
    with pytest.raises(mnem.InvalidRefError, match=told):
        store.write({"a": 2}, message="learn", time_ms=2**63)
    with pytest.raises(mnem.InvalidRefError, match=told.replace("time_ms", "event_time")):
        store.add("a", 2, event_time=-(2**63) - 1)
    assert store.head_commit() == commit


def test_a_handle_is_not_made_of_a_path(tmp_path):
    sentence = r"^handle must be what mnem.open\(path\) or mnem.init\(path\) makes, not str$"
    with pytest.raises(TypeError, match=sentence):
        mnem.Store(str(tmp_path))


def test_recall_names_the_argument_that_it_is_told(store):
    store.write({"a": 1}, message="learn")
    for at in (None, "main"):
        with pytest.raises(TypeError, match=r"^id must be a str, not bytes$"):
            agents.recall(store, b"a", at=at)


def test_a_mapping_is_asked_for_with_a_hint(store):
    for call, sentence in {
        lambda: store.write(["a"], message="learn"): (
            "changes must be a mapping from node ids to content, not list"
        ),
        lambda: store.update(lambda _: None, message="learn"): (
            "what fn returns must be a mapping from node ids to content, not None"
        ),
        lambda: store.merge("main", resolutions=["a"]): (
            "resolutions must be a mapping from node ids to answers, not list"
        ),
    }.items():
        with pytest.raises(mnem.InvalidRefError) as caught:
            store.write({"a": 1}, message="learn")
            call()
        assert str(caught.value) == sentence
        assert "`store." in caught.value.hint
    for call in (
        lambda: store.write({1: 1}, message="learn"),
        lambda: store.update(lambda _: {1: 1}, message="learn"),
    ):
        with pytest.raises(TypeError, match=r"^a node id must be a str, not int$"):
            call()
