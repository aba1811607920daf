"""Many tasks, threads and processes write one store through Python."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
import threading
import time

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


@pytest.mark.skipif(sys.platform == "win32", reason="a process there is sent no interrupt")
@pytest.mark.parametrize("call", ["open", "write", "scan", "write to an imported"])
def test_an_interrupt_ends_a_wait(tmp_path, call):
    fcntl = pytest.importorskip("fcntl")
    agent, memory = tmp_path / "agent", tmp_path / "memory.jsonl"
    with mnem.init(agent) as store:
        # So many that another thread reads them.
        store.write({f"n{number}": number for number in range(5_000)}, message="many")
        store.export(memory)
    if call == "write to an imported":
        shutil.rmtree(agent)
    program = (
        # A job in the background is begun with the signal ignored.
        "import signal, sys, mnem\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def opened(): return mnem.open(sys.argv[1], busy_timeout=600)\n"
        "if sys.argv[2] == 'write to an imported':\n"
        "    made = mnem.import_store(sys.argv[3], sys.argv[1])\n"
        "store = None if sys.argv[2] == 'open' else opened()\n"
        "tip = store and store.head_commit()\n"
        # What is read without the file: the commit and its tree, and of no node what it says.
        "if tip: store.changed_by(tip)\n"
        "calls = {'open': opened, 'scan': lambda: store.state_at(tip)}\n"
        "calls['write'] = lambda: store.write({'b': 1}, message='m')\n"
        "calls['write to an imported'] = calls['write']\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "print('waits', flush=True)\n"
        "try: calls[sys.argv[2]]()\n"
        "except KeyboardInterrupt: print('interrupted', flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(agent), call, str(memory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as waiter:
        try:
            assert waiter.stdout.readline() == "ready\n"
            with (agent / ".mnem" / "lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                waiter.stdin.write("go\n")
                waiter.stdin.flush()
                assert waiter.stdout.readline() == "waits\n"
                time.sleep(0.2)  # it gets where it waits
                waiter.send_signal(signal.SIGINT)
                assert waiter.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            waiter.kill()
