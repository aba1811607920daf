"""Holds two promises about dependencies: no network in the engine, and known licences.

Reads `cargo metadata`, so nothing is asked of the network that cargo has not fetched.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ENGINE = "mnem-store"

# What is built and released; what a crate would bring elsewhere does not count.
PLATFORMS = [
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "x86_64-unknown-linux-gnu",
]

# Crates that talk to a network, speak TLS, or bring an async runtime, and their families.
BANNED = re.compile(
    r"(?:async-(?:std|io|net|executor|global-executor)|attohttpc|aws-lc(?:-.*)?|curl(?:-sys)?"
    r"|embassy-.*|futures(?:-.*)?|glommio|h2|h3|hickory-.*|hyper(?:-.*)?|isahc|mio|monoio"
    r"|native-tls|openssl(?:-.*)?|quinn(?:-.*)?|reqwest|ring|rustls(?:-.*)?|schannel"
    r"|security-framework(?:-sys)?|smol|socket2|surf|tokio(?:-.*)?|tungstenite|ureq(?:-.*)?"
    r"|webpki(?:-.*)?)"
)

# Licences that an Apache-2.0 project may be distributed with.
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression can be met by allowed licences alone.

    `OR` needs one side, `AND` every side; `/` is how crates once wrote `OR`.
    """
    text = expression.replace("/", " OR ")
    while "(" in text:
        inner = re.search(r"\(([^()]*)\)", text)
        if inner is None:
            return False
        answer = "MIT" if is_allowed(inner[1]) else "refused"
        text = text[: inner.start()] + answer + text[inner.end() :]
    sides = [side.split(" AND ") for side in text.split(" OR ")]
    return any(all(part.strip() in ALLOWED for part in side) for side in sides)


def reached(metadata: dict[str, Any], name: str) -> set[str]:
    """Names of every crate in the normal and build dependencies of a package."""
    packages = {package["id"]: package["name"] for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    todo = [key for key, value in packages.items() if value == name]
    seen: set[str] = set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        todo.extend(
            dependency["pkg"]
            for dependency in nodes[node]["deps"]
            if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"])
        )
    return {packages[node] for node in seen}


def problems(metadata: dict[str, Any]) -> list[str]:
    """One sentence for each broken promise."""
    engine = reached(metadata, ENGINE)
    found = [] if ENGINE in engine else [f"There is no package {ENGINE}."]
    found += [
        f"{ENGINE} reaches {name}, which is for networks, TLS or async."
        for name in sorted(engine)
        if BANNED.fullmatch(name)
    ]
    built = {node["id"] for node in metadata["resolve"]["nodes"]}
    for package in metadata["packages"]:
        if package["id"] not in built:
            continue
        licence = package["license"] or "none"
        if not is_allowed(licence):
            found.append(f"{package['name']} {package['version']} has the licence {licence}.")
    return found


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    command += [part for platform in PLATFORMS for part in ("--filter-platform", platform)]
    out = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    found = problems(json.loads(out))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
