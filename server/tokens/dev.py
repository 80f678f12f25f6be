"""The dev key: the single-user server's one token, made once and kept for its owner alone."""

import hmac
import os
from dataclasses import dataclass
from pathlib import Path
from secrets import token_urlsafe

from server.principal import DEVELOPER, Principal
from server.tokens.authority import Reason, TokenRefused

KEY_FILE = "dev.key"


@dataclass(frozen=True, slots=True)
class DevKey:
    """The single-user server's key."""

    key: str

    async def principal(self, token: str) -> Principal:
        """Return the developer where the token is the key; TokenRefused where it is not."""
        if not hmac.compare_digest(token.encode(), self.key.encode()):
            raise TokenRefused(
                Reason.UNKNOWN, "The bearer token is not known. Send the key that the server printed when it started."
            )
        return Principal(DEVELOPER)

    async def watch(self) -> None:
        """Do nothing: the key stays the same."""


def kept_key(path: Path) -> DevKey:
    """Return the key that is kept in a file."""
    return DevKey(path.read_text(encoding="ascii").strip())


def dev_key(configured: str | None, state: Path) -> DevKey:
    """Return the configured key, or the one kept in the state folder, made where there is none."""
    if configured is not None:
        return DevKey(configured)
    state.mkdir(parents=True, exist_ok=True)
    path = state / KEY_FILE
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return kept_key(path)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        key = token_urlsafe(32)
        file.write(key)
    return DevKey(key)
