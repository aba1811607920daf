"""The most memory that an import and an export had, for histories of so many commits.

cargo build --release --package mnem-git --package mnem-bench
python3 tools/portable_memory.py 1000 10000 100000
"""

from __future__ import annotations

import filecmp
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BUILT = Path(__file__).parents[1] / "target" / "release"


def run(words: list[str], **streams: object) -> int:
    """Runs a command that must succeed; returns its peak resident memory in MiB."""
    process = subprocess.Popen(words, **streams)  # pyright: ignore[reportCallIssue,reportArgumentType]
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{words[0]} failed")
    # Linux counts in KiB, macOS in bytes.
    return usage.ru_maxrss // (2**20 if sys.platform == "darwin" else 2**10)


def main() -> None:
    mnem = str(BUILT / "mnem")
    print("| commits | export, MiB on disk | import, peak MiB | export, peak MiB |")
    print("| ---: | ---: | ---: | ---: |")
    for commits in sys.argv[1:]:
        # Beside the build: a memory file system would count as memory.
        with tempfile.TemporaryDirectory(dir=BUILT) as directory:
            stream, again = (Path(directory) / name for name in ("one.jsonl", "two.jsonl"))
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            first, store = (str(Path(directory) / name) for name in ("first", "store"))
            size = ["--nodes", "1000", "--commits", commits]
            run([str(BUILT / "mnem-bench"), "build", first, *size], **quiet)
            run([mnem, "-C", first, "export", str(stream)], **quiet)
            read = run([mnem, "import", str(stream), store], **quiet)
            written = run([mnem, "-C", store, "export", str(again)], **quiet)
            # Piece by piece: a child begins with the peak of its parent.
            if not filecmp.cmp(stream, again, shallow=False):
                raise SystemExit("the second export differs")
            size = stream.stat().st_size // 2**20
            print(f"| {int(commits):,} | {size} | {read} | {written} |", flush=True)


if __name__ == "__main__":
    main()
