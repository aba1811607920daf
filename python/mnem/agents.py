"""What an agent does with its memory: one call is one commit.

Each call writes its own change and nothing else: what a person has staged stays a draft. On a
detached HEAD a write is refused with :class:`mnem.InvalidRefError` before anything is written.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, overload, runtime_checkable

from .errors import InvalidRefError, MnemError, expect
from .store import Store
from .types import ImportReport, MemoryNode, Provenance

if TYPE_CHECKING:
    from ._mnem import Snapshot
    from .types import ChatReport

__all__ = [
    "forget",
    "import_chat",
    "import_json",
    "import_mem0",
    "recall",
    "remember",
    "remember_many",
    "revise",
]


def remember(
    store: Store,
    id: str,
    content: Any,
    *,
    source: str | None = None,
    step: str | None = None,
    observation: str | None = None,
    tool_call: str | None = None,
    note: str | None = None,
    summary: str | None = None,
    author: str = "agent",
    time_ms: int | None = None,
    event_time: int | None = None,
    base: str | None = None,
) -> str:
    """Record one memory with where it came from; returns the id of the commit.

    ``summary`` is the commit's message, ``time_ms`` its time and ``event_time`` the belief's,
    both Unix milliseconds. Recording what is known already makes no commit. ``base`` and the
    errors are as in :meth:`mnem.Store.write`.

    >>> store = mnem.open(":memory:")
    >>> commit = remember(store, "customer-4821", "on the Enterprise plan", source="ticket-9")
    >>> store.log()[0].message
    'remember customer-4821'
    """
    provenance = Provenance(step, observation, tool_call, source, note)
    return _known(store).write(
        {_text("id", id): MemoryNode(id, content, provenance=provenance, event_time=event_time)},
        message=_summary(summary, f"remember {id}"),
        author=author,
        time_ms=time_ms,
        base=base,
    )


def revise(
    store: Store,
    id: str,
    content: Any,
    *,
    source: str | None = None,
    step: str | None = None,
    observation: str | None = None,
    tool_call: str | None = None,
    note: str | None = None,
    summary: str | None = None,
    author: str = "agent",
    time_ms: int | None = None,
    event_time: int | None = None,
    base: str | None = None,
) -> str:
    """Change a belief: the work of :func:`remember`, under a name that says the intent.

    >>> store = mnem.open(":memory:")
    >>> first = remember(store, "plan", "basic")
    >>> _ = revise(store, "plan", "enterprise", source="ticket-9", base=first)
    >>> store.log()[0].message
    'revise plan'
    """
    return remember(
        store,
        id,
        content,
        source=source,
        step=step,
        observation=observation,
        tool_call=tool_call,
        note=note,
        summary=_summary(summary, f"revise {id}"),
        author=author,
        time_ms=time_ms,
        event_time=event_time,
        base=base,
    )


def remember_many(
    store: Store,
    items: Iterable[Mapping[str, Any]],
    *,
    summary: str | None = None,
    author: str = "agent",
    time_ms: int | None = None,
    event_time: int | None = None,
    base: str | None = None,
) -> str:
    """Record several memories as one commit, all or nothing; returns its id.

    Each item has ``id`` and ``content``, and may have ``source``, ``step``, ``observation``,
    ``tool_call``, ``note`` and ``event_time``, for which the argument stands in. The other
    arguments are as in :func:`remember`. KeyError when one of the first two is missing.

    >>> store = mnem.open(":memory:")
    >>> _ = remember_many(store, [{"id": "a", "content": 1}, {"id": "b", "content": 2}])
    >>> store.log()[0].message
    'remember 2 nodes'
    """
    nodes = [
        MemoryNode(
            _text("id", item["id"]),
            item["content"],
            provenance=Provenance(
                item.get("step"),
                item.get("observation"),
                item.get("tool_call"),
                item.get("source"),
                item.get("note"),
            ),
            event_time=item.get("event_time", event_time),
        )
        for item in _items(items)
    ]
    count = f"{len(nodes)} node{'' if len(nodes) == 1 else 's'}"
    return _known(store).write(
        {node.id: node for node in nodes},
        message=_summary(summary, f"remember {count}"),
        author=author,
        time_ms=time_ms,
        base=base,
    )


def forget(
    store: Store,
    id: str,
    *,
    summary: str | None = None,
    author: str = "agent",
    time_ms: int | None = None,
    base: str | None = None,
) -> str:
    """Drop a memory; earlier commits keep it. Returns the id of the commit.

    The arguments are as in :func:`remember`. InvalidRefError when memory has no such node.

    >>> store = mnem.open(":memory:")
    >>> _ = remember(store, "plan", "basic")
    >>> _ = forget(store, "plan")
    >>> store.get("plan") is None, store.blame("plan").removed
    (True, True)
    """

    def drop(memory: Snapshot) -> dict[str, None]:
        if not memory.exists(id):
            raise InvalidRefError(f"no node {id!r} in memory")
        return {_text("id", id): None}

    return _known(store).update(
        drop,
        message=_summary(summary, f"forget {id}"),
        author=author,
        time_ms=time_ms,
        base=base,
    )


@overload
def recall(store: Store, id: str, *, at: str | None = None) -> MemoryNode | None: ...


@overload
def recall(
    store: Store,
    id: None = None,
    *,
    at: str | None = None,
    prefix: str | None = None,
    after: str | None = None,
    limit: int | None = None,
) -> dict[str, MemoryNode]: ...


def recall(
    store: Store,
    id: str | None = None,
    *,
    at: str | None = None,
    prefix: str | None = None,
    after: str | None = None,
    limit: int | None = None,
) -> MemoryNode | dict[str, MemoryNode] | None:
    """Read committed memory: one node, or all of it by id.

    ``at`` is a revision, the branch's tip unless given; ``prefix``, ``after`` and ``limit`` are
    as in :meth:`mnem.Store.memory`, for more than one node. InvalidRefError when ``at`` names no
    commit.

    >>> store = mnem.open(":memory:")
    >>> _ = remember(store, "plan", "basic")
    >>> _ = remember(store, "plan", "enterprise")
    >>> recall(store, "plan").content, recall(store, "plan", at="HEAD~1").content
    ('enterprise', 'basic')
    """
    store = _known(store)
    at = None if at is None else _text("at", at)
    if id is None:
        if at is None:
            return store.memory(prefix=prefix, after=after, limit=limit)
        return store.state_at(at, prefix=prefix, after=after, limit=limit)
    if (prefix, after, limit) != (None, None, None):
        raise InvalidRefError("recall takes an id, or prefix, after and limit, not both")
    if at is None:
        return store.get(id)
    return store.state_at(at, prefix=_text("id", id), limit=1).get(id)


def import_chat(
    store: Store,
    messages: Iterable[Mapping[str, Any]],
    *,
    transcript: str,
    rules: Iterable[Mapping[str, Any]] | None = None,
    keep_all: bool = False,
    author: str = "agent",
    time_ms: int | None = None,
) -> ChatReport:
    """Read a chat transcript into memory, one commit for each tool result that taught something.

    ``messages`` are in the form of the OpenAI chat interface: an assistant's ``tool_calls``,
    the ``tool`` messages that answer them, plain turns. ``rules`` says which results are about
    which entity: each has ``entity``, the first segment of the node id, and ``id``, the fields
    that give the others, and may have ``arguments``, those of them that may stand in the call's
    arguments alone, and ``tools``, whose results it is about. A result takes the first rule
    that matches; ``keep_all`` keeps the others too, under the id of their call. ``time_ms`` is
    the time of the commits in Unix milliseconds, now unless given.

    Reading the same transcript again adds nothing, a longer one only its tail; one whose
    beginning changed is refused with InvalidRefError before anything is written.

    >>> call = {"id": "c1", "type": "function",
    ...         "function": {"name": "find", "arguments": '{"reservation_id": "R1"}'}}
    >>> messages = [
    ...     {"role": "assistant", "content": None, "tool_calls": [call]},
    ...     {"role": "tool", "tool_call_id": "c1", "name": "find",
    ...      "content": '{"reservation_id": "R1", "seats": 2}'},
    ... ]
    >>> store = mnem.open(":memory:")
    >>> import_chat(store, messages, transcript="run-1").commits
    1
    >>> store.blame("reservation:R1").provenance.agent_step
    'run-1#1'
    """
    # The mapping is the core's; the handle's method is no part of the store's surface.
    return _known(store)._handle.import_chat(  # noqa: SLF001
        messages, transcript, rules, keep_all, author, time_ms
    )


def import_json(
    store: Store,
    path: str | PathLike[str],
    *,
    source: str | None = None,
    summary: str | None = None,
    author: str = "agent",
    time_ms: int | None = None,
) -> ImportReport:
    r"""Read memories from a file of JSON, as one commit.

    The file is an object of ids and contents, read whole or not at all; or what the reference
    memory server of the Model Context Protocol keeps, an entity or a relation on each line, of
    which a damaged line is skipped and reported. An entity becomes the node ``entity:NAME``, a
    relation ``relation:FROM:TYPE:TO``, the record without its type their content. ``source``,
    the file's name unless given, is each node's source. Reading a file again changes nothing.

    InvalidRefError when the file is neither; StoreIoError when it cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory) / "memory.json"
    ...     record = '{"type": "entity", "name": "Ada", "entityType": "person", "observations": []}'
    ...     _ = path.write_text(record + "\n" + record[:20])
    ...     store = mnem.open(":memory:")
    ...     report = import_json(store, path)
    >>> report.read, [line for line, _ in report.skipped]
    (1, ['line 2'])
    >>> store.get("entity:Ada").provenance.source
    'memory.json'
    """
    expect("path", path, (str, PathLike), "a str or a path")
    source = Path(path).name if source is None else source
    message = _summary(summary, f"import {source}")
    return _known(store)._handle.import_json(path, source, message, author, time_ms)  # noqa: SLF001


def _known(store: Store) -> Store:
    """The store, if it is one."""
    expect("store", store, Store, "a mnem.Store")
    return store


def _items(items: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    expect("items", items, Iterable, "a list of mappings")
    for item in items:
        expect("each item", item, Mapping, "a mapping with id and content")
        yield item


def _text(name: str, value: str) -> str:
    expect(name, value, str, "a str")
    return value


def _summary(summary: str | None, otherwise: str) -> str:
    return otherwise if summary is None else _text("summary", summary) or otherwise


@runtime_checkable
class _Mem0Memory(Protocol):
    """What :func:`import_mem0` asks of a ``mem0.Memory``."""

    def get_all(self, *, filters: dict[str, Any], top_k: int, show_expired: bool) -> Any:
        """``{"results": [...]}``, at most ``top_k`` of them."""


# How many memories the first question asks for; each further one asks for twice as many.
_MEM0_FIRST = 1_000


def import_mem0(
    store: Store,
    mem0_memory: _Mem0Memory,
    *,
    filters: Mapping[str, Any],
    summary: str | None = None,
    author: str = "agent",
    time_ms: int | None = None,
) -> ImportReport:
    """Read what a ``mem0.Memory`` of Mem0 2 holds now, as one commit.

    ``filters`` are Mem0's own and name at least one of ``user_id``, ``agent_id`` and ``run_id``:
    Mem0 cannot list everything. All memories they match are read, expired ones too. A memory
    becomes the node ``mem0:ID``, whose content has its text under ``memory`` and everything else
    Mem0 says of it under ``metadata``; its actor, else its role, is the source, and the time of
    its making the ``event_time``. One without text, or that is no JSON, is skipped and reported by
    its id. Reading the same again changes nothing. Mem0's history of a memory is not read.

    InvalidRefError for an answer that is not Mem0's; what Mem0 raises passes through.

    >>> class Memory:
    ...     def get_all(self, *, filters, top_k, show_expired):
    ...         return {"results": [
    ...             {"id": "7f", "memory": "Prefers tea", "user_id": "ada", "role": "user"},
    ...             {"id": "80", "memory": ""},
    ...         ]}
    >>> store = mnem.open(":memory:")
    >>> report = import_mem0(store, Memory(), filters={"user_id": "ada"})
    >>> report.written, report.skipped
    (1, (('80', 'it has no text'),))
    >>> store.get("mem0:7f").content
    {'memory': 'Prefers tea', 'metadata': {'role': 'user', 'user_id': 'ada'}}
    """
    store = _known(store)
    expect("filters", filters, Mapping, "a mapping")
    expect("mem0_memory", mem0_memory, _Mem0Memory, "a mem0.Memory")
    nodes: dict[str, MemoryNode] = {}
    skipped: list[tuple[str, str]] = []
    with Store.open(":memory:") as scratch:
        for record in _mem0_records(mem0_memory, dict(filters)):
            try:
                node = _mem0_node(record)
                # The rules of content are the core's; one record that breaks one is no reason
                # to leave the others.
                scratch.add_node(node)
            except (MnemError, TypeError, ValueError) as error:  # noqa: PERF203 - each on its own
                skipped.append((str(record.get("id")), str(error)))
            else:
                nodes[node.id] = node
    written = 0
    head = store.head_commit()
    if nodes:
        before: list[str | None] = []

        def learn(memory: Snapshot) -> dict[str, MemoryNode]:
            before[:] = [memory.commit]
            return nodes

        head = store.update(
            learn,
            message=_summary(summary, f"import {len(nodes)} memories from Mem0"),
            author=author,
            time_ms=time_ms,
        )
        written = 0 if [head] == before else len(store.changed_by(head))
    return ImportReport(len(nodes), written, tuple(skipped), head)


def _mem0_records(memory: _Mem0Memory, filters: dict[str, Any]) -> list[dict[str, Any]]:
    """Every record: Mem0 has no cursor, so it is asked for more until it has no more."""
    asked = _MEM0_FIRST
    while True:
        answer = memory.get_all(filters=filters, top_k=asked, show_expired=True)
        if inspect.iscoroutine(answer):
            answer.close()
            raise InvalidRefError("the memory is asynchronous; open it as mem0.Memory to import it")
        results = (
            cast("dict[str, Any]", answer).get("results") if isinstance(answer, dict) else None
        )
        records = cast("list[dict[str, Any]]", results) if isinstance(results, list) else None
        if records is None or not all(
            isinstance(each, dict) for each in cast("list[Any]", records)
        ):
            raise InvalidRefError("the answer is no list of results, as Mem0 2 gives")
        if len(records) < asked:
            return records
        asked *= 2


def _mem0_node(record: dict[str, Any]) -> MemoryNode:
    text = record.get("memory")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("it has no text")
    if not record.get("id"):
        raise ValueError("it has no id")
    said: dict[str, Any] = {
        key: value
        for key, value in sorted(record.items())
        if key not in {"id", "memory", "metadata"} and value is not None
    }
    own: dict[str, Any] = record.get("metadata") or {}
    # Mem0 keeps its own names out of a caller's metadata; should one be there, both stay.
    said = {**own, **said} if not said.keys() & own.keys() else {"metadata": own, **said}
    content: dict[str, Any] = {"memory": text, "metadata": said} if said else {"memory": text}
    source = record.get("actor_id") or record.get("role")
    return MemoryNode(
        f"mem0:{record['id']}",
        content,
        provenance=Provenance(source=None if source is None else str(source)),
        event_time=_mem0_time(record.get("created_at")),
    )


def _mem0_time(text: object) -> int | None:
    """Unix milliseconds; Mem0 writes ISO 8601, and one without an offset is in UTC."""
    try:
        time = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=timezone.utc)
    return (time - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)
