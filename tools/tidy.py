"""The tidy test: rules about the tree that no compiler holds.

Each rule is a function from a root directory and its tracked files to the sentences it has to
say; `tools/test_tidy.py` breaks each one on purpose. Python's standard library only.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

# A longer file says in its first comment, after "Long:", why it is one.
REASON_AFTER = 500
MOST_LINES = 800
CODE = {".rs", ".py", ".pyi", ".sh"}

# The layers of the engine in reading order: a file may use its own layer and earlier ones.
LAYERS = ["object", "codec", "backend", "state", "index", "graph", "store", "ops", "portable"]
BOTTOM = ["id", "error", "key"]
ENGINE = "crates/mnem-store/src"
# Names the bottom may take from above, each with its reason.
EXCEPTIONS = {
    # One error type carries the broken rule of content, so that Python can name its path.
    ("error", "object"),
}

REQUIRED = [
    ".ci/run",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "GLOSSARY.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "ROADMAP.md",
    "clippy.toml",
    "docs/adr/README.md",
    "docs/format/README.md",
    "rust-toolchain.toml",
    "rustfmt.toml",
]

# Spelt in pieces, so that this file does not break its own rule.
MACHINE_PATH = re.compile(r"(?<![\w.-])/(?:" + "|".join(["work", "root", "home"]) + ")/")

Rule = Callable[[Path, list[str]], Iterable[str]]


def lines(root: Path, file: str) -> list[str]:
    return (root / file).read_text(encoding="utf-8").splitlines()


def file_sizes(root: Path, files: list[str]) -> Iterator[str]:
    for file in files:
        if PurePosixPath(file).suffix not in CODE:
            continue
        text = lines(root, file)
        header = "\n".join(text[:20])
        if len(text) > MOST_LINES:
            yield f"{file} has {len(text)} lines, more than {MOST_LINES}: split it."
        elif len(text) > REASON_AFTER and "Long:" not in header:
            yield (
                f"{file} has {len(text)} lines, more than {REASON_AFTER}: "
                "split it, or give the reason in its header after 'Long:'."
            )


def layer_imports(root: Path, files: list[str]) -> Iterator[str]:
    order = dict.fromkeys(BOTTOM, 0) | {name: at + 1 for at, name in enumerate(LAYERS)}
    # `use crate::{a::b, c::d}` names several; only the first segment after `crate::` counts.
    path = re.compile(r"\bcrate::(?:(\w+)|\{([^;]*)\})")
    for file in files:
        parts = PurePosixPath(file).relative_to(ENGINE).parts if file.startswith(ENGINE) else ()
        if not parts or not file.endswith(".rs") or parts == ("lib.rs",):
            continue
        layer = PurePosixPath(parts[0]).stem
        if layer not in order:
            yield f"{file} is in no layer: {', '.join(BOTTOM + LAYERS)}."
            continue
        code = re.sub(r"//.*", "", "\n".join(lines(root, file)))
        for single, group in path.findall(code):
            names = [single] if single else top_level_names(group)
            for name in names:
                above = order.get(name, 0) > order[layer]
                if above and (layer, name) not in EXCEPTIONS:
                    yield f"{file} is in layer {layer} and uses crate::{name}, a later layer."


def top_level_names(group: str) -> list[str]:
    """The first segments of `a::{b, c}, d::e`."""
    names, depth, word = [], 0, ""
    for sign in group + ",":
        if sign == "," and depth == 0:
            names.append(word.strip().split("::")[0])
            word = ""
        else:
            depth += {"{": 1, "}": -1}.get(sign, 0)
            word += sign
    return [name for name in names if name]


NAMED_TEST = re.compile(r"`([\w./-]+\.(?:rs|py))::(\w+)`")


def missing_tests(root: Path, files: list[str], page: str, text: str) -> Iterator[str]:
    """What is wrong with the tests that a text of a page names."""
    for path, name in NAMED_TEST.findall(text):
        if path not in files:
            yield f"{page}: {path} does not exist and has no test {name}."
        elif not re.search(rf"\b(?:fn|def) {name}\b", (root / path).read_text("utf-8")):
            yield f"{page}: {path} has no test {name}."


def invariants_name_tests(root: Path, files: list[str]) -> Iterator[str]:
    file = "ARCHITECTURE.md"
    found = False
    for paragraph in (root / file).read_text(encoding="utf-8").split("\n\n"):
        for item in re.split(r"\n(?=- )", paragraph):
            if "**Invariant" not in item:
                continue
            found = True
            start = " ".join(item.split())[:70]
            if not NAMED_TEST.search(item):
                yield f"{file}: no test holds “{start}…”."
            yield from missing_tests(root, files, file, item)
    if not found:
        yield f"{file} states no invariant."


def promises_name_tests(root: Path, files: list[str]) -> Iterator[str]:
    """Each row of a table that promises something names the tests that hold it."""
    file = "docs/reliability.md"
    if file not in files:
        return
    is_promise = False
    for line in lines(root, file):
        if not line.startswith("|"):
            is_promise = False
        elif line.startswith("| promise"):
            is_promise = True
        elif is_promise and not line.startswith("| ---"):
            if not NAMED_TEST.search(line):
                yield f"{file}: no test holds “{line[2:70]}…”."
            yield from missing_tests(root, files, file, line)


def records_are_indexed(root: Path, files: list[str]) -> Iterator[str]:
    index = (root / "docs/adr/README.md").read_text(encoding="utf-8")
    name = re.compile(r"docs/adr/(\d{4})-[a-z0-9-]+\.md")
    records = [file for file in files if file.startswith("docs/adr/") and "README" not in file]
    for number, file in enumerate(sorted(records), start=1):
        match = name.fullmatch(file)
        if not match or int(match[1]) != number:
            yield f"{file} is not numbered {number:04}-words.md."
        if f"({PurePosixPath(file).name})" not in index:
            yield f"docs/adr/README.md does not link {file}."
    for link in re.findall(r"\((\d{4}-[^)]*)\)", index):
        if f"docs/adr/{link}" not in files:
            yield f"docs/adr/README.md links {link}, which does not exist."


def test_files_are_listed(root: Path, files: list[str]) -> Iterator[str]:
    for main in files:
        if not main.endswith("/tests/it/main.rs"):
            continue
        folder = main.removesuffix("main.rs")
        listed = re.findall(r"^mod (\w+);", "\n".join(lines(root, main)), re.MULTILINE)
        for file in files:
            rest = file.removeprefix(folder)
            if file == rest or not file.endswith(".rs") or rest == "main.rs":
                continue
            module = rest.removesuffix(".rs").removesuffix("/mod").split("/")[0]
            if module not in listed:
                yield f"{main} does not list {rest}: its tests never run."


def no_machine_paths(root: Path, files: list[str]) -> Iterator[str]:
    for file in files:
        if file == ".ci/run":
            continue
        try:
            text = (root / file).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        match = MACHINE_PATH.search(text)
        if match:
            line = text.count("\n", 0, match.start()) + 1
            yield f"{file}:{line} holds a path of one machine, below {match[0]}"


def required_files(_root: Path, files: list[str]) -> Iterator[str]:
    for file in REQUIRED:
        if file not in files:
            yield f"{file} is missing."


RULES: list[Rule] = [
    file_sizes,
    layer_imports,
    invariants_name_tests,
    promises_name_tests,
    records_are_indexed,
    test_files_are_listed,
    no_machine_paths,
    required_files,
]


def tracked(root: Path) -> list[str]:
    """Files that are tracked, or would be by `git add --all`; of an archive, every file."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        out = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout
        names = [name.decode() for name in out.split(b"\0") if name]
    except (OSError, subprocess.CalledProcessError):
        skipped = {"target", ".venv", ".git"}
        paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        names = [path.as_posix() for path in paths if path.parts[0] not in skipped]
    return sorted(name for name in names if (root / name).is_file())


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    files = tracked(root)
    problems = [problem for rule in RULES for problem in rule(root, files)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
