"""Every operation of Mnemosyne, through its Python package, against size and length of history.

Each store is measured by a process of its own, so that its peak of memory is its own. Beside
every figure stands what a commit of SQLite cost in the same minute.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mnem
from measure import (
    PLACE,
    ROOT,
    Floor,
    build,
    content,
    fresh,
    machine,
    milliseconds,
    name,
    peak_megabytes,
    python,
    repeat,
    save,
    say,
    spread,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = [(100, 256), (1_000, 256), (10_000, 256), (100_000, 256)]
HISTORIES = [(1_000, 4_096), (1_000, 16_384), (1_000, 100_000)]
LARGEST = (100_000, 100_000)
# Of `mnem-bench build`: the node that goes back and forth, and the one that was set long ago.
FLIPPING, OLD = 0, 1
# A revision that no history has.
LATE = 1_000_000_000
TRANSCRIPT = ROOT / "examples" / "transcripts" / "refund-dispute.json"
OPENS, KILLS = 7, 3


class Cells:
    """Medians in milliseconds, each with the floor of its minute."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor
        self.figures: dict[str, dict[str, float]] = {}

    def run(self, cell: str, operation: Callable[[Any], object], **options: Any) -> None:
        floor = self.floor.milliseconds()
        taken = repeat(operation, **options)
        self.figures[cell] = {"ms": milliseconds(taken), "floor": floor, "times": len(taken)}


def measure(path: Path, nodes: int) -> dict[str, Any]:
    """All cells on one store; changes it."""
    store = mnem.open(path)
    cells = Cells(Floor(path / "floor.db"))
    tip, before = store.log(limit=2, first_parent=True)

    def one(turn: int) -> None:
        number = 2 + spread(turn, nodes - 2)
        mnem.agents.remember(store, name(number), content(number, LATE + turn), source="bench")

    def many(turn: int) -> None:
        revision = LATE * 2 + turn
        numbers = [(turn * 100 + at) % nodes for at in range(100)]
        items = [{"id": name(number), "content": content(number, revision)} for number in numbers]
        mnem.agents.remember_many(store, items)

    def sides(turn: int) -> None:
        revision, branch = LATE * 3 + turn, store.on(f"side-{turn}")
        for handle, start in ((store, 10), (branch, 20)):
            numbers = range(start, start + 10)
            items = [{"id": name(n), "content": content(n, revision)} for n in numbers]
            mnem.agents.remember_many(handle, items)

    def merge(turn: int) -> None:
        assert store.merge(f"side-{turn}").status == "merged"

    def hold(turn: int) -> None:
        """Writes now and then, so that the store is held and its tip known."""
        if turn % 200 == 0:
            one(turn)

    cells.run("diff of neighbours", lambda _: store.diff(before.id, tip.id))
    cells.run("changed_by(HEAD)", lambda _: store.changed_by(tip.id))
    cells.run("log(20)", lambda _: store.log(limit=20))
    cells.run("resolve of a full id", lambda _: store.resolve(before.id))
    cells.run("blame of an old node", lambda _: store.blame(name(OLD)))
    flips = len(store.flips(name(FLIPPING), equals=content(FLIPPING, 1)))
    cells.run("flips", lambda _: store.flips(name(FLIPPING), equals=content(FLIPPING, 1)))
    cells.run("remember", one)
    cells.run(
        "get, any node", lambda turn: store.get(name(spread(turn, nodes))), prepare=hold, most=4_000
    )
    cells.run("get, again", lambda turn: store.get(name(turn % 50)), prepare=hold, most=4_000)
    cells.run("remember_many(100)", many, most=100)
    cells.run("merge of 10 and 10", merge, prepare=sides, most=30)
    cells.run("working_memory", lambda _: store.working_memory(), most=7, seconds=3)
    return {"cells": cells.figures, "flips": flips, "peak": peak_megabytes()}


def opening(path: Path) -> float:
    """Milliseconds to open a store and read a node of it, in a process that has done neither."""
    start = time.perf_counter_ns()
    store = mnem.open(path)
    assert store.get(name(50))
    return (time.perf_counter_ns() - start) / 1e6


def die(path: Path) -> None:
    """Writes, and is killed."""
    store = mnem.open(path)
    for turn in range(20):
        mnem.agents.remember(store, name(2 + turn), content(turn, time.time_ns()))
    os.kill(os.getpid(), signal.SIGKILL)


def replay(path: Path) -> dict[str, float]:
    """Recorded runs of an agent, each step durable: commits per second.

    `MNEM_TAU_BENCH` names the runs, else the transcript of the examples is read many times.
    """
    recorded = os.environ.get("MNEM_TAU_BENCH")
    if recorded:
        runs = [run["traj"] for run in json.loads(Path(recorded).read_text(encoding="utf-8"))]
    else:
        runs = [json.loads(TRANSCRIPT.read_text(encoding="utf-8"))] * 100
    floor = Floor(path / "floor.db").milliseconds()
    store, commits, start = mnem.init(path), 0, time.perf_counter()
    for number, messages in enumerate(runs):
        report = mnem.agents.import_chat(store, messages, transcript=f"run-{number}")
        commits += report.commits
    taken = time.perf_counter() - start
    return {"runs": len(runs), "commits": commits, "per second": commits / taken, "floor": floor}


def opened(path: Path, *, killed: bool) -> list[float]:
    figures = []
    for _ in range(KILLS if killed else OPENS):
        if killed:
            subprocess.run([sys.executable, __file__, "--die", path], check=False)
        figures.append(python("core.py", "--open", path))
    return sorted(figures)


def main() -> None:
    figures: dict[str, Any] = {"machine": machine(), "stores": []}
    for nodes, commits in [*SIZES, *HISTORIES, LARGEST]:
        start = time.perf_counter()
        path = build(nodes, commits)
        built = time.perf_counter() - start
        first = opened(path, killed=False)
        store = python("core.py", "--measure", path, str(nodes))
        store |= {"nodes": nodes, "commits": commits, "built": built, "open": first}
        store["open after a kill"] = opened(path, killed=True)
        figures["stores"].append(store)
        say(json.dumps(store))
    figures["replay"] = replay(fresh("replay"))
    say(json.dumps(figures["replay"]))
    save("core", figures)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--open", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--die", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    PLACE.mkdir(parents=True, exist_ok=True)
    if arguments.measure:
        print(json.dumps(measure(Path(arguments.measure[0]), int(arguments.measure[1]))))
    elif arguments.open:
        print(opening(arguments.open))
    elif arguments.die:
        die(arguments.die)
    else:
        main()
