"""What an agent does with its memory: one call is one commit.

Each call writes its own change and nothing else: what a person has staged stays a draft. On a
detached HEAD a write is refused with :class:`mnem.InvalidRefError` before anything is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from .errors import InvalidRefError
from .types import MemoryNode, Provenance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ._mnem import Snapshot
    from .store import Store
    from .types import ChatReport

__all__ = [
    "forget",
    "import_chat",
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
    return store.write(
        {id: MemoryNode(id, content, provenance=provenance, event_time=event_time)},
        message=f"remember {id}" if summary is None else summary,
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
        summary=f"revise {id}" if summary is None else summary,
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
            item["id"],
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
        for item in items
    ]
    count = f"{len(nodes)} node{'' if len(nodes) == 1 else 's'}"
    return store.write(
        {node.id: node for node in nodes},
        message=f"remember {count}" if summary is None else summary,
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
        return {id: None}

    return store.update(
        drop,
        message=f"forget {id}" if summary is None else summary,
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
    limit: int | None = None,
) -> dict[str, MemoryNode]: ...


def recall(
    store: Store,
    id: str | None = None,
    *,
    at: str | None = None,
    prefix: str | None = None,
    limit: int | None = None,
) -> MemoryNode | dict[str, MemoryNode] | None:
    """Read committed memory: one node, or all of it by id.

    ``at`` is a revision, the branch's tip unless given; ``prefix`` and ``limit`` are as in
    :meth:`mnem.Store.memory`, for more than one node. InvalidRefError when ``at`` names no
    commit.

    >>> store = mnem.open(":memory:")
    >>> _ = remember(store, "plan", "basic")
    >>> _ = remember(store, "plan", "enterprise")
    >>> recall(store, "plan").content, recall(store, "plan", at="HEAD~1").content
    ('enterprise', 'basic')
    """
    if id is None:
        if at is None:
            return store.memory(prefix=prefix, limit=limit)
        return store.state_at(at, prefix=prefix, limit=limit)
    if prefix is not None or limit is not None:
        raise InvalidRefError("recall takes an id, or prefix and limit, not both")
    return store.get(id) if at is None else store.state_at(at, prefix=id, limit=1).get(id)


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
    return store._handle.import_chat(  # noqa: SLF001
        messages, transcript, rules, keep_all, author, time_ms
    )
