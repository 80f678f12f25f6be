"""Redaction of the log: what no line ever holds, whoever wrote it.

It is the last step before a line is rendered, so nothing can be logged around it: fields named after a secret, the
secrets that this process knows, and whatever has the shape of one, in messages and tracebacks alike.
"""

import re
from collections.abc import Iterable, Mapping, MutableMapping
from functools import lru_cache
from typing import Any

from server.redaction import MARK, known_in, redacted, redacted_value

LONGEST = 8000  # characters of one value: more would make container runtimes split the line
SCANNED = 8 * LONGEST  # of these characters secrets are looked for; the rest is not said anyway
OURS = ("timestamp", "level", "logger")  # fields that this room makes
NEVER_SAID = re.compile(r"(authorization|cookie|signature|dsn|dev_key)$", re.IGNORECASE)
LINK = "/api/artifacts/"
WEB = (
    re.compile(rf"(?P<kept>{LINK})[^\s\"'<>]+"),  # whoever has a transfer link has the file
    re.compile(r"(?P<kept>\bauthorization[\"']?\s*[:=]\s*[\"']?)(?:\w+\s+)?[^\s\"',;]+", re.IGNORECASE),
    re.compile(r"(?P<kept>\bsig(?:nature)?=)[^\s\"'&]+", re.IGNORECASE),
)
HARMLESS = re.compile(r"(?!.*eyJ)[\w.,()@/+-]{0,200}")  # a name or a number, which nothing of such a shape is


class Redaction:
    """Strikes secrets out of log events."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(sorted(filter(str.strip, secrets)))
        self._known = known_in(self._secrets)

    def __call__(self, _: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Return an event without secrets, as a structlog processor."""
        return {name: value if name in OURS else self.field(name, value) for name, value in event.items()}

    def field(self, name: str, value: object) -> object:
        """Return a field's value, or that it is not said."""
        return MARK if is_secret(name) else self.value(value)

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
        if HARMLESS.fullmatch(said) and LINK not in said:
            said = self._known.sub(MARK, said) if self._known else said
        else:
            for shape in WEB:
                said = shape.sub(rf"\g<kept>{MARK}", said)
            said = redacted(said, self._secrets)
        return said if len(said) <= LONGEST else f"{said[:LONGEST]}… ({len(text)} characters)"


@lru_cache(maxsize=1024)
def is_secret(name: str) -> bool:
    """Tell whether a field is named after a secret."""
    return bool(NEVER_SAID.search(name)) or redacted_value(name, "") == MARK
