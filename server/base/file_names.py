"""Names and types that callers give to files. They are shown and sent back, never used as paths or to run anything."""

import re
import unicodedata

from engine.model.errors import BadArguments

LONGEST = 120
FOLDERS = re.compile(r"[/\\]")
UNSEEN = (
    "Cc",
    "Cf",
    "Cs",
    "Co",
    "Cn",
    "Zl",
    "Zp",
)  # control characters, line ends, marks that reverse text
TOKEN = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,99}"  # noqa: S105 - RFC 6838's name of a type, no secret
MIME_TYPE = re.compile(rf"{TOKEN}/{TOKEN}")
ANY_TYPE = "application/octet-stream"
UNNAMED = "attachment"


def validate_name(name: str) -> str:
    """Return the name of a file. Raises BadArguments if it is invalid or a path."""
    if not name.strip() or len(name) > LONGEST or sanitize_name(name) != unicodedata.normalize("NFC", name):
        raise BadArguments(
            f"The filename takes a name of 1 to {LONGEST} characters without folders, control characters or blanks "
            "around it.",
            field="filename",
            got=name,
            example={"filename": "figures.xlsx"},
        )
    return unicodedata.normalize("NFC", name)


def sanitize_name(name: str) -> str:
    """Return a safe form of a foreign file name. A long name loses its start, because the end holds the extension."""
    last = FOLDERS.split(unicodedata.normalize("NFC", name))[-1]
    seen = "".join(character for character in last if unicodedata.category(character) not in UNSEEN).strip()
    return seen[-LONGEST:] if seen.strip(".") else UNNAMED


def validate_mime_type(text: str) -> str:
    """Return the type of a file. Raises BadArguments if it is invalid."""
    if not MIME_TYPE.fullmatch(text):
        raise BadArguments(
            "The mime_type takes a type without parameters, such as text/csv or application/pdf.",
            field="mime_type",
            got=text,
            example={"mime_type": "text/csv"},
        )
    return text.lower()


def sanitize_mime_type(text: str) -> str:
    """Return a foreign content type without parameters; ANY_TYPE if it is invalid."""
    plain = text.partition(";")[0].strip()
    return plain.lower() if MIME_TYPE.fullmatch(plain) else ANY_TYPE
