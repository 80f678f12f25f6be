"""The token verifier of a deployment: the key of a single user, or an identity provider for many."""

import hmac
from collections.abc import Callable, Sequence
from pathlib import Path
from time import time

from msgspec import Struct

from server.auth.claims import CHECKS, TokenContents, TokenPolicy, claims_of
from server.auth.keys import ALGORITHMS, KeyCache, OidcProvider, SigningKey, is_kid
from server.auth.tokens import (
    InvalidToken,
    Json,
    RefusalReason,
    TokenParts,
    TokenVerifier,
    parse_object,
    split_token,
)
from server.base.credentials import read_key, read_or_create_key
from server.base.interfaces import DEVELOPER, Principal
from server.base.settings import Settings


class AccessTokenVerifier:
    """Verifies the access tokens of one identity provider."""

    def __init__(self, keys: KeyCache, expected: TokenPolicy) -> None:
        self._keys = keys
        self._expected = expected

    @classmethod
    def by(cls, settings: Settings, tell: Callable[[str | None], None]) -> "AccessTokenVerifier":
        """Return the verifier of a server with many users; `tell` learns whether the provider's keys can be read."""
        provider = OidcProvider.by(settings)
        return cls(KeyCache(provider.keys, tell=tell), TokenPolicy.by(settings))

    async def principal(self, token: str) -> Principal:
        """Return the caller whom a token names; InvalidToken, InsufficientScope or VerificationUnavailable."""
        parts = split_token(token)
        verify(parts, await self._keys.key(*key_of_header(parts.header)))
        said = TokenContents(parts.header, parse_object(parts.payload), time())
        for check in CHECKS.values():
            check(said, self._expected)
        return Principal(said.payload["sub"], claims_of(said.payload, self._expected.groups))

    async def watch(self) -> None:
        """Keep up with the provider's keys, until cancelled."""
        await self._keys.watch()


def key_of_header(header: Json) -> tuple[str, str]:
    """Return the key id and the algorithm that a token's header names; InvalidToken if either is not accepted."""
    algorithm, kid = header.get("alg"), header.get("kid")
    if algorithm not in tuple(ALGORITHMS) or "crit" in header:
        raise InvalidToken(
            RefusalReason.SIGNATURE, f"The token is not signed with {' or '.join(ALGORITHMS)} alone. Have it signed so."
        )
    if not is_kid(kid):
        raise InvalidToken(RefusalReason.KEY, "The token does not name its key (kid). Have it issued with one.")
    return str(kid), str(algorithm)


def verify(parts: TokenParts, key: SigningKey | None) -> None:
    """Verify the signature of a token; InvalidToken if the issuer does not publish the key or it does not match."""
    if key is None:
        raise InvalidToken(RefusalReason.KEY, "The token's issuer publishes no such key. Log in again.")
    if not key.signed(parts.signed, parts.signature):
        raise InvalidToken(
            RefusalReason.SIGNATURE, "The token's signature does not hold. Send the token as it was issued."
        )


# The key of a single-user server, created once and readable by its owner alone.


KEY_FILE = "dev.key"


class DevKey(Struct, frozen=True):
    """The single-user server's key."""

    key: str

    async def principal(self, token: str) -> Principal:
        """Return the developer where the token is the key; InvalidToken where it is not."""
        if not hmac.compare_digest(token.encode(), self.key.encode()):
            raise InvalidToken(
                RefusalReason.UNKNOWN,
                "The bearer token is not known. Send the key of this server; tieout token says where it is.",
            )
        return Principal(DEVELOPER)

    async def watch(self) -> None:
        """Do nothing: the key stays the same."""


def read_dev_key(path: Path) -> DevKey:
    """Return the key that is kept in a file."""
    return DevKey(read_key(path))


def dev_key(configured: str | None, state: Path) -> DevKey:
    """Return the configured key, or the one kept in the state folder, made where there is none."""
    return DevKey(configured or read_or_create_key(state / KEY_FILE))


def own_key(settings: Settings) -> DevKey | None:
    """Return the key of the one user, made where there is none; None where there are many."""
    return None if settings.many_users else dev_key(settings.dev_key, settings.state_folder)


def place_of_key(settings: Settings) -> str:
    """Return where the key of one user is, not the key."""
    path = settings.state_folder / KEY_FILE
    if settings.dev_key is not None:
        return "in MCP_DEV_KEY"
    return f"in {path}" if path.exists() else f"none yet: tieout serve makes it in {path}"


def verifier_of(settings: Settings, tell: Callable[[str | None], None]) -> TokenVerifier:
    """Return the token verifier that the settings ask for; `tell` is called with why keys cannot be read, or None."""
    return own_key(settings) or AccessTokenVerifier.by(settings, tell)


def secrets_of(settings: Settings) -> Sequence[str]:
    """Return the secrets that no log line may contain."""
    key = own_key(settings)
    urls = settings.database_url or "", settings.import_proxy or ""
    return [key.key if key else "", settings.signing_key or "", *urls]
