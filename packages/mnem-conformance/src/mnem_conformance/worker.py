"""One of the processes that write at once: ``python -m mnem_conformance.worker``.

Takes the file and the name of the adapter's class, the path of the store, the number of this
process and how many calls it makes.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnem_conformance.adapter import Adapter


def main(file: str, name: str, path: str, number: str, calls: str) -> None:
    """Write one item a call, as one of the processes."""
    spec = importlib.util.spec_from_file_location("adapter_under_test", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    adapter: Adapter = getattr(module, name)()
    memory = adapter.open(path)
    try:
        for call in range(int(calls)):
            memory.put(("shared",), {f"{number}.{call}": {"v": [int(number), call]}})
    finally:
        memory.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
