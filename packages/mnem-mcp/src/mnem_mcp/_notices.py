"""Who is told that memory changed, and how the server notices."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
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

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel.server import Server
    from mcp_types import SubscriptionsListenResult

    from ._memory import Memory

logger = logging.getLogger(__name__)

# Seconds between two looks at the branch. Another process may have written it, so there is
# nothing to wait for. Nobody looks while nobody listens.
INTERVAL = 0.25


class Notices:
    """The subscriptions of a server's clients, of any version of the protocol.

    Clients of 2026-07-28 listen on a stream; earlier ones subscribe to resources one by one.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._listening = 0
        self._subscribed: WeakKeyDictionary[Connection, set[str]] = WeakKeyDictionary()
        # The tip at the last look, once there was one.
        self._seen: tuple[str | None] | None = None
        self._looking = False

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
        await self._begin()
        self._listening += 1
        try:
            return await self._listen(context, params)
        finally:
            self._listening -= 1

    async def _on_subscribe(
        self, context: ServerRequestContext[Any, Any], params: SubscribeRequestParams
    ) -> EmptyResult:
        await self._begin()
        self._subscribed.setdefault(_connection(context), set()).add(str(params.uri))
        return EmptyResult()

    async def _on_unsubscribe(
        self, context: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
    ) -> EmptyResult:
        self._subscribed.get(_connection(context), set[str]()).discard(str(params.uri))
        return EmptyResult()

    async def _begin(self) -> None:
        """What changes after a subscription was acknowledged is told, so the tip is read first."""
        if self._seen is None:
            tip = await anyio.to_thread.run_sync(self._tip)
            if self._seen is None:
                self._seen = (tip,)

    async def watch(self) -> None:
        """Look for changes for as long as the server runs."""
        while True:
            await anyio.sleep(INTERVAL)
            # Several connections of one server each watch: one look at a time is enough.
            if self._looking:
                continue
            self._looking = True
            try:
                await self._look()
            except mnem.MnemError:
                # Whoever asks the store next is told; a notice has nobody to tell.
                logger.warning("cannot look for changes", exc_info=True)
            finally:
                self._looking = False

    async def _look(self) -> None:
        if not (self._listening or any(self._subscribed.values())):
            self._seen = None
        if self._seen is None:
            return
        (before,) = self._seen
        tip, ids = await anyio.to_thread.run_sync(self._changed, before)
        self._seen = (tip,)
        if tip == before:
            return
        for uri in ["mnem://memory", "mnem://log", *(uri for id in ids for uri in _spellings(id))]:
            await self._bus.publish(ResourceUpdated(uri))
            for connection, uris in list(self._subscribed.items()):
                if uri in uris:
                    await connection.send_resource_updated(uri)

    def _tip(self) -> str | None:
        return self._memory.store.head_commit()

    def _changed(self, before: str | None) -> tuple[str | None, list[str]]:
        """The tip, and the ids of what changed since another one."""
        tip = self._tip()
        if tip is None or tip == before:
            return tip, []
        if before is None:
            return tip, self._memory.ids(tip)
        return tip, [change.id for change in self._memory.store.diff(before, tip)]


def _spellings(id: str) -> set[str]:
    """The ways to write a node's resource: subscriptions are compared as they were sent."""
    texts = {id, quote(id, safe=""), quote(id), quote(id, safe=":/")}
    return {f"mnem://memory/{text}" for text in texts}


def _connection(context: ServerRequestContext[Any, Any]) -> Connection:
    # A subscription is of the connection, which the session of a request does not show.
    return context.session._connection  # noqa: SLF001
