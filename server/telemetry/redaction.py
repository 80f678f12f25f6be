"""Redaction: what no line of the log ever holds, whoever wrote it.

It is the last step before a line is rendered, so nothing can be logged around it: fields named after a secret, the
secrets that this process knows, and whatever has the shape of one, in messages and tracebacks alike.
"""

import re
from collections.abc import Collection, Mapping, MutableMapping
from typing import Any
from urllib.parse import quote, unquote

REDACTED = "[redacted]"
SHORTEST_SECRET = 8  # shorter ones are words that would be struck out everywhere; their shape still gives them away
LONGEST = 8000  # characters of one value: more would make container runtimes split the line
SCANNED = 8 * LONGEST  # of these characters secrets are looked for; the rest is not said anyway
SECRET_FIELD = re.compile(
    r"(^|[_-])(authorization|tokens?|passw(or)?d|pwd|secrets?|credentials?|cookie|signature|dsn|(dev|signing|api)_key)$",
    re.IGNORECASE,
)
SHAPES = re.compile(
    r"""(?ix)
      (?P<link>/api/artifacts/)[^\s"'<>]+                        # a transfer link: its signature opens the file
    | (?P<uri>\b[a-z][a-z0-9+.-]{0,30}://)[^\s"'<>]{0,2000}@   # a URI with credentials, up to the last @ of it
    | (?P<header>\bauthorization["']?\s*[:=]\s*["']?(?:\w+\s+)?|\bbearer\s+)[^\s"',;]+
    | \beyJ[\w-]{6,2000}\.[\w-]+(?:\.[\w-]*)?                  # a JSON Web Token
    | (?P<named>(?:\b|_)(?:passw(?:or)?d|pwd|secret|token|signature|sig|(?:dev|signing|api)_key)
        ["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|[^\s"'&,;)}\]]+)      # password=…, "token": "…", &signature=…
    """
)


class Redaction:
    """Strikes secrets out of log events."""

    def __init__(self, secrets: Collection[str] = ()) -> None:
        known = {form for secret in secrets if len(secret) >= SHORTEST_SECRET for form in (secret, quote(secret, ""))}
        longest_first = sorted(known, key=len, reverse=True)
        self._known = re.compile("|".join(re.escape(form) for form in longest_first)) if known else None

    def __call__(self, _: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Return an event without secrets, as a structlog processor."""
        return {name: self.field(name, value) for name, value in event.items()}

    def field(self, name: str, value: object) -> object:
        """Return a field's value, or that it is not said."""
        return REDACTED if SECRET_FIELD.search(name) else self.value(value)

    def value(self, value: object) -> object:
        """Return a value whose texts hold no secret; what is no JSON becomes text."""
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, Mapping):
            return {str(name): self.field(str(name), held) for name, held in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.value(held) for held in value]
        return self.text(str(value))

    def text(self, text: str) -> str:
        """Return a text without secrets, and not too long for a line."""
        said = text[:SCANNED]
        if self._known is not None:
            said = self._known.sub(REDACTED, said)
        if not said.isalnum():  # which nothing with the shape of a secret is
            said = SHAPES.sub(struck, said)
        return said if len(said) <= LONGEST else f"{said[:LONGEST]}… ({len(text)} characters)"


def struck(found: re.Match[str]) -> str:
    """Return what stands where something of the shape of a secret stood."""
    kept = found.lastgroup and found[found.lastgroup]
    return f"{kept or ''}{REDACTED}{'@' if found.lastgroup == 'uri' else ''}"


def password_of(uri: str | None) -> Collection[str]:
    """Return the password inside a URI, as it is written there and as it is meant; nothing where there is none."""
    credentials, at, _ = (uri or "").partition("://")[2].rpartition("@")
    _, colon, password = credentials.partition(":")
    return {password, unquote(password)} if at and colon else ()
