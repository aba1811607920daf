"""Draws the middle of `mnem demo` as the picture of the README, from what the command prints.

    python tools/demo_svg.py [--check]

Takes `rich`, and the `mnem` command beside the Python that runs it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).parent.parent / "docs" / "demo.svg"
COLUMNS = 80
# From the guest's complaint to the answer.
FIRST, LAST = "5/9", "9/9"


def recorded() -> str:
    """What the demo prints, with its colours."""
    command = Path(sys.executable).with_name("mnem")
    environment = {"CLICOLOR_FORCE": "1", "PATH": os.environ["PATH"]}
    with tempfile.TemporaryDirectory() as directory:
        run = subprocess.run(
            [command, "demo"], cwd=directory, env=environment, capture_output=True, check=True
        )
    return run.stdout.decode()


def part(session: str) -> str:
    lines = session.splitlines()
    first = next(at for at, line in enumerate(lines) if FIRST in line)
    last = next(at for at, line in enumerate(lines) if LAST in line)
    return "\n".join(lines[first:last]).rstrip()


def drawn(session: str) -> str:
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(
            record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        console.print(Text.from_ansi(session), soft_wrap=False, highlight=False)
        picture = console.export_svg(title="mnem demo", unique_id="demo")
    # Nothing is fetched: whoever shows the picture has a monospaced font.
    picture = re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    return re.sub(r"[ \t]+$", "", picture, flags=re.MULTILINE).rstrip() + "\n"


def main(arguments: list[str]) -> int:
    picture = drawn(part(recorded()))
    if arguments != ["--check"]:
        PICTURE.write_text(picture, encoding="utf-8")
        return 0
    if PICTURE.read_text(encoding="utf-8") == picture:
        return 0
    print(f"{PICTURE.name} is not what the demo prints: run `make demo-svg`.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
