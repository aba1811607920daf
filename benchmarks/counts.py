"""Counts of what operations read and write: fsyncs, objects, bytes, growth.

    tools/python benchmarks/counts.py            counts, for the page
    tools/python benchmarks/counts.py --check    counts, and compares with baseline.json
    tools/python benchmarks/counts.py --write    counts, and writes baseline.json

Python's standard library only: the gate runs it without an environment of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASELINE = Path(__file__).with_name("baseline.json")
KEPT = ROOT / "target" / "bench" / "counts.json"

Counts = dict[str, dict[str, int]]


def count() -> Counts:
    # The engine is built with its optimisations: 10,000 commits at each size are counted.
    command = ["cargo", "run", "--quiet", "--release", "--locked", "--package", "mnem-bench"]
    done = subprocess.run([*command, "counts"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def differences(baseline: Counts, counted: Counts) -> list[str]:
    """What is not as it was, each as a sentence."""
    found = []
    for row in sorted(baseline.keys() | counted.keys()):
        old, new = baseline.get(row, {}), counted.get(row, {})
        found += [
            f"{row}: {what} was {old.get(what)} and is {new.get(what)}"
            for what in sorted(old.keys() | new.keys())
            if old.get(what) != new.get(what)
        ]
    return found


def main(arguments: list[str]) -> int:
    counted = count()
    text = json.dumps(counted, indent=2, sort_keys=True) + "\n"
    if arguments != ["--check"]:
        kept = BASELINE if arguments == ["--write"] else KEPT
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(text, encoding="utf-8")
        return 0
    found = differences(json.loads(BASELINE.read_text(encoding="utf-8")), counted)
    for sentence in found:
        print(sentence)
    if found:
        print("If it is meant, say why in the commit: tools/python benchmarks/counts.py --write")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
