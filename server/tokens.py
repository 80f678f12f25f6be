"""Tokens: from a bearer token to a principal.

The single-user server has one token, its dev key, made once and kept for its owner alone.
"""

import hmac
import os
from dataclasses import dataclass
from pathlib import Path
from secrets import token_urlsafe

from server.principal import DEVELOPER, Principal

KEY_FILE = "dev.key"


@dataclass(frozen=True, slots=True)
class DevKey:
    """The single-user server's key."""

    key: str

    def principal(self, token: str) -> Principal | None:
        """Return the developer where the token is the key, None where it is not."""
        return Principal(DEVELOPER) if hmac.compare_digest(token.encode(), self.key.encode()) else None


def dev_key(configured: str | None, state: Path) -> DevKey:
    """Return the configured key, or the one kept in the state folder, made where there is none."""
    if configured is not None:
        return DevKey(configured)
    state.mkdir(parents=True, exist_ok=True)
    path = state / KEY_FILE
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return DevKey(path.read_text(encoding="ascii").strip())
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        key = token_urlsafe(32)
        file.write(key)
    return DevKey(key)
