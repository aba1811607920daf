"""Puts what the last sweep saw into `docs/reliability.md`.

    tools/reliability.py            writes the page's figures from docs/reliability/*.json
    tools/reliability.py --check    only compares
    tools/reliability.py --keep     first takes over what is in target/sweep/
    tools/reliability.py --run NAME NOTE COMMAND...
                                    runs `cargo test ...`, and leaves the number of its tests there

A part of the sweep leaves `target/sweep/NAME.json`: its name, cases, failures, seconds and a
note. A part that did not end leaves nothing. In the page a figure stands between
`<!-- sweep NAME -->` and `<!-- end -->`, and the table of all parts between `<!-- sweep -->` and
`<!-- end -->`. Python's standard library only.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reliability.md"
KEPT = ROOT / "docs" / "reliability"
SWEPT = ROOT / "target" / "sweep"
SPAN = re.compile(r"<!-- sweep(?: ([\w-]+))? -->.*?<!-- end -->", re.DOTALL)

# Seconds are told up to here, and minutes from here on.
SHORT = 120

Results = dict[str, dict[str, Any]]


def machine() -> str:
    """What it ran on, in general terms."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    kernel = ".".join(platform.release().split(".")[:2])
    rustc = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True)
    version = rustc.stdout.split()[1]
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {kernel}, "
        f"rustc {version}, Python {platform.python_version()}"
    )


def keep(swept: Path, kept: Path) -> int:
    """Takes the results of a sweep over, with their day and machine; how many there were."""
    kept.mkdir(parents=True, exist_ok=True)
    paths = sorted(swept.glob("*.json"))
    for path in paths:
        result = json.loads(path.read_text(encoding="utf-8"))
        day = dt.datetime.fromtimestamp(path.stat().st_mtime, dt.timezone.utc)
        result |= {"date": day.date().isoformat(), "machine": machine()}
        text = json.dumps(result, indent=2, sort_keys=True) + "\n"
        (kept / path.name).write_text(text, encoding="utf-8")
    return len(paths)


def load(kept: Path) -> Results:
    results = [json.loads(path.read_text(encoding="utf-8")) for path in kept.glob("*.json")]
    return {result["name"]: result for result in sorted(results, key=lambda one: one["name"])}


def figure(results: Results, name: str) -> str:
    """What a part came to, for a cell of a table."""
    if name not in results:
        return "not in the last sweep"
    cases, failures = results[name]["cases"], results[name]["failures"]
    return f"{cases:,} cases, {failures:,} failed" if failures else f"{cases:,} cases, none failed"


def took(result: dict[str, Any]) -> str:
    seconds = round(result.get("seconds") or 0)
    if not seconds:
        return ""
    return f"{seconds} s" if seconds < SHORT else f"{seconds / 60:.0f} min"


def table(results: Results) -> str:
    lines = [
        "| part | cases | failed | of what | took | on |",
        "| --- | ---: | ---: | --- | ---: | --- |",
    ]
    for name, result in results.items():
        cells = [name, f"{result['cases']:,}", f"{result['failures']:,}", result.get("note", "")]
        lines.append(f"| {' | '.join([*cells, took(result), result['date']])} |")
    machines = sorted({result["machine"] for result in results.values()})
    return "\n".join(lines) + "\n\nRun on: " + "; ".join(machines) + ".\n"


def page(text: str, results: Results) -> str:
    """The page with the figures of these results."""

    def filled(span: re.Match[str]) -> str:
        name = span[1]
        if name is None:
            return f"<!-- sweep -->\n{table(results)}<!-- end -->"
        return f"<!-- sweep {name} -->{figure(results, name)}<!-- end -->"

    return SPAN.sub(filled, text)


def counted(output: str) -> tuple[int, int]:
    """How many tests passed and failed, of what `cargo test` printed."""
    ends = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed", output, re.MULTILINE)
    return sum(int(passed) for passed, _ in ends), sum(int(failed) for _, failed in ends)


def run(name: str, note: str, command: list[str]) -> int:
    start = time.monotonic()
    ended = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    print(ended.stdout)
    passed, failed = counted(ended.stdout)
    result = {
        "name": name,
        "cases": passed + failed,
        "failures": failed,
        "seconds": round(time.monotonic() - start),
        "note": note,
    }
    SWEPT.mkdir(parents=True, exist_ok=True)
    (SWEPT / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return ended.returncode


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--run"]:
        return run(arguments[1], arguments[2], arguments[3:])
    if arguments == ["--keep"] and not keep(SWEPT, KEPT):
        print("target/sweep/ holds no result; run `make sweep`, or a part of it.")
        return 1
    before = PAGE.read_text(encoding="utf-8")
    after = page(before, load(KEPT))
    if arguments == ["--check"]:
        if after != before:
            print("docs/reliability.md is not what its results say; run tools/reliability.py.")
        return int(after != before)
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
