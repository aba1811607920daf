"""The README: its blocks run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
# A block that builds the project is what `make` does before these tests.
RUN = [block for block in BLOCKS if "pip install" not in block[1]]


def test_there_are_blocks_to_run() -> None:
    assert [language for language, _ in RUN] == ["sh", "python"]


def test_the_blocks_run_one_after_the_other(tmp_path: Path) -> None:
    tools = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    for language, block in RUN:
        # Every line must succeed, not the last alone.
        words = ["bash", "-e", "-c", block] if language == "sh" else [sys.executable, "-c", block]
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout
