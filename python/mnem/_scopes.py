"""What a store hands out beside values: rows of an adapter, and a branch as a context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import InvalidRefError, MnemError, expect

if TYPE_CHECKING:
    from types import TracebackType

    from . import _mnem
    from .store import Store

__all__ = ["BranchScope", "LocalRows"]


class LocalRows:
    r"""An adapter's rows of bytes: in no commit, never exported.

    >>> rows = mnem.open(":memory:").local("vectors")
    >>> rows.set(b"plan", b"\x00\x01")
    >>> rows.items()
    [(b'plan', b'\x00\x01')]
    """

    def __init__(self, handle: _mnem.Store, name: str) -> None:
        self._handle = handle
        self._name = name

    def get(self, key: bytes) -> bytes | None:
        """The value under a key; ``None`` when there is none.

        >>> rows = mnem.open(":memory:").local("expiry")
        >>> rows.get(b"plan") is None
        True
        """
        return self._handle.local_get(self._name, key)

    def set(self, key: bytes, value: bytes) -> None:
        """Set the value under a key, in place of the one there; durable when it returns.

        >>> rows = mnem.open(":memory:").local("expiry")
        >>> rows.set(b"plan", b"tomorrow")
        >>> rows.set(b"plan", b"today")
        >>> rows.get(b"plan")
        b'today'
        """
        expect("value", value, (bytes, bytearray), "bytes")
        self._handle.local_set(self._name, key, value)

    def delete(self, key: bytes) -> None:
        """Delete a key and its value; one that is not there is no error.

        >>> rows = mnem.open(":memory:").local("expiry")
        >>> rows.set(b"plan", b"today")
        >>> rows.delete(b"plan")
        >>> rows.get(b"plan") is None
        True
        """
        self._handle.local_set(self._name, key, None)

    def items(self, prefix: bytes = b"") -> list[tuple[bytes, bytes]]:
        """The rows, key and value, whose key begins with ``prefix``, in the order of their keys.

        >>> rows = mnem.open(":memory:").local("expiry")
        >>> for key in (b"user:2", b"user:1", b"plan"):
        ...     rows.set(key, b"today")
        >>> [key for key, _ in rows.items(b"user:")]
        [b'user:1', b'user:2']
        """
        return self._handle.local_rows(self._name, prefix)


class BranchScope:
    """On a branch inside, back where HEAD was after."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name
        self._return_to = name

    def __enter__(self) -> Store:
        here = self._store.head().removeprefix("ref: ")
        if self._store.head_commit() is None:
            raise InvalidRefError(
                f"cannot go to {self._name} and come back: {here} has no commit yet",
                hint="`mnem remember ID CONTENT` makes the first commit",
            )
        self._return_to = here
        self._store.checkout(self._name)
        return self._store

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            # Drafts cannot be from before: entering is refused over them.
            self._store.checkout(self._return_to, discard=True)
        except MnemError:
            # What ended the block is the error to see.
            if error is None:
                raise
