"""Logs: every event of this process one line on standard error, text for people or JSON.

All of it goes one way: rooms log with the standard library, fields in `extra`; this is where lines are made of it.
`bound` puts fields on every line that is written while its block runs, in the threads it starts work in as well.
"""

import json
import logging
import threading
from collections.abc import Collection, MutableMapping
from typing import Any, TextIO

from structlog.contextvars import bound_contextvars as bound
from structlog.contextvars import merge_contextvars
from structlog.processors import TimeStamper, format_exc_info
from structlog.stdlib import ExtraAdder, ProcessorFormatter, add_log_level, add_logger_name

from server.telemetry.redaction import Redaction

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
                Redaction(secrets),
                as_json if log_format == "json" else as_text,
            ],
        )
    )
    logging.basicConfig(level=logging.INFO, handlers=[lines], force=True)
    for name, level in QUIET.items():
        logging.getLogger(name).setLevel(level)
    logging.captureWarnings(capture=True)
    threading.excepthook = thread_failed


def thread_failed(failed: threading.ExceptHookArgs) -> None:
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
