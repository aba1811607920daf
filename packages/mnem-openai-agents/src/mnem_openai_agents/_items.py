"""An item as a node keeps it: its content, and where it came from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import mnem
from mnem import InvalidRefError, Provenance, keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["calls_in", "is_user", "provenance", "refused", "restored", "stored", "unanswered"]

# Where an item stands as JSON text: one that content cannot hold, or that has a reserved key.
_JSON = "mnem:json"
# As much of an output as `mnem.agents.import_chat` keeps of a result.
_OBSERVATION_CHARS = 280

# Where items of the Responses API keep what a tool was asked, and what it said.
_ASKED = ("arguments", "input", "action", "actions", "operation", "code", "queries")
_SAID = ("output", "result", "tools", "outputs", "results", "error", "status")
# Calls that the API answers itself, in the item of the call, and where.
_HOSTED = {
    "mcp_call": ("output", "error"),
    "code_interpreter_call": ("outputs",),
    "file_search_call": ("results",),
}


def stored(item: Any, full: list[str] | None, *, as_text: bool = False) -> Any:
    """The content for an item; ``full`` is the key of a node whose id was cut."""
    fields = _fields(item)
    if fields is None:
        as_text = as_text or full is not None
    else:
        as_text = as_text or _JSON in fields or keys.FULL in fields
    content = {_JSON: json.dumps(item)} if as_text else item
    return content if full is None else {**content, keys.FULL: full}


def restored(content: Any) -> Any:
    """The item that a content stands for; ValueError when its text is no JSON."""
    fields = _fields(content)
    if fields is None:
        return content
    if _JSON in fields:
        text = fields[_JSON]
        if not isinstance(text, str):
            raise ValueError(f"{_JSON} is no text")
        try:
            return json.loads(text)
        except RecursionError as error:
            raise ValueError(f"{_JSON} is nested too deep") from error
    return {key: value for key, value in fields.items() if key != keys.FULL}


def refused(items: list[Any], refusal: InvalidRefError) -> list[bool]:
    """Which items content cannot hold, after the store refused them together.

    TypeError or ValueError for an item that is no JSON either.
    """
    # The store knows its rules; no copy of them stands here.
    with mnem.open(":memory:") as scratch:
        answers = [not _holds(scratch, item) for item in items]
    try:
        json.dumps([item for item, answer in zip(items, answers, strict=True) if answer])
    except (TypeError, ValueError):
        # The store's says where, but may be about what text can hold.
        if isinstance(refusal, TypeError):
            raise refusal from None
        raise
    return answers


def _holds(scratch: mnem.Store, item: Any) -> bool:
    try:
        scratch.add("item", item)
    except InvalidRefError:
        return False
    return True


def calls_in(items: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """The calls among items, by their id."""
    return {id: fields for id, fields in _of_calls(items) if not _is_output(fields)}


def unanswered(items: list[Any]) -> set[str]:
    """The ids of the calls whose output is among items, and that are not."""
    outputs = {id for id, fields in _of_calls(items) if _is_output(fields)}
    return outputs - calls_in(items).keys()


def is_user(item: Any) -> bool:
    """Whether an item is a message of the user, which begins a turn."""
    fields = _fields(item)
    return fields is not None and fields.get("role") == "user"


def provenance(item: Any, calls: Mapping[str, dict[str, Any]]) -> Provenance:
    """Where a tool's output came from: the tool, its call and what it said; else nothing."""
    fields = _fields(item)
    if fields is None:
        return Provenance()
    kind = fields.get("type")
    if _is_output(fields):
        call, said = calls.get(_call_id(fields) or ""), _SAID
    elif isinstance(kind, str) and _first(fields, _HOSTED.get(kind, ())) is not None:
        call, said = fields, _HOSTED[kind]
    else:
        return Provenance()
    output = _text(_first(fields, said))
    if len(output) > _OBSERVATION_CHARS:
        output = output[:_OBSERVATION_CHARS] + "…"
    if call is None:
        return Provenance(observation=output)
    tool = _text(call.get("name") or call.get("type"))
    asked = _first(call, _ASKED)
    arguments = "" if asked is None else _text(asked)
    return Provenance(observation=output, tool_call=f"{tool}({arguments})", source=tool)


def _fields(item: Any) -> dict[str, Any] | None:
    return cast("dict[str, Any]", item) if isinstance(item, dict) else None


def _of_calls(items: Iterable[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for item in items:
        fields = _fields(item)
        if fields is not None and (id := _call_id(fields)) is not None:
            yield id, fields


def _call_id(fields: Mapping[str, Any]) -> str | None:
    # The output of a local shell has the id of its call as its own.
    own = fields.get("id") if fields.get("type") == "local_shell_call_output" else None
    found = fields.get("call_id", own)
    return found if isinstance(found, str) else None


def _first(fields: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


def _is_output(fields: Mapping[str, Any]) -> bool:
    kind = fields.get("type")
    return isinstance(kind, str) and kind.endswith("_output")


def _text(value: Any) -> str:
    # Provenance is Unicode text, which a lone surrogate is not.
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
