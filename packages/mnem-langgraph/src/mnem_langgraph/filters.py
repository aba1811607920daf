"""Filters and match conditions, with the meaning they have in LangGraph's stores.

Where those stores differ: what is missing or of another kind matches no order operator and no
``$ne``; numbers compare as numbers and texts as texts; any key may be asked for, and one with
dots that is not there is a path.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from langgraph.store.base import MatchCondition

__all__ = ["check", "holds", "matches", "relevance"]

_MISSING: Final = object()
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_OPERATORS = {"$eq", "$ne", *_ORDERS}


def check(wanted: Any) -> None:
    """ValueError for an operator that there is not, TypeError for a name that is no text."""
    if not isinstance(wanted, dict):
        return
    for name, inner in cast("dict[Any, Any]", wanted).items():
        if not isinstance(name, str):
            raise TypeError(f"filter must have names that are str, not {type(name).__name__}")
        if name.startswith("$") and name not in _OPERATORS:
            raise ValueError(
                f"Unsupported operator: {name}; there are {', '.join(sorted(_OPERATORS))}"
            )
        check(inner)


def holds(value: Mapping[str, Any], filter: Mapping[str, Any]) -> bool:
    """Whether a value has all that a filter asks for."""
    return all(_compare(_field(value, name), wanted) for name, wanted in filter.items())


def _field(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        return _MISSING
    fields = cast("dict[str, Any]", value)
    if name in fields:
        return fields[name]
    first, dot, rest = name.partition(".")
    return _field(fields.get(first), rest) if dot and first in fields else _MISSING


def _compare(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        asked = cast("dict[str, Any]", wanted)
        if any(name.startswith("$") for name in asked):
            return all(_apply(name, found, operand) for name, operand in asked.items())
        return isinstance(found, dict) and holds(cast("dict[str, Any]", found), asked)
    return _equal(found, wanted)


def _equal(found: Any, wanted: Any) -> bool:
    if wanted is None:
        return found is None or found is _MISSING
    if isinstance(wanted, tuple):
        wanted = list(cast("tuple[Any, ...]", wanted))
    return bool(found == wanted)


def _apply(name: str, found: Any, operand: Any) -> bool:
    if name == "$eq":
        return _equal(found, operand)
    if name == "$ne":
        if operand is None:
            return not _equal(found, None)
        return found is not _MISSING and found is not None and not _equal(found, operand)
    order = _ORDERS.get(name)
    if order is None:
        # Beside operators, another name is a field.
        return _compare(_field(found, name), operand)
    numbers = isinstance(found, (int, float)) and isinstance(operand, (int, float))
    texts = isinstance(found, str) and isinstance(operand, str)
    return (numbers or texts) and order(found, operand)


def matches(namespace: tuple[str, ...], conditions: tuple[MatchCondition, ...]) -> bool:
    """Whether a namespace meets every condition; ``*`` stands for exactly one segment."""
    for condition in conditions:
        path = tuple(condition.path)
        if len(path) > len(namespace):
            return False
        if condition.match_type == "prefix":
            part = namespace[: len(path)]
        elif condition.match_type == "suffix":
            part = namespace[len(namespace) - len(path) :]
        else:
            raise ValueError(f"Unsupported match type: {condition.match_type}")
        if any(wanted not in ("*", found) for wanted, found in zip(path, part, strict=True)):
            return False
    return True


def relevance(query: str) -> Callable[[Any], float]:
    """How well a value's texts answer a query: 0 when no word of it is there.

    A word counts once where it stands in another and twice where it stands alone; all of the
    query in one piece counts as much again as its words together.
    """
    whole = query.casefold().strip()
    words = list(dict.fromkeys(re.findall(r"\w+", whole)))
    alone = [re.compile(rf"(?<!\w){re.escape(word)}(?!\w)") for word in words]

    def score(value: Any) -> float:
        text = "\n".join(_texts(value)).casefold()
        found = sum(
            2 if pattern.search(text) else 1
            for word, pattern in zip(words, alone, strict=True)
            if word in text
        )
        return found + (2 * len(words) + 1 if whole and whole in text else 0)

    return score


def _texts(value: Any) -> list[str]:
    texts: list[str] = []
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            fields = cast("dict[str, Any]", item)
            texts += fields
            left += fields.values()
        elif isinstance(item, list):
            left += cast("list[Any]", item)
        elif item is not None:
            texts.append(str(item))
    return texts
