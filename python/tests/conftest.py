"""What every test of the package shares."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import mnem
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[mnem.Store]:
    """A fresh store on disk."""
    with mnem.init(tmp_path / "agent") as store:
        yield store


@pytest.fixture
def raised() -> Callable[[Callable[[], object]], BaseException]:
    """What a call raises."""

    def run(call: Callable[[], object]) -> BaseException:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - what it is comes next
            call()
        return caught.value

    return run


@pytest.fixture
def bytes_of() -> Callable[[mnem.Store], dict[str, str]]:
    """A hash of each file of a store; not of ``holder``, which says who tried to open it."""

    def read(store: mnem.Store) -> dict[str, str]:
        files = sorted(
            path for path in store.root.rglob("*") if path.is_file() and path.name != "holder"
        )
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    return read
