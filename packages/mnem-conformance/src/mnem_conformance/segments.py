"""Names and values that adapters have got wrong."""

from __future__ import annotations

from typing import Any

__all__ = ["SEGMENTS", "VALUES"]

# Each is another name than all the others, whatever a joined id makes of it.
SEGMENTS: tuple[str, ...] = (
    "u1",
    "u10",
    "u1:x",
    "u1:",
    ":u1",
    ":",
    "::",
    "%",
    "%3A",
    "%253A",
    "u1%3Ax",
    "u1%3ax",
    "100%",
    "%~",
    "u1/x",
    "/",
    "..",
    "_seq",
    "0000000001",
    "*",
    "?",
    "[u1]",
    "_",
    "'; drop table store; --",
    " ",
    "U1",
    "caf\u00e9",
    "cafe\u0301",
    "\U0001f9e0",
    "\u202eu1",
    "line\nbreak",
    "tab\tstop",
    "nul\x00byte",
    "\x7f",
    "",
    "x" * 1_000 + "y",
    "x" * 5_000,
    "x" * 4_999 + "y",
    "\U0001f9e0" * 5_000,
    ":" * 5_000,
)

# Values of the JSON data model; each comes back equal, and of the same type.
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    1.0,
    -0.0,
    0.1,
    0.42451918914251396,
    5e-324,
    1.7976931348623157e308,
    2**53 + 1,
    -(2**63),
    2**64 - 1,
    "",
    "text",
    "caf\u00e9 cafe\u0301 \U0001f9e0 \u2028",
    "nul\x00byte",
    [],
    {},
    [1, 1.0, True, None, "1"],
    {"": {"a:b": {"%": [[[0]]]}}},
    {"true": True, "nested": [{"deep": [0.5, {"er": None}]}]},
)
