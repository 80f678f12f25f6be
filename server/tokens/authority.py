"""Authorities: who says whose a bearer token is, and why one is refused."""

from typing import Protocol

from server.principal import Principal


class TokenRefused(Exception):
    """A token is not let in; the words are for whoever sent it and hold nothing of it."""


class ScopeMissing(TokenRefused):
    """A token is good, and not for this."""


class CannotVerify(Exception):
    """No token can be told from another now: the identity provider's keys cannot be had."""


class Authority(Protocol):
    """Tells who a token is of."""

    async def principal(self, token: str) -> Principal:
        """Return who a token is of; TokenRefused, ScopeMissing or CannotVerify where nobody can be named."""
