"""The ``mnem`` command, as the wheel installs it."""

from __future__ import annotations

import signal
import sys

from . import _mnem


def main() -> int:
    """Run the command with the words of this process; returns its exit code.

    Python turns an interrupt and a closed pipe into exceptions, which would wait for the
    command to return; they end it instead, as they end any command. An interrupt that whoever
    began it lets it ignore, as a shell does for a job in the background, stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    return _mnem.run_command(sys.argv)
