"""The end of a process, and the command that the wheel installs."""

from __future__ import annotations

import gc
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


def test_a_dropped_handle_frees_its_store(tmp_path):
    store = mnem.init(tmp_path)
    program = "import sys, mnem; mnem.open(sys.argv[1], busy_timeout=0).close()"
    assert "BusyError" in run(program, tmp_path).stderr
    del store
    gc.collect()
    assert run(program, tmp_path).returncode == 0


def test_the_command_ends_on_an_interrupt_and_a_closed_pipe(monkeypatch):
    seen = []

    def command(words):
        kinds = [signal.SIGINT] + ([signal.SIGPIPE] if hasattr(signal, "SIGPIPE") else [])
        seen.append((words, {signal.getsignal(kind) for kind in kinds}))
        return 3

    before = {kind: signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGPIPE)}
    monkeypatch.setattr("mnem._mnem.run_command", command)
    monkeypatch.setattr("sys.argv", ["mnem", "log"])
    try:
        assert _command.main() == 3
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
    assert seen == [(["mnem", "log"], {signal.SIG_DFL})]


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
