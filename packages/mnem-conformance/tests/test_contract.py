"""Each promise is broken on purpose, once at least, and the contract tells."""

from __future__ import annotations

import mnem
import pytest
from mnem import keys
from mnem_conformance import Contract
from reference import Reference, ReferenceMemory


class ColonsMeet(ReferenceMemory):
    """The original's ids."""

    def node_id(self, scope, key):
        return ":".join([*scope, key]).replace("\0", "?")[:500] or "?"


class NamesMeet(ReferenceMemory):
    """Names that a person would call equal."""

    def node_id(self, scope, key):
        return keys.join(*(segment.casefold() for segment in scope), key)


class PrefixesOfText(ReferenceMemory):
    """Begins with, as text."""

    def list(self, scope):
        nodes = self.store.memory(prefix=keys.prefix(*scope).removesuffix(":")).values()
        return [entry for node in nodes if (entry := self.entry(node)) is not None]


class MissesRaise(ReferenceMemory):
    def get(self, scope, key):
        return self.store.memory()[self.node_id(scope, key)].content


class FloatsEverywhere(ReferenceMemory):
    def content(self, scope, key, value):
        value = super().content(scope, key, value)
        return {k: float(v) if type(v) is int and v < 2**53 else v for k, v in value.items()}


class Aliases(ReferenceMemory):
    """Keeps what it was given."""

    def __init__(self, path, branch):
        super().__init__(path, branch)
        self.kept = {}

    def put(self, scope, entries):
        super().put(scope, entries)
        self.kept |= {(*scope, key): value for key, value in entries.items()}

    def get(self, scope, key):
        return self.kept.get((*scope, key))


class CommitForEach(ReferenceMemory):
    def put(self, scope, entries):
        for key, value in entries.items():
            super().put(scope, {key: value})


class ThroughStaging(ReferenceMemory):
    """The original's way: stage, then commit."""

    def put(self, scope, entries):
        with mnem.open(self.store.root) as head:
            for key, value in entries.items():
                head.add(self.node_id(scope, key), self.content(scope, key, value))
            head.commit("put")


class ReadsDrafts(ReferenceMemory):
    def get(self, scope, key):
        with mnem.open(self.store.root) as head:
            node = head.working_node(self.node_id(scope, key))
        return None if node is None else node.content


class ReadsThenWrites(ReferenceMemory):
    """All items in one node, read and written in two steps."""

    def put(self, scope, entries):
        node = self.store.get("items:all")
        items = [] if node is None else node.content
        items += [[list(scope), key, value] for key, value in entries.items()]
        self.store.write({"items:all": items}, message="put")

    def list(self, scope):
        node = self.store.get("items:all")
        items = [] if node is None else node.content
        return [
            self.entry(mnem.MemoryNode(keys.join(*scope, key), value))
            for scope, key, value in items
        ]


class Hides(ReferenceMemory):
    """Forgets by a mark."""

    def forget(self, scope, key):
        id = self.node_id(scope, key)
        self.store.write({id: {"was": self.store.get(id).content}}, message="hide")

    def entry(self, node):
        return None if "was" in node.content else super().entry(node)


class SearchesTheDead(ReferenceMemory):
    def search(self, scope, text):
        nodes = self.store.state_at("HEAD~1").values()
        return [entry for node in nodes if text in repr((entry := self.entry(node)).value)]


class BlamesTheTip(ReferenceMemory):
    def why(self, scope, key):
        return next(iter(self.store.blame(id) for id in reversed(self.store.memory())))


class HistoryOldestFirst(ReferenceMemory):
    def history(self, limit):
        return self.store.log()[::-1][:limit]


class MovesHead(ReferenceMemory):
    def __init__(self, path, branch):
        self._store = mnem.open(path)
        if branch is not None:
            self._store.checkout(create=branch)


class OnlyInMemory(ReferenceMemory):
    def __init__(self, path, branch):
        super().__init__(path, branch)
        self._store = mnem.open(":memory:")


class ClearsAll(ReferenceMemory):
    def forget(self, scope, key):
        self.store.write(dict.fromkeys(self.store.memory()), message="clear")


class ListsOthers(ReferenceMemory):
    def list(self, scope):
        return [entry for node in self.store.memory().values() if (entry := self.entry(node))]


class MakesStores(ReferenceMemory):
    def __init__(self, path, branch):
        try:
            super().__init__(path, branch)
        except mnem.MnemError:
            self._store = mnem.open(":memory:")


class NoBlame(ReferenceMemory):
    def why(self, scope, key):
        try:
            return super().why(scope, key)
        except mnem.MnemError:
            return None


BROKEN = [
    (ColonsMeet, "keys_are_injective"),
    (NamesMeet, "keys_are_injective"),
    (NamesMeet, "a_prefix_means_whole_segments"),
    (PrefixesOfText, "keys_are_injective"),
    (PrefixesOfText, "a_prefix_means_whole_segments"),
    (MissesRaise, "a_missing_item_is_none"),
    (FloatsEverywhere, "values_come_back"),
    (Aliases, "values_are_copies"),
    (CommitForEach, "one_call_is_at_most_one_commit"),
    (CommitForEach, "a_failed_batch_leaves_nothing"),
    (ThroughStaging, "nothing_uncommitted_is_seen"),
    (ReadsDrafts, "nothing_uncommitted_is_seen"),
    (ThroughStaging, "a_failed_batch_leaves_nothing"),
    (ReadsThenWrites, "threads_lose_nothing"),
    (ReadsThenWrites, "one_event_loop_loses_nothing"),
    (ReadsThenWrites, "two_processes_lose_nothing"),
    (Hides, "what_is_forgotten_is_gone"),
    (SearchesTheDead, "searches_find_what_is_there"),
    (BlamesTheTip, "history_and_blame_reach_through"),
    (HistoryOldestFirst, "history_and_blame_reach_through"),
    (MovesHead, "a_branch_is_apart"),
    (OnlyInMemory, "it_is_there_after_reopening"),
    (ListsOthers, "others_on_the_store_are_not_disturbed"),
    (ClearsAll, "others_on_the_store_are_not_disturbed"),
    (MakesStores, "a_missing_store_is_named"),
    (MakesStores, "a_store_from_the_future_is_refused"),
    (MakesStores, "a_damaged_store_is_told"),
    (NoBlame, "an_item_that_never_was_has_no_blame"),
]


class Broken(Reference):
    def __init__(self, memory=None):
        # Another process makes the class without arguments; it has the one fault that matters.
        self.memory = memory or ReadsThenWrites

    def open(self, path, branch=None):
        return self.memory(path, branch)


@pytest.mark.parametrize(("memory", "promise"), BROKEN)
def test_a_broken_promise_is_told(memory, promise, tmp_path):
    path = str(tmp_path / "store")
    mnem.init(path).close()
    adapter = Broken(memory)
    given = {"adapter": adapter, "path": path, "tmp_path": tmp_path}
    check = getattr(Contract, f"test_{promise}")
    if "memory" in check.__code__.co_varnames[: check.__code__.co_argcount]:
        given["memory"] = adapter.open(path)
    wanted = check.__code__.co_varnames[1 : check.__code__.co_argcount]
    # An assert, a `raises` that saw nothing, or what the broken adapter itself ran into.
    with pytest.raises((AssertionError, pytest.fail.Exception, LookupError, mnem.MnemError)):
        check(Contract(), **{name: given[name] for name in wanted})


def test_every_promise_is_broken_once():
    promises = {name.removeprefix("test_") for name in vars(Contract) if name.startswith("test_")}
    assert promises == {promise for _, promise in BROKEN}


def test_what_is_lacking_is_skipped_with_its_reason(pytester):
    pytester.makepyfile(
        """
        import pytest
        from mnem_conformance import Adapter, Contract

        class Lacking(Adapter):
            lacks = {"values_come_back": "it holds no values"}
            def open(self, path, branch=None):
                raise NotImplementedError

        @pytest.fixture
        def adapter():
            return Lacking()

        class TestLacking(Contract):
            pass
        """
    )
    result = pytester.runpytest("-rs", "-p", "no:asyncio", "-k", "values_come_back")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*it holds no values*"])
