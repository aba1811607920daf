"""What is wrong with an operation, told before anything of it is done."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    PutOp,
    SearchOp,
    validate_op_namespace,
)

from mnem_langgraph import filters

__all__ = ["check_op", "expect"]


def check_op(op: object) -> None:
    """What LangGraph's stores refuse, and types that are not taken, before anything is done."""
    if not isinstance(op, (GetOp, SearchOp, PutOp, ListNamespacesOp)):
        raise ValueError(f"Unknown operation type: {type(op)}")  # noqa: TRY004 as LangGraph's
    validate_op_namespace(op)
    if isinstance(op, (SearchOp, ListNamespacesOp)):
        expect("limit", op.limit, int, "an int")
        expect("offset", op.offset, int, "an int")
    if isinstance(op, SearchOp):
        expect("query", op.query, (str, type(None)), "a str")
        expect("filter", op.filter, (dict, type(None)), "a dict of fields")
        filters.check(op.filter)
    elif isinstance(op, ListNamespacesOp):
        expect("max_depth", op.max_depth, (int, type(None)), "an int")
    elif isinstance(op, PutOp) and op.value is not None:
        expect("value", op.value, Mapping, "a dict")
        _check_ttl(op.ttl)
        expect("index", op.index, (bool, list, tuple, type(None)), "False or a list of fields")
        for field in op.index if isinstance(op.index, (list, tuple)) else ():
            expect("index", field, str, "a list of fields that are str")
        if not op.namespace:
            raise InvalidNamespaceError("Namespace cannot be empty.")
        if op.namespace[0] == "langgraph":
            raise InvalidNamespaceError(
                f'Root label for namespace cannot be "langgraph". Got: {op.namespace}'
            )


def _check_ttl(ttl: object) -> None:
    """Finite minutes, as LangGraph's stores take them; none or less expires at once."""
    if isinstance(ttl, (int, float)):
        try:
            timedelta(minutes=ttl)
        except (OverflowError, ValueError):
            raise ValueError(f"ttl must be a number of minutes, not {ttl}") from None
    else:
        expect("ttl", ttl, type(None), "a number of minutes")


def expect(name: str, value: object, kind: type | tuple[type, ...], told: str) -> None:
    """TypeError for an argument of another kind."""
    if not isinstance(value, kind):
        found = "None" if value is None else type(value).__name__
        raise TypeError(f"{name} must be {told}, not {found}")
