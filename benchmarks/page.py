"""Writes `docs/benchmark.md` and its plots from what the other scripts measured."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from measure import FLOOR, ROOT, load, say

mpl.use("Agg")
from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = ROOT / "docs" / "benchmark.md"
PLOTS = ROOT / "docs" / "benchmark"
OURS, PEER, GIT = "Mnemosyne", "DoltLite", "git (libgit2)"
# What the store is compared with, in one colour each; ours is the one that stands out.
COLOURS = {
    OURS: "#c2410c",
    PEER: "#1d4ed8",
    GIT: "#15803d",
    FLOOR: "#6b7280",
    "redb alone": "#a16207",
    "JSONL + fsync": "#7c3aed",
    "dict": "#be185d",
    "fdatasync": "#0f172a",
}
# Between states of 100 and of 100,000 nodes a tree grows by its depth alone.
MOST_GROWTH = 3


@dataclass(frozen=True)
class Bar:
    """One promise: what is measured, what it must come to, and what it came to."""

    what: str
    bar: str
    measured: str
    met: bool

    @property
    def answer(self) -> str:
        return "yes" if self.met else "**no**"


def store_of(core: dict[str, Any], nodes: int, commits: int) -> dict[str, Any]:
    stores = core["stores"]
    return next(s for s in stores if (s["nodes"], s["commits"]) == (nodes, commits))


def ms(value: float) -> str:
    """A time for people, from milliseconds."""
    if value < 0.1:
        return f"{value * 1_000:.3g} µs"
    return f"{value:.3g} ms" if value < 1_000 else f"{value / 1_000:.3g} s"


def size(count: float) -> str:
    return f"{count / 1_000:.3g} KB"


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def bars(
    core: dict[str, Any], threads: dict[str, Any], peers: dict[str, Any], counts: dict[str, Any]
) -> Iterable[Bar]:
    sizes = peers["sizes"]
    for nodes, at in sizes.items():
        write, peer, floor = (at[name]["write"] for name in (OURS, PEER, FLOOR))
        what = f"remember, {int(nodes):,} nodes"
        yield Bar(what, "no slower than DoltLite", f"{ms(write)} : {ms(peer)}", write <= peer)
        measured = f"{ms(write)} : {ms(floor)} = {write / floor:.2f}"
        yield Bar(what, f"at most 2 x {FLOOR}", measured, write <= 2 * floor)
    largest = sizes["100000"]
    write, small = largest[OURS]["write"], largest["Mnemosyne, 100 nodes"]["write"]
    yield Bar(
        "remember, 100,000 nodes against 100",
        "at most 1.5 x",
        f"{ms(write)} : {ms(small)} = {write / small:.2f}",
        write <= 1.5 * small,
    )
    one = counts["write of 1 node: 100000 nodes, 10001 commits"]
    yield Bar("remember", "1 fsync", str(one["fsyncs"]), one["fsyncs"] == 1)
    for nodes, at in sizes.items():
        many, write = at[OURS]["write 100"], at[OURS]["write"]
        yield Bar(
            f"remember_many(100), {int(nodes):,} nodes",
            "at most 5 x one remember",
            f"{ms(many)} : {ms(write)} = {many / write:.2f}",
            many <= 5 * write,
        )
    for nodes in sizes:
        get = store_of(core, int(nodes), 256)["cells"]["get, any node"]["ms"]
        yield Bar(f"get, {int(nodes):,} nodes", "at most 10 µs", ms(get), get <= 0.01)
    cell = store_of(core, 100_000, 256)["cells"]["working_memory"]
    yield Bar(
        "working_memory, 100,000 nodes",
        f"at most 1,501 x {FLOOR}",
        f"{ms(cell['ms'])} : {ms(cell['floor'])} = {cell['ms'] / cell['floor']:,.0f}",
        cell["ms"] <= 1_501 * cell["floor"],
    )
    for cell, what in (("diff", "diff of neighbours"), ("merge", "merge of 10 and 10 changes")):
        for nodes, at in sizes.items():
            yield against(f"{what}, {int(nodes):,} nodes", at, cell)
        yield against(f"{what}, 16,384 commits", peers["history"], cell)
    yield against("blame of a node set 16,000 commits ago", peers["history"], "blame")
    for cell in ("diff of neighbours", "merge of 10 and 10", "blame of an old node"):
        yield flat(core, cell)
    longest = store_of(core, 1_000, 100_000)["cells"]
    for cell, what, most in (
        ("log(20)", "log(20), 100,000 commits", 0.2),
        ("resolve of a full id", "resolve of a full id, 100,000 commits", 0.2),
        ("flips", "flips of a node that changed 20 times in 100,000 commits", 1.0),
    ):
        taken = longest[cell]["ms"]
        yield Bar(what, f"at most {most:g} ms", ms(taken), taken <= most)
    for nodes, most in ((100, 3), (100_000, 6)):
        row = counts[f"one-node writes: {nodes} nodes, 10001 commits"]
        grown = row["growth"] / row["commits"]
        what = f"growth of a one-node commit, {nodes:,} nodes"
        yield Bar(what, f"at most {most} KiB", f"{grown:,.0f} bytes", grown <= most * 1_024)
    full = store_of(core, 100_000, 100_000)
    what = "peak memory, 100,000 nodes and 100,000 commits"
    yield Bar(what, "at most 300 MB", f"{full['peak']:.0f} MB", full["peak"] <= 300)
    for key, what, most in (
        ("open", "open and first read, 100,000 nodes and 100,000 commits", 20),
        ("open after a kill", "the same after kill -9", 1_000),
    ):
        taken = median(full[key])
        yield Bar(what, f"at most {most:,} ms", ms(taken), taken <= most)
    rate = threads["per second"]
    one, twenty, two = (
        rate[way] for way in ("1 thread", "20 threads", "2 processes of 20 threads")
    )
    measured = f"{twenty:,.0f}/s : {one:,.0f}/s = {twenty / one:.2f}"
    yield Bar("20 threads", "at least 2 x one thread", measured, twenty >= 2 * one)
    measured = f"{two:,.0f}/s : {twenty:,.0f}/s = {two / twenty:.2f}"
    what = "2 processes of 20 threads"
    yield Bar(what, "at least 0.8 x one process", measured, two >= 0.8 * twenty)


def against(what: str, at: dict[str, Any], cell: str) -> Bar:
    ours, theirs = at[OURS][cell], at[PEER][cell]
    return Bar(what, "no slower than DoltLite", f"{ms(ours)} : {ms(theirs)}", ours <= theirs)


def flat(core: dict[str, Any], cell: str) -> Bar:
    """An operation at the largest store against the same at the smallest."""
    small = store_of(core, 100, 256)["cells"][cell]["ms"]
    nodes = store_of(core, 100_000, 256)["cells"][cell]["ms"] / small
    commits = store_of(core, 1_000, 100_000)["cells"][cell]["ms"] / small
    return Bar(
        f"{cell}: 100,000 nodes; 100,000 commits",
        "flat: at most 3 x the smallest store",
        f"{nodes:.2f}; {commits:.2f}",
        max(nodes, commits) <= 3,
    )


def table(head: list[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def operations(core: dict[str, Any]) -> str:
    stores = core["stores"]
    head = ["median"] + [f"{s['nodes']:,} nodes, {s['commits']:,} commits" for s in stores]
    rows = [
        [cell] + [ms(store["cells"][cell]["ms"]) for store in stores] for cell in stores[0]["cells"]
    ]
    rows += [
        [f"{key}, and first read"] + [ms(median(store[key])) for store in stores]
        for key in ("open", "open after a kill")
    ]
    rows.append(["peak memory"] + [f"{store['peak']:.0f} MB" for store in stores])
    floors = [[cell["floor"] for cell in store["cells"].values()] for store in stores]
    rows.append(
        [f"{FLOOR}, least to most"] + [f"{ms(min(floor))} to {ms(max(floor))}" for floor in floors]
    )
    return table(head, rows)


def beside(at: dict[str, Any]) -> str:
    cells = ["write", "write 100", "read", "diff", "blame", "merge", "bytes per commit"]
    cells = [cell for cell in cells if any(cell in subject for subject in at.values())]

    def shown(subject: dict[str, Any], cell: str) -> str:
        if cell not in subject:
            return ""
        return size(subject[cell]) if cell == "bytes per commit" else ms(subject[cell])

    rows = [[name] + [shown(at[name], cell) for cell in cells] for name in at if name in COLOURS]
    return table(["", *cells], rows)


def counted(counts: dict[str, Any]) -> str:
    head = ["nodes, commits", "fsyncs", "objects", "object bytes", "bytes written", "growth"]
    rows = []
    for name, row in counts.items():
        what, _, place = name.partition(": ")
        if what != "one-node writes":
            continue
        each = {key: row[key] / row["commits"] for key in head[1:]}
        rows.append([place] + [f"{each[key]:,.3f}" for key in head[1:3]])
        rows[-1] += [f"{each[key]:,.0f}" for key in head[3:]]
    return table(head, sorted(rows, key=lambda row: [len(row[0]), row[0]]))


def read(counts: dict[str, Any]) -> str:
    places = sorted({name.partition(": ")[2] for name in counts if ": " in name}, key=by_numbers)
    verbs = sorted({n.partition(": ")[0] for n in counts if "objects read" in counts[n]})
    rows = [
        [verb] + [str(counts[f"{verb}: {place}"]["objects read"]) for place in places]
        for verb in verbs
    ]
    return table(["objects read", *places], rows)


def by_numbers(place: str) -> list[int]:
    return [int(word) for word in place.replace(",", "").split() if word.isdigit()]


def questions(audit: dict[str, Any], counts: dict[str, Any]) -> str:
    rows = [
        [asked, *["yes" if can else "no" for can in who]] for asked, who in audit["answers"].items()
    ]
    growth = [
        counts[f"one-node writes: {nodes} nodes, 10001 commits"]["growth"]
        for nodes in (100, 100_000)
    ]
    if growth[1] > MOST_GROWTH * growth[0]:
        raise SystemExit(f"storage does not follow the changes: {growth}")
    rows.append(["storage after a number of steps", "the keys", "steps x keys", "the changes"])
    return table(["question", "dict", "JSONL snapshots", OURS], rows)


def exactness(audit: dict[str, Any]) -> str:
    if audit["asked"] != audit["exact"] or audit["bisect_error_max"]:
        raise SystemExit("an answer was not exact; run benchmarks/audit.py")
    rows = [
        [f"`{metric}`", f"{audit['asked'][metric]:,}", f"{exact:,}"]
        for metric, exact in audit["exact"].items()
    ]
    rows.append(["`bisect_error_max`, commits", "", str(audit["bisect_error_max"])])
    return table(["metric", "asked", "exact"], rows)


def plot(name: str, title: str, lines: dict[str, dict[int, float]], unit: str) -> None:
    """Lines against the number of nodes, each with its name at its end."""
    mpl.rcParams["font.size"] = 12
    figure, axes = plt.subplots(figsize=(8.3, 4.6), dpi=110)
    ends = {}
    for subject, points in lines.items():
        width = 3 if subject == OURS else 1.8
        axes.plot(
            list(points), list(points.values()), "o-", color=COLOURS[subject], linewidth=width
        )
        ends[subject] = math.log10(list(points.values())[-1])
    axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel=unit)
    axes.set_title(title, loc="left", fontsize=13)
    axes.set_xlim(80, 100_000)
    axes.set_xticks([100, 1_000, 10_000, 100_000], ["100", "1,000", "10,000", "100,000"])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(visible=True, color="#e5e7eb")
    axes.spines[["top", "right"]].set_visible(False)
    low, high = (math.log10(limit) for limit in axes.get_ylim())
    for subject, end in apart(ends, (high - low) / 15).items():
        weight = "bold" if subject == OURS else "normal"
        axes.annotate(
            subject,
            (100_000, 10**end),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            color=COLOURS[subject],
            weight=weight,
            annotation_clip=False,
        )
    figure.tight_layout(rect=(0, 0, 0.99, 1))
    figure.savefig(PLOTS / f"{name}.png")
    plt.close(figure)


def apart(ends: dict[str, float], least: float) -> dict[str, float]:
    """The same places, moved until names keep a line's height apart."""
    names = sorted(ends, key=lambda name: ends[name])
    places = dict(ends)
    for _ in range(200):
        for below, above in itertools.pairwise(names):
            lack = least - (places[above] - places[below])
            if lack > 0:
                places[below] -= lack / 2
                places[above] += lack / 2
    return places


def lines_of(sizes: dict[str, Any], cell: str) -> dict[str, dict[int, float]]:
    names = [name for name in COLOURS if cell in next(iter(sizes.values())).get(name, {})]
    return {name: {int(n): at[name][cell] for n, at in sizes.items()} for name in names}


def plots(peers: dict[str, Any]) -> str:
    PLOTS.mkdir(parents=True, exist_ok=True)
    text = ""
    for name, cell, title, unit in (
        ("write", "write", "A durable write of one node", "ms"),
        ("read", "read", "A read of one node", "ms"),
        ("merge", "merge", "A merge of 10 and 10 changes", "ms"),
        ("bytes", "bytes per commit", "Disk for each commit of one node", "bytes"),
    ):
        lines = lines_of(peers["sizes"], cell)
        if name == "write":
            del lines["dict"]  # which keeps nothing
        plot(name, title, lines, unit)
        text += f"![{title}, against the number of nodes](benchmark/{name}.png)\n\n"
    return text


def page() -> str:
    core, threads, peers, counts, audit = map(load, ("core", "threads", "peers", "counts", "audit"))
    rows = list(bars(core, threads, peers, counts))
    for bar in rows:
        say(f"{'met ' if bar.met else 'MISS'}  {bar.what}: {bar.measured} ({bar.bar})")
    machine = peers["machine"]
    packages = {name: version(name) for name in ("mnem-agents", "doltlite", "pygit2")}
    described = "; ".join(f"{what} {value}" for what, value in (machine | packages).items())
    rate = threads["per second"]
    replay = core["replay"]
    return TEXT.format(
        described=f"The machine: {described}",
        plots=plots(peers),
        met=sum(bar.met for bar in rows),
        all=len(rows),
        bars=table(
            ["what", "bar", "measured", "met"],
            ([bar.what, bar.bar, bar.measured, bar.answer] for bar in rows),
        ),
        questions=questions(audit, counts),
        exactness=exactness(audit),
        seeds=audit["seeds"],
        lengths=", ".join(map(str, audit["lengths"])),
        peers="\n".join(
            f"### {int(nodes):,} nodes\n\n{beside(at)}" for nodes, at in peers["sizes"].items()
        ),
        history=beside(peers["history"]),
        operations=operations(core),
        threads=table(
            ["who writes", "commits per second"], ([way, f"{n:,.0f}"] for way, n in rate.items())
        ),
        found=f"{threads['acknowledged, and found']:,}",
        replay=f"{replay['commits']:,} commits, {replay['per second']:,.0f} a second where "
        f"{FLOOR} took {ms(replay['floor'])} a commit",
        counted=counted(counts),
        read=read(counts),
    )


TEXT = """<!-- Written by `make bench`; do not edit. -->
# Benchmark

What Mnemosyne costs, beside what one would otherwise use, and how exact its answers are. All
figures are medians of one run of `make bench`, through Python packages. Times are of one machine
and of its minute; what carries over are the ratios within a table, and the counts. The gate holds
the counts alone.

{described}.

{plots}## Bars

{met} of {all} are met.

{bars}
Where two times stand, the first is ours. Subjects of one row took turns in one run, each in a
process of its own; the first repetition of a turn is not counted.

## Who can answer what

The questions were asked of each, after the same run of an agent; no means that there is nothing
to ask.

{questions}
How exact the answers of Mnemosyne are, over {seeds} seeds, runs of {lengths} commits, and a
belief that goes wrong at 10, 50 and 90 % of each. Merges are tried further in
[merge-chaos.md](merge-chaos.md).

{exactness}
## Beside others

A durable write of one node and of 100, a read, the difference of two neighbouring commits, who
set a value, a merge of two branches with ten changes each, and the disk that a commit takes
(blocks, over 1,024 commits). DoltLite is SQLite with the version control of Dolt. git keeps a
file for each node in 256 folders, through libgit2, and syncs each object. SQLite upserts a row
and appends one to a history. JSONL appends to a file beside a dict. A dict keeps nothing. The
last rows are 4 KiB appended and synced, and redb, the engine below, doing what SQLite does.

{peers}
### After 16,384 commits on 1,000 nodes

Blame is of a node that was set 16,000 commits ago.

{history}
## Every operation

Reads are of nodes all over the memory, and of fifty nodes again and again, while the store is
held; a write goes to a different node each time.

{operations}
A replay of recorded runs, each step durable: {replay}.

## Many writers

All on one branch, for some seconds in turns. All {found} commits that were acknowledged were
found afterwards, in the order of their writers.

{threads}
## Counts

Of one-node writes, for each commit; growth is in pages that redb counts as allocated. These and
more are in `benchmarks/baseline.json`, and the gate compares them exactly.

{counted}
Objects read by one operation on a handle that has read nothing before:

{read}"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    say(f"wrote {PAGE.relative_to(ROOT)}")
