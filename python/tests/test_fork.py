"""A process that forks: both sides go on with the handles they have, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import mnem
import pytest
from mnem import agents

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

# Each program runs in a process of its own: one that waits for itself is ended by the alarm.
HEAD = """
import os, signal, subprocess, sys, threading
import mnem
from mnem.agents import remember

signal.alarm(60)
path = sys.argv[1]
store = mnem.init(path)
remember(store, "before", 1)

def fork(run):
    child = os.fork()
    if child == 0:
        signal.alarm(50)
        code = 1
        try:
            run()
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    return child

def joined(child):
    assert os.waitpid(child, 0)[1] == 0
"""


def run(program, path):
    done = subprocess.run(
        [sys.executable, "-c", HEAD + program, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_both_sides_go_on_with_one_handle(tmp_path):
    program = """
bound = store.on("side")

def child():
    for n in range(50): remember(store, f"child-{n}", 1)
    remember(bound, "bound", 1)
    assert store.exists("before") and bound.exists("before")
    with mnem.open(path) as other: assert other.exists("child-49")

one = fork(child)
for n in range(50): remember(store, f"parent-{n}", 1)
joined(one)
remember(store, "after", 1)
assert store.verify().problems == ()
"""
    run(program, tmp_path)
    with mnem.open(tmp_path) as store:
        assert len(store.memory()) == 102
        assert len(store.log(first_parent=True)) == 102
        assert store.on("side").exists("bound")


def test_a_fork_while_other_threads_write_read_open_and_close(tmp_path):
    program = """
stop = threading.Event()
written, failed = [], []

def work(number):
    done = 0
    try:
        while not stop.is_set():
            remember(store, f"thread-{number}-{done}", done)
            written.append(f"thread-{number}-{done}")
            done += 1
            store.get("before")
            with mnem.open(path) as other: other.exists("before")
    except BaseException as error:
        failed.append(error)

def child(number):
    def run():
        remember(store, f"child-{number}", number)
        assert store.get(f"child-{number}").content == number
        store.close()
    return run

threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
for thread in threads: thread.start()
for number in range(40): joined(fork(child(number)))
stop.set()
for thread in threads: thread.join()
assert failed == [], failed
assert written
memory = store.memory()
assert set(memory) == {"before", *written, *(f"child-{n}" for n in range(40))}
assert len(store.log(first_parent=True)) == len(memory)
assert store.verify().problems == ()
"""
    run(program, tmp_path)


def test_a_fork_inside_update(tmp_path):
    program = """
def change(now):
    global child
    child = os.fork()
    if child == 0:
        # What it was handed is the parent's; its handle is not.
        for read in (lambda: now.get("before"), lambda: now.memory()):
            try: read()
            except mnem.StoreIoError: continue
            raise AssertionError("read through the parent's engine")
    return {"counter": os.getpid()}

child = None
parent = os.getpid()
try:
    store.update(change, message="count")
except mnem.StoreIoError as error:
    assert os.getpid() != parent
    print(error, flush=True)
    store.update(lambda now: {"child": now.exists("counter")}, message="on its own")
    os._exit(0)
joined(child)
assert store.get("counter").content == parent
assert set(store.memory()) == {"before", "counter", "child"}
remember(store, "after", 1)
assert store.verify().problems == ()
"""
    told = "the process was forked inside this call; it goes on in the parent alone\n"
    assert run(program, tmp_path) == told


def test_what_a_child_raises_inside_update_is_what_it_sees(tmp_path):
    program = """
def change(now):
    global child
    child = os.fork()
    if child == 0: raise SystemExit(0)
    return {"a": 1}

child = None
store.update(change, message="count")
joined(child)
assert store.exists("a")
"""
    run(program, tmp_path)


def test_a_child_holds_nothing_of_its_parents(tmp_path):
    program = """
def names():
    fds = f"/proc/{os.getpid()}/fd"
    found = [os.path.join(fds, fd) for fd in os.listdir(fds)] if os.path.isdir(fds) else []
    links = [os.readlink(link) for link in found if os.path.islink(link)]
    return sorted(os.path.basename(name) for name in links if "/.mnem/" in name)

parent = os.getpid()

def others():
    program = "import sys, mnem; mnem.open(sys.argv[1], busy_timeout=0)"
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    # Not only redb's own lock keeps it off, which has no name to tell.
    return f"BusyError: process {parent} on " in done.stderr

def child():
    assert names() == [], names()
    # What it drops and closes unlocks nothing.
    store.close()
    assert others()

def change(now):
    assert not os.path.isdir("/proc") or names() == ["holder", "lock", "store.redb", "want"]
    joined(fork(child))
    assert others()
    return {"kept": 1}

store.update(change, message="hold")
assert store.exists("kept")
"""
    run(program, tmp_path)


def test_a_child_outlives_a_parent_that_is_killed(tmp_path):
    program = """
def child():
    os.write(1, b"child\\n")
    signal.pause()

def change(now):
    # In one piece: the child writes to the same pipe.
    os.write(1, f"{fork(child)}\\n".encode())
    signal.pause()

store.update(change, message="never")
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", HEAD + program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with parent:
        lines = {parent.stdout.readline().strip() for _ in range(2)}
        (child,) = (int(line) for line in lines - {"child"})
        parent.kill()
        parent.wait()
        try:
            with mnem.open(tmp_path, busy_timeout=20) as store:
                agents.remember(store, "after", 1)
                assert set(store.memory()) == {"before", "after"}
        finally:
            os.kill(child, signal.SIGKILL)


def test_workers_of_multiprocessing_share_a_handle(tmp_path):
    program = """
import multiprocessing

def work(number):
    store.update(lambda now: {f"n{number}": number}, message="work")
    return store.get(f"n{number}").content

with multiprocessing.get_context("fork").Pool(4) as pool:
    assert pool.map(work, range(40)) == list(range(40))
    pool.close()
    pool.join()
remember(store, "after", 1)
assert len(store.memory()) == 42
assert len(store.log(first_parent=True)) == 42
"""
    run(program, tmp_path)


def test_a_store_that_is_replaced_is_not_the_one_that_was_open(tmp_path):
    program = """
import shutil

def child():
    for make in (lambda: None, lambda: mnem.init(path).close()):
        shutil.rmtree(os.path.join(path, ".mnem"), ignore_errors=True)
        make()
        try: store.head_commit()
        except mnem.NoStoreError: continue
        raise AssertionError("another store answered")

joined(fork(child))
"""
    run(program, tmp_path)
    assert Path(tmp_path, ".mnem").is_dir()


def test_a_store_in_memory_is_a_copy(tmp_path):
    program = """
memory = mnem.open(":memory:")
remember(memory, "shared", 1)

def child():
    remember(memory, "mine", 1)
    assert set(memory.memory()) == {"shared", "mine"}

joined(fork(child))
assert set(memory.memory()) == {"shared"}
"""
    run(program, tmp_path)
