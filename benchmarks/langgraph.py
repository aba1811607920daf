"""LangGraph's store interface on Mnemosyne and on LangGraph's SQLite store, in one run.

    .venv/langgraph/bin/python benchmarks/langgraph.py [ITEMS ...]

All on disk and durable. ``sqlite`` is ``SqliteStore`` as its ``from_conn_string`` opens it, which
leaves SQLite's rollback journal; ``wal`` is ``SqliteStore`` on a connection of one's own in WAL
mode with synchronous=FULL. Each figure is the median of its calls in milliseconds, taken in
turns of two, so that neither finds its code warm; the items stand in 100 namespaces.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

# Else this file would be the package that it measures.
sys.path[:] = [place for place in sys.path if Path(place).resolve() != Path(__file__).parent]

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.sqlite import SqliteStore
from mnem_langgraph import MnemosyneStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMESPACES = 100
MOST_CALLS, MOST_SECONDS = 300, 4.0


def namespace(number: int) -> tuple[str, str]:
    return "memories", f"user{number % NAMESPACES}"


def value(number: int, revision: float = 0.0) -> dict[str, object]:
    text = f"fact {number} about topic {number % 37}"
    return {"text": text, "rank": number % 10, "revision": revision}


@contextmanager
def opened(name: str, directory: Path) -> Iterator[BaseStore]:
    path = str(directory / name)
    if name == "mnemosyne":
        with MnemosyneStore.from_conn_string(path) as store:
            yield store
    elif name == "sqlite":
        with SqliteStore.from_conn_string(path) as store:
            store.setup()
            yield store
    else:
        connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma synchronous=full")
        store = SqliteStore(connection)
        store.setup()
        yield store
        connection.close()


def fill(store: BaseStore, items: int) -> None:
    for start in range(0, items, 500):
        numbers = range(start, min(start + 500, items))
        store.batch([PutOp(namespace(n), f"k{n}", value(n)) for n in numbers])


def cells(items: int) -> dict[str, Callable[[BaseStore, int], object]]:
    draw = random.Random(7)

    def batch(store: BaseStore, call: int) -> object:
        numbers = range(call % (items // 20) * 20, call % (items // 20) * 20 + 20)
        now = time.time()
        return store.batch([PutOp(namespace(n), f"k{n}", value(n, now)) for n in numbers])

    def get(store: BaseStore, _call: int) -> object:
        number = draw.randrange(items)
        found = store.get(namespace(number), f"k{number}")
        assert found is not None
        return found

    return {
        "get": get,
        "get of the last": lambda store, n: store.get(
            namespace(items - 1 - n), f"k{items - 1 - n}"
        ),
        "search of a namespace": lambda store, _: store.search(namespace(7), limit=10),
        "with a filter": lambda store, _: store.search(namespace(7), filter={"rank": 7}),
        "search of everything": lambda store, _: store.search(("memories",), limit=10),
        "list_namespaces": lambda store, _: store.list_namespaces(limit=200),
        "put": lambda store, n: store.put(namespace(n), f"k{n}", value(n, time.time())),
        "get after a put": lambda store, n: (
            store.put(namespace(n), f"k{n}", value(n, time.time())),
            store.get(namespace(n), f"k{n}"),
        ),
        "batch of 20 puts": batch,
        "get after the batches": get,
        "delete": lambda store, n: store.delete(namespace(n), f"k{n}"),
    }


def show(name: str, found: list[float]) -> None:
    ours, theirs = found
    print(f"  {name:26} {ours:9.3f} {theirs:9.3f} {ours / theirs:9.2f}", flush=True)


def medians(
    stores: list[BaseStore], call: Callable[[BaseStore, int], object], calls: int = MOST_CALLS
) -> list[float]:
    """Of each store, the calls taken in turns, so that all meet the same disk."""
    times: list[list[float]] = [[] for _ in stores]
    start = time.perf_counter()
    for number in range(calls):
        for store, spent in zip(stores, times, strict=True):
            before = time.perf_counter()
            call(store, number)
            spent.append(time.perf_counter() - before)
        if number >= 3 and time.perf_counter() - start > MOST_SECONDS:
            break
    return [statistics.median(spent) * 1000 for spent in times]


def compare(peer: str, items: int) -> None:
    directory = Path(tempfile.mkdtemp())
    print(f"{f'{items} items':28} {'mnemosyne':>9} {peer:>9} {'ratio':>9}")
    with opened("mnemosyne", directory) as ours, opened(peer, directory) as theirs:
        for store in (ours, theirs):
            fill(store, items)
        for name, call in cells(items).items():
            show(name, medians([ours, theirs], call))
    # No item is known to the process that opens a store again.
    with opened("mnemosyne", directory) as ours, opened(peer, directory) as theirs:
        first = medians([ours, theirs], lambda store, _: store.get(namespace(0), "k"), calls=1)
        show("first get after opening", first)
        show("get after opening", medians([ours, theirs], cells(items)["get of the last"]))
    shutil.rmtree(directory)


def main(sizes: list[int]) -> None:
    for items in sizes:
        for peer in ("sqlite", "wal"):
            compare(peer, items)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1_000, 10_000])
