"""The examples, as they are run, against what they print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PRINTED = EXAMPLES / "printed"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


def run(*words: str | Path, cwd: Path) -> str:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_example_has_its_page() -> None:
    assert sorted(path.stem for path in PRINTED.iterdir()) == NAMES
    assert {"incident_retrospective", "support_agent", "trace_transcript"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_example(name: str, tmp_path: Path) -> None:
    printed = run(sys.executable, EXAMPLES / f"{name}.py", cwd=tmp_path)
    assert printed == (PRINTED / f"{name}.txt").read_text(encoding="utf-8")


def test_the_support_agent_makes_the_commits_of_the_demo(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("mnem")
    story = run(command, "demo", cwd=tmp_path)
    ids = set(re.findall(r"\b[0-9a-f]{12}\b", (PRINTED / "support_agent.txt").read_text()))
    assert len(ids) >= 4
    assert ids <= set(re.findall(r"\b[0-9a-f]{12}\b", story))
