"""Runs the fuzz targets of `fuzz/` on the stable toolchain, each for a while.

    tools/fuzz.py [TARGET ...]

`MNEM_FUZZ_SECONDS` says how long each may run, 60 seconds unless set. Where `MNEM_SWEEP_REPORT`
names a directory, `fuzz-TARGET.json` there says what came of it. Python's standard library only.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"
BUILT = ROOT / "target" / "fuzz"

# What libFuzzer needs of the code under test: counters at each edge, and what is compared. Stable
# rustc takes these; only `-Zsanitizer`, which safe code has less use for, is nightly's.
INSTRUMENTED = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg fuzzing",
]

# The longest input, in bytes; 4,096 unless it says otherwise.
LONGEST = {"decode_state_node": 512, "import_stream": 16_384, "ops_vs_model": 768}


def host() -> str:
    told = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"^host: (\S+)$", told, re.MULTILINE)
    if found is None:
        sys.exit("rustc -vV names no host")
    return found[1]


def build(target: str) -> Path:
    """Builds every target, instrumented, and returns where they are.

    With `--target` the flags are for the code under test alone, and not for build scripts.
    """
    environment = os.environ | {"RUSTFLAGS": " ".join(INSTRUMENTED)}
    command = ["cargo", "build", "--release", "--locked", "--manifest-path", "fuzz/Cargo.toml"]
    command += ["--target", target, "--target-dir", str(BUILT)]
    subprocess.run(command, check=True, cwd=ROOT, env=environment)
    return BUILT / target / "release"


def run(binary: Path, name: str, seconds: int) -> dict[str, object]:
    """Runs one target, and says what came of it."""
    found, artifacts = BUILT / "corpus" / name, BUILT / "failures" / name
    for directory in (found, artifacts):
        directory.mkdir(parents=True, exist_ok=True)
    seeds = [FUZZ / kind / name for kind in ("corpus", "regressions")]
    command = [str(binary), str(found), *(str(path) for path in seeds if path.is_dir())]
    command += [f"-max_total_time={seconds}", "-timeout=300", "-rss_limit_mb=2048"]
    command += [f"-max_len={LONGEST.get(name, 4_096)}", "-print_final_stats=1"]
    # A machine with much to do is slow on any input: that is no failure.
    command += ["-report_slow_units=300", f"-artifact_prefix={artifacts}/"]
    # Stores that are made and thrown away need no disk.
    memory = Path("/dev/shm")
    environment = dict(os.environ) | ({"TMPDIR": str(memory)} if memory.is_dir() else {})
    start = time.monotonic()
    log = BUILT / f"{name}.log"
    with log.open("w") as out:
        ended = subprocess.run(
            command, check=False, stdout=out, stderr=subprocess.STDOUT, env=environment
        )
    told = log.read_text(errors="replace")
    cases = re.search(r"^stat::number_of_executed_units:\s+(\d+)", told, re.MULTILINE)
    failing = re.findall(r"Test unit written to (.+)$", told, re.MULTILINE)
    if ended.returncode != 0 and not failing:
        sys.exit(f"{name} did not run; see {log}")
    for path in failing:
        print(f"{name} failed on {path}; see {log}. Mend it, and keep the input as")
        print(f"  fuzz/regressions/{name}/accepted-WHY or refused-WHY")
    named = sum(len(list(path.iterdir())) for path in seeds if path.is_dir())
    return {
        "name": f"fuzz-{name}",
        "cases": int(cases[1]) if cases else 0,
        "failures": len(failing),
        "seconds": round(time.monotonic() - start),
        "note": f"libFuzzer on the stable toolchain, from {named} named inputs",
    }


def main(wanted: list[str]) -> int:
    targets = sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs"))
    unknown = [name for name in wanted if name not in targets]
    if unknown:
        sys.exit(f"no target named {', '.join(unknown)}; there are {', '.join(targets)}")
    seconds = int(os.environ.get("MNEM_FUZZ_SECONDS", "60"))
    binaries = build(host())
    failures = 0
    for name in wanted or targets:
        report = run(binaries / name, name, seconds)
        failures += int(str(report["failures"]))
        print("{name}: {cases} inputs in {seconds} s, {failures} failures".format(**report))
        if directory := os.environ.get("MNEM_SWEEP_REPORT"):
            Path(directory).mkdir(parents=True, exist_ok=True)
            path = Path(directory) / f"fuzz-{name}.json"
            path.write_text(json.dumps(report, indent=2) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
