"""The smallest adapter keeps the contract."""

import pytest
from mnem_conformance import Contract
from reference import Reference


@pytest.fixture
def adapter():
    return Reference()


class TestReference(Contract):
    pass
