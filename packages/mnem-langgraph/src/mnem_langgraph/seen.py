"""What local rows say of a version of an item: when it was put again, and when it was read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mnem_langgraph.shelf import Entry

    # What is told of versions, by the keys of their rows.
    Seen = Mapping[bytes, Mapping[str, float]]

__all__ = ["MINUTE", "expiry", "order", "told"]

MINUTE = 60_000


def told(row: bytes) -> dict[str, float]:
    """What a row says: ``put``, with which ``rank``, and ``read``."""
    said: dict[str, float] = json.loads(row)
    return {"put": 0, "rank": 0, "read": 0} | said


def order(entry: Entry, seen: Seen) -> tuple[float, float, str]:
    """What sorts items newest first: when one was last put, its rank among equal times, its id."""
    row = seen.get(entry.row) if seen else None
    return entry.order if row is None else min(entry.order, (-row["put"], -row["rank"], entry.id))


def expiry(entry: Entry, seen: Seen) -> float | None:
    """When an item expires, in Unix milliseconds: so long after it was last put or read."""
    ttl = entry.ttl
    if ttl is None:
        return None
    row = seen.get(entry.row)
    read = 0 if row is None else row["read"]
    return max(-order(entry, seen)[0], read) + ttl * MINUTE
