"""The same work on Mnemosyne and on what one would otherwise use, in one run and in turns.

Every subject is a process of its own. In each round each gets a turn of some repetitions, so
that what the machine does meanwhile meets all of them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from measure import FLOOR, TOOL, Worker, build, fresh, machine, milliseconds, save, say
from subjects import SUBJECTS

SIZES = [100, 1_000, 10_000, 100_000]
# At this many nodes a history of this many commits, in which node 1 was set 16,000 commits ago.
HISTORY = (1_000, 16_384)
# Repetitions of a turn and rounds of turns, in this order: the neighbours of the difference are
# commits of one node.
CELLS = {
    "write": (10, 24),
    "read": (50, 12),
    "diff": (5, 8),
    "blame": (2, 6),
    "write 100": (2, 8),
    "merge": (3, 8),
}
# A subject whose turns took this long in all gets no more of them.
ENOUGH = 5_000_000_000
# Writes over which the bytes of a commit are taken.
GROWTH = 1_024
REDB = "redb alone"
SMALLEST = "Mnemosyne, 100 nodes"
REDB_CELLS = ["write", "read"]


def start(subject: str, nodes: int, commits: int = 1) -> Worker:
    folder = fresh(f"peer-{subject.split(maxsplit=1)[0]}-{nodes}-{commits}")
    if subject == REDB:
        return Worker(TOOL, "redb", folder / "data.redb", "--nodes", str(nodes))
    if subject == "Mnemosyne" and commits > 1:
        folder = build(nodes, commits)
    script = Path(__file__).with_name("subjects.py")
    return Worker(sys.executable, script, subject, folder, str(nodes), str(commits))


def turns(workers: dict[str, Worker], cells: list[str]) -> dict[str, dict[str, float]]:
    """Medians in milliseconds, by subject and cell; the first of each turn is not counted."""
    figures: dict[str, dict[str, float]] = {subject: {} for subject in workers}
    for cell in cells:
        times, rounds = CELLS[cell]
        able = [
            subject
            for subject in workers
            if cell in (REDB_CELLS if subject == REDB else SUBJECTS[subject.split(",")[0]].cells)
        ]
        taken: dict[str, list[int]] = {subject: [] for subject in able}
        for _ in range(rounds):
            for subject in able:
                if sum(taken[subject]) < ENOUGH:
                    taken[subject] += workers[subject].run(cell, times + 1)[1:]
        for subject in able:
            figures[subject][cell] = milliseconds(taken[subject])
    return figures


def at(nodes: int) -> dict[str, dict[str, float]]:
    """Every subject at one size."""
    workers = {subject: start(subject, nodes) for subject in [*SUBJECTS, REDB]}
    # The smallest memory again, in the same minute as this one.
    workers[SMALLEST] = start("Mnemosyne", 100, 2)
    figures = turns(workers, list(CELLS))
    for subject in ("Mnemosyne", "DoltLite", "git (libgit2)", FLOOR, "JSONL + fsync"):
        figures[subject]["bytes per commit"] = workers[subject].run("grow", GROWTH)
    for subject, worker in workers.items():
        if subject != REDB:
            figures[subject]["peak"] = worker.run("peak", 1)
        worker.close()
    return figures


def with_history(nodes: int, commits: int) -> dict[str, dict[str, float]]:
    """Those that keep a history, after a long one."""
    keepers = [subject for subject, kind in SUBJECTS.items() if "blame" in kind.cells]
    workers = {subject: start(subject, nodes, commits) for subject in keepers}
    figures = turns(workers, ["write", "diff", "blame", "merge"])
    for worker in workers.values():
        worker.close()
    return figures


def main() -> None:
    figures: dict[str, Any] = {"machine": machine(), "sizes": {}}
    for nodes in SIZES:
        figures["sizes"][nodes] = at(nodes)
        say(nodes, json.dumps(figures["sizes"][nodes]))
    figures["history"] = with_history(*HISTORY)
    say(HISTORY, json.dumps(figures["history"]))
    save("peers", figures)


if __name__ == "__main__":
    main()
