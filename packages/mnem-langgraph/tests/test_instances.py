"""Several instances on one store, whose branches others write, merge, take back and delete.

Each is compared with a model that reads the whole history anew, by plain dicts, and with an
instance that was just opened.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

import hypothesis.strategies as st
import mnem
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from langgraph.store.base import PutOp
from mnem_langgraph import MnemosyneStore, shelf, store, timeline

COMMAND = Path(sys.executable).with_name("mnem")
MAIN = "main"
BRANCHES = [MAIN, "side", "third"]
# Where each id is, with the one that goes before it when both are there.
IDS = {
    "a:k": (("a",), "k"),
    "a:b:k": (("a", "b"), "k"),
    "a:b:x%3Ay": (("a", "b"), "x:y"),
    "a:%2541": (("a",), "%41"),
    "a:%41": (("a",), "%41"),
    **{f"m:50%25:{key}": (("m", "50%"), key) for key in "klmn"},
    **{f"m:50%:{key}": (("m", "50%"), key) for key in "klmn"},
}
ENCODED = {place: id for id, place in reversed(IDS.items())}
FOREIGN = ["plan", "a.b:k", "zz"]
places = st.sampled_from(list(ENCODED))
values = st.builds(lambda n, text: {"n": n, "t": text}, st.integers(0, 2), st.sampled_from("ab"))
branches = st.sampled_from(BRANCHES)
strategies = st.sampled_from([None, "ours", "theirs"])
# Small, so that each way of looking is taken often.
FEW = {"POINTS": 3, "BEHIND": 3, "WORTH": 2, "FEW": 2, "SMALL": 3, "MOST": 300}


def version(node):
    return repr((node.content, node.provenance, node.event_time))


def moment(milliseconds):
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)


class Instances(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        for name, value in FEW.items():
            self.patch.setattr(shelf, name, value)
        self.patch.setattr(timeline, "_EVERY", 4)
        # Beyond every commit's time.
        self.now = 4_000_000_000_000
        self.patch.setattr(store, "_now", lambda: self.now)
        self.path = tempfile.mkdtemp()
        self.root = mnem.init(self.path)
        self.root.write({"a:k": {"n": 0, "t": "a"}}, message="first", time_ms=1_000)
        self.time = 1_000
        self.instances = [MnemosyneStore(self.path), MnemosyneStore(self.root, branch="side")]
        self.states, self.times = {}, {}
        # When a version was put again. That is dropped with a version that no branch has any more,
        # by who meets it.
        self.again = {}

    def teardown(self):
        for instance in self.instances:
            self.compare(instance)
            instance.close()
        self.root.close()
        shutil.rmtree(self.path)
        self.patch.undo()

    # ---- what others do ----

    def bound(self, branch):
        """A handle on a branch that is there, else on the first one."""
        return self.root.on(branch if branch in dict(self.root.branches()) else MAIN)

    @rule(
        branch=branches,
        id=st.sampled_from([*IDS, *FOREIGN]),
        value=st.one_of(st.none(), values, st.just("text")),
        later=st.sampled_from([0, 1, -3, 1_000]),
    )
    def write(self, branch, id, value, later):
        self.time += later
        # On a branch without commits there is nothing to forget.
        with suppress(mnem.InvalidRefError):
            self.bound(branch).write({id: value}, message="w", time_ms=self.time)

    @rule(branch=branches, ids=st.lists(st.sampled_from(list(IDS)), min_size=4, unique=True))
    def write_many(self, branch, ids):
        changes = {id: {"n": n % 3, "t": "a"} for n, id in enumerate(ids)}
        self.bound(branch).write(changes, message="w", time_ms=self.time)

    @rule(
        branch=branches,
        words=st.sampled_from(
            [["remember", "a:b:k", "7"], ["forget", "a:k"], ["undo"], ["merge", "side"]]
        ),
    )
    def another_process(self, branch, words):
        branch = self.bound(branch).head().removeprefix("ref: ")
        words = [COMMAND, "-C", self.path, "--branch", branch, *words]
        assert subprocess.run(words, capture_output=True, check=False).returncode in (0, 1)

    @rule(branch=branches, other=branches, strategy=strategies)
    def merge(self, branch, other, strategy):
        if other in dict(self.root.branches()):
            self.bound(branch).merge(other, strategy=strategy, allow_unrelated=True)

    @rule(branch=branches, back=st.integers(0, 4), strategy=strategies)
    def revert(self, branch, back, strategy):
        handle = self.bound(branch)
        if log := handle.log(limit=back + 1):
            handle.revert(log[-1].id, strategy=strategy)

    @rule(branch=branches)
    def undo(self, branch):
        handle = self.bound(branch)
        # The move that made the branch is none to undo.
        with suppress(mnem.InvalidRefError):
            handle.undo()

    @rule(branch=st.sampled_from(BRANCHES[1:]), start=st.one_of(st.none(), st.integers(0, 4)))
    def branch_again(self, branch, start):
        """Delete a branch, and make it anew somewhere else."""
        log = self.root.on(MAIN).log(limit=5)
        # The last one stays.
        with suppress(mnem.InvalidRefError):
            self.root.delete_branch(branch)
            if start is not None and log:
                self.root.new_branch(branch, start=log[min(start, len(log) - 1)].id)

    # ---- what the instances do ----

    def puts(self, which, puts):
        instance = self.instances[which % 2]
        handle = instance._store
        before = {id: node for id, node in handle.memory().items() if id in IDS}
        self.now += 1
        instance.batch([PutOp(*place, value) for place, value in puts.items()])
        after = handle.memory()
        for place, value in puts.items():
            id = ENCODED[place]
            if value is not None and id in before and version(before[id]) == version(after[id]):
                self.again[id, version(after[id])] = self.now
                assert instance.get(*place).updated_at == moment(self.now)

    @rule(which=st.integers(0, 1), place=places, value=st.one_of(st.none(), values))
    def put(self, which, place, value):
        self.puts(which, {place: value})

    @rule(which=st.integers(0, 1), puts=st.dictionaries(places, st.one_of(st.none(), values)))
    def batch(self, which, puts):
        self.puts(which, puts)

    @rule(which=st.integers(0, 1), branch=branches)
    def switch(self, which, branch):
        if branch in dict(self.root.branches()):
            self.instances[which].switch(branch)

    @rule(which=st.integers(0, 1), keeps=st.booleans())
    def reopen(self, which, keeps):
        """Another instance takes over, which begins where the last one stood, or anew."""
        branch = self.instances[which]._branch
        self.instances[which].close()
        if not keeps:
            rows = self.root.local("mnem-langgraph:times")
            for row in rows.items():
                rows.delete(row[0])
        self.instances[which] = MnemosyneStore(self.path, branch=branch)

    @rule(which=st.integers(0, 1), place=places)
    def get(self, which, place):
        instance = self.instances[which]
        expected = self.expected(instance._store)
        item = instance.get(*place)
        assert (item is not None) == (place in expected)
        if item is not None:
            self.check(item, expected)

    @rule(which=st.integers(0, 1), prefix=st.sampled_from([(), ("a",), ("m", "50%")]))
    def search(self, which, prefix):
        instance = self.instances[which]
        expected = self.expected(instance._store)
        below = {p: told for p, told in expected.items() if p[0][: len(prefix)] == prefix}
        items = instance.search(prefix, limit=1000)
        self.check_all(items, below)
        page = instance.search(prefix, limit=2, offset=1)
        assert page == items[1:3]
        ones = instance.search(prefix, filter={"n": 1}, limit=1000)
        assert ones == [item for item in items if item.value.get("n") == 1]

    @rule(which=st.integers(0, 1))
    def compared(self, which):
        self.compare(self.instances[which])

    # ---- what is expected ----

    @staticmethod
    def told(item):
        place = (item.namespace, item.key)
        return place, (item.value, item.created_at, item.updated_at)

    def expected(self, handle):
        """Each item by its place: its value, when it came, and when it may have been put last."""
        tip = handle.head_commit()
        for commit in reversed(handle.log()):
            self.read(commit)
        found = {}
        for id, node in self.states.get(tip, {}).items():
            if id in IDS and (ENCODED[IDS[id]] == id or ENCODED[IDS[id]] not in self.states[tip]):
                created, updated = self.times[tip][id]
                last = {updated, max(updated, self.again.get((id, version(node)), 0))}
                value = node.content if isinstance(node.content, dict) else {"value": node.content}
                found[IDS[id]] = (value, moment(created), set(map(moment, last)))
        return found

    def read(self, commit):
        """What is there at a commit, and since when: on the line whose version it is."""
        if commit.id in self.states:
            return
        state = self.states[commit.id] = self.root.state_at(commit.id)
        times = self.times[commit.id] = {}
        for id, node in state.items():
            lines = [parent for parent in commit.parents if id in self.states[parent]]
            same = [p for p in lines if version(self.states[p][id]) == version(node)]
            if same:
                times[id] = self.times[same[0]][id]
            else:
                times[id] = (self.times[lines[0]][id][0] if lines else commit.time, commit.time)

    def check_all(self, items, expected):
        assert {(item.namespace, item.key) for item in items} == expected.keys()
        assert len(items) == len(expected)
        for item in items:
            self.check(item, expected)

    def check(self, item, expected):
        place, (value, created, updated) = self.told(item)
        assert (value, created) == expected[place][:2]
        assert updated in expected[place][2]

    def compare(self, instance):
        items = instance.search((), limit=1000)
        expected = self.expected(instance._store)
        self.check_all(items, expected)
        assert [i.updated_at for i in items] == sorted((i.updated_at for i in items), reverse=True)
        assert instance.list_namespaces() == sorted({item.namespace for item in items})
        with MnemosyneStore(self.root, branch=instance._branch) as anew:
            assert anew.search((), limit=1000) == items
        for item in items:
            assert instance.get(item.namespace, item.key) == item


def test_instances_follow_what_others_do():
    run_state_machine_as_test(
        Instances,
        settings=settings(
            max_examples=40,
            stateful_step_count=30,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
