"""The smallest adapter keeps the contract."""

import re
from pathlib import Path

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
