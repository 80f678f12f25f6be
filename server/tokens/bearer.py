"""The bearer: from the access token of an identity provider to whoever it was issued to."""

from time import time

from server.principal import Principal
from server.settings import Settings
from server.tokens.authority import Reason, TokenRefused
from server.tokens.checks import CHECKS, Expected, Said
from server.tokens.claims import claims_of
from server.tokens.key_cache import KeyCache
from server.tokens.keys import ALGORITHMS, Key, is_kid
from server.tokens.parts import Json, Parts, json_object, take_apart
from server.tokens.provider import Provider


class Bearer:
    """Takes the access tokens of one identity provider."""

    def __init__(self, keys: KeyCache, expected: Expected) -> None:
        self._keys = keys
        self._expected = expected

    @classmethod
    def by(cls, settings: Settings) -> "Bearer":
        """Return what takes the tokens of a server of many users."""
        provider = Provider(f"{settings.oidc_issuer}", settings.discovery)
        return cls(KeyCache(provider.keys), Expected.by(settings))

    async def principal(self, token: str) -> Principal:
        """Return who a token is of; TokenRefused, ScopeMissing or CannotVerify where nobody can be named."""
        parts = take_apart(token)
        verify(parts, await self._keys.key(*named_key(parts.header)))
        said = Said(parts.header, json_object(parts.payload), time())
        for check in CHECKS.values():
            check(said, self._expected)
        return Principal(said.payload["sub"], claims_of(said.payload))

    async def watch(self) -> None:
        """Keep up with the provider's keys, until cancelled."""
        await self._keys.watch()


def named_key(header: Json) -> tuple[str, str]:
    """Return the name of the key that a token says it was signed with, and the algorithm."""
    algorithm, kid = header.get("alg"), header.get("kid")
    if algorithm not in tuple(ALGORITHMS) or "crit" in header:
        raise TokenRefused(
            Reason.SIGNATURE, f"The token is not signed with {' or '.join(ALGORITHMS)} alone. Have it signed so."
        )
    if not is_kid(kid):
        raise TokenRefused(Reason.KEY, "The token does not name its key (kid). Have it issued with one.")
    return str(kid), str(algorithm)


def verify(parts: Parts, key: Key | None) -> None:
    """Refuse a token that its issuer did not sign with a key that it publishes."""
    if key is None:
        raise TokenRefused(Reason.KEY, "The token's issuer publishes no such key. Log in again.")
    if not key.signed(parts.signed, parts.signature):
        raise TokenRefused(Reason.SIGNATURE, "The token's signature does not hold. Send the token as it was issued.")
