"""Items as nodes: what of a value becomes content, what provenance, and back."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import date, time
from enum import Enum
from typing import Any, cast
from uuid import UUID

import mnem
from mnem import keys

__all__ = [
    "copied",
    "fingerprint",
    "index_of",
    "message_of",
    "node_of",
    "original_id",
    "replaceable",
    "segments_of",
    "ttl_of",
    "value_of",
]

# Content keys of ours. A value that has such a key itself is kept as text.
OURS = "mnem:"
JSON = "mnem:json"
TTL = "mnem:ttl"
INDEX = "mnem:index"

_CUT = "%~"  # in every id that was cut, and in few others

META = "_meta"
# In the order of the fields of a provenance.
_TEXTS = ("step", "observation", "tool_call", "source", "note")
_DEEPEST = 120  # below the core's limit by what stands around a value
# Of a value that is kept as text: what every Python reads, also where the stack is not empty.
_DEEPEST_TEXT = 500


def segments_of(id: str) -> tuple[str, ...] | None:
    """The namespace and key that an id stands for; None for one that was cut.

    An id with other escapes than those of its segments is the original's, which wrote none.
    """
    segments = keys.split(id)
    if segments is None or "%" not in id or keys.join(*segments) == id:
        return segments
    return tuple(id.split(":"))


def original_id(id: str, segments: tuple[str, ...]) -> str | None:
    """The id that the original gave a key, where that is another one."""
    joined = ":".join(segments)
    return joined if joined != id and segments_of(joined) == segments else None


def node_of(
    id: str,
    segments: tuple[str, ...],
    value: Mapping[str, Any],
    ttl: float | None,
    index: Sequence[str] | bool | None,
) -> mnem.MemoryNode:
    """The node of an item.

    Of ``_meta`` the texts ``source``, ``step``, ``observation``, ``tool_call`` and ``note`` and
    the integer ``event_time`` become provenance; the rest of it stays in the value.
    """
    content: dict[str, Any] = dict(value)
    node = mnem.MemoryNode(id, content)
    meta = content.get(META)
    if meta is not None and isinstance(meta, Mapping):
        rest = dict(cast("Mapping[str, Any]", meta))
        texts = {name: rest.pop(name) for name in _TEXTS if isinstance(rest.get(name), str)}
        if texts:
            node.provenance = mnem.Provenance(*(texts.get(name) for name in _TEXTS))
        if type(rest.get("event_time")) is int:
            node.event_time = rest.pop("event_time")
        if rest:
            content[META] = rest
        else:
            del content[META]
    for name in content:
        if str(name).startswith(OURS):
            node.content = content = {JSON: _dumps(content)}
            break
    if _CUT in id and keys.split(id) is None:
        content[keys.FULL] = list(segments)
    if ttl is not None:
        content[TTL] = ttl
    if index is not None:
        content[INDEX] = index if isinstance(index, bool) else list(index)
    return node


def replaceable(node: mnem.MemoryNode) -> bool:
    """Make a node's content storable, in place; False when it was.

    Dates, UUIDs, enums and dataclasses become what the SQLite store makes of them. What JSON's
    text holds and a store's content does not (NaN, integers beyond 64 bits, lone surrogates,
    deep nesting) is kept as that text. TypeError for what has no JSON form, ValueError for what
    is nested so deep that it would not be read again.
    """
    content = cast("dict[str, Any]", node.content)
    ours = {name: content[name] for name in (keys.FULL, TTL, INDEX, JSON) if name in content}
    value = {name: item for name, item in content.items() if name not in ours}
    try:
        text = _dumps(value)
        plain: dict[str, Any] = json.loads(text)
        deep = _is_deep(plain)
    except RecursionError:
        deep, text, plain = True, "", {}
    except TypeError as error:
        raise TypeError(f"{node.id}: {error}") from None
    if deep:
        raise ValueError(f"{node.id}: a value is nested more than {_DEEPEST_TEXT} deep") from None
    if _fits(value, 0):
        return False
    node.content = (plain if _fits(plain, 0) else {JSON: text}) | ours
    return True


def value_of(node: mnem.MemoryNode) -> dict[str, Any]:
    """The value of an item, sharing what is in the node; of what is no dict ``{"value": ...}``."""
    if not isinstance(node.content, dict):
        return {"value": node.content}
    content = cast("dict[str, Any]", node.content)
    for name in content:
        if name.startswith(OURS):
            break
    else:
        return content
    text = content.get(JSON)
    if isinstance(text, str):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and not _is_deep(value):
            return cast("dict[str, Any]", value)
    return {name: item for name, item in content.items() if not name.startswith(OURS)}


def ttl_of(node: mnem.MemoryNode | None) -> float | None:
    """An item's minutes to live since it was last put or read; None for ever."""
    ttl = _ours(node, TTL)
    return ttl if isinstance(ttl, (int, float)) and not isinstance(ttl, bool) else None


def index_of(node: mnem.MemoryNode | None) -> list[str] | bool | None:
    """Which fields of an item to index; False for none, None for those of the configuration."""
    index = _ours(node, INDEX)
    return cast("list[str] | bool", index) if isinstance(index, (list, bool)) else None


def _ours(node: mnem.MemoryNode | None, name: str) -> Any:
    content = None if node is None else node.content
    return cast("dict[str, Any]", content).get(name) if isinstance(content, dict) else None


def message_of(changes: Mapping[str, mnem.MemoryNode | None]) -> str:
    """What the commit of these changes says."""
    puts = [id for id, node in changes.items() if node is not None]
    gone = [id for id, node in changes.items() if node is None]
    said: list[str] = []
    if puts:
        said.append(f"put {puts[0] if len(puts) == 1 else f'{len(puts)} items'}")
    if gone:
        said.append(f"forget {gone[0] if len(gone) == 1 else f'{len(gone)} items'}")
    return ", ".join(said)


def copied(value: Any) -> Any:
    """A value that shares nothing with another that can be changed."""
    try:
        return _copied(value)
    except RecursionError:
        # Needs a part of the stack.
        return json.loads(json.dumps(value))


def _copied(value: Any) -> Any:
    if type(value) is dict:
        fields = cast("dict[str, Any]", value)
        return {k: _copied(v) if type(v) in (dict, list) else v for k, v in fields.items()}
    if type(value) is list:
        return [_copied(item) for item in cast("list[Any]", value)]
    return value


def fingerprint(node: mnem.MemoryNode) -> bytes:
    """16 bytes that tell one version of a node from its others."""
    whole = [node.content, node.provenance.to_dict(), node.event_time]
    try:
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    except TypeError:
        # Keys that are no texts cannot be sorted before they are.
        whole = json.loads(json.dumps(whole))
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()[:16]


def _dumps(value: Any) -> str:
    return json.dumps(value, default=_as_json)


def _as_json(value: Any) -> Any:
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"a value of type {type(value).__name__} cannot be stored")


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST_TEXT):
        level = [inner for item in level for inner in _inner(item)]
        if not level:
            return False
    return True


def _inner(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    return [inner for inner in cast("list[Any]", value) if isinstance(inner, (dict, list))]


def _fits(value: Any, depth: int) -> bool:
    """Whether the core takes a value as it is."""
    fits = value is None or isinstance(value, bool)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return depth < _DEEPEST and all(_fits(k, depth) and _fits(v, depth + 1) for k, v in items)
    if isinstance(value, (list, tuple)):
        items = cast("list[Any]", value)
        return depth < _DEEPEST and all(_fits(item, depth + 1) for item in items)
    if isinstance(value, str):
        fits = not any("\ud800" <= sign <= "\udfff" for sign in value)
    elif isinstance(value, float):
        fits = math.isfinite(value)
    elif isinstance(value, int):
        fits = -(2**63) <= value < 2**64
    return fits
