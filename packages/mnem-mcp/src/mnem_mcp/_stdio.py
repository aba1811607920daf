"""Standard input: a line that is no message is answered, so that nobody waits for an answer."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from ._answers import readable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable

    from anyio.abc import ObjectReceiveStream
    from mcp.shared._stream_protocols import WriteStream

BYTE_ORDER_MARK = "\ufeff"


@asynccontextmanager
async def only_messages(
    read: AsyncIterable[SessionMessage | Exception], write: WriteStream[SessionMessage]
) -> AsyncGenerator[ObjectReceiveStream[SessionMessage | Exception]]:
    """The messages of a client; what cannot be read as one is answered here.

    The transport hands on what it failed to read, and the server drops it in silence.
    """
    send, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)

    async def sift() -> None:
        # Either side may be gone by then: the client, or the server that is told to stop.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with send:
                async for item in read:
                    message = _read_again(item) if isinstance(item, ValidationError) else item
                    if isinstance(message, JSONRPCError):
                        await write.send(SessionMessage(message))
                    elif message is not None:
                        await send.send(message)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sift)
        yield messages
        tasks.cancel_scope.cancel()


def _read_again(error: ValidationError) -> SessionMessage | JSONRPCError | None:
    """The message behind a byte order mark, or what to answer to a line that is none, if at all."""
    wrong = error.errors(include_url=False)
    if wrong[0]["type"] != "json_invalid":
        # One of the errors is that the whole is no answer either.
        ids = [id for one in wrong if (id := _id_of(one["input"])) is not None]
        return _refused(ids[0] if ids else None, INVALID_REQUEST, "it is no request")
    line = wrong[0]["input"]
    if line.startswith(BYTE_ORDER_MARK):
        try:
            text = line.removeprefix(BYTE_ORDER_MARK)
            return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
        except ValidationError as again:
            return _read_again(again)
    if not line.strip():
        return None
    try:
        # Python reads what is no JSON for others: half of a character, a number of any length.
        request = json.loads(line, parse_int=lambda digits: int(digits[:20]))
    except (ValueError, RecursionError):
        request = None
    return _refused(_id_of(request), PARSE_ERROR, wrong[0]["msg"])


def _id_of(request: Any) -> RequestId | None:
    """The id that the answer to a request must have."""
    if not isinstance(request, dict) or "method" not in request:
        return None
    id = cast("dict[str, Any]", request).get("id")
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None


def _refused(id: RequestId | None, code: int, reason: str) -> JSONRPCError:
    told = readable(f"invalid_ref: the message cannot be read: {reason}")
    return JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=told))
