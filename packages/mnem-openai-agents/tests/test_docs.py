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
GUIDE = (PACKAGE.parents[1] / "docs" / "guides" / "shared-memory.md").read_text(encoding="utf-8")
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


@pytest.mark.parametrize("name", ["openai_agents_session", "shared_memory"])
def test_example(name, tmp_path):
    printed = run(EXAMPLES / f"{name}.py", cwd=tmp_path)
    assert printed == (EXAMPLES / "printed" / f"{name}.txt").read_text(encoding="utf-8")


def test_the_guide_quotes_the_example():
    def lines(text):
        return "\n".join(line.strip() for line in text.strip().splitlines())

    sources = {
        "python": lines((EXAMPLES / "shared_memory.py").read_text(encoding="utf-8")),
        "text": lines((EXAMPLES / "printed" / "shared_memory.txt").read_text(encoding="utf-8")),
    }
    blocks = re.findall(r"```(python|text)\n(.*?)```", GUIDE, re.DOTALL)
    assert [kind for kind, _ in blocks].count("text") == 3
    for kind, block in blocks:
        assert lines(block) in sources[kind]
