"""Vectors of items: what to embed, and how it is kept beside the history.

A row holds the vectors of one version of an item with the recipe they were made by: the model's
name, the dimensions and the fields. Another recipe means that they are made anew.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
from array import array
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from langgraph.store.base import ensure_embeddings, get_text_at_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from langchain_core.embeddings import Embeddings
    from langgraph.store.base import IndexConfig

__all__ = ["Indexed", "Recipe", "Texts", "best", "pack", "unpack"]

if sys.version_info >= (3, 12):
    from math import sumprod as _dot
else:

    def _dot(left: list[float], right: list[float]) -> float:
        return sum(a * b for a, b in zip(left, right, strict=True))


class Recipe(NamedTuple):
    """What vectors depend on beside the text."""

    model: str
    dims: int
    fields: tuple[str, ...]


class Texts(NamedTuple):
    """Texts that wait for their vectors, in order."""

    texts: list[str]
    embeddings: Embeddings
    as_queries: bool

    def embed(self) -> list[list[float]]:
        """Their vectors."""
        if self.as_queries:
            return [self.embeddings.embed_query(text) for text in self.texts]
        return self.embeddings.embed_documents(self.texts)

    async def aembed(self) -> list[list[float]]:
        """Their vectors, on the loop."""
        if self.as_queries:
            return await asyncio.gather(*map(self.embeddings.aembed_query, self.texts))
        return await self.embeddings.aembed_documents(self.texts)


class Indexed:
    """An index configuration, ready to use."""

    def __init__(self, config: IndexConfig) -> None:
        embed = config.get("embed")
        self.embeddings: Embeddings = ensure_embeddings(cast("Any", embed))
        self.dims = config.get("dims", 0)
        # The SQLite store's configuration says `text_fields`.
        more = cast("Mapping[str, Any]", config)
        fields: str | list[str] = more.get("fields") or more.get("text_fields") or ["$"]
        self.fields = (fields,) if isinstance(fields, str) else tuple(fields)
        self.model = str(more.get("model") or _model(embed))

    def recipe(self, index: list[str] | bool | None) -> Recipe | None:
        """How an item is indexed; None when it is not."""
        if index is False:
            return None
        fields = tuple(index) if isinstance(index, list) else self.fields
        return Recipe(self.model, self.dims, fields)

    def checked(self, vector: Sequence[float]) -> list[float]:
        """A vector as floats.

        ValueError when it has not the dimensions of the configuration, or has no cosine with any.
        """
        if self.dims and len(vector) != self.dims:
            raise ValueError(f"a vector has {len(vector)} dimensions, not {self.dims}")
        floats = [float(number) for number in vector]
        if not math.isfinite(_dot(floats, floats)):
            raise ValueError("a vector has a number that is not finite, or too large")
        return floats

    @staticmethod
    def texts(value: Mapping[str, Any], recipe: Recipe) -> list[str]:
        """What is embedded of a value, each text once."""
        found = (get_text_at_path(value, field) for field in recipe.fields)
        return list(dict.fromkeys(text for texts in found for text in texts if text))


def _model(embed: Any) -> str:
    """A name for what embeds: its ``model``, or where it is defined."""
    for name in ("model", "model_name"):
        if isinstance(found := getattr(embed, name, None), str):
            return found
    if isinstance(embed, str):
        return embed
    named = cast("Any", embed if hasattr(embed, "__qualname__") else type(embed))
    return f"{named.__module__}.{named.__qualname__}"


def pack(recipe: Recipe, vectors: list[list[float]]) -> bytes:
    """A row: the recipe and the vectors' lengths as a line of JSON, then 64-bit floats."""
    head = json.dumps({"recipe": recipe, "lengths": [len(vector) for vector in vectors]})
    flat = array("d", (number for vector in vectors for number in vector))
    if sys.byteorder == "big":
        flat.byteswap()
    return head.encode() + b"\n" + flat.tobytes()


def unpack(row: bytes | None, recipe: Recipe) -> list[list[float]] | None:
    """The vectors of a row; None when there is none, it is damaged or of another recipe."""
    if row is None:
        return None
    head, _, body = row.partition(b"\n")
    try:
        told = json.loads(head)
        same = told["recipe"] == [recipe.model, recipe.dims, list(recipe.fields)]
        lengths: list[int] = told["lengths"]
        flat = array("d", body)
    except (ValueError, TypeError, KeyError):
        return None
    if not same or sum(lengths) != len(flat):
        return None
    if sys.byteorder == "big":
        flat.byteswap()
    numbers = iter(flat)
    return [list(islice(numbers, length)) for length in lengths]


def best(query: list[float], vectors: list[list[float]]) -> float:
    """The largest cosine of a query and an item's vectors; 0 where one of them has no length."""
    return max(_cosine(query, vector) for vector in vectors)


def _cosine(left: list[float], right: list[float]) -> float:
    length = math.sqrt(_dot(left, left) * _dot(right, right))
    return _dot(left, right) / length if length else 0.0
