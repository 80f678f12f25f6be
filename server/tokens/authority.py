"""Authorities: who says whose a bearer token is, and why one is refused."""

from enum import StrEnum
from typing import Protocol

from server.principal import Principal


class Reason(StrEnum):
    """Why a token opens nothing, as metrics and logs name it."""

    MISSING = "missing"
    MALFORMED = "malformed"
    UNKNOWN = "unknown"
    KEY = "key"
    SIGNATURE = "signature"
    ISSUER = "issuer"
    AUDIENCE = "audience"
    TYPE = "type"
    EXPIRED = "expired"
    EARLY = "early"
    SUBJECT = "subject"
    CLAIMS = "claims"
    SCOPE = "scope"
    UNVERIFIABLE = "unverifiable"


class TokenRefused(Exception):
    """A token is not let in; the words are for whoever sent it and hold nothing of it."""

    def __init__(self, reason: Reason, words: str) -> None:
        super().__init__(words)
        self.reason = reason


class ScopeMissing(TokenRefused):
    """A token is good, and not for this."""

    def __init__(self, words: str) -> None:
        super().__init__(Reason.SCOPE, words)


class CannotVerify(Exception):
    """No token can be told from another now: the identity provider's keys cannot be had."""


class Authority(Protocol):
    """Tells who a token is of."""

    async def principal(self, token: str) -> Principal:
        """Return who a token is of; TokenRefused, ScopeMissing or CannotVerify where nobody can be named."""

    async def watch(self) -> None:
        """Keep up with what tokens are held against, until cancelled."""
