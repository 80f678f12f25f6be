"""Checks: what a token must say before it opens anything, each on its own, in the order in which they are made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from server.principal import DEVELOPER
from server.settings import Settings
from server.tokens.authority import Reason, ScopeMissing, TokenRefused
from server.tokens.parts import Json

LEEWAY = 30  # seconds by which the clocks of issuer and server may differ
LAST = 253_402_300_800  # the year 10000 as a time; what is beyond is no time
LONGEST_SUBJECT = 255
ACCESS = "Bearer"  # what Keycloak writes into the payload of an access token, where the header says but JWT
PLAIN = "jwt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What tokens are held against."""

    issuer: str
    audience: str
    types: frozenset[str]
    scopes: frozenset[str]

    @classmethod
    def by(cls, settings: Settings) -> "Expected":
        """Return what the settings of a server of many users expect."""
        return cls(
            issuer=f"{settings.oidc_issuer}",
            audience=settings.resource,
            types=frozenset(plain_type(each) for each in settings.oidc_types.split(",")),
            scopes=frozenset(settings.oidc_scope.split()),
        )


@dataclass(frozen=True, slots=True)
class Said:
    """What a token says, and when it is read."""

    header: Json
    payload: Json
    now: float


def plain_type(written: str) -> str:
    """Return a type as it is compared."""
    return written.strip().lower().removeprefix("application/")


def is_access_token(said: Said, expected: Expected) -> None:
    """Refuse ID, refresh and other tokens."""
    written = said.header.get("typ")
    kind = plain_type(written) if isinstance(written, str) else None
    inner = said.payload.get("typ", ACCESS) if kind == PLAIN else ACCESS
    if kind not in expected.types or inner != ACCESS:
        raise TokenRefused(Reason.TYPE, "The token is no access token. Send the access token, not another one.")


def is_of_issuer(said: Said, expected: Expected) -> None:
    """Refuse tokens of others."""
    if said.payload.get("iss") != expected.issuer:
        raise TokenRefused(Reason.ISSUER, f"The token is of another issuer. Get one of {expected.issuer}.")


def is_for_us(said: Said, expected: Expected) -> None:
    """Refuse tokens that were issued for other services."""
    named = said.payload.get("aud")
    if expected.audience not in (named if isinstance(named, list) else [named]):
        raise TokenRefused(
            Reason.AUDIENCE, f"The token is for another service. Get one for the resource {expected.audience}."
        )


def is_of_now(said: Said, _: Expected) -> None:
    """Refuse tokens that expired, or are not valid yet."""
    expires, issued = time_of(said.payload, "exp"), time_of(said.payload, "iat")
    begins = time_of(said.payload, "nbf") if "nbf" in said.payload else issued
    if max(issued, begins) > said.now + LEEWAY:
        raise TokenRefused(Reason.EARLY, "The token is not valid yet. Have the clocks set right, or wait.")
    if expires + LEEWAY <= said.now:
        raise TokenRefused(Reason.EXPIRED, "The token has expired. Refresh it, or log in again.")


def time_of(payload: Json, name: str) -> float:
    """Return a time that a token must have."""
    found = payload.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < LAST:
        raise TokenRefused(Reason.CLAIMS, f"The token has no time {name}. Send the token as it was issued.")
    return found


def is_of_somebody(said: Said, _: Expected) -> None:
    """Refuse tokens without a subject that can be told and written down."""
    subject = said.payload.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT or not subject.isprintable():
        raise TokenRefused(
            Reason.SUBJECT,
            f"The token has no subject of at most {LONGEST_SUBJECT} printable characters. Have it issued with a sub.",
        )
    if subject == DEVELOPER:
        raise TokenRefused(
            Reason.SUBJECT, f"The subject {DEVELOPER} is that of a server of one user. Log in as somebody else."
        )


def may_do_this(said: Said, expected: Expected) -> None:
    """Refuse tokens that lack a scope."""
    if not expected.scopes <= scopes_of(said.payload):
        raise ScopeMissing(f"The token lacks a scope. Get one with: {' '.join(sorted(expected.scopes))}")


def scopes_of(payload: Json) -> frozenset[str]:
    """Return the scopes of a token: `scope` or `scp`, a text or a list of them."""
    named: Any = payload.get("scope", payload.get("scp", ""))
    each = named.split() if isinstance(named, str) else named if isinstance(named, list) else []
    return frozenset(scope for scope in each if isinstance(scope, str))


CHECKS: Mapping[str, Callable[[Said, Expected], None]] = {
    "issuer": is_of_issuer,
    "audience": is_for_us,
    "type": is_access_token,
    "times": is_of_now,
    "subject": is_of_somebody,
    "scope": may_do_this,
}
