"""The examples of the README, of the docstrings and of `examples/`."""

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import mnem
import mnem_langgraph
import pytest

PACKAGE = Path(__file__).parents[1]
ADAPTERS = PACKAGE.parents[1] / "examples" / "adapters"


def test_the_readme(tmp_path):
    readme = (PACKAGE / "README.md").read_text("utf-8")
    [block] = re.findall(r"^```python\n(.*?)^```$", readme, flags=re.DOTALL | re.MULTILINE)
    [printed] = re.findall(r"^```text\n(.*?)^```$", readme, flags=re.DOTALL | re.MULTILINE)
    # Whoever tries it runs it again.
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.stdout, done.stderr) == (printed, "")


@pytest.mark.parametrize("name", ["__init__", "store"])
def test_the_docstrings(name):
    module = importlib.import_module(f"mnem_langgraph.{name}".removesuffix(".__init__"))
    flags = doctest.NORMALIZE_WHITESPACE
    tried = doctest.testmod(module, extraglobs={"mnem": mnem}, optionflags=flags)
    assert tried.attempted > 0
    assert tried.failed == 0


def test_the_public_names():
    assert mnem_langgraph.__all__ == ["MnemosyneStore"]


def test_the_example(tmp_path):
    done = subprocess.run(
        [sys.executable, ADAPTERS / "langgraph_hypothesis.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (ADAPTERS / "printed" / "langgraph_hypothesis.txt").read_text("utf-8")
