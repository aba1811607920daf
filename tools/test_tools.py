"""Breaks each rule of the tools on purpose: a rule that never says no holds nothing."""

from __future__ import annotations

import json
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import dependencies
import format_pages
import reliability
import tidy

TOOLS = Path(__file__).resolve().parent


class Tidy(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def check(self, rule: tidy.Rule, tree: dict[str, str]) -> list[str]:
        for name, text in tree.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return list(rule(self.root, sorted(tree)))

    def test_file_sizes(self) -> None:
        reason = "//! A.\n//!\n//! Long: a table.\n"
        tree = {
            "short.rs": "\n" * 500,
            "explained.rs": reason + "\n" * 700,
            "table.json": "\n" * 2000,
        }
        self.assertEqual(self.check(tidy.file_sizes, tree), [])
        long, longer = self.check(
            tidy.file_sizes, {"long.rs": "\n" * 501, "longer.py": reason + "\n" * 798}
        )
        self.assertIn("long.rs has 501 lines", long)
        self.assertIn("longer.py has 801 lines", longer)

    def test_layer_imports(self) -> None:
        source = tidy.ENGINE
        good = {
            f"{source}/lib.rs": "pub use crate::ops::write;",
            f"{source}/error.rs": "use crate::object::content::ContentError;",
            f"{source}/store/open.rs": "use crate::{id::NodeId, state::{edit, ops::get}};",
            f"{source}/codec/strict.rs": "// as crate::store does\nuse crate::object::Object;",
        }
        self.assertEqual(self.check(tidy.layer_imports, good), [])
        for file, text in {
            "codec/strict.rs": "use crate::store::Store;",
            "codec/encoded.rs": "use crate::{\n    id::NodeId,\n    state::{edit, get},\n};",
            "state/mod.rs": "fn f() { crate::graph::walk() }",
            "id.rs": "use crate::object::Object;",
            "error.rs": "use crate::codec::Encoded;",
            "misc/mod.rs": "",
        }.items():
            found = self.check(tidy.layer_imports, {f"{source}/{file}": text})
            self.assertEqual(len(found), 1, file)
            self.assertIn(file, found[0])

    def test_invariants_name_tests(self) -> None:
        tests = {"tests/it/a.rs": "fn holds() {}", "tests/b.py": "def test_holds(): ..."}
        page = "- **Invariant: a.** `tests/it/a.rs::holds`,\n  `tests/b.py::test_holds`\n"
        self.assertEqual(
            self.check(tidy.invariants_name_tests, tests | {"ARCHITECTURE.md": page}), []
        )
        for text, problem in {
            "- **Invariant: a.** It is so.\n": "no test holds",
            "- **Invariant: a.** `tests/it/a.rs::hold`\n": "has no test hold",
            "- **Invariant: a.** `tests/it/c.rs::holds`\n": "does not exist",
            page + "- **Invariant: b.**\n": "no test holds",
            "Nothing.\n": "states no invariant",
        }.items():
            found = self.check(tidy.invariants_name_tests, tests | {"ARCHITECTURE.md": text})
            self.assertEqual(len(found), 1, text)
            self.assertIn(problem, found[0])

    def test_promises_name_tests(self) -> None:
        page, tests = "docs/reliability.md", {"tests/it/a.rs": "fn holds() {}"}
        head = "| promise | test |\n| --- | --- |\n"
        good = head + "| it holds | `tests/it/a.rs::holds` |\n\n| other | table |\n"
        self.assertEqual(self.check(tidy.promises_name_tests, tests | {page: good}), [])
        for row, problem in {
            "| it is so | |\n": "no test holds",
            "| it holds | `tests/it/a.rs::hold` |\n": "has no test hold",
            "| it holds | `tests/it/c.rs::holds` |\n": "does not exist",
        }.items():
            found = self.check(tidy.promises_name_tests, tests | {page: head + row})
            self.assertEqual(len(found), 1, row)
            self.assertIn(problem, found[0])

    def test_records_are_indexed(self) -> None:
        index = "docs/adr/README.md"
        good = {index: "[1](0001-a.md) [2](0002-b.md)", "docs/adr/0001-a.md": ""}
        good["docs/adr/0002-b.md"] = ""
        self.assertEqual(self.check(tidy.records_are_indexed, good), [])
        for tree, problem in [
            ({index: "", "docs/adr/0001-a.md": ""}, "does not link"),
            ({index: "(0002-b.md)", "docs/adr/0002-b.md": ""}, "is not numbered 0001"),
            ({index: "(0001-a.md)"}, "which does not exist"),
        ]:
            found = self.check(tidy.records_are_indexed, tree)
            self.assertEqual(len(found), 1, tree)
            self.assertIn(problem, found[0])

    def test_test_files_are_listed(self) -> None:
        main = "crates/a/tests/it/main.rs"
        tree = {main: "mod b;\nmod c;\n", "crates/a/tests/it/b.rs": ""}
        tree |= {"crates/a/tests/it/c/mod.rs": "", "crates/a/tests/it/c/d.rs": ""}
        self.assertEqual(self.check(tidy.test_files_are_listed, tree), [])
        found = self.check(tidy.test_files_are_listed, tree | {main: "// mod b;\nmod c;\n"})
        self.assertEqual(len(found), 1)
        self.assertIn("b.rs: its tests never run", found[0])

    def test_no_machine_paths(self) -> None:
        path = "/".join(["", "home", "me"])
        self.assertEqual(self.check(tidy.no_machine_paths, {"a.md": "/tmp/x", ".ci/run": path}), [])
        found = self.check(tidy.no_machine_paths, {"a.md": f"one\nsee {path}"})
        self.assertEqual(len(found), 1)
        self.assertIn("a.md:2", found[0])

    def test_required_files(self) -> None:
        self.assertEqual(list(tidy.required_files(self.root, tidy.REQUIRED)), [])
        self.assertEqual(
            list(tidy.required_files(self.root, tidy.REQUIRED[1:])), [".ci/run is missing."]
        )


class Dependencies(unittest.TestCase):
    @staticmethod
    def metadata(licence: str = "MIT", kind: str | None = None) -> dict[str, Any]:
        def package(name: str) -> dict[str, str]:
            return {"id": name, "name": name, "version": "1.0.0", "license": licence}

        def node(name: str, *deps: tuple[str, str | None]) -> dict[str, Any]:
            found = [{"pkg": dep, "dep_kinds": [{"kind": kind}]} for dep, kind in deps]
            return {"id": name, "deps": found}

        names = ["mnem-store", "middle", "tokio", "mnem-bench"]
        nodes = [
            node("mnem-store", ("middle", None)),
            node("middle", *([("tokio", kind)] if kind != "none" else [])),
            node("tokio"),
            node("mnem-bench", ("tokio", None)),
        ]
        return {"packages": [package(name) for name in names], "resolve": {"nodes": nodes}}

    def test_banned_crates(self) -> None:
        self.assertEqual(dependencies.problems(self.metadata(kind="none")), [])
        self.assertEqual(dependencies.problems(self.metadata(kind="dev")), [])
        for kind in [None, "build"]:
            found = dependencies.problems(self.metadata(kind=kind))
            self.assertEqual(len(found), 1)
            self.assertIn("mnem-store reaches tokio", found[0])

    def test_the_engine_must_be_there(self) -> None:
        metadata: dict[str, Any] = {"packages": [], "resolve": {"nodes": []}}
        self.assertEqual(dependencies.problems(metadata), ["There is no package mnem-store."])

    def test_licences(self) -> None:
        for allowed in [
            "MIT",
            "MIT OR GPL-3.0",
            "MIT/Apache-2.0",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        ]:
            self.assertTrue(dependencies.is_allowed(allowed), allowed)
        for refused in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND AGPL-3.0", "none", ""]:
            self.assertFalse(dependencies.is_allowed(refused), refused)
        self.assertEqual(len(dependencies.problems(self.metadata("GPL-3.0", "none"))), 4)


class FormatPages(unittest.TestCase):
    def test_pages_show_every_row(self) -> None:
        row = {"name": "n", "about": "a node", "cbor": "00" * 300, "refusal": "Tag"}
        refused = format_pages.refused([row, row | {"name": "m", "cbor": ""}])
        self.assertIn("(300 bytes)", refused)
        self.assertIn("| m | a node | none |", refused)
        golden = format_pages.golden([row | {"id": "ff", "format": "2"}])
        self.assertIn("id    ff\ncbor  " + "00" * 300, golden)


class Reliability(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.swept, self.kept = Path(folder.name) / "swept", Path(folder.name) / "kept"
        self.swept.mkdir()

    def test_a_page_has_the_figures_that_were_kept(self) -> None:
        self.assertEqual(reliability.keep(self.swept, self.kept), 0)
        for name, failures in [("kill", 0), ("flips", 2)]:
            result = {"name": name, "cases": 1000, "failures": failures, "seconds": 300}
            (self.swept / f"{name}.json").write_text(json.dumps(result | {"note": "of it"}))
        self.assertEqual(reliability.keep(self.swept, self.kept), 2)
        results = reliability.load(self.kept)
        blank = "a <!-- sweep {} -->old<!-- end --> b"
        for name, figure in [
            ("kill", "1,000 cases, none failed"),
            ("flips", "1,000 cases, 2 failed"),
            ("crash", "not in the last sweep"),
        ]:
            page = reliability.page(blank.format(name), results)
            self.assertEqual(page, blank.format(name).replace("old", figure))
            self.assertEqual(reliability.page(page, results), page)
        page = reliability.page("<!-- sweep -->\n<!-- end -->", results)
        self.assertIn("| flips | 1,000 | 2 | of it | 5 min | 20", page)
        self.assertIn(" cores, ", page)

    def test_tests_are_counted(self) -> None:
        end = "test result: {}. {} passed; {} failed; 1 ignored; 0 measured\n"
        output = end.format("ok", 40, 0) + "running\n" + end.format("FAILED", 2, 1)
        self.assertEqual(reliability.counted(output), (42, 1))


class Needs(unittest.TestCase):
    """What is missing is said in one sentence, and nothing else is."""

    def run_without_path(self, *command: str) -> subprocess.CompletedProcess[str]:
        # A folder without programs; the shell itself is found by its own path.
        with tempfile.TemporaryDirectory() as empty:
            return subprocess.run(
                ["/bin/sh", *command],
                env={"PATH": empty},
                capture_output=True,
                text=True,
                check=False,
            )

    def test_missing_tools(self) -> None:
        for command, start in [
            (["need", "rust"], "Install Rust"),
            (["need", "cc"], "Install a C compiler"),
            (["need", "python"], "Install Python 3.10 or newer"),
            (["python", "-c", ""], "Install Python 3.10 or newer"),
        ]:
            run = self.run_without_path(str(TOOLS / command[0]), *command[1:])
            self.assertEqual(run.returncode, 1, command)
            self.assertEqual(run.stdout, "", command)
            self.assertTrue(run.stderr.startswith(start), run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)

    def test_an_old_python_is_passed_over(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            old = Path(folder) / "python3"
            old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
            old.chmod(0o755)
            run = subprocess.run(
                ["/bin/sh", str(TOOLS / "python"), "-c", ""],
                env={"PATH": folder},
                capture_output=True,
                text=True,
                check=False,
            )
        self.assertEqual(run.returncode, 1)
        self.assertIn("Install Python 3.10", run.stderr)


if __name__ == "__main__":
    unittest.main()
