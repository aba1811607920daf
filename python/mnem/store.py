"""The store: :class:`Store`.

Long: one class, and each method's documentation stands beside it.
"""

from __future__ import annotations

import atexit
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from . import _mnem
from ._history import History
from ._scopes import BranchScope, LocalRows
from .errors import InvalidRefError, StoreExistsError, expect
from .types import MemoryNode, Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

    from typing_extensions import Self

    from ._mnem import Snapshot
    from .types import (
        Carried,
        MergeResult,
        Move,
        UndoResult,
    )

__all__ = ["Store"]

_MEMORY = ":memory:"


def _is_memory(path: str | os.PathLike[str]) -> bool:
    expect("path", path, (str, os.PathLike), "a str or a path")
    return os.fspath(path) == _MEMORY


_open_stores: WeakSet[Store] = WeakSet()


@atexit.register
def _close_all() -> None:
    for store in list(_open_stores):
        store.close()


# A forked child goes on with its handles; their files are its parent's.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_mnem.before_fork,
        after_in_parent=_mnem.after_fork_in_parent,
        after_in_child=_mnem.after_fork_in_child,
    )


class Store(History):
    """A handle of an open store: an agent's memory under version control.

    Made by :func:`mnem.init` and :func:`mnem.open`. Cheap; may be shared between threads, and
    used on both sides of a fork (a store in memory if no other thread uses it when the process
    forks; each side then has its own); a context manager that closes it. Every method raises
    :class:`mnem.MnemError` or one of its subclasses; on a closed handle
    :class:`mnem.StoreIoError`; for an argument of a wrong type an InvalidRefError that is a
    TypeError too, and for a number out of range one that is an OverflowError too.

    *Committed memory* is what :meth:`get`, :meth:`memory` and :meth:`exists` read and what
    :meth:`write`, :meth:`update` and :mod:`mnem.agents` change, one commit a call. *Staging*
    (:meth:`add`, :meth:`rm`, :meth:`commit`) is a person's scratch area over it, which only
    the ``working_`` reads show.

    A revision, wherever one is taken, is a branch, a commit id or a prefix of at least four
    digits, ``HEAD``, or where a branch was, ``BRANCH@{TIME}`` (``@{TIME}`` of this handle's); each
    may have ``~N`` and ``^N`` after it.

    >>> with mnem.open(":memory:") as store:
    ...     _ = store.add("plan", "enterprise", provenance=mnem.Provenance(source="ticket-4821"))
    ...     _ = store.commit("learn the plan", author="support-agent")
    ...     store.blame("plan").provenance.source
    'ticket-4821'
    """

    def __init__(self, handle: _mnem.Store) -> None:
        expect("handle", handle, _mnem.Store, "what mnem.open(path) or mnem.init(path) makes")
        self._handle = handle
        _open_stores.add(self)

    def __repr__(self) -> str:
        bound = self._handle.bound
        branch = "" if bound is None else f" branch={bound!r}"
        return f"<mnem.Store root={str(self.root)!r}{branch}>"

    @classmethod
    def init(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        default_branch: str | None = None,
        reproducible: bool = False,
        allow_network: bool = False,
        exist_ok: bool = False,
    ) -> Self:
        """Make a store and open it: see :func:`mnem.init`.

        >>> mnem.Store.init(":memory:", default_branch="trunk").head()
        'ref: trunk'
        """
        expect("exist_ok", exist_ok, bool, "a bool")
        if _is_memory(path):
            return cls(_mnem.in_memory(default_branch, reproducible))
        try:
            return cls(_mnem.init(path, default_branch, reproducible, allow_network))
        except StoreExistsError:
            if not (exist_ok and Path(path).is_dir()):
                raise
            store = cls.open(path, allow_network=allow_network)
            # One above the directory is another one.
            if Path(path).samefile(store.root):
                return store
            store.close()
            raise

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        busy_timeout: float = 10.0,
        allow_network: bool = False,
    ) -> Self:
        """Open a store: see :func:`mnem.open`.

        >>> mnem.Store.open(":memory:")
        <mnem.Store root=':memory:'>
        """
        if _is_memory(path):
            return cls(_mnem.in_memory(None, False))
        return cls(_mnem.open(path, busy_timeout, allow_network))

    def close(self) -> None:
        """Close this handle. Others of the same store stay open; closing twice does nothing.

        >>> store = mnem.open(":memory:")
        >>> store.close()
        >>> store.head()
        Traceback (most recent call last):
            ...
        mnem.StoreIoError: this handle of the store is closed
        """
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def root(self) -> Path:
        """The directory that contains ``.mnem/``; ``Path(":memory:")`` of a store in memory."""
        root = self._handle.root
        return Path(_MEMORY) if root is None else root

    @property
    def format_version(self) -> int:
        """The version of the store's format."""
        return self._handle.format_version

    def head(self) -> str:
        """Where this handle is: ``"ref: BRANCH"``, or the commit id of a detached HEAD.

        >>> store = mnem.open(":memory:")
        >>> commit = store.write({"plan": "basic"}, message="learn")
        >>> store.head()
        'ref: main'
        >>> store.checkout(commit)
        >>> store.head() == commit
        True
        """
        return self._handle.head()

    def head_commit(self) -> str | None:
        """The id of the commit this handle is at; ``None`` on a branch without a commit.

        >>> store = mnem.open(":memory:")
        >>> store.head_commit() is None
        True
        >>> store.write({"plan": "basic"}, message="learn") == store.head_commit()
        True
        """
        return self._handle.head_commit()

    def resolve(self, spec: str) -> str:
        """The id of the commit that a revision names; InvalidRefError when it names none.

        >>> store = mnem.open(":memory:")
        >>> first, second = (store.write({"n": n}, message="count") for n in range(2))
        >>> store.resolve("main") == store.resolve(second[:12]) == second
        True
        >>> store.resolve("HEAD~1") == first
        True
        """
        return self._handle.resolve(spec)

    # ---- branches ----

    def branches(self) -> list[tuple[str, str]]:
        """Every branch with the id of the commit it points at, in the order of the names.

        >>> store = mnem.open(":memory:")
        >>> commit = store.write({"plan": "basic"}, message="learn")
        >>> store.new_branch("hypothesis")
        >>> store.branches() == [("hypothesis", commit), ("main", commit)]
        True
        """
        return self._handle.branches()

    def new_branch(self, name: str, *, start: str | None = None) -> None:
        """Make a branch at a revision, or where this handle is. HEAD stays.

        InvalidRefError when the name is not valid or taken, or there is no commit to start at.

        >>> store = mnem.open(":memory:")
        >>> for plan in ("basic", "enterprise"):
        ...     _ = store.write({"plan": plan}, message="learn")
        >>> store.new_branch("before", start="HEAD~1")
        >>> store.head(), store.on("before").get("plan").content
        ('ref: main', 'basic')
        """
        self._handle.new_branch(name, start)

    def delete_branch(self, name: str) -> bool:
        """Delete a branch; its commits stay. False when there is no such branch.

        InvalidRefError for the branch HEAD is on and for the last one.

        >>> store = mnem.open(":memory:")
        >>> commit = store.write({"plan": "basic"}, message="learn")
        >>> store.new_branch("hypothesis")
        >>> store.delete_branch("hypothesis"), store.delete_branch("hypothesis")
        (True, False)
        """
        return self._handle.delete_branch(name)

    def checkout(
        self, target: str | None = None, *, create: str | None = None, discard: bool = False
    ) -> None:
        """Move HEAD to a branch, or to a commit, which detaches it.

        ``create`` makes a branch at ``target``, or where HEAD is, and moves to it.
        InvalidRefError over staged changes, unless ``discard`` drops them, and when neither
        argument is given; a branch that starts at a detached HEAD takes them along. Where HEAD is
        already, nothing is done.

        >>> store = mnem.open(":memory:")
        >>> _ = store.write({"plan": "basic"}, message="learn")
        >>> store.checkout(create="hypothesis")
        >>> _ = store.write({"plan": "enterprise"}, message="guess")
        >>> store.checkout("main")
        >>> store.get("plan").content
        'basic'
        """
        if create is not None:
            self._handle.checkout_new(create, target, discard)
        elif target is not None:
            self._handle.checkout(target, discard)
        else:
            raise InvalidRefError(
                "checkout needs a target, or create= to make a branch",
                hint="`mnem branch` lists the branches",
            )

    def branch(self, name: str, *, start: str | None = None) -> BranchScope:
        """Make a branch; as a context manager, be on it inside and back where HEAD was after.

        What is staged inside and not committed is dropped at the end of the block.
        InvalidRefError as for :meth:`new_branch`, and over staged changes, before the branch
        is made; and to enter it from a branch without a commit, to which no way leads back.

        >>> store = mnem.open(":memory:")
        >>> _ = mnem.agents.remember(store, "plan", "basic")
        >>> with store.branch("hypothesis"):
        ...     _ = mnem.agents.remember(store, "plan", "enterprise")
        >>> store.head(), store.get("plan").content
        ('ref: main', 'basic')
        """
        drafts = [id for id, _ in self.staged()] + self.staged_deletions()
        if drafts:
            raise InvalidRefError(
                f"cannot go to a new branch over staged changes ({', '.join(drafts[:5])})",
                hint="`mnem commit -m MESSAGE` keeps the staged changes; `mnem status` lists them",
            )
        self.new_branch(name, start=start)
        return BranchScope(self, name)

    def on(self, branch: str) -> Store:
        """A handle that reads and writes one branch and never moves HEAD.

        A missing branch is made at the default branch's tip; where that has no commit yet,
        the first write makes both. Such a handle has no staging: ``add``, ``rm``, ``unstage``,
        ``commit`` and ``checkout`` on it are refused with InvalidRefError.

        >>> store = mnem.open(":memory:")
        >>> _ = mnem.agents.remember(store, "plan", "basic")
        >>> _ = mnem.agents.remember(store.on("agent-a"), "plan", "enterprise")
        >>> store.get("plan").content, store.on("agent-a").get("plan").content
        ('basic', 'enterprise')
        """
        return type(self)(self._handle.on(branch))

    # ---- staging ----

    def add(
        self,
        id: str,
        content: Any,
        *,
        content_kind: str = "note",
        provenance: Provenance | None = None,
        event_time: int | None = None,
    ) -> str:
        """Stage a node for the next commit; returns the id of the node object.

        Arguments are the fields of :class:`mnem.MemoryNode`. InvalidRefError, which is a
        ValueError, for content outside its rules, with the path to the value; of a type that
        cannot be stored it is a TypeError too.

        >>> mnem.open(":memory:").add("cart", {"items": [{"price": float("nan")}]})
        Traceback (most recent call last):
            ...
        mnem.InvalidRefError: content.items[0].price: not a finite number
        """
        return self.add_node(
            MemoryNode(id, content, content_kind, provenance or Provenance(), event_time)
        )

    def add_node(self, node: MemoryNode) -> str:
        """Stage a node for the next commit: see :meth:`add`.

        >>> store = mnem.open(":memory:")
        >>> _ = store.add_node(mnem.MemoryNode("plan", "basic", content_kind="claim"))
        >>> store.working_node("plan").content_kind
        'claim'
        """
        return self._handle.stage(node)

    def rm(self, node_id: str) -> None:
        """Stage the removal of a node; one that is only staged is unstaged.

        InvalidRefError when neither committed nor working memory has such a node.

        >>> store = mnem.open(":memory:")
        >>> _ = store.write({"plan": "basic"}, message="learn")
        >>> store.rm("plan")
        >>> store.staged_deletions(), store.exists("plan")
        (['plan'], True)
        """
        self._handle.remove(node_id)

    def unstage(self, node_id: str) -> bool:
        """Take a node out of staging, be it an addition or a removal; False when it is not there.

        >>> store = mnem.open(":memory:")
        >>> _ = store.add("plan", "basic")
        >>> store.unstage("plan"), store.unstage("plan")
        (True, False)
        """
        return self._handle.unstage(node_id)

    def staged(self) -> list[tuple[str, str]]:
        """The staged nodes: node id and id of the node object, in the order of the node ids.

        >>> store = mnem.open(":memory:")
        >>> version = store.add("plan", "basic")
        >>> store.staged() == [("plan", version)]
        True
        """
        return self._handle.staged()[0]

    def staged_deletions(self) -> list[str]:
        """The ids whose removal is staged, in order.

        >>> store = mnem.open(":memory:")
        >>> _ = store.write({"plan": "basic", "seats": 3}, message="learn")
        >>> store.rm("seats")
        >>> store.staged_deletions()
        ['seats']
        """
        return self._handle.staged()[1]

    def commit(
        self,
        message: str,
        *,
        author: str | None = None,
        time_ms: int | None = None,
        allow_empty: bool = False,
    ) -> str:
        """Commit what is staged; returns the commit's id.

        ``author`` is the environment's ``MNEM_AUTHOR`` unless given, else ``"unknown"``;
        ``time_ms`` is Unix milliseconds, now unless given. With nothing to commit, returns the
        current commit (``allow_empty`` makes one all the same). InvalidRefError when there is
        none, and on a detached HEAD.

        >>> store = mnem.open(":memory:")
        >>> _ = store.add("plan", "basic")
        >>> commit = store.commit("learn the plan", author="ada", time_ms=1_700_000_000_000)
        >>> store.commit("nothing more") == commit
        True
        >>> store.log()[0].author, store.log()[0].time
        ('ada', 1700000000000)
        """
        return self._handle.commit(message, author, time_ms, allow_empty)

    # ---- reading ----

    def get(self, id: str) -> MemoryNode | None:
        """One node of committed memory; ``None`` when there is none with this id.

        >>> store = mnem.open(":memory:")
        >>> _ = store.write({"plan": {"name": "basic"}}, message="learn")
        >>> store.get("plan").content, store.get("seats")
        ({'name': 'basic'}, None)
        """
        return self._handle.get(id)

    def exists(self, id: str) -> bool:
        """Whether committed memory has a node; a staged one is not there yet.

        >>> store = mnem.open(":memory:")
        >>> _ = store.write({"plan": "basic"}, message="learn")
        >>> _ = store.add("seats", 3)
        >>> store.exists("plan"), store.exists("seats")
        (True, False)
        """
        return self._handle.exists(id)

    def memory(
        self, *, prefix: str | None = None, after: str | None = None, limit: int | None = None
    ) -> dict[str, MemoryNode]:
        """Committed memory by node id, in the order of the ids.

        Only ids that begin with ``prefix`` and come after ``after``, and at most ``limit`` nodes:
        the next page begins after the last id of this one.

        >>> store = mnem.open(":memory:")
        >>> _ = store.write({"user:1": "Ada", "user:2": "Grace", "plan": 1}, message="learn")
        >>> [node.content for node in store.memory(prefix="user:").values()]
        ['Ada', 'Grace']
        >>> list(store.memory(after="plan", limit=1)), list(store.memory(after="user:1", limit=1))
        (['user:1'], ['user:2'])
        """
        return self._handle.memory(prefix, after, limit)

    def ids(
        self,
        *,
        at: str | None = None,
        prefix: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[str]:
        """The ids of committed memory, in order; no node is read.

        ``at`` is a revision, the branch's tip unless given; the rest is as in :meth:`memory`.
        InvalidRefError when ``at`` names no commit.

        >>> store = mnem.open(":memory:")
        >>> _ = store.write({"user:1": "Ada", "user:2": "Grace", "plan": 1}, message="learn")
        >>> store.ids(), store.ids(prefix="user:", after="user:1")
        (['plan', 'user:1', 'user:2'], ['user:2'])
        """
        return self._handle.ids(at, prefix, after, limit)

    def working_node(self, node_id: str) -> MemoryNode | None:
        """One node of working memory: committed memory with staging over it.

        ``None`` when there is none with this id.

        >>> store = mnem.open(":memory:")
        >>> _ = store.add("plan", "basic")
        >>> store.working_node("plan").content, store.get("plan")
        ('basic', None)
        """
        return self._handle.working_node(node_id)

    def working_memory(
        self, *, prefix: str | None = None, after: str | None = None, limit: int | None = None
    ) -> dict[str, MemoryNode]:
        """Working memory by node id: committed memory with staging over it.

        ``prefix``, ``after`` and ``limit`` are as in :meth:`memory`.

        >>> store = mnem.open(":memory:")
        >>> _ = store.write({"plan": "basic", "seats": 3}, message="learn")
        >>> _ = store.add("plan", "enterprise")
        >>> store.rm("seats")
        >>> {id: node.content for id, node in store.working_memory().items()}
        {'plan': 'enterprise'}
        """
        return self._handle.working_memory(prefix, after, limit)

    def state_at(
        self,
        commit: str,
        *,
        prefix: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> dict[str, MemoryNode]:
        """Memory at a revision, by node id. InvalidRefError when it names no commit.

        ``prefix``, ``after`` and ``limit`` are as in :meth:`memory`.

        >>> store = mnem.open(":memory:")
        >>> for plan in ("basic", "enterprise"):
        ...     _ = store.write({"plan": plan}, message="learn")
        >>> store.state_at("HEAD~1")["plan"].content
        'basic'
        """
        return self._handle.memory_at(commit, prefix, after, limit)

    # ---- writing ----

    def write(
        self,
        changes: Mapping[str, Any],
        *,
        message: str,
        author: str | None = None,
        time_ms: int | None = None,
        base: str | None = None,
        allow_empty: bool = False,
        local: Iterable[tuple[str, bytes, bytes | None]] = (),
    ) -> str:
        """Write changes as one commit on this handle's branch; returns the commit's id.

        ``changes`` maps node ids to content, to a :class:`mnem.MemoryNode`, or to ``None``,
        which removes the node (content that *is* null takes a MemoryNode). All or nothing, in
        one transaction, beside staging. A write that changes nothing makes no commit and
        returns the current one. With ``base``, a revision, ConflictError when the branch no
        longer says what it said there of a node that is changed. ``local`` has rows of
        :meth:`local` that are written in the same transaction, each the name of its owner, a key
        and a value, or ``None``, which deletes it; a write that changes nothing writes them too.
        ``author`` and ``time_ms`` are as in :meth:`commit`. InvalidRefError for what :meth:`add`
        refuses and on a detached HEAD.

        >>> store = mnem.open(":memory:")
        >>> first = store.write({"plan": "basic", "seats": 3}, message="learn")
        >>> _ = store.write({"seats": None}, message="the seats were a guess", base=first)
        >>> list(store.memory())
        ['plan']
        >>> vector = ("vectors", b"plan", b"1")
        >>> _ = store.write({"plan": "pro"}, message="learn", local=[vector])
        >>> store.local("vectors").get(b"plan")
        b'1'
        """
        return self._handle.write(changes, message, author, time_ms, base, allow_empty, local)

    def update(
        self,
        fn: Callable[[Snapshot], Mapping[str, Any]],
        *,
        message: str,
        author: str | None = None,
        time_ms: int | None = None,
        base: str | None = None,
        allow_empty: bool = False,
        local: Iterable[tuple[str, bytes, bytes | None]] = (),
    ) -> str:
        """Read, decide and write in one turn; returns the commit's id.

        ``fn`` is given the memory its changes land on and returns changes as for
        :meth:`write`, whose other arguments and errors are these too. No other write of this
        process comes between, so it must be quick: a write to the store from inside it is a
        ConflictError. What it raises comes out as it is, and nothing is written.

        >>> store = mnem.open(":memory:")
        >>> def count(memory):
        ...     seen = memory.get("visits")
        ...     return {"visits": 1 if seen is None else seen.content + 1}
        >>> for _ in range(3):
        ...     _ = store.update(count, message="one more visit")
        >>> store.get("visits").content
        3
        """
        return self._handle.update(fn, message, author, time_ms, base, allow_empty, local)

    def merge(
        self,
        theirs: str,
        *,
        resolutions: dict[str, str | MemoryNode] | None = None,
        strategy: str | None = None,
        message: str | None = None,
        author: str | None = None,
        time_ms: int | None = None,
        allow_unrelated: bool = False,
    ) -> MergeResult:
        """Merge a revision into this handle's branch, node by node.

        What both sides changed apart is a conflict; with conflicts nothing is written.
        ``resolutions`` answers each by node id with ``"ours"``, ``"theirs"``, ``"base"``,
        ``"delete"`` or a node; ``strategy``, ``"ours"`` or ``"theirs"``, answers the rest.
        ``allow_unrelated`` merges also a line that shares no commit, over the empty memory.
        InvalidRefError over staged changes, for a resolution of what is no conflict, and for a
        resolving node with another id. ``author`` and ``time_ms`` are as in :meth:`commit`.

        >>> store = mnem.open(":memory:")
        >>> _ = mnem.agents.remember(store, "plan", "basic")
        >>> with store.branch("other"):
        ...     _ = mnem.agents.remember(store, "plan", "enterprise")
        >>> _ = mnem.agents.remember(store, "plan", "team")
        >>> [conflict.kind for conflict in store.merge("other").conflicts]
        ['edit/edit']
        >>> store.merge("other", resolutions={"plan": "theirs"}).status
        'merged'
        """
        return self._handle.merge(
            theirs, resolutions, strategy, message, author, time_ms, allow_unrelated
        )

    # ---- a way back ----

    def revert(
        self,
        commit: str,
        *,
        resolutions: dict[str, str | MemoryNode] | None = None,
        strategy: str | None = None,
        message: str | None = None,
        author: str | None = None,
        time_ms: int | None = None,
    ) -> MergeResult:
        """Take back what one commit changed, with a new commit on this handle's branch.

        Of a merge, what it changed against its first parent; of a root, all it added. What was
        changed again since is a conflict, answered as in :meth:`merge`: ours is what the branch
        says, theirs what was before the commit, base what the commit left. InvalidRefError over
        staged changes, on a detached HEAD and on a branch without a commit.

        >>> store = mnem.open(":memory:")
        >>> _ = mnem.agents.remember(store, "plan", "basic")
        >>> wrong = mnem.agents.remember(store, "plan", "enterprise")
        >>> _ = mnem.agents.remember(store, "seats", 3)
        >>> store.revert(wrong).status
        'reverted'
        >>> store.get("plan").content
        'basic'
        """
        return self._handle.revert(commit, resolutions, strategy, message, author, time_ms)

    def restore(
        self,
        id: str,
        at: str,
        *,
        message: str | None = None,
        author: str | None = None,
        time_ms: int | None = None,
    ) -> str:
        """Bring one node back as it was at a revision; returns the commit that says it.

        That is the current one when nothing changes. NotFoundError when the node was not there.

        >>> store = mnem.open(":memory:")
        >>> first = mnem.agents.remember(store, "plan", "basic")
        >>> _ = mnem.agents.forget(store, "plan")
        >>> _ = store.restore("plan", first)
        >>> store.get("plan").content
        'basic'
        """
        return self._handle.restore(id, at, message, author, time_ms)

    def undo(
        self,
        *,
        by: str | None = None,
        resolutions: dict[str, str | MemoryNode] | None = None,
        strategy: str | None = None,
        message: str | None = None,
        author: str | None = None,
        time_ms: int | None = None,
    ) -> UndoResult:
        """Take back the last move of this handle's branch; an undo is a move too.

        The branch is moved back when its tip is still what that move left. Otherwise, and always
        for the last move ``by`` one author, what it changed is taken back by a new commit as
        :meth:`revert` does. ``author`` is who undoes. InvalidRefError when there is nothing to
        undo, over staged changes and on a detached HEAD.

        >>> store = mnem.open(":memory:")
        >>> _ = mnem.agents.remember(store, "plan", "basic")
        >>> _ = mnem.agents.remember(store, "plan", "enterprise")
        >>> store.undo().status, store.get("plan").content
        ('moved-back', 'basic')
        >>> store.undo().status, store.get("plan").content
        ('moved-back', 'enterprise')
        """
        return self._handle.undo(by, resolutions, strategy, message, author, time_ms)

    def reflog(self, branch: str | None = None, *, limit: int | None = None) -> list[Move]:
        """The moves of a branch, newest first; of this handle's branch unless one is named.

        A deleted branch keeps its moves. InvalidRefError for one that never was, and on a
        detached HEAD.

        >>> store = mnem.open(":memory:")
        >>> first = mnem.agents.remember(store, "plan", "basic")
        >>> second = mnem.agents.remember(store, "plan", "enterprise")
        >>> [(move.old, move.new) for move in store.reflog(limit=1)] == [(first, second)]
        True
        """
        return self._handle.reflog(branch, limit)

    # ---- in and out ----

    def export(self, path: str | os.PathLike[str]) -> Carried:
        """Write the whole store to a file, which :func:`mnem.import_store` makes a store of.

        It holds every commit that a branch or HEAD reaches, the branches and HEAD. The reflog,
        staging and local rows stay behind. The file is there whole or as it was. StoreIoError
        when it cannot be written; InvalidRefError when something stands there that is no file, and
        among the files of a store.

        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     store = mnem.open(":memory:")
        ...     _ = mnem.agents.remember(store, "plan", "basic")
        ...     store.export(pathlib.Path(directory) / "memory.jsonl").commits
        1
        """
        return self._handle.export(path)

    # ---- beside memory ----

    def local(self, name: str) -> LocalRows:
        """Rows of bytes that an adapter keeps beside memory, under a name of its own.

        >>> store = mnem.open(":memory:")
        >>> store.local("vectors").set(b"plan", b"1")
        >>> store.local("vectors").get(b"plan"), store.local("expiry").get(b"plan")
        (b'1', None)
        """
        expect("name", name, str, "a str")
        return LocalRows(self._handle, name)
