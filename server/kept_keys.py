"""Kept keys: secrets that are made once, and kept for their owner alone."""

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex, token_urlsafe


def made_once(path: Path) -> str:
    """Return the key that a file holds, made where there is none; several who ask at once are told the same."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_name(f".{path.name}.{token_hex(4)}")
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(token_urlsafe(32))
        with suppress(FileExistsError):
            os.link(made, path)  # whole, or not at all
        made.unlink()
    return path.read_text(encoding="ascii").strip()
