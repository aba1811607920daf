"""The server: which tools and resources there are, and what an error looks like."""

from __future__ import annotations

import inspect
import json
import logging
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, get_args

import anyio.to_thread
import mnem
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolResult,
    Completion,
    Resource,
    ResourceTemplate,
    ResourceTemplateReference,
    ToolAnnotations,
)
from pydantic import ValidationError

from ._answers import NOTICE, as_text, failed, more, readable, shortened
from ._memory import Memory
from ._notices import Notices
from ._stdio import only_messages
from ._tools import MOST, Tools
from ._uris import Place

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator, Iterable

    from mcp.server.mcpserver import Context
    from mcp_types import (
        CompletionArgument,
        CompletionContext,
        GetPromptResult,
        InputRequiredResult,
        PromptReference,
    )
    from pydantic import AnyUrl

logger = logging.getLogger(__name__)

Visible = Literal["core", "all"]

INSTRUCTIONS = (
    "Mnemosyne: your memory, under version control. Record what you learn with `remember`, with "
    "where it came from; read it with `recall`. `why` and `when_did` trace a wrong belief to the "
    f"commit and the source that set it. {NOTICE}"
)

# Which tools write, which of these drop something, and which look at the past.
WRITERS = ["remember", "revise", "remember_many", "forget"]
CORE = [*WRITERS, "recall", "recall_at", "history", "why", "when_did", "whats_new"]
HARNESS = ["branch", "switch", "merge", "revert", "undo"]
WRITING = {*WRITERS, "branch", "merge", "revert", "undo"}
DROPPING = {"forget"}
REPEATABLE = {"remember", "revise", "remember_many", "switch"}
PAST = {"recall_at", "history", "why", "when_did", "whats_new", *HARNESS}

# Arguments that are never text, so that a client's JSON text in their place is read.
NEVER_TEXT = {"items", "resolutions"}

# The most that the protocol has in one answer.
MOST_COMPLETIONS = 100


def build_server(
    store_path: str | os.PathLike[str] = ".",
    tools: str = "core",
    *,
    branch: str | None = None,
    author: str = "agent",
    read_only: bool = False,
    history: bool = True,
) -> MemoryServer:
    """The MCP server of one store, which is opened when it is first used.

    ``tools`` is ``"core"``, or ``"all"`` with those of a harness: branch, switch, merge, revert
    and undo. ``branch`` is the branch it reads and writes, HEAD's unless given; ``author`` is who
    its commits are by. ``read_only`` leaves out what writes, ``history=False`` what shows past
    states. ValueError for other ``tools``, and for ``"all"`` without history.

    >>> import asyncio
    >>> [tool.name for tool in asyncio.run(build_server(read_only=True).list_tools())]
    ['recall', 'recall_at', 'history', 'why', 'when_did', 'whats_new']
    """
    if tools not in get_args(Visible):
        raise ValueError(f"tools is 'core' or 'all', not {tools!r}")
    if tools == "all" and not history:
        raise ValueError("the tools of a harness reach past states: history=False has none of them")
    names = [
        name
        for name in (CORE + HARNESS if tools == "all" else CORE)
        if not (read_only and name in WRITING) and (history or name not in PAST)
    ]
    memory = Memory(store_path, branch=branch, author=author, read_only=read_only)
    return MemoryServer(memory, names, history=history)


class _Exact(FuncMetadata):
    """Arguments as they were sent: text that looks like JSON stays text."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        parsed = dict(data)
        for name in NEVER_TEXT & data.keys():
            if isinstance(data[name], str):
                try:
                    parsed[name] = json.loads(data[name])
                except (ValueError, RecursionError):
                    continue  # validation says what is wrong
        return parsed


def _tool(tools: Tools, name: str) -> Tool:
    tool = Tool.from_function(
        getattr(tools, name),
        description=inspect.getdoc(getattr(tools, name)),
        annotations=ToolAnnotations(
            read_only_hint=name not in WRITING and name != "switch",
            destructive_hint=name in DROPPING,
            idempotent_hint=name not in WRITING or name in REPEATABLE,
            open_world_hint=False,
        ),
    )
    tool.parameters["additionalProperties"] = False
    made = tool.fn_metadata
    tool.fn_metadata = _Exact(
        arg_model=made.arg_model,
        output_schema=made.output_schema,
        output_model=made.output_model,
        wrap_output=made.wrap_output,
    )
    return tool


class MemoryServer(MCPServer):
    """An MCP server whose errors have codes and whose resources have pages."""

    def __init__(self, memory: Memory, names: list[str], *, history: bool) -> None:
        self._memory = memory
        self._tools = Tools(memory)
        self._history = history
        self._notices = Notices(memory)
        self._connections = 0
        super().__init__(
            "mnem",
            title="Mnemosyne",
            instructions=INSTRUCTIONS,
            version=version("mnem-mcp"),
            tools=[_tool(self._tools, name) for name in names],
            log_level="WARNING",
            subscriptions=False,  # ours are registered below
            lifespan=_running,
        )
        self._notices.serve(self._lowlevel_server)
        self.completion()(self._complete)

    def check(self) -> None:
        """Open the store and bind the branch now; MnemError when that cannot be done."""
        _ = self._memory.store

    @asynccontextmanager
    async def run_alongside(self) -> AsyncGenerator[None]:
        """Tell whoever listens of changes, and let go of the store after the last connection."""
        self._connections += 1
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._notices.watch)
                yield
                tasks.cancel_scope.cancel()
        finally:
            self._connections -= 1
            if not self._connections:
                self._memory.close()

    async def run_stdio_async(self) -> None:
        """Serve one client on standard input and output, until its input ends."""
        served = self._lowlevel_server
        async with stdio_server() as (read, write), only_messages(read, write) as messages:
            await served.run(messages, write, served.create_initialization_options())

    @property
    def notices(self) -> Notices:
        """Who is told of changes."""
        return self._notices

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; what it raises is an answer with a code."""
        tool = self._tool_manager.get_tool(name)
        known = arguments if tool is None else tool.parameters["properties"]
        if unknown := [word for word in arguments if word not in known]:
            # Left out in silence, a misspelt source would be lost.
            told = f"{name} has no argument {unknown[0]!r}"
            return failed("invalid_ref", told, f"its arguments are {', '.join(known)}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            return self._failed(name, error)

    def _failed(self, name: str, error: ToolError) -> CallToolResult:
        cause = error.__cause__
        if isinstance(cause, mnem.MnemError):
            self._memory.heard(cause)
            return failed(cause.code, str(cause), cause.hint)
        if isinstance(cause, ValidationError):
            return failed("invalid_ref", f"{name}: {_told(cause)}")
        if cause is None:
            names = ", ".join(tool.name for tool in self._tool_manager.list_tools())
            return failed("not_found", f"there is no tool {name!r}", f"the tools are {names}")
        logger.error("tool %r failed", name, exc_info=error)
        return failed("internal", f"{name} failed inside the server, whose log says why")

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[Any, Any] | None = None,
    ) -> GetPromptResult:
        """There are no prompts."""
        del arguments, context
        raise MCPError(INVALID_PARAMS, readable(f"not_found: there is no prompt {name!r}"))

    async def _complete(
        self,
        reference: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        """The ids that begin as what was typed, where an id is asked for."""
        del context
        template = isinstance(reference, ResourceTemplateReference)
        if not template or argument.name not in {"node_id", "prefix"}:
            return None
        try:
            ids = await anyio.to_thread.run_sync(self._ids, argument.value)
        except mnem.MnemError as error:
            self._memory.heard(error)
            raise MCPError(INTERNAL_ERROR, readable(f"{error.code}: {error}")) from error
        shown = ids[:MOST_COMPLETIONS]
        return Completion(values=shown, total=len(ids), has_more=len(ids) > len(shown))

    def _ids(self, prefix: str) -> list[str]:
        tip = self._memory.store.head_commit()
        return [] if tip is None else self._memory.ids(tip, prefix=prefix)

    # ---- resources ----

    async def list_resources(self) -> list[Resource]:
        """The resources that have no arguments."""
        memory = _resource("mnem://memory", "memory", "Memory as it is now, by id; a page of it.")
        log = _resource("mnem://log", "log", "The recent commits, newest first.")
        return [memory, log] if self._history else [memory]

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """The resources that have arguments."""
        templates = [
            _template("mnem://memory/{node_id}", "node", "One memory; null where there is none."),
            _template("mnem://memory{?prefix,limit,cursor}", "page", "A page of memory."),
        ]
        if self._history:
            told = "What a commit changed, and a page of memory at it."
            templates += [
                _template("mnem://commit/{commit}", "commit", told),
                _template("mnem://commit/{commit}{?prefix,limit,cursor}", "commit_page", told),
                _template("mnem://log{?limit,cursor}", "log_page", "A page of the history."),
            ]
        return templates

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents]:
        """Read a resource: its JSON, then what it is and how it goes on."""
        del context
        try:
            value, beside = await anyio.to_thread.run_sync(self._read, str(uri))
        except mnem.MnemError as error:
            self._memory.heard(error)
            gone = error.code in {"not_found", "invalid_ref"}
            raise (ResourceNotFoundError if gone else ResourceError)(
                readable(f"{error.code}: {error}")
            ) from error
        told = f"{NOTICE} {more(beside)}".rstrip()
        return [
            ReadResourceContents(as_text(value), "application/json", {"notice": NOTICE, **beside}),
            ReadResourceContents(told, "text/plain"),
        ]

    def _read(self, uri: str) -> tuple[Any, dict[str, Any]]:
        place = Place.of(uri)
        if place is None:
            raise mnem.NotFoundError(f"there is no resource {uri!r}")
        path, asked = place.name, place.asked
        limit = _whole_number(asked["limit"]) if "limit" in asked else None
        cursor = asked.get("cursor")
        match (place.kind, bool(path)):
            case ("memory", True):
                node = self._memory.store.get(path)
                return node and shortened(node.to_dict(), whole=asked.get("whole") == "true"), {}
            case ("memory", False):
                tip = self._memory.store.head_commit()
                return self._tools.page_of_nodes(tip, asked.get("prefix", ""), limit, cursor)
            case ("log", False) if self._history:
                return self._tools.page_of_commits(20 if limit is None else limit, cursor)
            case ("commit", True) if self._history:
                commit = self._memory.resolve(path)
                prefix = asked.get("prefix", "")
                state, beside = self._tools.page_of_nodes(commit, prefix, limit, cursor)
                changed, rest = self._tools.page_of_changes(commit)
                if rest:
                    beside["changed_left_out"] = rest["left_out"]
                return {"changed": changed, "state": state}, beside
            case _:
                raise mnem.NotFoundError(f"there is no resource {uri!r}")


@asynccontextmanager
async def _running(server: MCPServer) -> AsyncGenerator[None]:
    """While a server runs: once for each connection within a process, else once."""
    assert isinstance(server, MemoryServer)  # noqa: S101  # it is its own lifespan's argument
    async with server.run_alongside():
        yield


def _told(error: ValidationError) -> str:
    """What is wrong with arguments, in a sentence that does not repeat them."""
    wrong = {
        ".".join(map(_part, one["loc"])): one["msg"]
        for one in error.errors(include_url=False, include_input=False)
    }
    return "; ".join(f"argument {name}: {message}" for name, message in wrong.items())


def _part(part: int | str) -> str:
    """A part of an argument's name, which anybody may have made up."""
    return str(part) if isinstance(part, int) or part.isidentifier() else repr(part)


def _whole_number(text: str) -> int:
    # A text of many digits is not even read as a number.
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(MOST))
    if not digits or not 0 < int(text) <= MOST:
        raise mnem.InvalidRefError(f"limit: {text!r} is no number from 1 to {MOST}")
    return int(text)


def _resource(uri: str, name: str, description: str) -> Resource:
    return Resource(uri=uri, name=name, description=description, mime_type="application/json")


def _template(uri: str, name: str, description: str) -> ResourceTemplate:
    return ResourceTemplate(
        uri_template=uri, name=name, description=description, mime_type="application/json"
    )
