"""What every adapter of Mnemosyne promises, as a pytest kit.

An adapter's tests say how the kit reaches it, by one fixture, and take over the contract::

    import pytest
    from mnem_conformance import Adapter, Contract, Memory

    class MyMemory(Memory): ...

    class MyAdapter(Adapter):
        def open(self, path, branch=None):
            return MyMemory(path, branch)

    @pytest.fixture
    def adapter():
        return MyAdapter()

    class TestContract(Contract):
        pass
"""

import pytest

# Before the contract is imported, so that its asserts tell what they saw.
pytest.register_assert_rewrite("mnem_conformance.contract")

from mnem_conformance.adapter import Adapter, Entry, Memory  # noqa: E402
from mnem_conformance.contract import Contract  # noqa: E402
from mnem_conformance.segments import SEGMENTS, VALUES  # noqa: E402

__all__ = ["SEGMENTS", "VALUES", "Adapter", "Contract", "Entry", "Memory"]
