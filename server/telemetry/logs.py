"""Logs: every event of this process as one line on standard error, without secrets."""

import json
import logging
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import lru_cache
from secrets import token_hex
from types import MappingProxyType
from typing import Any, TextIO

from msgspec import Struct

from server.base.credentials import MARK, redact, redact_value, secrets_pattern

# Redaction is the last step before a line is rendered, so that every line passes it. It removes fields named after a
# secret, the secrets of this process, and whatever looks like one, in messages and tracebacks.


LONGEST = 8000  # characters of one value: more would make container runtimes split the line
SCANNED = 8 * LONGEST  # of these characters secrets are looked for; the rest is not said anyway
NEVER_SAID = re.compile(r"(authorization|cookie|signature|dsn|dev_key)$", re.IGNORECASE)
LINK = "/api/artifacts/"
WEB = (
    re.compile(rf"(?P<kept>{LINK})[^\s\"'<>]+"),  # whoever has a transfer link has the file
    re.compile(r"(?P<kept>\bauthorization[\"']?\s*[:=]\s*[\"']?)(?:\w+\s+)?[^\s\"',;]+", re.IGNORECASE),
    re.compile(r"(?P<kept>\bsig(?:nature)?=)[^\s\"'&]+", re.IGNORECASE),
)
HARMLESS = re.compile(r"(?!.*eyJ)[\w.,()@/+-]{0,200}")  # a name or a number, which nothing of such a shape is


class LogRedactor:
    """Removes secrets from log events."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(sorted(filter(str.strip, secrets)))
        self._known = secrets_pattern(self._secrets)

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
            said = redact(said, self._secrets)
        return said if len(said) <= LONGEST else f"{said[:LONGEST]}… ({len(text)} characters)"


@lru_cache(maxsize=1024)
def is_secret(name: str) -> bool:
    """Tell whether a field is named after a secret."""
    return bool(NEVER_SAID.search(name)) or redact_value(name, "") == MARK


# Request ids connect the log lines, the span and the answer of one request.


TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def request_id_of(sent: str | None) -> str:
    """Return the id that a client or proxy sent where it is a plain token, else one of our own."""
    return sent if sent and TOKEN.fullmatch(sent) else token_hex(8)


# Security events: the caller and what the script tried; never the script, a figure or a token.


log = logging.getLogger("tieout.security")


def log_forbidden_script(subject: str, tool: str, what: str) -> None:
    """Tell of a script that was ended for what it tried."""
    log.warning("a script tried what none may", extra={"subject": subject, "tool": tool, "what": what})


# Rendering: modules log with the standard library, with fields in `extra`; a formatter turns records into lines, as
# text or JSON. `bound` adds fields to every line that is written while its block runs, also in threads that it starts
# work in.


QUIET = {"mcp": logging.WARNING, "httpx2": logging.WARNING}  # they tell of every request
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/@+%(),")
NUMBERS = (int, float)
FIELDS: ContextVar[Mapping[str, Any]] = ContextVar("fields of log lines", default=MappingProxyType({}))
NO_FIELDS = logging.makeLogRecord({}).__dict__.keys() | {
    "color_message",  # what uvicorn adds for terminals
    "taskName",  # of Python 3.12
}


@contextmanager
def bound(**fields: str) -> Iterator[None]:
    """Add fields to the lines of a block."""
    before = FIELDS.set({**FIELDS.get(), **fields})
    try:
        yield
    finally:
        FIELDS.reset(before)


class LogEvent(Struct, frozen=True):
    """What a line says: when, how grave, where, what, and its fields that have a value."""

    timestamp: str
    level: str
    logger: str
    event: object
    fields: Mapping[str, Any]


class LineFormatter(logging.Formatter):
    """Turns records into lines without secrets."""

    def __init__(self, redactor: LogRedactor, render: Callable[[LogEvent], str]) -> None:
        super().__init__()
        self._redactor = redactor
        self._render = render

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line."""
        fields = {**FIELDS.get()}
        fields |= {name: value for name, value in record.__dict__.items() if name not in NO_FIELDS}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        told = {name: self._redactor.field(name, value) for name, value in fields.items() if value is not None}
        at = datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z")
        what = self._redactor.value(record.getMessage())
        return self._render(LogEvent(at, record.levelname.lower(), record.name, what, told))


def log_to(stream: TextIO, log_format: str, secrets: Collection[str] = ()) -> None:
    """Write everything logged from now on to a stream, as text or as json, without these and other secrets."""
    lines = logging.StreamHandler(stream)
    lines.setFormatter(LineFormatter(LogRedactor(secrets), as_json if log_format == "json" else as_text))
    logging.basicConfig(level=logging.INFO, handlers=[lines], force=True)
    for name, level in QUIET.items():
        logging.getLogger(name).setLevel(level)
    logging.captureWarnings(capture=True)
    threading.excepthook = log_thread_failure


def log_thread_failure(failed: threading.ExceptHookArgs) -> None:
    """Log what a thread of our own ended with."""
    name = failed.thread.name if failed.thread else "?"
    logging.getLogger("tieout").error("thread %s failed", name, exc_info=failed.exc_value)


def as_json(event: LogEvent) -> str:
    """Return an event as one JSON object."""
    first = {"timestamp": event.timestamp, "level": event.level, "logger": event.logger, "event": event.event}
    return json.dumps({**first, **event.fields})


def as_text(event: LogEvent) -> str:
    """Return an event as a line for people."""
    fields = "".join(f" {name}={shown(value)}" for name, value in event.fields.items())
    return f"{event.timestamp} {event.level:<7} {event.logger} {printable(str(event.event))}{fields}"


def shown(value: object) -> str:
    """Return a field's value, quoted where it would not be told from what follows."""
    if isinstance(value, list):
        return f"[{' '.join(shown(held) for held in value)}]"
    if type(value) in NUMBERS:
        return repr(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text and PLAIN.issuperset(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(escaped)}"'


def printable(text: str) -> str:
    """Return a text on one line, without anything that a terminal would obey."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
