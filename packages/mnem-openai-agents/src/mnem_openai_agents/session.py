"""The session: :class:`MnemosyneSession`.

Long: one class, and each method's documentation stands beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from inspect import iscoroutinefunction
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import mnem
from agents.memory import SessionSettings
from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
from mnem import InvalidRefError, MemoryNode, keys

from ._items import calls_in, is_user, provenance, refused, restored, stored, unanswered
from ._transcript import COUNTER, NUMBERS, Transcript, counted, is_counter

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from agents import RunContextWrapper, TResponseInputItem

_T = TypeVar("_T")

__all__ = ["MnemosyneSession"]

# How many of the newest commits are looked at one by one, and up to how many items are asked for.
_NEWEST = 64
_MOST = 100_000
# How often a merge starts over because the branch moved between its two looks.
_ATTEMPTS = 8


class MnemosyneSession:
    """A session whose every change is a commit, for ``Runner.run(..., session=session)``.

    ``MnemosyneSession(store, session_id)`` is one of many sessions on an open store;
    ``MnemosyneSession(session_id, path)`` opens the store at a directory and makes one where
    there is none; ``db_path`` is another name of ``path``. The default ``":memory:"``
    is a store of its own, gone when the session is closed.

    ``branch`` is the branch it reads and writes, HEAD's unless given. ``author`` is the author
    of its commits, or a function that gives one for the context of the run
    (``RunContextWrapper``, or ``None`` outside of a run). ``session_settings`` are the SDK's.

    Each item is a node of its own, each call of :meth:`add_items` one commit. The methods of the
    SDK's ``Session`` are coroutines; a write whose caller is cancelled is finished first. The
    others are plain functions, and may take the time of a few reads or a commit. Every error of
    the store is a :class:`mnem.MnemError`.

    >>> import asyncio, mnem
    >>> store = mnem.open(":memory:")
    >>> session = MnemosyneSession(store, "customer-4821")
    >>> asyncio.run(session.add_items([{"role": "user", "content": "Which plan am I on?"}]))
    >>> asyncio.run(session.get_items())
    [{'role': 'user', 'content': 'Which plan am I on?'}]
    >>> list(store.memory())
    ['customer-4821:0000000000', 'customer-4821:_seq']
    """

    session_id: str
    session_settings: SessionSettings | None

    @overload
    def __init__(
        self,
        store: mnem.Store,
        session_id: str,
        *,
        branch: str | None = None,
        author: str | Callable[[RunContextWrapper[Any] | None], str] = "agent",
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        session_id: str,
        path: str | os.PathLike[str] = ":memory:",
        *,
        db_path: str | os.PathLike[str] | None = None,
        branch: str | None = None,
        author: str | Callable[[RunContextWrapper[Any] | None], str] = "agent",
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None: ...

    def __init__(
        self,
        *places: Any,
        branch: str | None = None,
        author: str | Callable[[RunContextWrapper[Any] | None], str] = "agent",
        session_settings: SessionSettings | dict[str, Any] | None = None,
        **named: Any,
    ) -> None:
        on_store = "store" in named or (bool(places) and isinstance(places[0], mnem.Store))
        given, session_id = (_on_store if on_store else _at_path)(*places, **named)
        _expect("session_id", session_id, str, "a str")
        _expect("author", author, (str, Callable), "a str or a function")
        # A name that can be no key is refused before a store is made for it.
        keys.prefix(session_id)
        self.session_id = session_id
        self.session_settings = coerce_session_settings(
            SessionSettings() if session_settings is None else session_settings
        )
        self._author = author
        # A store that was given is its giver's to close.
        self._owned = not isinstance(given, mnem.Store)
        self._given = given if isinstance(given, mnem.Store) else _open(given)
        try:
            self._store = self._given.on(_branch_of(self._given) if branch is None else branch)
        except BaseException:
            self._let_go()
            raise

    def __repr__(self) -> str:
        return f"<MnemosyneSession {self.session_id!r} on {self._store!r}>"

    @property
    def store(self) -> mnem.Store:
        """A handle of the store, on this session's branch."""
        return self._store

    def close(self) -> None:
        """Let go of the store; it is closed if this session opened it.

        >>> session = MnemosyneSession("customer-4821")
        >>> session.close()
        >>> session.item_ids()
        Traceback (most recent call last):
            ...
        mnem.StoreIoError: this handle of the store is closed
        """
        self._store.close()
        self._let_go()

    # ---- the SDK's Session ----

    async def get_items(
        self, limit: int | None = None, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> list[TResponseInputItem]:
        """The items, oldest first: all of them, or the latest ``limit``.

        Without a ``limit`` that of ``session_settings`` holds; a negative one means all. A node
        that somebody made unreadable is left out and not counted. A dict comes back with its
        keys in the order of the store.

        >>> import asyncio
        >>> session = MnemosyneSession("customer-4821")
        >>> asyncio.run(session.add_items([{"role": "user", "content": text} for text in "abc"]))
        >>> [item["content"] for item in asyncio.run(session.get_items(limit=2))]
        ['b', 'c']
        """
        del wrapper
        limit = resolve_session_limit(limit, self.session_settings)
        _expect("limit", limit, (int, type(None)), "an int")
        return await asyncio.to_thread(self._items, self._store, limit)

    async def add_items(
        self,
        items: list[TResponseInputItem],
        *,
        wrapper: RunContextWrapper[Any] | None = None,
    ) -> None:
        """Append items, as one block and one commit; no items make none.

        Any JSON is kept exactly, also what a node's content cannot hold: that is kept as text. A
        tool's output gets its provenance from the call that it answers. TypeError or ValueError
        for what is no JSON; nothing is written then.

        >>> import asyncio
        >>> session = MnemosyneSession("customer-4821")
        >>> call = {"type": "function_call", "call_id": "c1", "name": "find_plan",
        ...         "arguments": '{"customer": 4821}'}
        >>> output = {"type": "function_call_output", "call_id": "c1", "output": "enterprise"}
        >>> asyncio.run(session.add_items([call, output]))
        >>> why = session.why(-1).provenance
        >>> why.source, why.tool_call, why.observation
        ('find_plan', 'find_plan({"customer": 4821})', 'enterprise')
        """
        _expect("items", items, Iterable, "a list of items")
        store, author = self._store, self._author_of(wrapper)
        await _whole(lambda: self._add(store, list(items), author))

    async def pop_item(
        self, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> TResponseInputItem | None:
        """Take the newest item away and return it; ``None`` when there is none.

        A commit that removes its node: history keeps it, and its number is not given again.

        >>> import asyncio
        >>> session = MnemosyneSession("customer-4821")
        >>> asyncio.run(session.add_items([{"role": "user", "content": "Never mind."}]))
        >>> asyncio.run(session.pop_item())
        {'role': 'user', 'content': 'Never mind.'}
        >>> asyncio.run(session.pop_item()) is None
        True
        """
        store, author = self._store, self._author_of(wrapper)
        return await _whole(lambda: self._pop(store, author))

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Take all items away, with one commit; history keeps them.

        >>> import asyncio
        >>> session = MnemosyneSession("customer-4821")
        >>> asyncio.run(session.add_items([{"role": "user", "content": text} for text in "abc"]))
        >>> asyncio.run(session.clear_session())
        >>> asyncio.run(session.get_items())
        []
        >>> [commit.message for commit in session.history()]
        ['clear customer-4821', 'add 3 items to customer-4821']
        """
        store, author = self._store, self._author_of(wrapper)
        await _whole(lambda: self._clear(store, author))

    # ---- branches ----

    def branch(self, name: str, *, start: str | None = None) -> str:
        """Make a branch of the whole memory, where this session is or at a revision.

        Returns its name; :meth:`switch` goes there. InvalidRefError when the name is taken or
        not valid, and when there is no commit yet.

        >>> import asyncio
        >>> session = MnemosyneSession("customer-4821")
        >>> asyncio.run(session.add_items([{"role": "user", "content": "Hello"}]))
        >>> session.switch(session.branch("hypothesis"))
        >>> asyncio.run(session.add_items([{"role": "user", "content": "What if?"}]))
        >>> session.switch("main")
        >>> len(asyncio.run(session.get_items()))
        1
        >>> session.merge("hypothesis").status
        'fast-forwarded'
        """
        self._store.new_branch(name, start=start)
        return name

    def switch(self, name: str) -> None:
        """Read and write another branch from now on, this session alone; HEAD stays.

        InvalidRefError when there is no such branch. See :meth:`branch`.
        """
        _expect("name", name, str, "a str")
        # A branch without a commit is not among them yet.
        if name not in dict(self._store.branches()) and self._store.head() != f"ref: {name}":
            raise InvalidRefError(f"no branch {name!r}", hint="`mnem branch` lists them")
        # Calls under way go on where they began, through the handle that they hold.
        self._store = self._store.on(name)

    def branch_from_turn(self, turn: int, name: str | None = None) -> str:
        """Make a branch on which this session stands as it did before one of its turns.

        Turns are the user's messages, counted from 1. The items from that one on are removed
        there, by a commit; all other memory is as it is now. Returns the branch's name, a new
        one unless given. InvalidRefError, which is a ValueError, when there is no such turn.

        >>> import asyncio
        >>> session = MnemosyneSession("customer-4821")
        >>> for text in ("Hello", "Cancel my order"):
        ...     asyncio.run(session.add_items([{"role": "user", "content": text}]))
        >>> session.switch(session.branch_from_turn(2, "keep-the-order"))
        >>> asyncio.run(session.get_items())
        [{'role': 'user', 'content': 'Hello'}]
        """
        _expect("turn", turn, int, "an int")
        store, tip = self._store, self._store.head_commit()
        items = self._at(store, tip).all()
        users = (number for number, _, item in _readable(items) if is_user(item))
        turns = list(users)
        if not 1 <= turn <= len(turns):
            raise InvalidRefError(
                f"no turn {turn} in session {self.session_id!r}, which has {len(turns)}"
            )
        name = f"turn-{turn}-{mnem.new_id()}" if name is None else name
        store.new_branch(name, start=tip)
        try:
            with store.on(name) as branch:
                branch.write(
                    {node.id: None for number, node in items if number >= turns[turn - 1]},
                    message=f"go back before turn {turn} of {self._label}",
                    author=self._author_of(None),
                )
        except BaseException:
            store.delete_branch(name)
            raise
        return name

    def merge(
        self,
        theirs: str,
        *,
        resolutions: dict[str, str | MemoryNode] | None = None,
        strategy: str | None = None,
        message: str | None = None,
    ) -> mnem.MergeResult:
        """Merge a revision into this session's branch: see :meth:`mnem.Store.merge`.

        It is a merge of the whole memory. Where both sides appended to a session, each of the
        numbers that both gave is an ``"add/add"`` conflict. Counters never are: the larger one
        is right. See :meth:`branch`.
        """
        store, author = self._store, self._author_of(None)
        for attempt in range(_ATTEMPTS):
            first = store.merge(theirs, resolutions=resolutions, message=message, author=author)
            counters = {
                conflict.id: node
                for conflict in first.conflicts
                if (node := _larger_counter(conflict)) is not None
            }
            if first.ok or (not counters and strategy is None):
                return first
            try:
                return store.merge(
                    theirs,
                    resolutions={**counters, **(resolutions or {})},
                    strategy=strategy,
                    message=message,
                    author=author,
                )
            except InvalidRefError:
                # Another write took a conflict away that is answered here.
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError

    # ---- history ----

    def item_ids(self) -> list[str]:
        """The node ids of the items, in the order of :meth:`get_items` without a limit.

        >>> import asyncio
        >>> session = MnemosyneSession("customer-4821")
        >>> asyncio.run(session.add_items([{"role": "user", "content": "Hello"}]))
        >>> session.item_ids()
        ['customer-4821:0000000000']
        """
        store = self._store
        return self._ids(store, store.head_commit())

    def why(self, item: int | str, at: str | None = None) -> mnem.Blame:
        """Which commit set an item, and where it came from: see :meth:`mnem.Store.blame`.

        ``item`` is a place among the items, such as -1 for the newest, or a node id, also of an
        item that is gone. ``at`` is a revision to look from, the newest commit unless given; a
        place is one among the items of then. IndexError when there is no such place.

        >>> import asyncio
        >>> session = MnemosyneSession("customer-4821", author="front-desk")
        >>> asyncio.run(session.add_items([{"role": "user", "content": "Hello"}]))
        >>> _ = asyncio.run(session.pop_item())
        >>> why = session.why("customer-4821:0000000000")
        >>> why.removed, why.node.content["content"]
        (True, 'Hello')
        """
        store = self._store
        if isinstance(item, int):
            ids = self._ids(store, store.head_commit() if at is None else at)
            if not -len(ids) <= item < len(ids):
                raise IndexError(
                    f"no item {item} in session {self.session_id!r}, which has {len(ids)}"
                )
            item = ids[item]
        _expect("item", item, str, "an int or a str")
        blame = store.blame(item, at)
        try:
            return replace(blame, node=replace(blame.node, content=restored(blame.node.content)))
        except ValueError:
            return blame

    def bisect(
        self,
        predicate: Callable[[list[TResponseInputItem]], bool],
        *,
        bad: str | None = None,
        good: str | None = None,
    ) -> str:
        """The commit at which a predicate on this session's items began to hold.

        See :meth:`mnem.Store.bisect`.

        >>> import asyncio
        >>> session = MnemosyneSession("customer-4821")
        >>> for text in ("Hello", "I moved to Utrecht", "Thanks"):
        ...     asyncio.run(session.add_items([{"role": "user", "content": text}]))
        >>> commit = session.bisect(lambda items: any("Utrecht" in str(item) for item in items))
        >>> commit == session.why(1).commit
        True
        """
        _expect("predicate", predicate, Callable, "callable")
        if iscoroutinefunction(predicate):
            # What it returns is true of anything.
            raise TypeError("predicate must be a plain function, not a coroutine function")

        def holds(memory: dict[str, MemoryNode]) -> bool:
            def read(
                prefix: str, limit: int | None = None, after: str | None = None
            ) -> dict[str, MemoryNode]:
                ids = (id for id in memory if id.startswith(prefix) and id > (after or ""))
                return {id: memory[id] for id in islice(ids, limit)}

            return predicate(_values(_readable(Transcript(self.session_id, read).all())))

        return self._store.bisect(holds, bad=bad, good=good)

    def history(self, limit: int | None = None) -> list[mnem.Commit]:
        """The commits that changed this session, newest first, at most ``limit``.

        Those that set or removed one of its items; a merge only where it made a value of its own.
        What is not among the newest commits of the store is found by the session's own changes.

        >>> import asyncio
        >>> session = MnemosyneSession("customer-4821", author="front-desk")
        >>> asyncio.run(session.add_items([{"role": "user", "content": "Hello"}]))
        >>> [(commit.message, commit.author) for commit in session.history()]
        [('add 1 item to customer-4821', 'front-desk')]
        """
        store = self._store
        tip = store.head_commit()
        _expect("limit", limit, (int, type(None)), "an int")
        if tip is None:
            return []
        transcript = self._at(store, tip)
        if limit is not None and 0 <= limit <= _NEWEST:
            newest = store.log(at=tip, limit=_NEWEST)
            touching = [commit for commit in newest if _touches(store, transcript, commit)]
            if len(touching) >= limit or len(newest) < _NEWEST:
                return touching[:limit]
        if (ids := _ever(store, tip, transcript)) is not None:
            return store.log(at=tip, node=ids, limit=limit)
        # Whoever wrote such a number is no reason to name all below it.
        return [commit for commit in store.log(at=tip) if _touches(store, transcript, commit)][
            :limit
        ]

    # ---- inside: each with the handle that its call began with ----

    def _let_go(self) -> None:
        if self._owned:
            self._given.close()

    @property
    def _label(self) -> str:
        return keys.prefix(self.session_id).removesuffix(":")

    def _author_of(self, wrapper: RunContextWrapper[Any] | None) -> str:
        return self._author if isinstance(self._author, str) else self._author(wrapper)

    def _at(self, store: mnem.Store, commit: str | None) -> Transcript:
        def read(
            prefix: str, limit: int | None = None, after: str | None = None
        ) -> dict[str, MemoryNode]:
            if commit is None:
                return {}
            return store.state_at(commit, prefix=prefix, after=after, limit=limit)

        return Transcript(self.session_id, read)

    def _ids(self, store: mnem.Store, commit: str | None) -> list[str]:
        return [node.id for _, node, _ in _readable(self._at(store, commit).all())]

    def _items(self, store: mnem.Store, limit: int | None) -> list[TResponseInputItem]:
        transcript = self._at(store, store.head_commit())
        if limit is None or limit < 0:
            return _values(_readable(transcript.all()))
        newest = islice(_readable(transcript.newest_first()), min(limit, NUMBERS))
        return _values(reversed(list(newest)))

    def _add(self, store: mnem.Store, items: list[Any], author: str) -> None:
        tip = store.head_commit()
        if not items:
            return
        transcript = self._at(store, tip)
        least = 0 if tip is None else _given(store, tip, transcript, transcript.counter())
        calls = calls_in(items)
        missing = unanswered(items)
        if missing:
            for _, _, item in _readable(transcript.newest_first()):
                for id, call in calls_in([item]).items():
                    if id in missing:
                        calls[id] = call
                        missing.discard(id)
                if not missing:
                    break
        sources = [provenance(item, calls) for item in items]
        try:
            rows = [(item, False, source) for item, source in zip(items, sources, strict=True)]
            self._append(store, rows, least, author)
        except InvalidRefError as refusal:
            as_text = refused(items, refusal)
            self._append(store, list(zip(items, as_text, sources, strict=True)), least, author)

    def _append(
        self,
        store: mnem.Store,
        rows: list[tuple[Any, bool, mnem.Provenance]],
        least: int,
        author: str,
    ) -> None:
        def change(memory: mnem.Snapshot) -> dict[str, MemoryNode]:
            transcript = Transcript(self.session_id, memory.memory)
            first = max(transcript.end(), least)
            after = first + len(rows)
            if after > NUMBERS:
                raise InvalidRefError(f"session {self.session_id!r} has no numbers left")
            nodes: dict[str, MemoryNode] = {}
            for number, (item, text, source) in enumerate(rows, first):
                id, full = transcript.item(number)
                nodes[id] = MemoryNode(id, stored(item, full, as_text=text), provenance=source)
            id, full = transcript.key(COUNTER)
            nodes[id] = MemoryNode(id, stored(after, full))
            return nodes

        count = f"{len(rows)} item{'' if len(rows) == 1 else 's'}"
        store.update(change, message=f"add {count} to {self._label}", author=author)

    def _pop(self, store: mnem.Store, author: str) -> Any:
        popped: Any = None

        def change(memory: mnem.Snapshot) -> dict[str, None]:
            nonlocal popped
            popped = None
            gone: dict[str, None] = {}
            for _, node in Transcript(self.session_id, memory.memory).newest_first():
                gone[node.id] = None
                try:
                    popped = restored(node.content)
                    break
                except ValueError:
                    # It is no item, and goes with the one before it.
                    continue
            return gone

        self._take(store, change, message=f"pop from {self._label}", author=author)
        return popped

    def _clear(self, store: mnem.Store, author: str) -> None:
        def change(memory: mnem.Snapshot) -> dict[str, None]:
            items = Transcript(self.session_id, memory.memory).all()
            return {node.id: None for _, node in items}

        self._take(store, change, message=f"clear {self._label}", author=author)

    @staticmethod
    def _take(
        store: mnem.Store,
        change: Callable[[mnem.Snapshot], dict[str, None]],
        *,
        message: str,
        author: str,
    ) -> None:
        # Where nothing was ever written, there is nothing to take and no commit to return.
        if store.head_commit() is not None:
            store.update(change, message=message, author=author)


def _expect(name: str, value: object, kind: Any, told: str) -> None:
    if not isinstance(value, kind):
        found = "None" if value is None else type(value).__name__
        raise TypeError(f"{name} must be {told}, not {found}")


def _on_store(store: mnem.Store, session_id: str) -> tuple[mnem.Store, str]:
    return store, session_id


def _at_path(
    session_id: str, path: str | os.PathLike[str] = ":memory:", *, db_path: Any = None
) -> tuple[str | os.PathLike[str], str]:
    return path if db_path is None else db_path, session_id


# An argument that is missing or too many is told by this name.
_on_store.__qualname__ = _at_path.__qualname__ = "MnemosyneSession"


def _open(path: str | os.PathLike[str]) -> mnem.Store:
    try:
        return mnem.init(path, exist_ok=True)
    except mnem.StoreIoError:
        if not Path(path).is_file():
            raise
        raise mnem.StoreIoError(
            f"cannot make a store at {path}, which is a file",
            hint="a store is a directory: name another; items of an older session are taken"
            " over by `await session.add_items(await older.get_items())`",
        ) from None


def _branch_of(store: mnem.Store) -> str:
    head = store.head()
    if not head.startswith("ref: "):
        raise InvalidRefError(
            f"the store at {store.root} is on no branch but at commit {head}",
            hint="name one with branch=, or go to one with `mnem checkout`",
        )
    return head.removeprefix("ref: ")


def _touches(store: mnem.Store, transcript: Transcript, commit: mnem.Commit) -> bool:
    """Whether a commit says of one of a session's nodes what no parent says."""

    def content(id: str) -> Any:
        moments = (commit.id, *commit.parents[:1])
        found = (store.state_at(moment, prefix=id, limit=1).get(id) for moment in moments)
        return next((node.content for node in found if node is not None), None)

    changed = (id for id in store.changed_by(commit.id) if id.startswith(transcript.prefix))
    owned = (id for id in changed if transcript.owns(id, content(id)))
    if len(commit.parents) > 1:
        return store.log(at=commit.id, node=owned, limit=1) == [commit]
    return next(owned, None) is not None


def _ever(store: mnem.Store, tip: str, transcript: Transcript) -> list[str] | None:
    """The ids of every node a session ever had; ``None`` of more than so many items."""
    end = transcript.end()
    if end <= _MOST:
        end = _given(store, tip, transcript, end)
        return [transcript.key(COUNTER)[0], *(transcript.item(n)[0] for n in range(end))]
    return None


def _given(store: mnem.Store, tip: str, transcript: Transcript, number: int) -> int:
    """The first number from here on that was never given.

    Who takes a commit back, or merges past the adapter, sets the counter back.
    """
    while store.log(at=tip, node=transcript.item(number)[0], limit=1):
        number += 1
    return number


def _readable(
    items: Iterable[tuple[int, MemoryNode]],
) -> Iterator[tuple[int, MemoryNode, Any]]:
    """Each with what it stands for; what is no item any more is left out."""
    for number, node in items:
        try:
            item = restored(node.content)
        except ValueError:
            continue
        yield number, node, item


def _values(items: Iterable[tuple[int, MemoryNode, Any]]) -> list[TResponseInputItem]:
    return [item for _, _, item in items]


def _larger_counter(conflict: mnem.Conflict) -> MemoryNode | None:
    """The answer to a conflict of two counters; ``None`` of another conflict."""
    nodes = [node for node in (conflict.ours, conflict.theirs) if node and is_counter(node)]
    return max(nodes, key=lambda node: counted(node) or 0, default=None)


async def _whole(work: Callable[[], _T]) -> _T:
    """Do work in a thread to its end, and only then let the caller be cancelled."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:  # noqa: PERF203 - to wait again is the point
            cancelled = cancelled or error
    if cancelled is None:
        return task.result()
    # What became of it is known now; an error of it is not the news.
    if not task.cancelled():
        task.exception()
    raise cancelled
