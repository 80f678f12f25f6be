"""The dev key: the single-user server's one token, made once and kept for its owner alone."""

import hmac
from dataclasses import dataclass
from pathlib import Path

from server.kept_keys import made_once
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
    return DevKey(configured or made_once(state / KEY_FILE))
