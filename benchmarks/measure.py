"""What the measurements share: places, repetitions, the SQLite floor, workers, the machine."""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

ROOT = Path(__file__).resolve().parent.parent
# On the disk of the checkout and never in a memory file system: an fsync must mean something.
PLACE = ROOT / "target" / "bench"
TOOL = ROOT / "target" / "release" / "mnem-bench"
# The name of the floor in every table.
FLOOR = "SQLite WAL FULL"


def name(number: int) -> str:
    """The id of a node by its number, as `mnem-bench build` makes it."""
    return f"session:{number:010}"


def content(number: int, revision: int = 0) -> dict[str, Any]:
    """What a node says at a revision of it, as `mnem-bench build` makes it."""
    return {"value": number, "rev": revision, "text": f"fact {number} {'y' * 40}"}


def spread(turn: int, nodes: int) -> int:
    """A node for each turn, all over the memory: the step is odd and large."""
    return turn * 7_919 % nodes


def fresh(folder: str) -> Path:
    """An empty folder for data of a measurement."""
    path = PLACE / "data" / folder
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def build(nodes: int, commits: int) -> Path:
    """A store with a history; see `crates/mnem-bench`."""
    path = fresh(f"store-{nodes}-{commits}")
    words = [TOOL, "build", path, "--nodes", str(nodes), "--commits", str(commits)]
    subprocess.run(words, check=True)
    return path


def allocated(path: Path) -> int:
    """Bytes of disk below a folder."""
    return sum(file.stat().st_blocks * 512 for file in path.rglob("*") if file.is_file())


def repeat(
    operation: Callable[[int], object],
    *,
    prepare: Callable[[int], object] = lambda turn: turn,
    seconds: float = 0.6,
    most: int = 400,
) -> list[int]:
    """Nanoseconds of each repetition; one goes before them uncounted.

    Between 5 and `most`, until they took `seconds`.
    """
    taken: list[int] = []
    start = time.perf_counter()
    for turn in range(most + 1):
        prepare(turn)
        before = time.perf_counter_ns()
        operation(turn)
        taken.append(time.perf_counter_ns() - before)
        if len(taken) > 5 and time.perf_counter() - start > seconds:
            break
    return taken[1:]


def milliseconds(taken: Sequence[int]) -> float:
    return statistics.median(taken) / 1e6


class Floor:
    """SQLite in WAL mode, syncing every commit: an upsert and a history row each."""

    def __init__(self, path: Path) -> None:
        self.database = sqlite3.connect(path, isolation_level=None)
        self.database.executescript(
            "pragma journal_mode = wal; pragma synchronous = full;"
            "create table if not exists current (id text primary key, text text);"
            "create table if not exists history (number integer primary key, id text, text text);"
        )

    def put(self, items: Iterable[tuple[str, str]]) -> None:
        run = self.database.execute
        run("begin immediate")
        for item in items:
            run(
                "insert into current values (?, ?)"
                " on conflict (id) do update set text = excluded.text",
                item,
            )
            run("insert into history (id, text) values (?, ?)", item)
        run("commit")

    def milliseconds(self) -> float:
        """What one commit costs at this minute."""
        write = repeat(
            lambda turn: self.put([(name(turn % 100), json.dumps(content(turn, turn)))]),
            seconds=0.05,
            most=100,
        )
        return milliseconds(write)


class Worker:
    """A process that repeats an operation when it is told to: `CELL TIMES`, a line each."""

    def __init__(self, *words: str | Path) -> None:
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.line()

    def line(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args} ended with {self.process.wait()}")
        return line

    def run(self, cell: str, times: int) -> Any:
        assert self.process.stdin
        self.process.stdin.write(f"{cell} {times}\n")
        return json.loads(self.line())

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def peak_megabytes() -> float:
    """The most memory this process had so far."""
    # `ru_maxrss` would count what the parent had when it started this process.
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1_024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024**2


def machine() -> dict[str, str]:
    """What it runs on, in general terms."""
    system, release = platform.system(), platform.release().split(".")
    return {
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "disk": disk(),
        "kernel": f"{system} {'.'.join(release[:2])}",
        "Python": platform.python_version(),
        "SQLite": sqlite3.sqlite_version,
    }


def disk() -> str:
    """The kind of disk and file system that holds the data."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "unknown"
    rows = [line.split()[:3] for line in mounts.read_text().splitlines()]
    above = [row for row in rows if PLACE.is_relative_to(row[1])]
    device, _, kind = max(above, key=lambda row: len(row[1]))
    where = "virtual disk" if "/vd" in device else "NVMe disk" if "nvme" in device else "disk"
    return f"{where}, {kind}"


def save(part: str, figures: Any) -> None:
    """Keeps what a part measured, for `page.py`."""
    PLACE.mkdir(parents=True, exist_ok=True)
    (PLACE / f"{part}.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")


def tell_sweep(name: str, cases: int, held: int, started: float, note: str) -> None:
    """Leaves what a part of the sweep saw in the folder that `MNEM_SWEEP_REPORT` names."""
    if folder := os.environ.get("MNEM_SWEEP_REPORT"):
        told = {"name": name, "cases": cases, "failures": cases - held, "note": note}
        told["seconds"] = round(time.monotonic() - started)
        Path(folder).mkdir(parents=True, exist_ok=True)
        text = json.dumps(told, indent=2) + "\n"
        (Path(folder) / f"{name}.json").write_text(text, encoding="utf-8")


def load(part: str) -> Any:
    path = PLACE / f"{part}.json"
    if not path.exists():
        raise SystemExit(f"{path.name} is missing: run benchmarks/{part}.py first")
    return json.loads(path.read_text(encoding="utf-8"))


def say(*words: object) -> None:
    print(*words, flush=True)


def python(script: str, *words: str | Path) -> Any:
    """Runs a script of this folder in a process of its own; what it printed as JSON."""
    command = [sys.executable, Path(__file__).with_name(script), *words]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])
