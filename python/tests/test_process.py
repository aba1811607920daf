"""The end of a process, and the command that the wheel installs."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import mnem
import pytest
from mnem import _command, agents


def run(program, *words, **options):
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


def test_stores_are_closed_at_exit(tmp_path):
    program = (
        "import atexit, sys, mnem\n"
        "store = mnem.init(sys.argv[1])\n"
        "mnem.agents.remember(store, 'a', 1)\n"
        "from mnem.store import _close_all\n"
        "atexit.unregister(_close_all)\n"
        "def look():\n"
        "    try: store.head()\n"
        "    except mnem.StoreIoError: print('closed')\n"
        "atexit.register(look)\n"
        "atexit.register(_close_all)\n"
    )
    done = run(program, tmp_path / "other")
    assert (done.stdout, done.returncode) == ("closed\n", 0), done.stderr
    with mnem.open(tmp_path / "other") as other:
        assert other.get("a").content == 1


@pytest.mark.skipif(os.name == "nt", reason="what is open is not moved there")
def test_a_store_that_was_moved_while_it_is_open(tmp_path):
    first = mnem.init(tmp_path / "old")
    agents.remember(first, "a", 1)
    (tmp_path / "old").rename(tmp_path / "new")
    with pytest.raises(mnem.ConflictError, match=r"/new: it was moved .*/old is gone"):
        mnem.open(tmp_path / "new")
    first.close()
    with mnem.open(tmp_path / "new") as moved:
        assert agents.recall(moved, "a").content == 1


def test_a_store_that_may_exist_is_made_or_opened(tmp_path, monkeypatch):
    for number in range(2):
        with mnem.init(tmp_path / "new", exist_ok=True) as store:
            assert len(store.log()) == number
            agents.remember(store, "a", number)
    monkeypatch.chdir(tmp_path / "new")
    with mnem.Store.init(exist_ok=True) as store:
        assert store.get("a").content == 1
    # One above is another one.
    for below in ("new/below", "new/.mnem"):
        with pytest.raises(mnem.StoreExistsError, match=r"new/\.mnem, above"):
            mnem.init(tmp_path / below, exist_ok=True)
    with pytest.raises(mnem.StoreExistsError):
        mnem.init(tmp_path / "new")
    with pytest.raises(TypeError, match="exist_ok"):
        mnem.init(tmp_path / "new", exist_ok="no")
    mnem.init(":memory:", exist_ok=True).close()


def test_several_at_once_make_one_store(tmp_path):
    program = (
        "import sys, mnem\n"
        "with mnem.init(sys.argv[1], exist_ok=True) as store:\n"
        "    mnem.agents.remember(store, sys.argv[2], 1)\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, tmp_path / "new", str(number)])
        for number in range(6)
    ]
    assert [process.wait() for process in started] == [0] * 6
    with mnem.open(tmp_path / "new") as store:
        assert sorted(store.memory()) == sorted(map(str, range(6)))


def test_a_dropped_handle_frees_its_store(tmp_path):
    store = mnem.init(tmp_path)
    program = "import sys, mnem; mnem.open(sys.argv[1], busy_timeout=0).close()"
    assert "BusyError" in run(program, tmp_path).stderr
    del store
    gc.collect()
    assert run(program, tmp_path).returncode == 0


@pytest.mark.parametrize("is_ignored", [False, True])
def test_the_command_ends_on_an_interrupt_and_a_closed_pipe(monkeypatch, is_ignored):
    seen = []
    kinds = [signal.SIGINT] + ([signal.SIGPIPE] if hasattr(signal, "SIGPIPE") else [])

    def command(words):
        seen.append((words, [signal.getsignal(kind) for kind in kinds]))
        return 3

    before = {kind: signal.getsignal(kind) for kind in kinds}
    monkeypatch.setattr("mnem._mnem.run_command", command)
    monkeypatch.setattr("sys.argv", ["mnem", "log"])
    try:
        # As a shell begins a job in the background.
        signal.signal(signal.SIGINT, signal.SIG_IGN if is_ignored else before[signal.SIGINT])
        assert _command.main() == 3
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
    expected = [signal.SIG_DFL for _ in kinds]
    if is_ignored:
        expected[0] = signal.SIG_IGN
    assert seen == [(["mnem", "log"], expected)]


def script(name):
    found = Path(sys.executable).with_name(name + (".exe" if sys.platform == "win32" else ""))
    assert found.exists()
    return found


@pytest.mark.parametrize("name", ["mnem", "mnemosyne"])
def test_the_wheel_installs_the_command(store, name):
    agents.remember(store, "a", 1, summary="from the package")
    store.close()
    done = subprocess.run(
        [script(name), "-C", store.root, "log", "--oneline"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("from the package\n")
    done = subprocess.run(
        [script(name), "-C", store.root, "get", "nothing"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="this system has no such signal")
def test_a_closed_pipe_ends_the_command(store):
    agents.remember(store, "a", 1)
    store.close()
    command = [script("mnem"), "-C", store.root, "log"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.wait() == -signal.SIGPIPE
        assert process.stderr.read() == b""


CLOSED = """
import os, sys
from mnem import _command, _mnem

def command(words):
    return 7 if all(os.fstat(number) for number in range(3)) else 1

_mnem.run_command = command
for number in map(int, sys.argv[1:]):
    os.close(number)
sys.exit(_command.main())
"""


@pytest.mark.parametrize("closed", [[0], [1], [2], [1, 2], [0, 1, 2]])
def test_no_file_of_the_store_takes_the_place_of_a_closed_stream(closed):
    assert run(CLOSED, *closed).returncode == 7


WAITING = """
import sys, threading, time
import mnem

store = mnem.init(sys.argv[1])
mnem.agents.remember(store, "a", 1)
store.new_branch("other")
store.add("draft", 1)
calls = {
    "add": lambda: store.add("b", 1),
    "rm": lambda: store.rm("b"),
    "unstage": lambda: store.unstage("draft"),
    "commit": lambda: store.commit("m"),
    "write": lambda: store.write({"c": 1}, message="m"),
    "update": lambda: store.update(lambda _: {"d": 1}, message="m"),
    "merge": lambda: store.on("other").merge("main"),
    "new_branch": lambda: store.new_branch("another"),
    "delete_branch": lambda: store.delete_branch("another"),
    "checkout": lambda: store.checkout("other"),
    "create": lambda: store.checkout(create="third"),
    "on": lambda: store.on("fourth"),
    "local": lambda: store.local("rows").set(b"k", b"v"),
    "import_chat": lambda: mnem.agents.import_chat(
        store, [{"role": "user", "content": "hello"}], transcript="t"
    ),
}
for name, call in calls.items():
    entered, leave, done = threading.Event(), threading.Event(), []

    def hold(_):
        entered.set()
        leave.wait()
        return {}

    def wait():
        call()
        done.append(name)

    holder = threading.Thread(target=lambda: store.update(hold, message="m"))
    waiter = threading.Thread(target=wait)
    holder.start()
    entered.wait()
    waiter.start()
    time.sleep(0.1)  # the waiter gets where it waits
    leave.set()
    holder.join()
    waiter.join()
    print(*done, flush=True)
"""


def test_a_call_that_waits_for_the_writer_lets_other_threads_run(tmp_path):
    """In a process of its own: with the lock of the interpreter held it would hang."""
    done = run(WAITING, tmp_path / "agent")
    assert done.stdout.split() == [
        "add",
        "rm",
        "unstage",
        "commit",
        "write",
        "update",
        "merge",
        "new_branch",
        "delete_branch",
        "checkout",
        "create",
        "on",
        "local",
        "import_chat",
    ], done.stderr


READING = """
import os, sys, threading, time
import mnem

store = mnem.init(sys.argv[1])
commit = mnem.agents.remember(store, "a", 1)
head = store.root / ".mnem" / "HEAD"
head.unlink()
os.mkfifo(head)
reads = {
    "head": lambda: store.head(),
    "head_commit": lambda: store.head_commit(),
    "resolve": lambda: store.resolve("HEAD"),
    "get": lambda: store.get("a"),
    "exists": lambda: store.exists("a"),
    "memory": lambda: store.memory(),
    "working_node": lambda: store.working_node("a"),
    "working_memory": lambda: store.working_memory(),
    "state_at": lambda: store.state_at("HEAD"),
    "log": lambda: store.log(),
    "diff": lambda: store.diff(),
    "blame": lambda: store.blame("a"),
    "bisect": lambda: store.bisect(lambda _: True),
    "flips": lambda: store.flips("a", present=True),
    "changed_by": lambda: store.changed_by("HEAD"),
}
for name, read in reads.items():
    done = []
    # A pipe that is fed again before its reader is through holds junk; then it is asked anew.
    for _ in range(50):
        reader = threading.Thread(target=lambda: (read(), done.append(name)))
        reader.start()
        while reader.is_alive():
            try:
                pipe = os.open(head, os.O_WRONLY | os.O_NONBLOCK)
                os.write(pipe, b"ref: main\\n")
                os.close(pipe)
            except OSError:  # no reader yet, or none any more
                pass
            time.sleep(0.001)
        if done:
            break
    print(*done, flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_read_that_waits_lets_other_threads_run(tmp_path):
    """HEAD is a pipe that another thread feeds: with the lock held a read would hang."""
    done = run(READING, tmp_path / "agent")
    assert done.stdout.split() == [
        "head",
        "head_commit",
        "resolve",
        "get",
        "exists",
        "memory",
        "working_node",
        "working_memory",
        "state_at",
        "log",
        "diff",
        "blame",
        "bisect",
        "flips",
        "changed_by",
    ], done.stderr
