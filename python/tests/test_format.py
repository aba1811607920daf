"""The golden vectors, checked by packages that share no code with the core."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import cbor2
import pytest
from blake3 import blake3

FORMAT = Path(__file__).resolve().parents[2] / "docs" / "format"
VECTORS: list[dict[str, Any]] = json.loads((FORMAT / "golden-vectors.json").read_text("utf-8"))


def decode(data: bytes) -> Any:
    """Decodes one item and nothing behind it."""
    stream = BytesIO(data)
    value = cbor2.load(stream)
    assert stream.read() == b"", "bytes follow the object"
    return value


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vector(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["cbor"])
    value = decode(data)
    # Canonical here is what RFC 7049 calls so: keys by length first, shortest numbers.
    assert cbor2.dumps(value, canonical=True).hex() == vector["cbor"]
    assert blake3(data).hexdigest() == vector["id"]


NUMBERS = {
    "float_2^-24": 2.0**-24,
    "float_32_bits": 3.4028234663852886e38,
    "float_largest": 1.7976931348623157e308,
    "integer_2^32-1": 2**32 - 1,
    "integer_2^32": 2**32,
    "integer_2^64-1": 2**64 - 1,
    "integer_-2^32": -(2**32),
    "integer_-2^32-1": -(2**32) - 1,
    "integer_-2^63": -(2**63),
}


@pytest.mark.parametrize(
    "vector",
    [vector for vector in VECTORS if vector["name"].startswith(("float_", "integer_"))],
    ids=lambda vector: vector["name"],
)
def test_number_is_what_its_name_says(vector: dict[str, Any]) -> None:
    name: str = vector["name"]
    kind, _, digits = name.partition("_")
    read = {"float": float, "integer": int}[kind]
    expected = NUMBERS[name] if name in NUMBERS else read(digits)
    # `repr` tells 1 from 1.0 and 0.0 from -0.0.
    assert repr(decode(bytes.fromhex(vector["cbor"]))["content"]) == repr(expected)
