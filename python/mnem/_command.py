"""The ``mnem`` command, as the wheel installs it."""

from __future__ import annotations

import os
import signal
import sys

from . import _mnem


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def main() -> int:
    """Run the command with the words of this process; returns its exit code.

    Python turns an interrupt and a closed pipe into exceptions, which would wait for the
    command to return; they end it instead, as they end any command. An interrupt that whoever
    began it lets it ignore, as a shell does for a job in the background, stays ignored.
    """
    for descriptor in range(3):
        if not _is_open(descriptor):
            # Whoever closed it wants to hear nothing; a file of the store must not take its place.
            os.open(os.devnull, os.O_RDWR)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    return _mnem.run_command(sys.argv)
