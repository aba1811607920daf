"""The addresses of the resources."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True)
class Place:
    """What a resource's address names: of which kind, which one of them, and what is asked of it.

    >>> Place.of("mnem://memory/user%3A1?whole=true")
    Place(kind='memory', name='user:1', asked={'whole': 'true'})
    >>> Place.of("file:///etc/passwd") is None
    True
    """

    kind: str
    name: str
    asked: dict[str, str]

    @classmethod
    def of(cls, uri: str) -> Place | None:
        """The place; None where no resource of ours can be."""
        try:
            parts = urlsplit(uri)
        except ValueError:
            return None
        if parts.scheme != "mnem":
            return None
        name = unquote(parts.path.removeprefix("/"))
        return cls(parts.netloc, name, dict(parse_qsl(parts.query, keep_blank_values=True)))
