"""Names and types that callers give to files. They are shown and sent back, never used as paths or to run anything."""

import re
import unicodedata

from engine.model.errors import BadArguments

LONGEST = 120
FOLDERS = re.compile(r"[/\\]")
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # what ends a line, or turns the rest of it around
TOKEN = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,99}"  # noqa: S105 - a part of a type, as RFC 6838 has it
MIME_TYPE = re.compile(rf"{TOKEN}/{TOKEN}")
ANY_TYPE = "application/octet-stream"
UNNAMED = "attachment"


def validate_name(name: str) -> str:
    """Return the name of a file; BadArguments where it is no name, or a path."""
    if not name.strip() or len(name) > LONGEST or sanitize_name(name) != unicodedata.normalize("NFC", name):
        raise BadArguments(
            f"The filename takes a name of 1 to {LONGEST} characters without folders, control characters or blanks "
            "around it.",
            field="filename",
            got=name,
            example={"filename": "budget 2026.xlsx"},
        )
    return unicodedata.normalize("NFC", name)


def sanitize_name(name: str) -> str:
    """Return a safe name for a file that somebody else named; a cut keeps the end, which holds the extension."""
    last = FOLDERS.split(unicodedata.normalize("NFC", name))[-1]
    seen = "".join(character for character in last if unicodedata.category(character) not in UNSEEN).strip()
    return seen[-LONGEST:] if seen.strip(".") else UNNAMED


def validate_mime_type(text: str) -> str:
    """Return the type of a file; BadArguments where it is none."""
    if not MIME_TYPE.fullmatch(text):
        raise BadArguments(
            "The mime_type takes a type without parameters, such as text/csv or application/pdf.",
            field="mime_type",
            got=text,
            example={"mime_type": "text/csv"},
        )
    return text.lower()


def sanitize_mime_type(text: str) -> str:
    """Return the type that somebody else says a file is of, without parameters; any where they say nothing of use."""
    plain = text.partition(";")[0].strip()
    return plain.lower() if MIME_TYPE.fullmatch(plain) else ANY_TYPE
