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
    command that helps or ``None``. ``conflicts`` is what a write over a ``base`` would have
    overwritten: ours is what the branch says, theirs what was to be written, base where it began.
    It is empty in other errors; those of a merge are in its result, :class:`mnem.MergeResult`.

    >>> import mnem
    >>> try:
    ...     mnem.open(":memory:").blame("plan")
    ... except mnem.MnemError as error:
    ...     print(error.code)
    invalid_ref
    >>> store = mnem.open(":memory:")
    >>> base = mnem.agents.remember(store, "plan", "basic")
    >>> _ = mnem.agents.revise(store, "plan", "enterprise", author="ada")
    >>> try:
    ...     mnem.agents.revise(store, "plan", "team", base=base)
    ... except mnem.ConflictError as error:
    ...     [(conflict.id, conflict.ours.content) for conflict in error.conflicts]
    [('plan', 'enterprise')]
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


class _ArgumentError(InvalidRefError):
    """What is wrong with one argument: an InvalidRefError that is also a built-in error.

    Its classes go by the name of their base, since callers map errors by the name of their class.
    """

    def add_note(self, note: str, /) -> None:
        """Name the argument, which the binding tells as a note, where the sentence does not yet."""
        # Of `fn`, which is a word of Rust's, it tells `r#fn`.
        name = note.removeprefix("while processing '").removeprefix("r#").removesuffix("'")
        if name.isidentifier() and self.args[0].startswith(("must ", "is ")):
            self.args = (f"{name} {self.args[0]}",)


class _TypeError(_ArgumentError, TypeError):
    """An argument, or content, of a type that is not taken."""

    def __reduce__(self) -> tuple[object, ...]:
        return _type_error, self.args, self.__dict__


class _RangeError(_ArgumentError, OverflowError):
    """A number that is not in the range of its argument."""

    def __reduce__(self) -> tuple[object, ...]:
        return _out_of_range, self.args, self.__dict__


def _type_error(message: str) -> InvalidRefError:
    return _TypeError(message)


def expect(name: str, value: object, kind: type | tuple[type, ...], expected: str) -> None:
    """InvalidRefError, which is a TypeError too, for an argument of another type."""
    if not isinstance(value, kind):
        found = "None" if value is None else type(value).__name__
        raise _TypeError(f"{name} must be {expected}, not {found}")


def _out_of_range(message: str) -> InvalidRefError:
    return _RangeError(message)


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

for _class in (_ArgumentError, _TypeError, _RangeError):
    _class.__name__ = _class.__qualname__ = "InvalidRefError"
for _class in (MnemError, _ArgumentError, _TypeError, _RangeError, *_CLASSES.values()):
    _class.__module__ = "mnem"


# Called by the binding, and by nothing in Python.
def _exception(  # pyright: ignore[reportUnusedFunction]
    code: str, message: str, hint: str | None, wrong_type: bool
) -> MnemError:
    """Make the exception of an error of the core. The one way from there to here."""
    kind = _TypeError if wrong_type else _CLASSES.get(code, MnemError)
    return kind(message, hint=hint)
