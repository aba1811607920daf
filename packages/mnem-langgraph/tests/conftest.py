"""Stores to test on, and modules beside the tests."""

import sys
from pathlib import Path

import mnem
import pytest
from mnem_langgraph import MnemosyneStore

# `excluded` and `swap` are modules of their own.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def path(tmp_path):
    mnem.init(tmp_path / "store").close()
    return str(tmp_path / "store")


@pytest.fixture
def memories(path):
    with MnemosyneStore(path) as memories:
        yield memories
