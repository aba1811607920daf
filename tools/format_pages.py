"""Writes the two pages of `docs/format/` that show data files; `--check` only compares."""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "format"
NOTE = "<!-- Written by tools/format_pages.py from {file}; `make fmt` writes it again. -->\n\n"
LONGEST = 400


def golden(rows: list[dict[str, str]]) -> str:
    text = NOTE.format(file="golden-vectors.json") + (
        "# Golden vectors\n\n"
        "Objects with their exact bytes and ids. A reader or writer in another language is right\n"
        "about these objects when it comes to the same bytes and the same ids; the id is the\n"
        "BLAKE3 hash of the bytes. Each names the first format version that has its shape.\n"
        "The vectors are frozen: when one fails, the format has changed.\n"
    )
    for row in rows:
        text += (
            f"\n## {row['name']}\n\n{row['about'].capitalize()}. Format {row['format']}.\n\n"
            f"```text\nid    {row['id']}\ncbor  {row['cbor']}\n```\n"
        )
    return text


def refused(rows: list[dict[str, str]]) -> str:
    text = NOTE.format(file="refused-vectors.json") + (
        "# The refused list\n\n"
        "Bytes that a strict reader refuses, by the reason for which the core refuses them. Long\n"
        "inputs are cut here and whole in `refused-vectors.json`.\n"
    )
    for refusal, group in groupby(rows, lambda row: row["refusal"]):
        text += f"\n## {refusal}\n\n| name | input | bytes |\n| --- | --- | --- |\n"
        for row in group:
            cbor = row["cbor"]
            shown = f"`{cbor}`" if cbor else "none"
            if len(cbor) > LONGEST:
                shown = f"`{cbor[:LONGEST]}…` ({len(cbor) // 2} bytes)"
            text += f"| {row['name']} | {row['about']} | {shown} |\n"
    return text


PAGES = {
    "golden-vectors": golden,
    "refused": refused,
}
DATA = {"golden-vectors": "golden-vectors.json", "refused": "refused-vectors.json"}


def main(arguments: list[str]) -> int:
    status = 0
    for name, page in PAGES.items():
        text = page(json.loads((FOLDER / DATA[name]).read_text(encoding="utf-8")))
        path = FOLDER / f"{name}.md"
        if arguments != ["--check"]:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            print(f"docs/format/{path.name} is not what {DATA[name]} says; run `make fmt`.")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
