"""Every call of the interface of 0.0.7 answers as it did, or as the page of calls says.

tests/fixtures/original/calls.txt has them. A line with `# NAME` begins with a new store; below a
call stands what 0.0.7 answers, and after `now:` what this release answers instead.

    python test_same_answers.py then    # with mnem-agents 0.0.7 and pytest: writes its answers
    python test_same_answers.py now     # with this release: writes where it differs
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import mnem
import pytest
from mnem import agents

FILE = Path(__file__).parents[2] / "tests/fixtures/original/calls.txt"


@dataclasses.dataclass
class Call:
    section: str
    code: str
    then: str = ""
    now: str | None = None


def read(text: str) -> list[Call]:
    calls: list[Call] = []
    section = ""
    for line in text.splitlines():
        if line.startswith("# "):
            section = line[2:]
        elif line.startswith(">>> "):
            calls.append(Call(section, line[4:]))
        elif line.startswith("... "):
            calls[-1].code += "\n" + line[4:]
        elif line.startswith("now:"):
            calls[-1].now = line[5:]
        elif line:
            calls[-1].then = line
    return calls


def written(calls: list[Call]) -> str:
    lines: list[str] = []
    section = ""
    for call in calls:
        if call.section != section:
            section = call.section
            lines += ["", f"# {section}"]
        lines.append(">>> " + call.code.replace("\n", "\n... "))
        lines += [call.then] if call.then else []
        lines += [] if call.now is None else [f"now: {call.now}".rstrip()]
    return "\n".join(lines).lstrip() + "\n"


def shown(value: Any) -> str:
    if dataclasses.is_dataclass(value):
        fields = value.to_dict() if hasattr(value, "to_dict") else {}
        # What has no value says nothing.
        text = json.dumps(fields, ensure_ascii=False)
        return f"{type(value).__name__} " + re.sub(r'"\w+": null(, )?', "", text)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {shown(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        left, right = "[]" if isinstance(value, list) else "()"
        return left + ", ".join(shown(item) for item in value) + right
    return "" if value is None else repr(value)


def answer(code: str, names: dict[str, Any], said: str) -> str:
    """What a call answers; of an error its class, by the name that was said if it is one of it."""
    try:
        try:
            compiled = compile(code, "call", "eval")
        except SyntaxError:
            exec(code, names)
            return ""
        return shown(eval(compiled, names))
    except Exception as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return said if said[:1] == "!" and said[1:] in kinds else f"!{kinds[0]}"


def run(calls: list[Call]) -> list[str]:
    answers: list[str] = []
    names: dict[str, Any] = {}
    section = ""
    os.environ.pop("MNEM_AUTHOR", None)
    with contextlib.ExitStack() as stack:
        stack.callback(os.chdir, Path.cwd())
        for call in calls:
            if call.section != section:
                section = call.section
                directory = stack.enter_context(tempfile.TemporaryDirectory())
                os.chdir(directory)
                # Salts would make other ids; without, they are those of 0.0.7.
                options = {} if mnem.version() == "0.0.7" else {"reproducible": True}
                names = {"mnem": mnem, "agents": agents, "T": 1_757_000_000_000}
                names["store"] = mnem.init("store", **options)
                names["root"] = Path(directory, "store")
            answers.append(answer(call.code, names, call.then))
        names.clear()
    return answers


RECORDED = read(FILE.read_text(encoding="utf-8"))
SECTIONS = list(dict.fromkeys(call.section for call in RECORDED))
# What 0.0.7 had not.
ADDED = {
    *(
        "close",
        "exists",
        "export",
        "flips",
        "fsck",
        "get",
        "ids",
        "local",
        "memory",
        "on",
        "reflog",
    ),
    *("restore", "revert", "undo", "update", "verify", "write"),
}


@pytest.mark.parametrize("section", SECTIONS)
def test_section(section, monkeypatch):
    monkeypatch.delenv("MNEM_AUTHOR", raising=False)
    recorded = [call for call in RECORDED if call.section == section]
    for call, said in zip(recorded, run(recorded), strict=True):
        assert said == (call.then if call.now is None else call.now), call.code


def test_every_name_of_the_store_is_called():
    made = "\n".join(call.code for call in RECORDED)
    names = {name for name in dir(mnem.Store) if not name.startswith("_")}
    assert names >= ADDED
    # The places of a store and its version are no calls that are compared.
    assert {name for name in names - ADDED if f".{name}" not in made} == {"format_version"}


def test_the_page_of_calls_is_as_it_is_written():
    assert written(RECORDED) == FILE.read_text(encoding="utf-8")


def main(which: str) -> None:
    calls = read(FILE.read_text(encoding="utf-8"))
    if which == "then":
        for call in calls:
            call.then = ""
        for call, said in zip(calls, run(calls), strict=True):
            call.then = said
    else:
        for call, said in zip(calls, run(calls), strict=True):
            call.now = None if said == call.then else said
    FILE.write_text(written(calls), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
