"""The surface of 0.0.7, name by name: ours has it all, and adds only what breaks no call."""

from __future__ import annotations

import dataclasses
import doctest
import importlib.resources
import inspect
import pickle
import sys
import types

import mnem
import pytest
from mnem import agents, keys

# Names, parameters and defaults as they were.
SIGNATURES = {
    "Store.add": "(self, id, content, *, content_kind='note', provenance=None, event_time=None)",
    "Store.add_node": "(self, node)",
    "Store.bisect": "(self, predicate, *, bad=None, good=None)",
    "Store.blame": "(self, node_id, at=None)",
    "Store.branch": "(self, name, *, start=None)",
    "Store.branches": "(self)",
    "Store.changed_by": "(self, commit)",
    "Store.checkout": "(self, target=None, *, create=None, discard=False)",
    "Store.commit": "(self, message, *, author=None, time_ms=None)",
    "Store.delete_branch": "(self, name)",
    "Store.diff": "(self, frm=None, to=None)",
    "Store.head": "(self)",
    "Store.head_commit": "(self)",
    "Store.init": "(path='.')",
    "Store.log": "(self, *, first_parent=False, limit=None)",
    "Store.merge": "(self, theirs, *, resolutions=None, strategy=None, message=None,"
    " author=None, time_ms=None)",
    "Store.new_branch": "(self, name, *, start=None)",
    "Store.open": "(path='.')",
    "Store.resolve": "(self, spec)",
    "Store.rm": "(self, node_id)",
    "Store.staged": "(self)",
    "Store.staged_deletions": "(self)",
    "Store.state_at": "(self, commit)",
    "Store.unstage": "(self, node_id)",
    "Store.working_memory": "(self)",
    "Store.working_node": "(self, node_id)",
    "agents.forget": "(store, id, *, summary=None, author='agent', time_ms=None)",
    "agents.remember": "(store, id, content, *, source=None, step=None, observation=None,"
    " tool_call=None, note=None, summary=None, author='agent', time_ms=None)",
    "agents.remember_many": "(store, items, *, summary=None, author='agent', time_ms=None)",
    "init": "(path='.')",
    "open": "(path='.')",
    "version": "()",
}

PROPERTIES = {
    "Store.format_version",
    "Store.root",
    "Blame.provenance",
    "MergeResult.ok",
}

# Fields in order, with their defaults; whether frozen.
FACTORY = dataclasses.MISSING
DATACLASSES = {
    "Blame": (True, {"commit": FACTORY, "node": FACTORY, "time": FACTORY}),
    "Commit": (
        True,
        dict.fromkeys(["id", "parents", "state", "message", "author", "time"], FACTORY),
    ),
    "Conflict": (True, dict.fromkeys(["id", "kind", "base", "ours", "theirs"], FACTORY)),
    "MemoryNode": (
        False,
        {
            "id": FACTORY,
            "content": FACTORY,
            "content_kind": "note",
            "provenance": FACTORY,
            "event_time": None,
        },
    ),
    "MergeResult": (True, dict.fromkeys(["status", "commit", "conflicts"], FACTORY)),
    "NodeChange": (True, dict.fromkeys(["id", "kind", "old", "new"], FACTORY)),
    "Provenance": (
        True,
        dict.fromkeys(["agent_step", "observation", "tool_call", "source", "note"], None),
    ),
}

ADDED_FIELDS = {
    "Blame": {"removed": False},
    "MemoryNode": {"valid_from": None, "valid_to": None, "derived_from": None},
}

EXCEPTIONS = [
    "ConflictError",
    "CorruptStoreError",
    "FormatVersionError",
    "InvalidRefError",
    "NoStoreError",
    "NotFoundError",
    "StoreExistsError",
    "StoreIoError",
]


def found(path):
    value = mnem
    for name in path.split("."):
        value = getattr(value, name)
    return value


def signature_of(text):
    names: dict[str, object] = {}
    exec(f"def f{text}: ...", names)
    return inspect.signature(names["f"])


@pytest.mark.parametrize("path", SIGNATURES)
def test_signatures(path):
    then = list(signature_of(SIGNATURES[path]).parameters.values())
    now = list(inspect.signature(found(path)).parameters.values())
    kept = [p.replace(annotation=p.empty) for p in now[: len(then)]]
    assert kept == then
    for added in now[len(then) :]:
        assert added.kind is added.KEYWORD_ONLY
        assert added.default is not added.empty


@pytest.mark.parametrize("path", sorted(PROPERTIES))
def test_properties(path):
    assert isinstance(found(path), property)


@pytest.mark.parametrize("name", DATACLASSES)
def test_dataclasses(name):
    frozen, then = DATACLASSES[name]
    kind = found(name)
    now = {field.name: field.default for field in dataclasses.fields(kind)}
    assert now == then | ADDED_FIELDS.get(name, {})
    assert list(now)[: len(then)] == list(then)
    params = kind.__dataclass_params__
    assert (params.frozen, params.eq, hasattr(kind, "__slots__")) == (frozen, True, True)
    assert callable(kind.to_dict)


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions(name):
    assert issubclass(found(name), mnem.MnemError)


@pytest.mark.parametrize(
    "module",
    [agents, keys, mnem.store, mnem.types, mnem._history, mnem._scopes],
    ids=lambda m: m.__name__,
)
def test_all_names_the_public_names(module):
    made_here = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    }
    constants = {name for name in module.__all__ if name.isupper()}
    assert module.__all__ == sorted(made_here | constants)


def test_the_package_has_no_other_public_names():
    modules = {"agents", "errors", "keys", "store", "types"}
    names = {name for name in vars(mnem) if not name.startswith("_")}
    assert names - modules - {"annotations", "TYPE_CHECKING"} == {
        name for name in mnem.__all__ if not name.startswith("_")
    } - {"agents", "keys"}


PLAIN = {
    "id": "a",
    "content": 1,
    "content_kind": "note",
    "provenance": {
        "agent_step": None,
        "observation": None,
        "tool_call": None,
        "source": "x",
        "note": None,
    },
    "event_time": 3,
}


def test_to_dict_says_no_more_than_it_did():
    node = mnem.MemoryNode("a", 1, provenance=mnem.Provenance(source="x"), event_time=3)
    assert node.to_dict() == PLAIN
    assert mnem.Blame("c", node, 5).to_dict() == {"commit": "c", "node": PLAIN, "time": 5}
    assert mnem.Commit("c", ("p",), "s", "m", "a", 1).to_dict() == {
        "id": "c",
        "parents": ["p"],
        "state": "s",
        "message": "m",
        "author": "a",
        "time": 1,
    }
    conflict = mnem.Conflict("a", "edit/delete", node, node, None)
    assert mnem.MergeResult("conflicts", None, (conflict,)).to_dict() == {
        "status": "conflicts",
        "commit": None,
        "conflicts": [
            {"id": "a", "kind": "edit/delete", "base": PLAIN, "ours": PLAIN, "theirs": None}
        ],
    }
    assert mnem.NodeChange("a", "added", None, node).to_dict() == {
        "id": "a",
        "kind": "added",
        "old": None,
        "new": PLAIN,
    }


def test_to_dict_says_what_is_new_where_it_is_set():
    lineage = [{"id": "b", "object": "00" * 32}]
    node = mnem.MemoryNode("a", 1, valid_from=1, valid_to=2, derived_from=lineage)
    assert node.to_dict().items() >= {"valid_from": 1, "valid_to": 2}.items()
    assert node.to_dict()["derived_from"] == lineage
    assert mnem.Blame("c", node, 5, removed=True).to_dict()["removed"] is True
    assert mnem.Flip("c", True, None).to_dict() == {"commit": "c", "holds": True, "node": None}


def test_dataclasses_can_be_pickled():
    node = mnem.MemoryNode("a", {"b": [1]}, provenance=mnem.Provenance(source="x"))
    for value in (node, mnem.Blame("c", node, 5), mnem.Commit("c", (), "s", "m", "a", 1)):
        assert pickle.loads(pickle.dumps(value)) == value


def test_the_version():
    assert mnem.version() == mnem.__version__ == "0.1.0"


# The exceptions are found under the package, which is where they say they are.
MODULES = [mnem, agents, keys, mnem.types, mnem.store, mnem._history, mnem._scopes]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_docstring_examples(module):
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in doctest.DocTestFinder().find(module, extraglobs={"mnem": mnem}):
        runner.run(example)
    assert runner.failures == 0
    assert runner.tries > 0


def test_everything_public_is_documented():
    for name in mnem.__all__:
        value = getattr(mnem, name)
        if isinstance(value, str):
            continue
        assert inspect.getdoc(value), name
        if isinstance(value, type):
            ours = [owner for owner in value.__mro__ if owner.__module__.startswith("mnem")]
            for attribute in {name for owner in ours for name in vars(owner)}:
                member = getattr(value, attribute)
                # A field of a dataclass is documented by its class.
                is_field = inspect.ismemberdescriptor(member)
                is_code = inspect.isroutine(member) or inspect.isdatadescriptor(member)
                if is_code and not is_field and not attribute.startswith("_"):
                    assert inspect.getdoc(member), f"{name}.{attribute}"


def public_routines():
    """Every public function, class method and method, by the name doctest gives it."""
    for module in (mnem, agents, keys, mnem._history):
        for value in (getattr(module, name) for name in module.__all__):
            if inspect.isroutine(value):
                yield f"{value.__module__}.{value.__name__}"
            elif isinstance(value, type):
                for name in vars(value):
                    if not name.startswith("_") and inspect.isroutine(getattr(value, name)):
                        yield f"{value.__module__}.{value.__name__}.{name}"


def test_every_public_function_and_method_shows_an_example():
    finder = doctest.DocTestFinder()
    run = {test.name for module in MODULES for test in finder.find(module) if test.examples}
    public = set(public_routines())
    assert sorted(public - run) == []
    assert public >= {
        "mnem.Snapshot.get",
        "mnem.agents.remember",
        "mnem.init",
        "mnem.store.Store.open",
        "mnem.types.Blame.to_dict",
    }


def test_the_types_are_shipped():
    shipped = {file.name for file in importlib.resources.files("mnem").iterdir()}
    assert shipped >= {"py.typed", "_mnem.pyi"}


def test_the_installed_package_is_what_is_tested():
    assert isinstance(mnem._mnem, types.ModuleType)
    assert "site-packages" in sys.modules["mnem"].__file__
    assert (inspect.getfile(mnem._mnem)).startswith(sys.prefix)
