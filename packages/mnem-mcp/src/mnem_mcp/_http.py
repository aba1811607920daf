"""Streamable HTTP: where it listens, and who may call."""

from __future__ import annotations

import errno
import hmac
import ipaddress
import re
import socket
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.mcpserver import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# Seconds that open streams may take to end once the server is told to stop.
GRACE = 1


# What one request may hold: a memory of the largest content there is, and what stands around it.
MOST_BYTES = 96 * 1024 * 1024
_NAME = re.compile(r"[a-z0-9._-]+")


class BadAddressError(ValueError):
    """What was said about where to listen does not do."""


class CannotListenError(Exception):
    """The address cannot be listened on."""


@dataclass(frozen=True)
class Address:
    """Where to listen, the names that clients may call it by, and the token they must send."""

    host: str
    port: int
    names: tuple[str, ...]
    token: str | None

    @classmethod
    def parse(cls, text: str, names: Sequence[str], token: str | None) -> Address:
        """Read ``HOST:PORT``. BadAddressError beyond loopback without a token.

        >>> Address.parse("127.0.0.1:8000", [], None).names
        ('127.0.0.1', 'localhost', '[::1]')
        >>> Address.parse("0.0.0.0:8000", [], None)
        Traceback (most recent call last):
            ...
        mnem_mcp._http.BadAddressError: 0.0.0.0 is reached from other machines, so it takes a \
token: --token-file FILE
        """
        host, _, port = text.lower().rpartition(":")
        is_port = port.isascii() and port.isdigit() and int(port) <= 65535  # noqa: PLR2004
        if not is_port or not _is_host(host):
            raise BadAddressError(f"--http: {text!r} is not HOST:PORT, such as 127.0.0.1:8000")
        host = host.strip("[]")
        for name in names:
            if not _is_host(name.lower()):
                raise BadAddressError(f"--allow-host: {name!r} is no host name: no scheme, no port")
        # As clients write them, whatever was typed.
        names = [_named(name.lower()) for name in (host, *names)]
        if _is_loopback(host):
            return cls(host, int(port), tuple(dict.fromkeys([*LOOPBACK, *names])), token)
        if token is None:
            raise BadAddressError(
                f"{host} is reached from other machines, so it takes a token: --token-file FILE"
            )
        return cls(host, int(port), tuple(names), token)

    def security(self) -> TransportSecuritySettings:
        """The host and origin checks: a page that rebinds its own name to us is refused."""
        return TransportSecuritySettings(
            allowed_hosts=[form for name in self.names for form in (name, f"{name}:*")],
            allowed_origins=[
                form
                for name in self.names
                for scheme in ("http", "https")
                for form in (f"{scheme}://{name}", f"{scheme}://{name}:*")
            ],
        )


def _is_host(text: str) -> bool:
    """Whether it is a name or an address; one of version 6 may stand in brackets."""
    if _NAME.fullmatch(text):
        return True
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    try:
        return ipaddress.ip_address(text).version == 6  # noqa: PLR2004
    except ValueError:
        return False


def _named(host: str) -> str:
    """A host as it stands in a URL."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(server: MCPServer, address: Address) -> None:
    """Serve until stopped; says on standard error where, once it listens."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        host=address.host,
        transport_security=address.security(),
        max_request_body_size=MOST_BYTES,
    )
    if address.token is not None:
        app.add_middleware(RequireToken, token=address.token)
    listening = _listen(address)
    port = listening.getsockname()[1]
    sys.stderr.write(f"mnem-mcp: listening on http://{_named(address.host)}:{port}{PATH}\n")
    sys.stderr.flush()
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=GRACE)
    uvicorn.Server(config).run(sockets=[listening])


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        told = (error.strerror or str(error)).partition(" (while")[0]
        hint = "give an address of this machine, such as 127.0.0.1:8000"
        if error.errno in {errno.EADDRINUSE, errno.EACCES}:
            hint = "`--http HOST:0` takes a free port"
        place = f"{_named(address.host)}:{address.port}"
        raise CannotListenError(f"cannot listen on {place}: {told}\nhint: {hint}") from error


class RequireToken:
    """Refuses a request that does not carry the bearer token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            header = Headers(scope=scope).get("authorization", "").encode("latin-1")
            scheme, _, sent = header.partition(b" ")
            is_sent = hmac.compare_digest(sent.strip(), self._expected)
            if scheme.lower() != b"bearer" or not is_sent:
                refused = JSONResponse(
                    {"error": "invalid_token", "error_description": "a bearer token is needed"},
                    status_code=401,
                    headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
                )
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)
