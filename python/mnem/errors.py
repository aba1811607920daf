"""The exceptions: one class for each kind of error, all derived from :class:`MnemError`.

Each is also what a Python programmer would catch: ``LookupError``, ``ValueError``, ``OSError``
and their like. ``str()`` is one sentence with the id or path it concerns; ``hint`` says what
helps. Callers that map errors to codes use ``code``, or the name of the class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from .types import Conflict

__all__ = [
    "BusyError",
    "ConflictError",
    "CorruptStoreError",
    "FormatVersionError",
    "InvalidRefError",
    "MnemError",
    "NoStoreError",
    "NotFoundError",
    "StoreExistsError",
    "StoreIoError",
]


class MnemError(Exception):
    """The base of every error of this package; itself, an internal error.

    ``code`` is the kind of the error as adapters print it, ``hint`` a sentence that names a
    command that helps or ``None``. ``conflicts`` is for a caller that makes an error of a
    merge's conflicts: the package returns them in its results (:class:`mnem.MergeResult`), and
    in the errors it raises itself there are none.

    >>> import mnem
    >>> try:
    ...     mnem.open(":memory:").blame("plan")
    ... except mnem.MnemError as error:
    ...     print(error.code)
    invalid_ref
    """

    code: ClassVar[str] = "internal"
    hint: str | None
    conflicts: tuple[Conflict, ...]

    def __init__(
        self, message: str = "", *, hint: str | None = None, conflicts: tuple[Conflict, ...] = ()
    ) -> None:
        super().__init__(message)
        self.hint = hint
        self.conflicts = conflicts


class NotFoundError(MnemError, LookupError):
    """A node, commit or object that was asked for is not there."""

    code = "not_found"


class InvalidRefError(MnemError, ValueError):
    """The request itself is not valid: a name, a revision, content, or its state forbids it."""

    code = "invalid_ref"


class ConflictError(MnemError):
    """The branch moved, or the write would overwrite a change its caller has not seen."""

    code = "conflict"


class CorruptStoreError(MnemError):
    """What is stored is not what was written."""

    code = "corrupt_store"


class FormatVersionError(MnemError):
    """The store has a format that this release does not read or write."""

    code = "format_version"


class StoreExistsError(MnemError, FileExistsError):
    """A store already exists at or above this path."""

    code = "store_exists"


class NoStoreError(MnemError, FileNotFoundError):
    """There is no store at or above this path."""

    code = "no_store"


class StoreIoError(MnemError, OSError):
    """The operating system refused: disk, permissions, a closed handle."""

    code = "store_io"


class BusyError(ConflictError, StoreIoError):
    """Another process held the store for longer than the caller was willing to wait."""

    code = "busy"


class _ContentTypeError(InvalidRefError, TypeError):
    """Content of a type that cannot be stored: an InvalidRefError that is also a TypeError.

    It goes by the name of its base, since callers map errors by the name of their class.
    """

    def __reduce__(self) -> tuple[object, ...]:
        return _content_type_error, self.args, self.__dict__


_ContentTypeError.__name__ = _ContentTypeError.__qualname__ = "InvalidRefError"


def _content_type_error(message: str) -> _ContentTypeError:
    return _ContentTypeError(message)


_CLASSES: dict[str, type[MnemError]] = {
    error.code: error
    for error in (
        NotFoundError,
        InvalidRefError,
        ConflictError,
        BusyError,
        CorruptStoreError,
        FormatVersionError,
        StoreExistsError,
        NoStoreError,
        StoreIoError,
    )
}

for _class in (MnemError, _ContentTypeError, *_CLASSES.values()):
    _class.__module__ = "mnem"


# Called by the binding, and by nothing in Python.
def _exception(  # pyright: ignore[reportUnusedFunction]
    code: str, message: str, hint: str | None, wrong_type: bool
) -> MnemError:
    """Make the exception of an error of the core. The one way from there to here."""
    kind = _ContentTypeError if wrong_type else _CLASSES.get(code, MnemError)
    return kind(message, hint=hint)
