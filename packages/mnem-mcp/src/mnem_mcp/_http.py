"""Streamable HTTP: where it listens, and who may call."""

from __future__ import annotations

import hmac
import ipaddress
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


class BadAddressError(ValueError):
    """What was said about where to listen does not do."""


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
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:  # noqa: PLR2004
            raise BadAddressError(f"--http: {text!r} is not HOST:PORT, such as 127.0.0.1:8000")
        if _is_loopback(host):
            return cls(host, int(port), (*LOOPBACK, *names), token)
        if token is None:
            raise BadAddressError(
                f"{host} is reached from other machines, so it takes a token: --token-file FILE"
            )
        named = f"[{host}]" if ":" in host else host
        return cls(host, int(port), (named, *names), token)

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
        streamable_http_path=PATH, host=address.host, transport_security=address.security()
    )
    if address.token is not None:
        app.add_middleware(RequireToken, token=address.token)
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.create_server((address.host, address.port), family=family)
    host = f"[{address.host}]" if ":" in address.host else address.host
    port = listening.getsockname()[1]
    sys.stderr.write(f"mnem-mcp: listening on http://{host}:{port}{PATH}\n")
    sys.stderr.flush()
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=GRACE)
    uvicorn.Server(config).run(sockets=[listening])


class RequireToken:
    """Refuses a request that does not carry the bearer token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            sent = Headers(scope=scope).get("authorization", "").encode("latin-1")
            if not hmac.compare_digest(sent, self._expected):
                refused = JSONResponse(
                    {"error": "invalid_token", "error_description": "a bearer token is needed"},
                    status_code=401,
                    headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
                )
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)
