"""The store: :class:`MnemosyneStore`.

Long: one class, whose methods share an index of the branch and a lock.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, TypeVar

import mnem
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)
from mnem import keys

from mnem_langgraph import filters
from mnem_langgraph.checks import check_op, expect
from mnem_langgraph.items import (
    copied,
    index_of,
    message_of,
    node_of,
    original_id,
    replaceable,
    value_of,
)
from mnem_langgraph.seen import MINUTE, expiry, order, told
from mnem_langgraph.shelf import Entry, Shelf, row_key
from mnem_langgraph.sweeper import Sweeper
from mnem_langgraph.vectors import Indexed, Recipe, Texts, best, pack, unpack

if TYPE_CHECKING:
    import os
    from concurrent.futures import Future
    from types import TracebackType

    from langgraph.store.base import IndexConfig, TTLConfig
    from typing_extensions import Self

__all__ = ["MnemosyneStore"]

_T = TypeVar("_T")
# Texts to embed go out, their vectors come in, and at the end the answer.
_Steps = Generator[Texts, "list[list[float]]", _T]
_Place = tuple[tuple[str, ...], str]
# An edit of a local row: its owner, its key, its value or none.
_Row = tuple[str, bytes, bytes | None]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# Local rows: when a version was put again or read, and its vectors.
_SEEN = "mnem-langgraph:seen"
_VECTORS = "mnem-langgraph:vectors"
# Other branches that are asked whether they have a version that is put over.
_BRANCHES = 32


class MnemosyneStore(BaseStore):
    """LangGraph's long-term memory: each call that writes is one commit on one branch.

    ``path`` is where a store is (``":memory:"`` for a new one in memory), or an open
    :class:`mnem.Store`. ``branch`` binds this instance, else HEAD's branch does; a branch that
    is missing is made at the default branch's tip. ``author`` signs the commits. ``index`` turns
    on semantic search, as in LangGraph's own stores; it may also have ``model``, the name under
    which vectors are kept. ``ttl`` is LangGraph's configuration of times to live.

    Where a value came from is told in its ``_meta``, whose ``source``, ``step``, ``observation``,
    ``tool_call``, ``note`` and ``event_time`` become provenance: see :meth:`why`.

    Raises what LangGraph's stores raise for what they refuse, and :class:`mnem.MnemError` for
    what is wrong with the store. Every method may be called from any thread, the asynchronous
    ones on any loop.

    >>> memories = MnemosyneStore(":memory:")
    >>> memories.put(("memories", "u1"), "plan", {"tier": "basic"})
    >>> memories.get(("memories", "u1"), "plan").value
    {'tier': 'basic'}
    """

    supports_ttl = True

    def __init__(
        self,
        path: str | os.PathLike[str] | mnem.Store = ".",
        *,
        author: str = "agent",
        branch: str | None = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__()
        expect("index", index, (dict, type(None)), "a dict, LangGraph's IndexConfig")
        expect("ttl", ttl, (dict, type(None)), "a dict, LangGraph's TTLConfig")
        self._owned = not isinstance(path, mnem.Store)
        self._root = path if isinstance(path, mnem.Store) else mnem.open(path)
        self._author = author
        self.index_config = index
        self._index = Indexed(index) if index else None
        self.embeddings = None if self._index is None else self._index.embeddings
        self.ttl_config = ttl
        self._lock = threading.RLock()
        # Whether there may be local rows to drop; rows that only others met are theirs to drop.
        self._met_rows = self._index is not None
        self._sweeper = Sweeper(self.sweep_ttl)
        self._bind(branch or _branch_of(self._root))

    def _bind(self, branch: str) -> None:
        self._store = self._root.on(branch)
        self._seen_rows = self._store.local(_SEEN)
        self._branch = branch
        self._shelf = Shelf(branch)

    def __repr__(self) -> str:
        return f"<MnemosyneStore root={str(self._root.root)!r} branch={self._branch!r}>"

    @classmethod
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        author: str = "agent",
        branch: str | None = None,
    ) -> Self:
        """Open the store at a path and make it where there is none, as the SQLite store does.

        For ``with`` and ``async with``; ``":memory:"`` is a new store in memory. StoreExistsError
        where there is a store above the path: that is another one.

        >>> with MnemosyneStore.from_conn_string(":memory:") as memories:
        ...     memories.list_namespaces()
        []
        """
        mnem.init(conn_string, exist_ok=True).close()
        return cls(conn_string, index=index, ttl=ttl, author=author, branch=branch)

    def setup(self) -> _Done:
        """There is nothing to set up; may be awaited."""
        return _Done()

    def close(self) -> None:
        """Let go of the store; one that was given stays open.

        >>> MnemosyneStore(":memory:").close()
        """
        self._sweeper.stop(None)
        # A handle that was closed already has nothing to save.
        with self._lock, suppress(mnem.MnemError):
            self._shelf.save(self._store)
        self._store.close()
        if self._owned:
            self._root.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.close)

    # ---- the interface ----

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: reads see what was there before, puts are one commit.

        >>> from langgraph.store.base import GetOp, PutOp
        >>> memories = MnemosyneStore(":memory:")
        >>> memories.batch([PutOp(("a",), "k", {"n": 1}), GetOp(("a",), "k")])
        [None, None]
        """
        steps = self._steps(list(ops))
        vectors: list[list[float]] | None = None
        while True:
            step = _advance(steps, vectors)
            if isinstance(step, list):
                return step
            vectors = step.embed()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same without blocking the loop.

        >>> from langgraph.store.base import GetOp, PutOp
        >>> memories = MnemosyneStore(":memory:")
        >>> asyncio.run(memories.abatch([PutOp(("a",), "k", {"n": 1})]))
        [None]
        """
        steps = self._steps(list(ops))
        vectors: list[list[float]] | None = None
        while True:
            step = await asyncio.to_thread(_advance, steps, vectors)
            if isinstance(step, list):
                return step
            vectors = await step.aembed()

    def _steps(self, ops: list[Op]) -> _Steps[list[Result]]:
        puts: dict[_Place, PutOp] = {}
        reads: list[tuple[int, Op]] = []
        for at, op in enumerate(ops):
            check_op(op)
            if not isinstance(op, PutOp):
                reads.append((at, op))
            # Outside every namespace there are no items, and nodes of others: nothing to forget.
            elif op.namespace:
                puts[tuple(op.namespace), str(op.key)] = op
        results: list[Result] = [None] * len(ops)
        embedded: dict[str, list[float]] = {}
        # What reads need of the model comes first: they are of one moment.
        queries = [op.query for _, op in reads if isinstance(op, SearchOp) and op.query]
        if queries and self._index is not None:
            embedded = yield from self._embed(queries, self._index, as_queries=True)
            yield from self._index_stale(ops)
        read: list[Entry] = []
        if reads:
            with self._lock:
                self._read(reads, embedded, results, read)
        if puts:
            yield from self._put(puts)
        self._refresh(read)
        return results

    # ---- reading ----

    def _read(
        self,
        ops: list[tuple[int, Op]],
        embedded: Mapping[str, list[float]],
        results: list[Result],
        read: list[Entry],
    ) -> None:
        if all(isinstance(op, GetOp) for _, op in ops):
            self._shelf.follow_for(self._store, len(ops))
        else:
            self._shelf.follow(self._store)
        was_started = self._shelf.started
        for at, op in ops:
            if isinstance(op, GetOp):
                found = read if op.refresh_ttl else []
                results[at] = self._get(tuple(op.namespace), str(op.key), found)
            elif isinstance(op, SearchOp):
                results[at] = self._search(op, embedded.get(op.query or ""), read)
            elif isinstance(op, ListNamespacesOp):
                results[at] = self._list_namespaces(op)
        if self._shelf.started and not was_started:
            # It came to look at all, perhaps at a later moment, of which all are to be.
            self._read(ops, embedded, results, read)

    def get(
        self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        """One item, or None: what a batch of one reads, on a shorter way.

        >>> MnemosyneStore(":memory:").get(("a",), "k") is None
        True
        """
        if refresh_ttl is None:
            refresh_ttl = (self.ttl_config or {}).get("refresh_on_read", True)
        validate_op_namespace(GetOp(namespace, key))
        read: list[Entry] = []
        with self._lock:
            self._shelf.follow_for(self._store, 1)
            item = self._get(tuple(namespace), str(key), read)
        if refresh_ttl:
            self._refresh(read)
        return item

    def _get(self, namespace: tuple[str, ...], key: str, read: list[Entry]) -> Item | None:
        entry = self._shelf.get(self._store, namespace, key)
        if entry is None:
            return None
        if entry.node is None:
            self._shelf.load_one(self._store, entry)
        seen = self._seen(entry.id + "\0")
        if self._hidden(entry, seen):
            return None
        if entry.ttl is not None:
            read.append(entry)
        return Item(
            value=copied(entry.value),
            key=entry.key,
            namespace=entry.namespace,
            created_at=_datetime(entry.times.created),
            updated_at=_datetime(-order(entry, seen)[0]),
        )

    def _search(
        self, op: SearchOp, vector: list[float] | None, read: list[Entry]
    ) -> list[SearchItem]:
        prefix = tuple(op.namespace_prefix)
        start, end = max(op.offset, 0), None if op.limit < 0 else max(op.offset, 0) + op.limit
        seen = self._seen(keys.prefix(*prefix))
        scores: dict[str, float] = {}
        if not (op.filter or op.query or seen or end is None or self._omits()):
            entries = self._shelf.newest(prefix, end)
        else:
            entries = list(self._shelf.under(prefix))
            self._shelf.load(self._store, entries)
            entries = [entry for entry in entries if not self._hidden(entry, seen)]
            if op.filter:
                wanted = op.filter
                entries = [entry for entry in entries if filters.holds(entry.value, wanted)]
            entries.sort(key=lambda entry: order(entry, seen))
        if op.query and vector is not None:
            scores = {e.id: best(vector, e.vectors) for e in entries if e.vectors}
            entries.sort(key=lambda entry: -scores.get(entry.id, -2.0))
        elif op.query:
            relevance = filters.relevance(op.query)
            ranks = {entry.id: relevance(entry.value) for entry in entries}
            entries.sort(key=lambda entry: -ranks[entry.id])
        entries = entries[start:end]
        self._shelf.load(self._store, entries)
        if op.refresh_ttl:
            read.extend(entry for entry in entries if entry.ttl is not None)
        return [
            SearchItem(
                namespace=entry.namespace,
                key=entry.key,
                value=copied(entry.value),
                created_at=_datetime(entry.times.created),
                updated_at=_datetime(-order(entry, seen)[0]),
                score=scores.get(entry.id),
            )
            for entry in entries
        ]

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = tuple(op.match_conditions or ())
        found = [n for n in self._shelf.by_namespace if filters.matches(n, conditions)]
        if self._omits():
            seen = self._seen("")
            there: list[tuple[str, ...]] = []
            for namespace in found:
                entries = list(self._shelf.by_namespace[namespace].values())
                self._shelf.load(self._store, entries)
                if not all(self._hidden(entry, seen) for entry in entries):
                    there.append(namespace)
            found = there
        if op.max_depth is not None:
            found = list({namespace[: op.max_depth] for namespace in found})
        start = max(op.offset, 0)
        return sorted(found)[start : None if op.limit < 0 else start + op.limit]

    # ---- times ----

    def _omits(self) -> bool:
        return bool((self.ttl_config or {}).get("omit_expired"))

    def _seen(self, prefix: str) -> dict[bytes, dict[str, float]]:
        """What local rows say of versions whose node id begins with a prefix."""
        rows = self._seen_rows.items(prefix.encode())
        if not rows:
            return {}
        self._met_rows = True
        return {key: told(row) for key, row in rows}

    def _hidden(self, entry: Entry, seen: Mapping[bytes, Mapping[str, float]]) -> bool:
        ends = expiry(entry, seen) if self._omits() else None
        return ends is not None and ends <= _now()

    def _refresh(self, read: list[Entry]) -> None:
        """Let the time to live of what was read begin anew; a moment's difference is left.

        A configuration that does not mention ``refresh_on_read`` means no, as it does to the
        SQLite and Postgres stores.
        """
        if self.ttl_config is not None and "refresh_on_read" not in self.ttl_config:
            return
        refreshed: list[_Row] = []
        for entry in {entry.id: entry for entry in read}.values():
            ttl = entry.ttl
            if ttl is None or ttl <= 0:
                continue
            rows = self._seen(entry.id + "\0")
            now, ends = _now(), expiry(entry, rows) or 0
            if now + ttl * MINUTE - ends > ttl * MINUTE / 100:
                row = {**rows.get(entry.row, {}), "read": now}
                refreshed.append((_SEEN, entry.row, json.dumps(row).encode()))
        # A store that cannot be written can be read.
        with suppress(mnem.MnemError):
            self._edit_rows(refreshed)

    def sweep_ttl(self) -> int:
        """Forget what has expired, as one commit; returns how many items.

        >>> memories = MnemosyneStore(":memory:")
        >>> memories.put(("a",), "k", {"n": 1}, ttl=-1)
        >>> memories.sweep_ttl(), memories.sweep_ttl()
        (1, 0)
        """
        with self._lock:
            self._shelf.follow(self._store)
            entries = list(self._shelf.under(()))
            self._shelf.load(self._store, entries)
            seen, now = self._seen(""), _now()
            expired = {
                entry.id: (entry.row, seen.get(entry.row))
                for entry in entries
                if (ends := expiry(entry, seen)) is not None and ends <= now
            }
        swept: list[str] = []

        def forget(memory: mnem.Snapshot) -> dict[str, None]:
            swept.clear()
            for id, (row, was) in expired.items():
                node, again = memory.get(id), self._seen_rows.get(row)
                # What was put or read meanwhile stays.
                same = (None if again is None else told(again)) == was
                if same and node is not None and row_key(node) == row:
                    swept.append(id)
            return dict.fromkeys(swept)

        if expired:
            message = f"forget {len(expired)} expired item{'s' if len(expired) > 1 else ''}"
            self._store.update(forget, message=message, author=self._author)
            self._edit_rows(self._rows_put_over(dict.fromkeys(swept)))
        return len(swept)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep again and again in a thread; cancelling what is returned stops it.

        The interval is ``sweep_interval_minutes`` of the configuration unless given, else 5.
        Without a configuration nothing is started.
        """
        config = self.ttl_config
        if config is None:
            return self._sweeper.idle()
        minutes = sweep_interval_minutes or config.get("sweep_interval_minutes") or 5
        return self._sweeper.start(minutes * 60)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop sweeping; False when it did not end within ``timeout`` seconds."""
        return self._sweeper.stop(timeout)

    # ---- writing ----

    def _put(self, puts: Mapping[_Place, PutOp]) -> _Steps[None]:
        changes: dict[str, mnem.MemoryNode | None] = {}
        written: list[mnem.MemoryNode] = []
        for (namespace, key), op in puts.items():
            id = keys.join(*namespace, key)
            # The original's id of the same key goes, so that the key has one item.
            other = original_id(id, (*namespace, key))
            if other is not None and self._store.exists(other):
                changes[other] = None
            changes[id] = None
            if op.value is not None:
                written.append(node_of(id, (*namespace, key), op.value, op.ttl, op.index))
                changes[id] = written[-1]
        vectors = yield from self._vectors_of(written)
        try:
            again = self._write(changes, vectors)
        except (mnem.InvalidRefError, TypeError):
            made_storable = [node for node in written if replaceable(node)]
            if not made_storable:
                raise
            again = self._write(changes, vectors)
        if again:
            self._note_again(node for node in written if node.id in again)
            # What another forgot before that was noted is put.
            if not all(map(self._store.exists, again)):
                self._write(changes, vectors)

    def _note_again(self, nodes: Iterable[mnem.MemoryNode]) -> None:
        """A put of what is there makes no commit; its time is a local row, after this tip."""
        with self._lock:
            self._shelf.follow(self._store)
            row = json.dumps({"put": _now(), "rank": self._shelf.commits - 0.5}).encode()
        self._edit_rows((_SEEN, row_key(node), row) for node in nodes)

    def _write(
        self, changes: Mapping[str, mnem.MemoryNode | None], vectors: Mapping[str, bytes]
    ) -> list[str]:
        """Write changes as one commit, with the rows of vectors of its nodes.

        Returns the ids that said this already.
        """
        rows: list[_Row] = []
        if self._index is not None:
            kept = self._store.local(_VECTORS)
            for id, row in vectors.items():
                node = changes[id]
                if node is not None and row != kept.get(at := row_key(node)):
                    rows.append((_VECTORS, at, row))
        # What cannot be looked at is no reason not to write.
        with suppress(mnem.MnemError):
            rows += self._rows_put_over(changes)
        before: list[str | None] = []

        def change(memory: mnem.Snapshot) -> Mapping[str, mnem.MemoryNode | None]:
            before.append(memory.commit)
            if memory.commit is None and not any(changes.values()):
                raise _NothingThereError
            return changes

        try:
            commit = self._store.update(
                change, message=message_of(changes), author=self._author, local=rows
            )
        except _NothingThereError:
            return []
        put = [id for id, node in changes.items() if node is not None]
        if commit == before[-1]:
            return put
        # The commit has landed: what fails from here on is no failure of the call.
        with suppress(mnem.MnemError):
            with self._lock:
                self._shelf.wrote(self._store)
            if len(changes) > 1:
                changed = self._store.changed_by(commit)
                return [id for id in put if id not in changed]
        return []

    def _rows_put_over(self, changes: Mapping[str, mnem.MemoryNode | None]) -> list[_Row]:
        """What drops the local rows of versions that changes put over and no branch has.

        History may have them: what a revert brings back is embedded anew.
        """
        dropped: list[_Row] = []
        for id, node in changes.items():
            # To look costs two reads an item.
            if node is not None and not self._met_rows:
                continue
            rows: list[_Row] = [
                (owner, key, None)
                for owner in (_SEEN, _VECTORS)
                for key, _ in self._store.local(owner).items(id.encode() + b"\0")
            ]
            if not rows:
                continue
            tips = [tip for name, tip in self._store.branches() if name != self._branch]
            # With many branches they stay, since each would be read.
            if len(tips) <= _BRANCHES:
                there = (self._store.state_at(tip, prefix=id, limit=1).get(id) for tip in tips)
                kept = {row_key(version) for version in (node, *there) if version is not None}
                dropped += [row for row in rows if row[1] not in kept]
        return dropped

    def _edit_rows(self, rows: Iterable[_Row]) -> None:
        """Edit local rows in one step: there is nothing to commit."""
        if rows := list(rows):
            self._met_rows = True
            self._store.write({}, message="rows", local=rows)

    # ---- the index ----

    @staticmethod
    def _embed(
        texts: Iterable[str], index: Indexed, *, as_queries: bool = False
    ) -> _Steps[dict[str, list[float]]]:
        wanted = list(dict.fromkeys(texts))
        if not wanted:
            return {}
        vectors = yield Texts(wanted, index.embeddings, as_queries)
        if len(vectors) != len(wanted):
            raise ValueError(f"embed made {len(vectors)} vectors of {len(wanted)} texts")
        return {text: index.checked(vector) for text, vector in zip(wanted, vectors, strict=True)}

    def _vectors_of(self, nodes: Iterable[mnem.MemoryNode]) -> _Steps[dict[str, bytes]]:
        """The rows of vectors of nodes that are to be written."""
        index = self._index
        if index is None:
            return {}
        wanted: dict[str, tuple[Recipe, list[str]]] = {}
        for node in nodes:
            recipe = index.recipe(index_of(node))
            if recipe is None:
                continue
            try:
                texts = index.texts(value_of(node), recipe)
            except (TypeError, RecursionError):
                replaceable(node)
                texts = index.texts(value_of(node), recipe)
            wanted[node.id] = recipe, texts
        found = yield from self._embed(
            (text for _, texts in wanted.values() for text in texts), index
        )
        return {
            id: pack(recipe, [found[text] for text in texts])
            for id, (recipe, texts) in wanted.items()
        }

    def _index_stale(self, ops: list[Op]) -> _Steps[None]:
        """Give vectors to what searches will look at and has none of this model."""
        index = self._index
        prefixes = {tuple(o.namespace_prefix) for o in ops if isinstance(o, SearchOp) and o.query}
        if index is None or not prefixes:
            return
        rows = self._store.local(_VECTORS)
        stale: list[tuple[Entry, mnem.MemoryNode, Recipe]] = []
        with self._lock:
            self._shelf.follow(self._store)
            for prefix in prefixes:
                entries = [e for e in self._shelf.under(prefix) if e.vectors is None]
                self._shelf.load(self._store, entries)
                for entry in entries:
                    node = entry.node
                    recipe = None if node is None else index.recipe(index_of(node))
                    row = None if recipe is None else rows.get(entry.row)
                    entry.vectors = [] if recipe is None else unpack(row, recipe)
                    if entry.vectors is None and node is not None and recipe is not None:
                        stale.append((entry, node, recipe))
        if not stale:
            return
        fresh = yield from self._vectors_of(node for _, node, _ in stale)
        for entry, node, recipe in stale:
            entry.vectors = unpack(fresh[node.id], recipe)
        # A store that cannot be written can be searched.
        with suppress(mnem.MnemError):
            self._edit_rows((_VECTORS, row_key(node), fresh[node.id]) for _, node, _ in stale)
        yield from self._index_stale(ops)

    # ---- beyond the interface ----

    def branch(self, name: str, *, start: str | None = None) -> str:
        """Make a branch at a revision, or where this instance is; returns its name.

        >>> memories = MnemosyneStore(":memory:")
        >>> memories.put(("a",), "k", {"n": 1})
        >>> memories.switch(memories.branch("hypothesis"))
        >>> memories.put(("a",), "k", {"n": 2})
        >>> memories.switch("main")
        >>> memories.get(("a",), "k").value
        {'n': 1}
        """
        self._store.new_branch(name, start=start)
        return name

    def delete_branch(self, name: str) -> bool:
        """Delete a branch; its commits stay. False when there is no such branch.

        InvalidRefError for the branch that this instance is on, and for HEAD's.

        >>> memories = MnemosyneStore(":memory:")
        >>> memories.put(("a",), "k", {"n": 1})
        >>> memories.delete_branch(memories.branch("hypothesis"))
        True
        """
        if name == self._branch:
            raise mnem.InvalidRefError(
                f"this instance is on the branch {name}", hint="switch to another one first"
            )
        return self._store.delete_branch(name)

    def switch(self, target: str) -> None:
        """Bind this instance, and no other, to another branch; HEAD stays.

        A call that another thread has begun ends on the branch it began on. InvalidRefError when
        there is no such branch.
        """
        with self._lock:
            if target not in dict(self._store.branches()) and target != self._branch:
                raise mnem.InvalidRefError(
                    f"there is no branch {target!r}", hint="`mnem branch` lists them"
                )
            # The handle that was left is not closed: a call may be using it.
            self._bind(target)

    def why(self, namespace: tuple[str, ...], key: str) -> mnem.Blame:
        """Which commit set an item, and from what; of one that was forgotten, the commit that did.

        InvalidRefError for an item that never was.

        >>> memories = MnemosyneStore(":memory:")
        >>> memories.put(("a",), "k", {"n": 1, "_meta": {"source": "ticket-4821"}})
        >>> memories.why(("a",), "k").provenance.source
        'ticket-4821'
        """
        id = keys.join(*namespace, key)
        other = original_id(id, (*namespace, key))
        ids = [id] if other is None else [id, other]
        # Of what is not there: what was there.
        there = [id for id in ids if self._store.exists(id)] or ids
        try:
            blame = self._store.blame(there[0])
        except mnem.InvalidRefError:
            blame = self._store.blame(there[-1])
        return replace(blame, node=replace(blame.node, content=value_of(blame.node)))

    def history(self, *, limit: int = 20) -> list[mnem.Commit]:
        """The newest commits of this instance's branch, newest first."""
        return self._store.log(limit=limit)

    def merge(
        self,
        theirs: str,
        *,
        resolutions: dict[str, str | mnem.MemoryNode] | None = None,
        strategy: str | None = None,
        message: str | None = None,
    ) -> mnem.MergeResult:
        """Merge a branch into this instance's: see :meth:`mnem.Store.merge`."""
        return self._store.merge(
            theirs,
            resolutions=resolutions,
            strategy=strategy,
            message=message,
            author=self._author,
        )

    def revert(
        self,
        commit: str,
        *,
        resolutions: dict[str, str | mnem.MemoryNode] | None = None,
        strategy: str | None = None,
        message: str | None = None,
    ) -> mnem.MergeResult:
        """Take back what one commit changed: see :meth:`mnem.Store.revert`."""
        return self._store.revert(
            commit,
            resolutions=resolutions,
            strategy=strategy,
            message=message,
            author=self._author,
        )


class _Done:
    """Nothing to wait for."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


class _NothingThereError(Exception):
    """There is nothing on the branch that could be forgotten."""


def _advance(
    steps: _Steps[list[Result]], vectors: list[list[float]] | None
) -> Texts | list[Result]:
    try:
        return next(steps) if vectors is None else steps.send(vectors)
    except StopIteration as done:
        return done.value


def _branch_of(store: mnem.Store) -> str:
    head = store.head()
    if not head.startswith("ref: "):
        raise mnem.InvalidRefError(
            f"HEAD is detached at {head}: name a branch", hint="`mnem branch` lists them"
        )
    return head.removeprefix("ref: ")


def _now() -> int:
    return time.time_ns() // 1_000_000


def _datetime(milliseconds: float) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)
