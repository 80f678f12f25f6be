"""YAML lines: values and comments on one line each, which are read again before they are written."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml

from engine.model.calendar.periods import GRAINS, Grain
from engine.model.errors import escape_controls
from server.files.findings import SampleFault

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./ -]*[A-Za-z0-9_./]|[A-Za-z]")
WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
REMARK: Final = "\ue000"  # between a line and its comment; no value or comment holds it


def yaml_text(value: Any) -> str:  # noqa: ANN401 - what YAML holds
    """Return a value as YAML on one line. Raises SampleFault for a text that YAML cannot hold."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{yaml_text(key)}: {yaml_text(held)}" for key, held in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(yaml_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    text = str(value)
    plain = PLAIN.fullmatch(text) and text.lower() not in WORDS and ": " not in text
    if plain or GRAINS[Grain.MONTH].shape.fullmatch(text):
        return text
    quoted = escape_controls(json.dumps(text, ensure_ascii=False))
    if not is_read_as(text, quoted):
        raise SampleFault(f"{quoted} holds characters that no file of an instance can hold: rename it at the source")
    return quoted


def is_read_as(text: str, written: str) -> bool:
    """Tell whether YAML reads a text in what is written, and a file can hold it."""
    try:
        text.encode("utf-8")
        return bool(yaml.safe_load(written) == text)
    except (yaml.YAMLError, UnicodeError):
        return False


def comment(text: str) -> str:
    """Return a text as the comment at the end of a line."""
    return REMARK + escape_controls(text)


def yaml_file(lines: Iterable[str]) -> str:
    """Return lines as a file. Raises SampleFault if a line is several to YAML, or a comment is more than that."""
    rows = list(lines)
    for row in rows:
        if len(row.splitlines()) > 1:
            raise SampleFault(f"{escape_controls(row)} would be several lines: rename what it names at the source")
    text = "\n".join(row.replace(REMARK, "   # ") for row in rows) + "\n"
    if yaml.safe_load(text) != yaml.safe_load("\n".join(row.partition(REMARK)[0] for row in rows)):
        raise SampleFault("a comment of a file that init writes would be read as a key: rename its columns")
    return text
