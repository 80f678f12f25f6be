"""References to snapshots: 160 random bits, written so that models copy them without a mistake."""

import re
from base64 import b32encode
from secrets import token_bytes

REFERENCE = re.compile(r"ds_[a-z2-7]{32}")


def new_reference() -> str:
    """Return a reference that nobody can guess."""
    return f"ds_{b32encode(token_bytes(20)).decode().lower()}"


def is_reference(text: str) -> bool:
    """Tell whether a text has the shape of a reference."""
    return REFERENCE.fullmatch(text) is not None
