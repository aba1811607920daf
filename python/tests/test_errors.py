"""The exceptions: one class a kind, and which operation raises which."""

from __future__ import annotations

import copy
import os
import pickle
import socket
import subprocess
import sys

import mnem
import pytest
from mnem import _mnem, agents, errors

BUILT_IN = {
    "not_found": LookupError,
    "invalid_ref": ValueError,
    "conflict": Exception,
    "busy": OSError,
    "corrupt_store": Exception,
    "format_version": Exception,
    "store_exists": FileExistsError,
    "no_store": FileNotFoundError,
    "store_io": OSError,
}


def test_each_kind_has_a_class_of_its_own():
    assert set(_mnem.error_codes()) == set(errors._CLASSES) == set(BUILT_IN)
    assert len(set(errors._CLASSES.values())) == len(BUILT_IN)
    public = {getattr(mnem, name) for name in mnem.__all__ if name.endswith("Error")}
    assert public == {mnem.MnemError, *errors._CLASSES.values()}


@pytest.mark.parametrize("code", BUILT_IN)
def test_each_class(code):
    kind = type(errors._exception(code, "a sentence", "a hint", False))
    assert issubclass(kind, mnem.MnemError)
    assert issubclass(kind, BUILT_IN[code])
    assert (kind.__module__, kind.code) == ("mnem", code)
    assert getattr(mnem, kind.__name__) is kind


def test_busy_is_a_conflict_and_an_io_error():
    assert mnem.BusyError.__bases__ == (mnem.ConflictError, mnem.StoreIoError)


@pytest.mark.parametrize("code", [*BUILT_IN, "internal"])
@pytest.mark.parametrize("wrong_type", [False, True])
def test_data_survives_copies(code, wrong_type):
    conflict = mnem.Conflict("a", "add/add", None, None, None)
    error = errors._exception(code, "a sentence", "a hint", wrong_type)
    error.conflicts = (conflict,)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is type(error)
        assert str(other) == "a sentence"
        assert other.args == ("a sentence",)
        assert (other.code, other.hint) == (error.code, "a hint")
        assert other.conflicts == (conflict,)


def test_a_wrong_type_goes_by_the_name_callers_map():
    error = errors._exception("invalid_ref", "a sentence", None, True)
    assert isinstance(error, (mnem.InvalidRefError, TypeError, ValueError))
    assert isinstance(error, TypeError)
    assert (type(error).__name__, type(error).__module__) == ("InvalidRefError", "mnem")


def test_a_panic_is_an_error_like_any_other(capfd):
    with pytest.raises(mnem.MnemError, match="internal error: on purpose") as caught:
        _mnem.panic_on_purpose("on purpose")
    assert type(caught.value) is mnem.MnemError
    assert caught.value.code == "internal"
    assert capfd.readouterr().err == ""


def test_hints_reach_python(store):
    with pytest.raises(mnem.InvalidRefError) as caught:
        store.commit("nothing")
    assert "`mnem add" in caught.value.hint
    assert caught.value.conflicts == ()


def test_what_python_refuses_has_a_hint_too(store):
    store.add("draft", 1)
    for call, hint in (
        (lambda: store.branch("b"), "`mnem commit -m MESSAGE`"),
        (store.checkout, "`mnem branch`"),
    ):
        with pytest.raises(mnem.InvalidRefError) as caught:
            call()
        assert hint in caught.value.hint


def history(store):
    """Two commits on main, a branch beside it, and one conflict between them."""
    first = agents.remember(store, "plan", "basic", time_ms=1)
    store.new_branch("other")
    agents.remember(store, "plan", "enterprise", time_ms=2)
    agents.remember(store.on("other"), "plan", "team", time_ms=2)
    return first


def detached(store):
    store.checkout(store.head_commit())


def staged(store):
    store.add("draft", 1)


def nothing(_):
    pass


def merging_with(**options):
    return lambda store: store.merge("other", **options)


INVALID = mnem.InvalidRefError
# What is done first, what then, and its class: as in 0.0.7 unless a fault of it says otherwise.
FAILURES = {
    "rm unknown": (nothing, lambda s: s.rm("nope"), INVALID),
    "forget unknown": (nothing, lambda s: agents.forget(s, "nope"), INVALID),
    "blame unknown": (nothing, lambda s: s.blame("nope"), INVALID),
    "blame at unknown": (nothing, lambda s: s.blame("plan", "nope"), INVALID),
    "resolve unknown": (nothing, lambda s: s.resolve("nope"), INVALID),
    "resolve prefix": (nothing, lambda s: s.resolve("0000"), INVALID),
    "resolve full id": (nothing, lambda s: s.resolve("0" * 64), INVALID),
    "resolve short": (nothing, lambda s: s.resolve("abc"), INVALID),
    "state_at unknown": (nothing, lambda s: s.state_at("nope"), INVALID),
    "changed_by unknown": (nothing, lambda s: s.changed_by("nope"), INVALID),
    "diff unknown": (nothing, lambda s: s.diff("nope"), INVALID),
    "diff to unknown": (nothing, lambda s: s.diff(None, "nope"), INVALID),
    "branch name": (nothing, lambda s: s.new_branch("a b"), INVALID),
    "branch taken": (nothing, lambda s: s.new_branch("main"), INVALID),
    "branch start": (nothing, lambda s: s.new_branch("b", start="nope"), INVALID),
    "branch scope taken": (nothing, lambda s: s.branch("main"), INVALID),
    "branch scope over drafts": (staged, lambda s: s.branch("b"), INVALID),
    "delete current": (nothing, lambda s: s.delete_branch("main"), INVALID),
    "checkout unknown": (nothing, lambda s: s.checkout("nope"), INVALID),
    "checkout nothing": (nothing, lambda s: s.checkout(), ValueError),
    "checkout create taken": (nothing, lambda s: s.checkout(create="other"), INVALID),
    "checkout over drafts": (staged, lambda s: s.checkout("other"), INVALID),
    "commit detached": (lambda s: (detached(s), staged(s)), lambda s: s.commit("m"), INVALID),
    "remember detached": (detached, lambda s: agents.remember(s, "a", 1), INVALID),
    "merge detached": (detached, lambda s: s.merge("other"), INVALID),
    "merge unknown": (nothing, lambda s: s.merge("nope"), INVALID),
    "merge over drafts": (staged, lambda s: s.merge("other"), INVALID),
    "merge strategy": (nothing, merging_with(strategy="x"), ValueError),
    "merge resolution": (nothing, merging_with(resolutions={"plan": "x"}), ValueError),
    "merge no conflict": (nothing, merging_with(resolutions={"nope": "ours"}), INVALID),
    "merge renamed": (
        nothing,
        merging_with(resolutions={"plan": mnem.MemoryNode("nope", 1)}),
        INVALID,
    ),
    "bisect false at bad": (nothing, lambda s: s.bisect(lambda _: False), INVALID),
    "bisect true at good": (
        nothing,
        lambda s: s.bisect(lambda _: True, good=s.log()[-1].id),
        INVALID,
    ),
    "bisect raises": (nothing, lambda s: s.bisect(lambda _: 1 / 0), ZeroDivisionError),
    "update raises": (nothing, lambda s: s.update(lambda _: 1 / 0, message="m"), ZeroDivisionError),
    "update writes": (
        nothing,
        lambda s: s.update(lambda _: s.write({"a": 1}, message="m") and {}, message="m"),
        mnem.ConflictError,
    ),
    "update of no mapping": (nothing, lambda s: s.update(lambda _: 5, message="m"), TypeError),
    "stale base": (
        nothing,
        lambda s: s.write({"plan": 1}, message="m", base=s.log()[-1].id),
        mnem.ConflictError,
    ),
    "base unknown": (nothing, lambda s: s.write({"plan": 1}, message="m", base="nope"), INVALID),
    "content_kind": (nothing, lambda s: s.add("a", 1, content_kind="zz"), ValueError),
    "event_time": (nothing, lambda s: s.add("a", 1, event_time=2**63), OverflowError),
    "event_time float": (nothing, lambda s: s.add("a", 1, event_time=1.5), TypeError),
    "negative limit": (nothing, lambda s: s.log(limit=-1), OverflowError),
    "id of another type": (nothing, lambda s: s.add(1, 1), TypeError),
    "step of another type": (nothing, lambda s: agents.remember(s, "a", 1, step=3), TypeError),
    "item without id": (nothing, lambda s: agents.remember_many(s, [{"content": 1}]), KeyError),
    "init": (nothing, lambda s: mnem.init(s.root), mnem.StoreExistsError),
    "init nested": (nothing, lambda s: mnem.init(s.root / "x"), mnem.StoreExistsError),
    "open": (nothing, lambda s: mnem.open(s.root.parent), mnem.NoStoreError),
    "timeout": (nothing, lambda s: mnem.open(s.root, busy_timeout=-1), ValueError),
    "timeout nan": (nothing, lambda s: mnem.open(s.root, busy_timeout=float("nan")), ValueError),
    "bound add": (nothing, lambda s: s.on("other").add("a", 1), INVALID),
    "bound rm": (nothing, lambda s: s.on("other").rm("plan"), INVALID),
    "bound commit": (nothing, lambda s: s.on("other").commit("m"), INVALID),
    "bound checkout": (nothing, lambda s: s.on("other").checkout("main"), INVALID),
    "flips of two": (nothing, lambda s: s.flips("plan", present=True, absent=True), INVALID),
    "recall of two": (nothing, lambda s: agents.recall(s, "plan", prefix="p"), INVALID),
    "closed": (lambda s: s.close(), lambda s: s.head(), mnem.StoreIoError),
}


@pytest.mark.parametrize("name", FAILURES)
def test_which_class_and_nothing_written(store, raised, bytes_of, name):
    before, call, kind = FAILURES[name]
    history(store)
    before(store)
    bytes_before = bytes_of(store)
    error = raised(lambda: call(store))
    assert isinstance(error, kind), repr(error)
    assert str(error)
    assert bytes_of(store) == bytes_before


def test_what_a_stale_base_would_overwrite(store):
    """Conflicts of the write, as a merge would tell them: ours is the branch, theirs the write."""
    for name in ("edited", "gone", "kept", "dropped"):
        base = agents.remember(store, name, 1)
    store.write({"edited": 2, "dropped": 2, "gone": None, "new": 2}, message="meanwhile")
    changes = {"edited": 3, "dropped": None, "gone": 3, "new": 3, "kept": 3}
    for write in (
        lambda: store.write(changes, message="late", base=base),
        lambda: store.update(lambda _: changes, message="late", base=base),
    ):
        with pytest.raises(mnem.ConflictError) as caught:
            write()
        told = {
            conflict.id: (
                conflict.kind,
                *(side and side.content for side in (conflict.base, conflict.ours)),
                conflict.theirs and conflict.theirs.content,
            )
            for conflict in caught.value.conflicts
        }
        assert told == {
            "dropped": ("edit/delete", 1, 2, None),
            "edited": ("edit/edit", 1, 2, 3),
            "gone": ("delete/edit", 1, None, 3),
            "new": ("add/add", None, 2, 3),
        }
        assert pickle.loads(pickle.dumps(caught.value)).conflicts == caught.value.conflicts
    assert store.get("kept").content == 1
    # They are answered one by one, and the write lands on what was read.
    tip = store.head_commit()
    agents.remember(store, "edited", caught.value.conflicts[1].ours.content + 1, base=tip)
    assert store.get("edited").content == 3


UNBORN = {
    "commit": lambda s: s.commit("m"),
    "write nothing": lambda s: s.write({}, message="m"),
    "blame": lambda s: s.blame("a"),
    "new_branch": lambda s: s.new_branch("b"),
    "resolve": lambda s: s.resolve("HEAD"),
    "bisect": lambda s: s.bisect(lambda _: True),
}


@pytest.mark.parametrize("name", UNBORN)
def test_on_a_branch_without_a_commit(store, name):
    with pytest.raises(mnem.InvalidRefError):
        UNBORN[name](store)
    assert (store.log(), store.memory(), store.head_commit()) == ([], {}, None)


def test_another_process_is_waited_for(store, tmp_path):
    program = (
        "import sys, mnem\n"
        "try: mnem.open(sys.argv[1], busy_timeout=0.3)\n"
        "except mnem.BusyError as error: print(error.code, error)\n"
    )

    def held(_now):
        done = subprocess.run(
            [sys.executable, "-c", program, str(store.root)],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
        told = f"busy process {os.getpid()} on {socket.gethostname()} holds the store at "
        assert done.stdout.startswith(told)
        return {"a": 1}

    store.update(held, message="held")
    store.close()
    mnem.open(store.root).close()
