"""Stores to test on."""

import mnem
import pytest
from mnem_langgraph import MnemosyneStore


@pytest.fixture
def path(tmp_path):
    mnem.init(tmp_path / "store").close()
    return str(tmp_path / "store")


@pytest.fixture
def memories(path):
    with MnemosyneStore(path) as memories:
        yield memories
