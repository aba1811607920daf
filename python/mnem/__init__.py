"""Mnemosyne: version control for an AI agent's memory.

A memory is a node: an id, any JSON content, and where it came from. Every write of an agent is
a commit, so one can ask which observation set a belief, when it went wrong, and what memory was
at any point; branch a hypothesis, and merge what two agents learnt.

>>> import mnem
>>> store = mnem.open(":memory:")
>>> _ = mnem.agents.remember(store, "plan", "enterprise", source="ticket-4821")
>>> _ = mnem.agents.remember(store, "plan", "basic", source="ticket-5077")
>>> blame = store.blame("plan")
>>> blame.node.content, blame.provenance.source
('basic', 'ticket-5077')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _mnem, agents, keys
from ._mnem import Snapshot
from ._scopes import LocalRows
from .errors import (
    BusyError,
    ConflictError,
    CorruptStoreError,
    FormatVersionError,
    InvalidRefError,
    MnemError,
    NoStoreError,
    NotFoundError,
    StoreExistsError,
    StoreIoError,
)
from .store import Store
from .types import (
    Blame,
    Carried,
    ChatReport,
    Commit,
    Conflict,
    Finding,
    Flip,
    Fsck,
    ImportReport,
    MemoryNode,
    MergeResult,
    Migration,
    Move,
    NodeChange,
    Provenance,
    Repair,
    UndoResult,
    Verified,
)

if TYPE_CHECKING:
    import os

__version__ = _mnem.version()

__all__ = [
    "Blame",
    "BusyError",
    "Carried",
    "ChatReport",
    "Commit",
    "Conflict",
    "ConflictError",
    "CorruptStoreError",
    "Finding",
    "Flip",
    "FormatVersionError",
    "Fsck",
    "ImportReport",
    "InvalidRefError",
    "LocalRows",
    "MemoryNode",
    "MergeResult",
    "Migration",
    "MnemError",
    "Move",
    "NoStoreError",
    "NodeChange",
    "NotFoundError",
    "Provenance",
    "Repair",
    "Snapshot",
    "Store",
    "StoreExistsError",
    "StoreIoError",
    "UndoResult",
    "Verified",
    "__version__",
    "agents",
    "import_store",
    "init",
    "keys",
    "migrate",
    "new_id",
    "open",
    "repair",
    "version",
]


def init(
    path: str | os.PathLike[str] = ".",
    *,
    default_branch: str | None = None,
    reproducible: bool = False,
    allow_network: bool = False,
    exist_ok: bool = False,
) -> Store:
    """Make a store in a directory, which is made too when it is missing, and open it.

    ``default_branch`` is ``"main"`` unless given. A ``reproducible`` store draws no salts: ids
    depend on the content alone, so an erased value could be guessed back from its id.
    ``":memory:"`` makes a store in memory. StoreExistsError when there is one at the directory
    or above; with ``exist_ok`` one at the directory itself is opened. StoreIoError when it cannot
    be written; InvalidRefError for a branch name that is not valid. A file system of the network
    is StoreIoError too, unless ``allow_network``: see :func:`mnem.open`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with mnem.init(directory, default_branch="trunk") as store:
    ...         store.head()
    'ref: trunk'
    """
    return Store.init(
        path,
        default_branch=default_branch,
        reproducible=reproducible,
        allow_network=allow_network,
        exist_ok=exist_ok,
    )


def open(
    path: str | os.PathLike[str] = ".",
    *,
    busy_timeout: float = 10.0,
    allow_network: bool = False,
) -> Store:
    """Open the store at a directory, which must exist, or the nearest one above it.

    ``":memory:"`` makes a new store in memory, gone when it is closed. ``busy_timeout`` is how
    many seconds each call of this handle waits while another process holds the store, after
    which it is BusyError. NoStoreError when there is none; CorruptStoreError and
    FormatVersionError when it cannot be read. A store of mnem-agents 0.0.7 is read as it lies; a
    write to it is FormatVersionError, and :func:`migrate` makes it one that is written.

    A store whose files cannot be written, as on a read-only disk, can be read; writing to it is
    StoreIoError. On a file system of the network a lock may not keep other machines off, so
    there it is StoreIoError to open one; with ``allow_network``, or ``MNEM_ALLOW_NETWORK=1`` in
    the environment, it is opened, and must be used by one machine alone.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     mnem.init(directory).close()
    ...     with mnem.open(directory) as store:
    ...         store.head()
    'ref: main'
    """
    return Store.open(path, busy_timeout=busy_timeout, allow_network=allow_network)


def import_store(src: str | os.PathLike[str], dest: str | os.PathLike[str] = ".") -> Store:
    """Make a store in a directory from a file that :meth:`mnem.Store.export` wrote, and open it.

    Commit ids, branches, HEAD and memory at every commit are what they were. Everything is
    checked before the store is there: CorruptStoreError names the line of an export that was cut
    short or changed, and nothing is left behind. StoreExistsError when there is a store at
    ``dest`` or above; FormatVersionError when a newer release wrote the export; StoreIoError when
    the disk refuses; InvalidRefError for ``":memory:"``.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     file, copy = (pathlib.Path(directory) / name for name in ("memory.jsonl", "copy"))
    ...     store = mnem.open(":memory:")
    ...     _ = mnem.agents.remember(store, "plan", "basic")
    ...     _ = store.export(file)
    ...     with mnem.import_store(file, copy) as other:
    ...         other.head_commit() == store.head_commit()
    True
    """
    return Store(_mnem.import_store(src, dest))


def migrate(
    path: str | os.PathLike[str] = ".", *, dry_run: bool = False, busy_timeout: float = 10.0
) -> Migration:
    """Bring the store of mnem-agents 0.0.7 at a directory, or the nearest above it, to this format.

    Commit ids, branches, HEAD and what is staged stay as they are. With ``dry_run`` nothing is
    changed, and the answer says what would be. A store of this format is left alone. Nobody may
    have the store open: BusyError after ``busy_timeout`` seconds, and at once when this process
    has. CorruptStoreError when an object in it is damaged; then nothing has changed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     mnem.init(directory).close()
    ...     mnem.migrate(directory).changed
    False
    """
    return _mnem.migrate(path, dry_run, busy_timeout)


def repair(
    path: str | os.PathLike[str] = ".", *, dry_run: bool = False, busy_timeout: float = 10.0
) -> Repair:
    """Save what can be read of the damaged store at a directory, or the nearest above it.

    Everything that can be read goes into a fresh data file, branches go where they were last
    moved, and what is lost is named; the damaged file is kept. A sound store is left alone. With
    ``dry_run`` the store is only looked at, also one too damaged to be opened, and not a byte is
    changed. Nobody may have the store open: BusyError after ``busy_timeout`` seconds where another
    process has, ConflictError where this one has. CorruptStoreError where nothing can be saved.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     mnem.init(directory).close()
    ...     _ = pathlib.Path(directory, ".mnem", "HEAD").write_text("junk")
    ...     found = mnem.repair(directory, dry_run=True)
    ...     repaired = mnem.repair(directory)
    >>> found.findings[0].message, repaired.head
    ('HEAD holds "junk", neither a branch nor a commit id', 'main')
    """
    return _mnem.repair(path, dry_run, busy_timeout)


def new_id() -> str:
    """A node id that no other node has; ids made later sort later.

    >>> len(mnem.new_id())
    36
    """
    return _mnem.new_id()


def version() -> str:
    """The version of the release.

    >>> mnem.version() == mnem.__version__
    True
    """
    return _mnem.version()
