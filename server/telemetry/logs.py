"""Logs: every event of this process as one line on standard error, without secrets."""

import json
import logging
import re
import threading
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from functools import lru_cache
from secrets import token_hex
from typing import Any, TextIO

from structlog.contextvars import bound_contextvars as bound
from structlog.contextvars import merge_contextvars
from structlog.processors import TimeStamper, format_exc_info
from structlog.stdlib import ExtraAdder, ProcessorFormatter, add_log_level, add_logger_name

from server.base.credentials import MARK, redact, redact_value, secrets_pattern

# Redaction is the last step before a line is rendered, so that every line passes it. It removes fields named after a
# secret, the secrets of this process, and whatever looks like one, in messages and tracebacks.


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


class LogRedactor:
    """Removes secrets from log events."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(sorted(filter(str.strip, secrets)))
        self._known = secrets_pattern(self._secrets)

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


# Rendering: modules log with the standard library, with fields in `extra`; this turns events into lines, as text or
# JSON. `bound` adds fields to every line that is written while its block runs, also in threads that it starts work in.


__all__ = ["bound", "log_to"]

QUIET = {"mcp": logging.WARNING, "httpx2": logging.WARNING}  # they tell of every request
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/@+%(),")
Event = MutableMapping[str, Any]


def log_to(stream: TextIO, log_format: str, secrets: Collection[str] = ()) -> None:
    """Write everything logged from now on to a stream, as text or as json, without these and other secrets."""
    lines = logging.StreamHandler(stream)
    lines.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=[
                merge_contextvars,
                add_log_level,
                add_logger_name,
                ExtraAdder(),
                TimeStamper(fmt="iso", utc=True),
            ],
            processors=[
                ProcessorFormatter.remove_processors_meta,
                format_exc_info,
                without_colour,
                LogRedactor(secrets),
                as_json if log_format == "json" else as_text,
            ],
        )
    )
    logging.basicConfig(level=logging.INFO, handlers=[lines], force=True)
    for name, level in QUIET.items():
        logging.getLogger(name).setLevel(level)
    logging.captureWarnings(capture=True)
    threading.excepthook = log_thread_failure


def log_thread_failure(failed: threading.ExceptHookArgs) -> None:
    """Log what a thread of our own ended with."""
    name = failed.thread.name if failed.thread else "?"
    logging.getLogger("tieout").error("thread %s failed", name, exc_info=failed.exc_value)


def without_colour(_: object, __: str, event: Event) -> Event:
    """Drop what uvicorn adds for terminals."""
    event.pop("color_message", None)
    return event


def as_json(_: object, __: str, event: Event) -> str:
    """Return an event as one JSON object: when, how grave, where, what, and its fields."""
    first = {name: event.pop(name) for name in ("timestamp", "level", "logger", "event")}
    return json.dumps(first | {name: value for name, value in event.items() if value is not None})


def as_text(_: object, __: str, event: Event) -> str:
    """Return an event as a line for people: when, how grave, where, what, and its fields."""
    when, level, logger = event.pop("timestamp"), event.pop("level"), event.pop("logger")
    what = printable(str(event.pop("event")))
    fields = "".join(f" {name}={shown(value)}" for name, value in event.items() if value is not None)
    return f"{when} {level:<7} {logger} {what}{fields}"


def shown(value: object) -> str:
    """Return a field's value, quoted where it would not be told from what follows."""
    if isinstance(value, list):
        return f"[{' '.join(shown(held) for held in value)}]"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text and PLAIN.issuperset(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(escaped)}"'


def printable(text: str) -> str:
    """Return a text on one line, without anything that a terminal would obey."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
