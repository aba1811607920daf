"""What version control of a memory is for: seven questions, and how exact the answers are.

Seeded runs of an agent are written to a store and to a plain list of dicts, which says what is
right. In each a belief goes wrong at 10, 50 or 90 % of the run and stays wrong. The same
questions go to a dict that is overwritten and to a log of snapshots; the table of who can answer
which comes out of asking.

`MNEM_BENCH_RUNS` says how many seeds there are for each length and fault, `MNEM_BENCH_LENGTHS`
how many commits the runs have.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mnem
from measure import save, say, tell_sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNS = int(os.environ.get("MNEM_BENCH_RUNS", "40"))
LENGTHS = [int(length) for length in os.environ.get("MNEM_BENCH_LENGTHS", "16,64").split(",")]
FAULTS = [0.1, 0.5, 0.9]
KEYS = [f"key-{number:02}" for number in range(12)]
VALUES = [f"value {number}" for number in range(20)]
DELETED = 0.25  # of the changes of nodes that are there
BELIEF, RIGHT, WRONG = "belief", "basic", "enterprise"
# What the run of seed 0, length 16 and fault 0.5 comes to in a store without salts.
GOLDEN = "912d9437b9ce1db7799604b8ae593f8940e4a8891844a85a6d1092e8c4186bfa"

# What a dict, a log and a store can answer: they are asked, and this is compared.
EXPECTED = {
    "what does it believe now": (True, True, True),
    "what did it believe at step t": (False, True, True),
    "when did a belief first go wrong": (False, True, True),
    "which observation set a belief": (False, False, True),
    "what did step t change": (False, True, True),
    "merge two memories, conflicts surfaced": (False, False, True),
}


@dataclass(frozen=True)
class Step:
    """One commit of a run: changes with their sources, and memory after it, by key."""

    changes: dict[str, tuple[str, str] | None]
    memory: dict[str, str]
    # Which step set each value.
    set_by: dict[str, int]


@dataclass(frozen=True)
class Run:
    """A run of an agent, the same for the same seed."""

    seed: int
    length: int
    fault: float

    @property
    def wrong_from(self) -> int:
        return max(1, int(self.length * self.fault))

    def steps(self) -> Iterator[Step]:
        # Of all that a generator gives, this alone is the same in every release of Python.
        draw = random.Random(f"{self.seed} {self.length} {self.fault}").random
        memory: dict[str, str] = {}
        set_by: dict[str, int] = {}
        for number in range(self.length):
            changes: dict[str, tuple[str, str] | None] = {}
            for key in sorted(KEYS, key=lambda _: draw())[: 1 + int(4 * draw())]:
                if memory.get(key) and draw() < DELETED:
                    changes[key] = None
                else:
                    changes[key] = (VALUES[int(20 * draw())], f"obs-{number}-{key}")
            if number in (0, self.wrong_from):
                changes[BELIEF] = (WRONG if number else RIGHT, f"obs-{number}-{BELIEF}")
            for key, change in changes.items():
                if change is None:
                    del memory[key], set_by[key]
                else:
                    memory[key], set_by[key] = change[0], number
            yield Step(changes, dict(memory), dict(set_by))


def written(run: Run, store: mnem.Store) -> tuple[list[Step], list[str]]:
    """The steps of a run, and the commits that they became."""
    steps, commits = list(run.steps()), []
    for number, step in enumerate(steps):
        changes = {
            key: change
            and mnem.MemoryNode(
                key, change[0], provenance=mnem.Provenance(f"step-{number}", source=change[1])
            )
            for key, change in step.changes.items()
        }
        commits.append(store.write(changes, message=f"step {number}", author="a", time_ms=number))
    return steps, commits


def said(memory: dict[str, mnem.MemoryNode]) -> dict[str, Any]:
    return {key: node.content for key, node in memory.items()}


class Tally:
    """How often each metric was asked, and how often it was exact."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self.exact: dict[str, int] = {}

    def check(self, metric: str, run: Run, *, held: bool) -> None:
        self.asked[metric] = self.asked.get(metric, 0) + 1
        self.exact[metric] = self.exact.get(metric, 0) + held
        if not held:
            say(f"{metric} is wrong for {run}")


def follow(run: Run, tally: Tally) -> int:
    """Every commit read and blamed, the fault bisected; how far bisect was off."""
    store = mnem.open(":memory:")
    steps, commits = written(run, store)
    for step, commit in zip(steps, commits, strict=True):
        right = said(store.state_at(commit)) == step.memory
        tally.check("reconstruction_exact", run, held=right)
        key = min(step.set_by, key=lambda key: (step.set_by[key], key))
        blame, setter = store.blame(key, at=commit), step.set_by[key]
        tally.check("blame_commit_acc", run, held=blame.commit == commits[setter])
        source = blame.provenance and blame.provenance.source
        tally.check("blame_source_acc", run, held=source == f"obs-{setter}-{key}")
    asked = 0

    def is_wrong(memory: dict[str, mnem.MemoryNode]) -> bool:
        nonlocal asked
        asked += 1
        return memory[BELIEF].content == WRONG

    found = store.bisect(is_wrong)
    tally.check("bisect_exact", run, held=found == commits[run.wrong_from])
    most = math.ceil(math.log2(run.length)) + 2
    tally.check("bisect_logarithmic", run, held=asked <= most)
    follow_merge(run, tally, store)
    return abs(commits.index(found) - run.wrong_from)


def follow_merge(run: Run, tally: Tally, store: mnem.Store) -> None:
    """Two branches, one of which sets the belief right again, merged both ways."""
    sides = {}
    for side, change in (("ours", {KEYS[0]: "ours alone"}), ("theirs", {BELIEF: RIGHT})):
        sides[side] = store.on(side).write(change, message=side, author="a", time_ms=run.length)
        store.new_branch(f"{side}-again", start=side)
    ours, other = store.on("ours"), store.on("theirs-again")
    merged, mirrored = ours.merge("theirs"), other.merge("ours-again")
    blame = ours.blame(BELIEF)
    tally.check("blame_commit_acc_merge", run, held=blame.commit == sides["theirs"])
    both = {**said(store.memory()), KEYS[0]: "ours alone", BELIEF: RIGHT}
    tip = ours.log(limit=1)[0]
    laws = [
        merged.status == mirrored.status == "merged",
        said(ours.memory()) == said(other.memory()) == both,
        not store.diff("ours", "theirs-again"),
        list(tip.parents) == [sides["ours"], sides["theirs"]],
        ours.merge("theirs").status == "up-to-date",
        ours.merge("ours").status == "up-to-date",
    ]
    ours.write({BELIEF: "team"}, message="apart", author="a")
    other.write({BELIEF: "free"}, message="apart", author="a")
    conflicts = ours.merge("theirs-again").conflicts
    laws.append([conflict.id for conflict in conflicts] == [BELIEF])
    tally.check("merge_invariants", run, held=all(laws))


def golden(tally: Tally) -> str:
    """The id that a run comes to without salts: the same in every run and on every machine."""
    run = Run(0, 16, 0.5)
    heads = [written(run, mnem.init(":memory:", reproducible=True))[1][-1] for _ in range(2)]
    tally.check("golden_bytes_stable", run, held=heads == [GOLDEN, GOLDEN])
    return heads[0]


class Dict:
    """A dict that is overwritten."""

    def __init__(self, steps: list[Step]) -> None:
        self.memory: dict[str, str] = {}
        for step in steps:
            for key, change in step.changes.items():
                if change is None:
                    del self.memory[key]
                else:
                    self.memory[key] = change[0]

    def now(self) -> dict[str, str]:
        return self.memory


class Log:
    """All of memory, a line of JSON after every step."""

    def __init__(self, steps: list[Step]) -> None:
        self.lines = [json.dumps(step.memory) for step in steps]

    def now(self) -> dict[str, str]:
        return self.at(-1)

    def at(self, step: int) -> dict[str, str]:
        return json.loads(self.lines[step])

    def first_wrong(self) -> int:
        return next(at for at in range(len(self.lines)) if self.at(at)[BELIEF] == WRONG)

    def changed(self, step: int) -> set[str]:
        before, after = (self.at(step - 1) if step else {}), self.at(step)
        keys = before.keys() | after.keys()
        return {key for key in keys if before.get(key) != after.get(key)}


class Kept:
    """Mnemosyne."""

    def __init__(self, run: Run) -> None:
        self.store = mnem.open(":memory:")
        self.commits = written(run, self.store)[1]

    def now(self) -> dict[str, str]:
        return said(self.store.memory())

    def at(self, step: int) -> dict[str, str]:
        return said(self.store.state_at(self.commits[step]))

    def first_wrong(self) -> int:
        commit = self.store.bisect(lambda memory: memory[BELIEF].content == WRONG)
        return self.commits.index(commit)

    def changed(self, step: int) -> set[str]:
        return set(self.store.changed_by(self.commits[step]))

    def source(self) -> str | None:
        provenance = self.store.blame(BELIEF).provenance
        return provenance and provenance.source

    def conflicts(self) -> list[str]:
        other = self.store.on("other")
        other.write({BELIEF: "free", "apart": 1}, message="apart")
        self.store.write({BELIEF: "team"}, message="apart")
        return [conflict.id for conflict in self.store.merge("other").conflicts]


def answers() -> dict[str, tuple[bool, ...]]:
    """Who can answer what: no is a question that a keeper has no way to ask itself."""
    run = Run(1, 64, 0.5)
    steps = list(run.steps())
    step = 40
    # Values alone: a write of the same value from another source is no change to a log.
    changed = {
        key for key in KEYS if steps[step].memory.get(key) != steps[step - 1].memory.get(key)
    }
    questions: list[tuple[str, tuple[int, ...], Any]] = [
        ("now", (), steps[-1].memory),
        ("at", (step,), steps[step].memory),
        ("first_wrong", (), run.wrong_from),
        ("source", (), f"obs-{run.wrong_from}-{BELIEF}"),
        ("changed", (step,), changed),
        ("conflicts", (), [BELIEF]),
    ]
    table = {}
    for asked, (method, arguments, right) in zip(EXPECTED, questions, strict=True):
        can = []
        for keeper in (Dict(steps), Log(steps), Kept(run)):
            answer = getattr(keeper, method, None)
            can.append(answer is not None)
            if answer is not None and answer(*arguments) != right:
                raise SystemExit(f"{type(keeper).__name__} answers wrongly: {asked}")
        table[asked] = tuple(can)
    return table


def main() -> int:
    started = time.monotonic()
    tally, off = Tally(), 0
    for length in LENGTHS:
        for seed in range(RUNS):
            for fault in FAULTS:
                off = max(off, follow(Run(seed, length, fault), tally))
    head = golden(tally)
    figures = {
        "seeds": RUNS,
        "lengths": LENGTHS,
        "faults": FAULTS,
        "asked": tally.asked,
        "exact": tally.exact,
        "bisect_error_max": off,
        "answers": answers(),
    }
    save("audit", figures)
    exact = sum(tally.exact.values())
    told = f"answers of {RUNS} seeds, runs of {', '.join(map(str, LENGTHS))} commits, "
    told += "a belief that goes wrong at 10, 50 and 90 %"
    tell_sweep("audit", sum(tally.asked.values()), exact, started, told)
    failed = tally.asked != tally.exact or off or figures["answers"] != EXPECTED
    if failed:
        say(f"not exact: {figures}, golden {head}")
        return 1
    say(f"exact in every one of {sum(tally.asked.values())} checks: {', '.join(tally.asked)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
