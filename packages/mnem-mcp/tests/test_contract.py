"""The contract that all adapters share, over the server and the official client."""

from __future__ import annotations

import pytest

pytest.importorskip("mnem_conformance", reason="the contract is a package of its own")

from mnem_conformance import Contract
from over_mcp import Mcp


@pytest.fixture
def adapter():
    return Mcp()


class TestMcp(Contract):
    pass
