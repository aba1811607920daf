"""LangGraph's own tests of its stores, run against ours.

The set-up fetches the source distributions; `swap.py` puts our class in the place of theirs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib import metadata
from pathlib import Path

import pytest
from excluded import EXCLUDED

UPSTREAM = Path(sys.prefix) / "upstream"
# Suite, its files, and how many cases it has.
SUITES = [
    ("langgraph_checkpoint", ["test_store.py"], 117),
    ("langgraph_checkpoint_sqlite", ["test_store.py", "test_async_store.py", "test_ttl.py"], 153),
]


@pytest.mark.parametrize(("suite", "files", "cases"), SUITES)
def test_suite(suite, files, cases, tmp_path):
    place = UPSTREAM / f"{suite}-{metadata.version(suite)}"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "swap", "--tb=short"]
    # Theirs ask for plugins that nothing here needs.
    words += ["-o", "addopts=", "-o", "asyncio_mode=auto"]
    words += [f"--junit-xml={tmp_path / 'report.xml'}", *(f"tests/{file}" for file in files)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent), "SUITE": suite}
    done = subprocess.run(
        words, cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    report = ET.parse(tmp_path / "report.xml").getroot()[0]
    skipped = report.findall(".//skipped")
    excluded = [case for case in skipped if case.get("type") == "pytest.xfail"]
    assert len(excluded) == len(skipped)
    assert {case.get("message") for case in excluded} == set(EXCLUDED[suite].values())
    assert int(report.get("tests")) == cases
