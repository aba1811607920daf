"""What the command does only at a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="there are pseudo-terminals on Unix only")
termios = pytest.importorskip("termios", reason="there are pseudo-terminals on Unix only")

COMMAND = Path(sys.executable).with_name("mnem")


def at_a_terminal(*words: str, keys: bytes, cwd: Path) -> tuple[int, str]:
    """The exit code and everything that was shown; the keys are pressed at each `--`."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *words],
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={"TERM": "xterm", "PATH": os.environ["PATH"], "TMPDIR": str(cwd)},
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    waiting = list(keys)
    while True:
        try:
            read = os.read(ours, 4096)
        except OSError:  # how Linux says that the other end is closed
            break
        if not read:
            break
        shown += read
        if shown.endswith((b"q ends --", b"[y/N] ")) and waiting:
            # Before the command reads single keys, the terminal takes a Ctrl-C for itself.
            while process.poll() is None and termios.tcgetattr(ours)[3] & termios.ICANON:
                time.sleep(0.001)
            os.write(ours, bytes([waiting.pop(0)]))
    os.close(ours)
    return process.wait(), shown.decode()


@pytest.mark.parametrize("last", [b"q", b"\x1b", b"\x03"])
def test_the_demo_waits_for_keys(last: bytes, tmp_path: Path) -> None:
    code, shown = at_a_terminal("demo", "--step", keys=b" " + last, cwd=tmp_path)
    assert code == 0
    assert "2/9" in shown
    assert "3/9" not in shown
    assert list(tmp_path.iterdir()) == [], "nothing stays"


def test_the_demo_goes_on_to_its_end(tmp_path: Path) -> None:
    code, shown = at_a_terminal("demo", "--step", keys=b"x" * 8, cwd=tmp_path)
    assert code == 0
    assert shown.count("q ends --") == 8
    assert "What you saw" in shown


def test_progress_is_shown_to_a_person_alone(tmp_path: Path) -> None:
    for words in (["init"], ["remember", "plan", "basic"]):
        subprocess.run([COMMAND, *words], cwd=tmp_path, check=True, capture_output=True)
    code, shown = at_a_terminal("verify", keys=b"", cwd=tmp_path)
    assert code == 0
    assert "objects" in shown
    piped = subprocess.run([COMMAND, "verify"], cwd=tmp_path, check=True, capture_output=True)
    assert piped.stderr == b""
    assert b"objects" not in piped.stdout


@pytest.mark.parametrize(("answer", "is_repaired"), [(b"n", False), (b"\r", False), (b"y", True)])
def test_a_repair_asks_first(answer: bytes, is_repaired: bool, tmp_path: Path) -> None:
    for words in (["init"], ["remember", "plan", "a word that is easy to find", "-m", "plan"]):
        subprocess.run([COMMAND, *words], cwd=tmp_path, check=True, capture_output=True)
    data = tmp_path / ".mnem" / "store.redb"
    data.write_bytes(data.read_bytes().replace(b"easy to find", b"easy to fine"))
    before = data.read_bytes()
    config = (tmp_path / ".mnem" / "config").read_bytes()
    code, shown = at_a_terminal("fsck", "--repair", keys=answer, cwd=tmp_path)
    assert code == 1
    assert ("lost: " in shown) == is_repaired
    assert ((tmp_path / ".mnem" / "config").read_bytes() != config) == is_repaired
    assert data.read_bytes() == before
