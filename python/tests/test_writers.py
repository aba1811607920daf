"""Many tasks, threads and processes write one store through Python."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading

import mnem
import pytest
from mnem import agents


def test_a_hundred_tasks_write_at_once(tmp_path):
    store = mnem.init(tmp_path)

    async def write(number):
        commit = await asyncio.to_thread(agents.remember, store, f"n{number}", number)
        assert store.changed_by(commit) == {f"n{number}": "added"}
        return commit

    async def main():
        return await asyncio.gather(*map(write, range(100)))

    commits = asyncio.run(main())
    assert len(set(commits)) == 100
    assert {id: node.content for id, node in store.memory().items()} == {
        f"n{number}": number for number in range(100)
    }
    assert len(store.log(first_parent=True)) == 100
    assert store.verify().problems == ()


def test_updates_of_many_threads_never_count_the_same(tmp_path):
    store = mnem.init(tmp_path)
    agents.remember(store, "counter", 0)
    seen = []

    def count():
        for _ in range(20):

            def change(now):
                # The store can be read in here; only writing would wait for itself.
                assert store.exists("counter")
                value = now.get("counter").content + 1
                seen.append(value)
                return {"counter": value}

            store.update(change, message="one more")

    def fail():
        for _ in range(20):
            with pytest.raises(ZeroDivisionError):
                store.update(lambda _now: 1 // 0, message="fails")

    threads = [threading.Thread(target=target) for target in [count] * 8 + [fail] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == list(range(1, 161))
    assert store.get("counter").content == 160


def test_a_stopped_holder_is_named(tmp_path):
    mnem.init(tmp_path).close()
    program = (
        "import sys, mnem\n"
        "store = mnem.open(sys.argv[1])\n"
        "number = 0\n"
        "while True:\n"
        "    mnem.agents.remember(store, 'a', number := number + 1)\n"
        "    print(number, flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        try:
            holder.stdout.readline()
            holder.send_signal(signal.SIGSTOP)
            named = f"process {holder.pid} on [!-~]+ holds the store"
            with pytest.raises(mnem.BusyError, match=named):
                mnem.open(tmp_path, busy_timeout=0.1)
            holder.send_signal(signal.SIGCONT)
            with mnem.open(tmp_path) as store:
                agents.remember(store, "b", 1)
                assert store.exists("a")
        finally:
            holder.kill()


def test_a_forked_child_and_its_parent_both_go_on(tmp_path):
    program = (
        "import os, sys, mnem\n"
        "from mnem.agents import remember\n"
        "store = mnem.init(sys.argv[1])\n"
        "remember(store, 'before', 1)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try: remember(store, 'lost', 1)\n"
        "    except mnem.StoreIoError as error: print(error, flush=True)\n"
        "    with mnem.open(sys.argv[1]) as own:\n"
        "        for n in range(50): remember(own, f'child-{n}', 1)\n"
        "    sys.exit()\n"
        "for n in range(50): remember(store, f'parent-{n}', 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "remember(store, 'after', 1)\n"
        "assert store.verify().problems == ()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "this handle of the store was opened before the process was forked\n"
    with mnem.open(tmp_path) as store:
        assert len(store.memory()) == 102
        assert len(store.log(first_parent=True)) == 102
