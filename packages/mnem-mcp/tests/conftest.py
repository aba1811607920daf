"""Stores to test with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mnem
import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The directory of a new store."""
    mnem.init(tmp_path).close()
    return tmp_path
