"""What is shown runs: the README, the example, the docstrings."""

from __future__ import annotations

import argparse
import doctest
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import mnem_mcp
import pytest
from mnem_mcp.__main__ import _parser

HERE = Path(__file__).parents[1]
EXAMPLES = HERE.parents[1] / "examples" / "adapters"
README = (HERE / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


def run(script, cwd):
    tools = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, *script],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_script_of_the_readme(tmp_path):
    (script,) = blocks("python")
    assert run(["-c", script], tmp_path) == "ticket-9\n"


def test_the_settings_of_the_readme_are_what_the_command_takes():
    (settings,) = blocks("json")
    words = json.loads(settings)["mcpServers"]["memory"]["args"]
    (line,) = [block for block in blocks("sh") if block.startswith("claude ")]
    for given in (words, line.split(" -- mnem-mcp ")[1].split()):
        asked = _parser().parse_args(given)
        assert (asked.init, Path(asked.store).name) == (True, "agent-memory")


def test_the_readme_has_every_tool_and_option():
    server = mnem_mcp._server
    named = set(re.findall(r"`([\w-]+)", README))
    assert set(server.CORE + server.HARNESS) <= named
    for action in _parser()._actions:
        if not isinstance(action, argparse._HelpAction | argparse._VersionAction):
            assert f"`{action.option_strings[0]}" in README


def test_the_readme_has_the_numbers_of_the_report():
    report = (HERE / "conformance.md").read_text(encoding="utf-8")
    numbers = re.findall(r"^## (\S+): (\d+ of \d+) scenarios$", report, flags=re.MULTILINE)
    (one, first), (two, second) = numbers
    text = " ".join(README.split())
    assert f"{first} scenarios of {one} pass and {second} of {two}." in text


def test_the_example_prints_what_is_kept(tmp_path):
    printed = (EXAMPLES / "printed" / "mcp_memory.txt").read_text(encoding="utf-8")
    assert run([EXAMPLES / "mcp_memory.py"], tmp_path) == printed


MODULES = [
    "mnem_mcp",
    *(f"mnem_mcp.{found.name}" for found in pkgutil.iter_modules(mnem_mcp.__path__)),
]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(name)
    assert module.__doc__
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_there_are_docstring_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    shown = [test.name for test in finder.find(mnem_mcp) if test.examples]
    assert shown == ["mnem_mcp"]
    assert [test for test in finder.find(mnem_mcp._server) if test.examples]


def test_the_installed_package_is_tested():
    assert HERE not in Path(mnem_mcp.__file__).parents
