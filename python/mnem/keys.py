"""The node ids that adapters make of their keys.

A key is a list of segments, such as a namespace and a name. Ordinary names joined by ``:`` are
their own id; in a segment ``%``, ``:`` and control characters are percent-encoded, so no two keys
ever meet. An id that would pass 1,024 bytes is cut and ends in ``%~`` and a BLAKE3 hash; whoever
stores under it keeps the segments in the content, under ``FULL``.
"""

from __future__ import annotations

from typing import Final

from . import _mnem

__all__ = ["FULL", "join", "prefix", "split", "unencoded"]

FULL: Final = "mnem:key"
"""The content key under which a node keeps the list of segments of its cut id."""


def join(*segments: str) -> str:
    """The node id of a key; InvalidRefError for no segments and for a single empty one.

    >>> mnem.keys.join("users", "ada")
    'users:ada'
    >>> mnem.keys.join("a:b", "50%")
    'a%3Ab:50%25'
    >>> len(mnem.keys.join("users", "x" * 5000))
    1024
    """
    return _mnem.key_join(list(segments))


def prefix(*segments: str) -> str:
    """A prefix of the id of every key below these segments; ``""`` for none.

    Other ids begin with it only where it was cut (it does not end in ``:`` then): compare the
    segments of what is found.

    >>> mnem.keys.prefix("users", "u1")
    'users:u1:'
    """
    return _mnem.key_prefix(list(segments))


def split(node_id: str) -> tuple[str, ...] | None:
    """The segments an id was made of; ``None`` for one that was cut.

    An escape that means nothing stands for itself.

    >>> mnem.keys.split("a%3Ab:50%")
    ('a:b', '50%')
    >>> mnem.keys.split(mnem.keys.join("x" * 5000)) is None
    True
    """
    segments = _mnem.key_split(node_id)
    return None if segments is None else tuple(segments)


def unencoded(*segments: str) -> str | None:
    """The id the key had where segments were joined as they are: where a miss looks next.

    ``None`` where that is no other id than ``join``'s, or is read as other segments.

    >>> mnem.keys.unencoded("50%", "ada")
    '50%:ada'
    >>> mnem.keys.unencoded("a:b", "c") is None
    True
    """
    return _mnem.key_unencoded(list(segments))
