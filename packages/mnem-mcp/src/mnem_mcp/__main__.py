"""The command ``mnem-mcp``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import mnem

from . import __version__, build_server
from ._http import Address, BadAddressError, CannotListenError, serve
from ._memory import need_branch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.mcpserver import MCPServer

WRONG_USAGE = 2
STORE = 3


def main(words: Sequence[str] | None = None) -> int:
    """Serve a store; returns the exit code: 0, 2 for wrong usage, 3 for what the store says."""
    parser = _parser()
    asked = parser.parse_args(words)
    # No shell has seen what a client's configuration says. A user that is not there is no error.
    path = os.path.expanduser(asked.store or os.environ.get("MNEM_STORE") or ".")  # noqa: PTH111
    author = asked.author or os.environ.get("MNEM_AUTHOR") or "agent"
    try:
        token = _token(asked.token_file)
        address = None if asked.http is None else Address.parse(asked.http, asked.allow_host, token)
    except BadAddressError as error:
        parser.error(str(error))
    if address is None and (asked.token_file or asked.allow_host):
        parser.error("--token-file and --allow-host are for --http")
    if asked.no_history and asked.tools == "all":
        parser.error("--tools all reaches past states, which --no-history keeps from the model")
    try:
        _check(path, init=asked.init, branch=asked.branch, read_only=asked.read_only)
        server = build_server(
            path,
            asked.tools,
            branch=asked.branch,
            author=author,
            read_only=asked.read_only,
            history=not asked.no_history,
        )
        server.check()
    except mnem.MnemError as error:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        if isinstance(error, mnem.NoStoreError):
            # The hint names `mnem init` where one can be made; nothing is to be made over.
            is_free = (error.hint or "").startswith("`mnem init")
            made = "--init` makes the store" if is_free else "--store PATH` takes another place"
            hint = f"\nhint: `mnem-mcp {made}"
        sys.stderr.write(f"mnem-mcp: {error.code}: {error}{hint}\n")
        return STORE
    try:
        _serve(server, address)
    except KeyboardInterrupt:
        pass
    except CannotListenError as error:
        sys.stderr.write(f"mnem-mcp: {error}\n")
        return STORE
    return 0


def _serve(server: MCPServer, address: Address | None) -> None:
    if address is not None:
        serve(server, address)
        return
    # Reading from a terminal is not interrupted otherwise; a write is whole or not there.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.stdin.isatty():
        sys.stderr.write(
            "mnem-mcp: waiting for a client program on standard input; "
            "`mnem-mcp --help` says more, Ctrl-C ends it\n"
        )
    try:
        server.run("stdio")
    except Exception as error:
        if not _client_went(error):
            raise


def _client_went(error: BaseException) -> bool:
    """Whether an answer had nobody to go to: a client may end at any time."""
    parts: Sequence[BaseException] | None = getattr(error, "exceptions", None)
    return all(map(_client_went, parts)) if parts else isinstance(error, BrokenPipeError)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mnem-mcp",
        description="An agent's memory under version control, as an MCP server on stdio or HTTP.",
    )
    parser.add_argument("--version", action="version", version=f"mnem-mcp {__version__}")
    parser.add_argument(
        "--store",
        metavar="PATH",
        help="the store at PATH or above it [default: $MNEM_STORE, then .]",
    )
    parser.add_argument("--init", action="store_true", help="make the store if there is none")
    parser.add_argument(
        "--tools",
        choices=["core", "all"],
        default="core",
        help="all: also branch, switch, merge, revert and undo [default: core]",
    )
    parser.add_argument("--branch", metavar="NAME", help="read and write it [default: HEAD's]")
    parser.add_argument(
        "--author", metavar="NAME", help="of its commits [default: $MNEM_AUTHOR, then agent]"
    )
    parser.add_argument("--read-only", action="store_true", help="no tool that writes")
    parser.add_argument(
        "--no-history", action="store_true", help="no tool that shows what memory said before"
    )
    parser.add_argument(
        "--http", metavar="HOST:PORT", help="serve Streamable HTTP at /mcp; port 0 takes a free one"
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help="the bearer token that HTTP clients must send [default: $MNEM_MCP_TOKEN]",
    )
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a host name that HTTP clients may call this server by; may be repeated",
    )
    return parser


def _token(file: str | None) -> str | None:
    """The token that clients must send; BadAddressError for what no header can hold."""
    if file is None:
        place, text = "MNEM_MCP_TOKEN", os.environ.get("MNEM_MCP_TOKEN", "")
    else:
        place = f"--token-file: {file}"
        try:
            text = Path(os.path.expanduser(file)).read_text(encoding="latin-1")  # noqa: PTH111
        except OSError as error:
            raise BadAddressError(f"--token-file: cannot read {file}: {error.strerror}") from error
    token = text.strip()
    if not token and file is not None:
        raise BadAddressError(f"{place} is empty")
    if not all("!" <= character <= "~" for character in token):
        raise BadAddressError(f"{place} holds no token: one word of ASCII characters")
    return token or None


def _check(path: str, *, init: bool, branch: str | None, read_only: bool) -> None:
    """The store is there and can be read, or is made, unless the branch will be refused."""
    try:
        mnem.open(path).close()
    except mnem.NoStoreError:
        if not init:
            raise
        with mnem.open(":memory:") as trial:
            if branch is not None:
                (need_branch if read_only else mnem.Store.on)(trial, branch)
        try:
            mnem.init(path).close()
        except mnem.StoreExistsError:
            mnem.open(path).close()  # another server made it meanwhile


if __name__ == "__main__":
    sys.exit(main())
