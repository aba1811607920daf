"""What a store answers about its past, and whether it is whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .errors import InvalidRefError, expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from . import _mnem
    from .types import Blame, Commit, Flip, Fsck, MemoryNode, NodeChange, Verified

__all__ = ["History"]

_UNSET: Any = object()


def _one_or_many(name: str, told: str | Iterable[str] | None) -> list[str] | None:
    if told is None or isinstance(told, str):
        return None if told is None else [told]
    expect(name, told, Iterable, "a str, or several")
    return list(told)


class History:
    """The part of :class:`mnem.Store` that reads history."""

    _handle: _mnem.Store

    def log(
        self,
        *,
        first_parent: bool = False,
        limit: int | None = None,
        node: str | Iterable[str] | None = None,
        at: str | Iterable[str] | None = None,
    ) -> list[Commit]:
        """The history, newest first: a child always before its parents, HEAD first.

        ``first_parent`` leaves out what merges brought; ``limit`` reads only what it returns.
        With ``node``, the id of one, only the commits that made it say what no parent says, or
        removed it; that costs its changes and not the history. With the ids of several, those
        that did so to any of them. ``at`` is the revision to begin at, HEAD unless given, or
        several. Empty on a branch without a commit; InvalidRefError when ``at`` names none, and
        for several with ``first_parent``.

        A page of the history ends anywhere: the next one begins at the parents of what was shown
        that were not shown.

        >>> store = mnem.open(":memory:")
        >>> _ = mnem.agents.remember(store, "plan", "basic")
        >>> _ = mnem.agents.revise(store, "plan", "enterprise")
        >>> [commit.message for commit in store.log()]
        ['revise plan', 'remember plan']
        >>> _ = mnem.agents.remember(store, "seats", 3)
        >>> [commit.message for commit in store.log(node="plan", limit=1)]
        ['revise plan']
        >>> [commit.message for commit in store.log(at="HEAD~2")]
        ['remember plan']
        >>> [commit.message for commit in store.log(node=["plan", "seats"], limit=2)]
        ['remember seats', 'revise plan']
        """
        nodes, starts = _one_or_many("node", node), _one_or_many("at", at)
        if nodes == [] or starts == []:
            return []
        return self._handle.log(first_parent, limit, nodes, starts)

    def diff(self, frm: str | None = None, to: str | None = None) -> list[NodeChange]:
        """What changed between two revisions, in the order of the ids.

        ``frm`` is HEAD unless given; ``to`` is working memory. InvalidRefError when either
        names no commit.

        >>> store = mnem.open(":memory:")
        >>> _ = store.write({"plan": "basic"}, message="learn")
        >>> _ = store.write({"plan": "enterprise", "seats": 3}, message="learn more")
        >>> [(change.kind, change.id) for change in store.diff("HEAD~1", "HEAD")]
        [('modified', 'plan'), ('added', 'seats')]
        """
        return self._handle.diff(frm, to)

    def changed_by(self, commit: str) -> dict[str, str]:
        """What a commit changed against its first parent, by node id.

        Values are ``"added"``, ``"modified"`` or ``"removed"``. InvalidRefError when the
        revision names no commit.

        >>> store = mnem.open(":memory:")
        >>> _ = store.write({"plan": "basic", "seats": 3}, message="learn")
        >>> store.changed_by(store.write({"plan": "enterprise", "seats": None}, message="revise"))
        {'plan': 'modified', 'seats': 'removed'}
        """
        return self._handle.changed_by(commit)

    def blame(self, node_id: str, at: str | None = None) -> Blame:
        """Which commit set what a node says, through merges; of a node that is gone, the remover.

        ``at`` is a revision, HEAD unless given. InvalidRefError of a node that never was.

        >>> store = mnem.open(":memory:")
        >>> commit = mnem.agents.remember(store, "plan", "basic", source="ticket-4821")
        >>> _ = mnem.agents.remember(store, "seats", 3)
        >>> blame = store.blame("plan")
        >>> blame.commit == commit, blame.provenance.source
        (True, 'ticket-4821')
        """
        return self._handle.blame(node_id, at)

    def bisect(
        self,
        predicate: Callable[[dict[str, MemoryNode]], bool],
        *,
        bad: str | None = None,
        good: str | None = None,
    ) -> str:
        """The commit after ``good``, up to ``bad``, at which a predicate began to hold.

        It is given memory at a commit, and taken to be false up to there and true from there
        on along first parents; it is asked about log2 of their number. ``bad`` is HEAD unless
        given; without ``good`` the answer may be the root. InvalidRefError when it is false
        at ``bad`` or true at ``good``. What it raises comes out as it is.

        >>> store = mnem.open(":memory:")
        >>> commits = [mnem.agents.remember(store, "n", n) for n in range(8)]
        >>> store.bisect(lambda memory: memory["n"].content > 4) == commits[5]
        True
        """
        return self._handle.bisect(predicate, bad, good)

    def flips(
        self,
        node_id: str,
        *,
        equals: Any = _UNSET,
        present: bool = False,
        absent: bool = False,
        bad: str | None = None,
        good: str | None = None,
    ) -> list[Flip]:
        """Every commit at which the answer to a question about a node changed, oldest first.

        The question is exactly one of: does its content equal ``equals`` (1, 1.0 and true are
        three values), is it ``present``, is it ``absent``. Looks at the first parents after
        ``good``, or from the root, up to ``bad``, or HEAD. InvalidRefError when either names no
        commit.

        >>> store = mnem.open(":memory:")
        >>> for value in (1, 2, 1):
        ...     _ = mnem.agents.remember(store, "n", value)
        >>> [flip.holds for flip in store.flips("n", equals=1)]
        [True, False, True]
        """
        asked = {"equals": equals is not _UNSET, "present": present, "absent": absent}
        tests = [test for test, is_asked in asked.items() if is_asked]
        if len(tests) != 1:
            raise InvalidRefError("flips takes exactly one of equals, present and absent")
        content = equals if asked["equals"] else None
        return self._handle.flips(node_id, tests[0], content, bad, good)

    def verify(self) -> Verified:
        """Read everything, hash it and check every rule; what is wrong is listed.

        >>> mnem.open(":memory:").verify().ok
        True
        """
        return self._handle.verify()

    def fsck(self) -> Fsck:
        """Check that everything in the store agrees; what does not is listed, nothing is changed.

        Beside what :meth:`verify` checks: the record of each commit, where each branch was last
        moved, HEAD, what is staged, and the index. :func:`mnem.repair` repairs.

        >>> mnem.open(":memory:").fsck().findings
        ()
        """
        return self._handle.fsck()
