"""The documentation: docstrings, the README's example and the example in `examples/`."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
EXAMPLES = PACKAGE.parents[1] / "examples" / "adapters"
README = (PACKAGE / "README.md").read_text(encoding="utf-8")


def run(*words, cwd):
    done = subprocess.run(
        [sys.executable, *words], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["mnem_openai_agents", "mnem_openai_agents.session"])
def test_docstrings(name):
    module = importlib.import_module(name)
    assert Path(sys.prefix) in Path(str(module.__file__)).parents, "not the installed package"
    failed, tried = doctest.testmod(module)
    assert failed == 0
    assert tried > 2


def test_readme(tmp_path):
    example, printed = re.search(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL
    ).groups()
    assert run("-c", example, cwd=tmp_path) == printed
    # The store is made where the example says.
    assert (tmp_path / "memory" / ".mnem").is_dir()


def test_example(tmp_path):
    printed = run(EXAMPLES / "openai_agents_session.py", cwd=tmp_path)
    expected = EXAMPLES / "printed" / "openai_agents_session.txt"
    assert printed == expected.read_text(encoding="utf-8")
