"""A session keeps the contract that every adapter keeps."""

import pytest
from conformance_adapter import Sessions
from mnem_conformance import Contract


@pytest.fixture
def adapter():
    return Sessions()


class TestSessions(Contract):
    pass
