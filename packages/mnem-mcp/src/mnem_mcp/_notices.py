"""Who is told that memory changed, and how the server notices."""

from __future__ import annotations

import logging
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread
import mnem
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp_types import (
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)

from ._answers import as_text
from ._uris import Place

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel.server import Server
    from mcp_types import SubscriptionsListenResult

    from ._memory import Memory

logger = logging.getLogger(__name__)

# Seconds between two looks at the branch. Another process may have written it, so there is
# nothing to wait for. Nobody looks while nobody listens.
INTERVAL = 0.25
COMMIT = re.compile(r"[0-9a-f]{64}")


@dataclass
class Subscriber:
    """A client of an earlier version: what it subscribed to, and what it is yet to be told of."""

    uris: set[str] = field(default_factory=set[str])
    due: set[str] = field(default_factory=set[str])
    is_being_told: bool = False


class Notices:
    """The subscriptions of a server's clients, of any version of the protocol.

    Clients of 2026-07-28 listen on a stream; earlier ones subscribe to resources one by one.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._listened = Counter[str]()
        # What somebody wants to hear of, as of the last look.
        self._wanted = frozenset[str]()
        self._subscribers: WeakKeyDictionary[Connection, Subscriber] = WeakKeyDictionary()
        # The tip at the last look, once there was one.
        self._seen: tuple[str | None] | None = None
        self._looking = False
        self._said = ""

    def serve(self, server: Server[Any]) -> None:
        """Serve the requests by which clients subscribe."""
        listen, subscribe = SubscriptionsListenRequestParams, SubscribeRequestParams
        server.add_request_handler("subscriptions/listen", listen, self._on_listen)
        server.add_request_handler("resources/subscribe", subscribe, self._on_subscribe)
        server.add_request_handler(
            "resources/unsubscribe", UnsubscribeRequestParams, self._on_unsubscribe
        )

    async def _on_listen(
        self, context: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        uris = params.notifications.resource_subscriptions or []
        await self._begin()
        self._listened.update(uris)
        try:
            return await self._listen(context, params)
        finally:
            self._listened.subtract(uris)
            self._listened = +self._listened  # without what nobody listens to

    async def _on_subscribe(
        self, context: ServerRequestContext[Any, Any], params: SubscribeRequestParams
    ) -> EmptyResult:
        await self._begin()
        self._subscribers.setdefault(_connection(context), Subscriber()).uris.add(str(params.uri))
        return EmptyResult()

    async def _on_unsubscribe(
        self, context: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
    ) -> EmptyResult:
        subscriber = self._subscribers.get(_connection(context), Subscriber())
        subscriber.uris.discard(str(params.uri))
        subscriber.due.discard(str(params.uri))
        return EmptyResult()

    async def _begin(self) -> None:
        """What changes after a subscription was acknowledged is told, so the tip is read first."""
        if self._seen is None:
            tip = await anyio.to_thread.run_sync(self._tip)
            if self._seen is None:
                self._seen = (tip,)

    async def watch(self) -> None:
        """Look for changes for as long as the server runs."""
        async with anyio.create_task_group() as tasks:
            while True:
                await anyio.sleep(INTERVAL)
                # Several connections of one server each watch: one look at a time is enough.
                if self._looking:
                    continue
                self._looking = True
                try:
                    await self._look(tasks)
                    self._said = ""
                except mnem.MnemError as error:
                    # Whoever asks the store next is told; a notice has nobody to tell.
                    self._memory.heard(error)
                    if self._said != str(error):
                        self._said = str(error)
                        logger.warning("cannot look for changes: %s: %s", error.code, error)
                finally:
                    self._looking = False

    async def _look(self, tasks: TaskGroup) -> None:
        subscribers = list(self._subscribers.items())
        uris = (subscriber.uris for _, subscriber in subscribers)
        self._wanted = frozenset(self._listened).union(*uris)
        if not self._wanted:
            self._seen = None
        if self._seen is None:
            return
        (before,) = self._seen
        tip, told = await anyio.to_thread.run_sync(self._changed, before)
        self._seen = (tip,)
        for connection, subscriber in subscribers:
            subscriber.due |= told & subscriber.uris
            tasks.start_soon(self._tell, connection, subscriber)
        for uri in sorted(told):
            await self._bus.publish(ResourceUpdated(uri))

    @staticmethod
    async def _tell(connection: Connection, subscriber: Subscriber) -> None:
        """Tell one client what it is due, however long it takes to listen: the others wait not."""
        if subscriber.is_being_told:
            return
        subscriber.is_being_told = True
        try:
            while subscriber.due:
                await connection.send_resource_updated(subscriber.due.pop())
        finally:
            subscriber.is_being_told = False

    def _tip(self) -> str | None:
        return self._memory.store.head_commit()

    def _changed(self, before: str | None) -> tuple[str | None, set[str]]:
        """The tip, and what of the wanted says something else there than at another one, or may."""
        tip = self._tip()
        if tip == before:
            return tip, set()
        return tip, {uri for uri in self._wanted if self._is_touched(Place.of(uri), before, tip)}

    def _is_touched(self, place: Place | None, before: str | None, tip: str | None) -> bool:
        match place:
            case Place(kind="memory", name=id) if id:
                try:
                    return self._says(before, id) != self._says(tip, id)
                except (mnem.InvalidRefError, mnem.NotFoundError):
                    return True  # of another store, which was put in the place of the first
            case Place(kind="commit", name=name):
                return not COMMIT.fullmatch(name)
            case Place(kind="memory" | "log"):
                return True
            case _:
                return False

    def _says(self, commit: str | None, id: str) -> str | None:
        node = None if commit is None else self._memory.node(commit, id)
        # As text, in which 1, 1.0 and true are three values.
        return None if node is None else as_text(node.to_dict())


def _connection(context: ServerRequestContext[Any, Any]) -> Connection:
    # A subscription is of the connection, which the session of a request does not show.
    return context.session._connection  # noqa: SLF001
