"""Commits per second of many writers on one store: threads, and processes of threads.

Every round measures each way for some seconds, in turns, on one store. Afterwards every write
that was acknowledged is looked for.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import mnem
from measure import FLOOR, PLACE, Floor, build, content, machine, name, save, say

NODES = 1_000
ROUNDS = 3
SECONDS = 2.0
# What it is called: processes, threads in each.
WAYS = {"1 thread": (1, 1), "20 threads": (1, 20), "2 processes of 20 threads": (2, 20)}


def write(path: Path, threads: int, first: int, seconds: float) -> dict[str, list[str]]:
    """Commits of each thread, all on the branch of HEAD, each thread on a node of its own."""
    store = mnem.open(path)
    commits: dict[str, list[str]] = {}
    # All begin together.
    gate = threading.Barrier(threads)

    def run(number: int) -> None:
        mine = commits.setdefault(name(number), [])
        gate.wait()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            revision = time.perf_counter_ns()
            mine.append(mnem.agents.remember(store, name(number), content(number, revision)))

    workers = [threading.Thread(target=run, args=(first + at,)) for at in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return commits


def round_of(path: Path, processes: int, threads: int) -> tuple[float, dict[str, list[str]]]:
    """Commits per second in all, and which they were."""
    words = [sys.executable, __file__, "--write", path, str(threads)]
    running = [
        subprocess.Popen(
            [*words, str(100 * at)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for at in range(processes)
    ]
    # Started, imported, opened: now all write at once.
    for process in running:
        assert process.stdout
        process.stdout.readline()
    for process in running:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    commits: dict[str, list[str]] = {}
    for process in running:
        out, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"a writer ended with {process.returncode}")
        commits |= json.loads(out)
    return sum(map(len, commits.values())) / SECONDS, commits


def check(path: Path, acknowledged: dict[str, list[str]]) -> int:
    """Every acknowledged commit is in the history, in the order of its writer; how many."""
    store = mnem.open(path)
    place = {commit.id: at for at, commit in enumerate(reversed(store.log(first_parent=True)))}
    for node, commits in acknowledged.items():
        places = [place.get(commit, -1) for commit in commits]
        if -1 in places or places != sorted(set(places)):
            raise SystemExit(f"a commit of {node} is lost or out of order")
    return sum(map(len, acknowledged.values()))


def main() -> None:
    path = build(NODES, 256)
    floor = Floor(path / "floor.db")
    rates: dict[str, list[float]] = {way: [] for way in [*WAYS, FLOOR]}
    acknowledged: dict[str, list[str]] = {}
    for _ in range(ROUNDS):
        rates[FLOOR].append(1_000 / floor.milliseconds())
        for way, (processes, threads) in WAYS.items():
            rate, commits = round_of(path, processes, threads)
            rates[way].append(rate)
            for node, written in commits.items():
                acknowledged.setdefault(node, []).extend(written)
    figures: dict[str, Any] = {
        "machine": machine(),
        "per second": {way: statistics.median(taken) for way, taken in rates.items()},
        "rounds": rates,
        "acknowledged, and found": check(path, acknowledged),
    }
    say(json.dumps(figures))
    save("threads", figures)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    PLACE.mkdir(parents=True, exist_ok=True)
    if arguments.write:
        folder, threads, first = arguments.write
        mnem.open(folder)
        print("ready", flush=True)
        sys.stdin.readline()
        print(json.dumps(write(Path(folder), int(threads), int(first), SECONDS)))
    else:
        main()
