"""The smallest adapter keeps the contract."""

import re
from pathlib import Path

import mnem_conformance
import pytest
from mnem_conformance import Contract
from reference import Reference


@pytest.fixture
def adapter():
    return Reference()


class TestReference(Contract):
    pass


def test_the_readme_shows_this_file():
    here = Path(__file__)
    readme = (here.parents[1] / "README.md").read_text("utf-8")
    [block] = re.findall(r"^```python\n(.*?)^```$", readme, flags=re.DOTALL | re.MULTILINE)
    for piece in block.split("\n\n\n"):
        for line in piece.strip().splitlines():
            assert line in here.read_text("utf-8").splitlines(), line


def test_the_readme_names_all_of_a_memory():
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    _, _, table = readme.partition("| of a `Memory` | is |")
    rows = table.partition("\n\n")[0].strip().splitlines()[1:]
    named = {name for row in rows for name in re.findall(r"`(\w+)", row.split("|")[1])}
    assert named == {name for name in vars(mnem_conformance.Memory) if not name.startswith("_")}
