"""The claims of a token and the checks that a token must pass, in their order."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from server.auth.tokens import InsufficientScope, InvalidToken, Json, RefusalReason
from server.base.interfaces import DEVELOPER
from server.base.settings import Settings

# Claims as names and texts, which assignments of profiles match.


MOST_NAMES, MOST_VALUES = 200, 1000
OF_THE_TOKEN = ("exp", "iat", "nbf", "jti")  # new in every token, so they identify nobody
Claims = Mapping[str, tuple[str, ...]]


def claims_of(payload: Json) -> Claims:
    """Return the claims of a payload as lists of texts, by name; nested claims by dotted path.

    `{"realm_access": {"roles": ["a", "b"]}}` has `realm_access.roles` with `a` and `b`. A claim whose own name holds
    dots takes precedence over a nested one. Raises InvalidToken if there are too many, because an omitted claim could
    be one that denies.
    """
    claims: dict[str, tuple[str, ...]] = {}
    level: list[tuple[str, Any]] = [(name, value) for name, value in payload.items() if name not in OF_THE_TOKEN]
    while level:
        deeper: list[tuple[str, Any]] = []
        for name, value in level:
            if isinstance(value, dict):
                deeper += [(f"{name}.{key}", inner) for key, inner in value.items() if f"{name}.{key}" not in payload]
            elif name in claims:
                raise InvalidToken(RefusalReason.CLAIMS, "The token has two claims of the same name. Have one renamed.")
            else:
                claims[name] = tuple(claim_values(value))
        level = deeper
    if len(claims) > MOST_NAMES or sum(map(len, claims.values())) > MOST_VALUES:
        raise InvalidToken(
            RefusalReason.CLAIMS,
            f"The token has more than {MOST_NAMES} claims or {MOST_VALUES} values. Have it issued with fewer.",
        )
    return claims


def claim_values(value: object) -> Iterator[str]:
    """Yield a claim's texts, numbers and booleans as texts; nothing for other values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool | int | float):
        yield json.dumps(value)
    elif isinstance(value, list):
        for each in value:
            if not isinstance(each, list):
                yield from claim_values(each)


# Checks, in the order in which they run.


LEEWAY = 30  # seconds by which the clocks of issuer and server may differ
LAST = 253_402_300_800  # the year 10000; later times are invalid
LONGEST_SUBJECT = 255
ACCESS = "Bearer"  # Keycloak's `typ` in the payload of an access token, whose header says only JWT
PLAIN = "jwt"


class TokenPolicy(Struct, frozen=True, kw_only=True):
    """The issuer, audience, types and scopes that a token must have."""

    issuer: str
    audience: str
    types: frozenset[str]
    scopes: frozenset[str]

    @classmethod
    def by(cls, settings: Settings) -> "TokenPolicy":
        """Return the policy of a server with many users."""
        return cls(
            issuer=f"{settings.oidc_issuer}",
            audience=settings.resource,
            types=frozenset(normalize_type(each) for each in settings.oidc_types.split(",")),
            scopes=frozenset(settings.oidc_scope.split()),
        )


class TokenContents(Struct, frozen=True):
    """The decoded header and payload of a token, and the time at which it is checked."""

    header: Json
    payload: Json
    now: float


def normalize_type(written: str) -> str:
    """Return a type in the form that is compared."""
    return written.strip().lower().removeprefix("application/")


def check_type(said: TokenContents, expected: TokenPolicy) -> None:
    """Refuse ID, refresh and other tokens."""
    written = said.header.get("typ")
    kind = normalize_type(written) if isinstance(written, str) else None
    inner = said.payload.get("typ", ACCESS) if kind == PLAIN else ACCESS
    if kind not in expected.types or inner != ACCESS:
        raise InvalidToken(RefusalReason.TYPE, "The token is not an access token. Send the access token.")


def check_issuer(said: TokenContents, expected: TokenPolicy) -> None:
    """Refuse tokens of other issuers."""
    if said.payload.get("iss") != expected.issuer:
        raise InvalidToken(RefusalReason.ISSUER, f"The token has another issuer. Get one from {expected.issuer}.")


def check_audience(said: TokenContents, expected: TokenPolicy) -> None:
    """Refuse tokens that were issued for other services."""
    named = said.payload.get("aud")
    if expected.audience not in (named if isinstance(named, list) else [named]):
        raise InvalidToken(
            RefusalReason.AUDIENCE, f"The token is for another service. Get one for the resource {expected.audience}."
        )


def check_times(said: TokenContents, _: TokenPolicy) -> None:
    """Refuse tokens that expired, or are not valid yet."""
    expires, issued = read_time(said.payload, "exp"), read_time(said.payload, "iat")
    begins = read_time(said.payload, "nbf") if "nbf" in said.payload else issued
    if max(issued, begins) > said.now + LEEWAY:
        raise InvalidToken(RefusalReason.EARLY, "The token is not valid yet. Have the clocks set right, or wait.")
    if expires + LEEWAY <= said.now:
        raise InvalidToken(RefusalReason.EXPIRED, "The token has expired. Refresh it, or log in again.")


def read_time(payload: Json, name: str) -> float:
    """Return a required time of a token. Raises InvalidToken if it is missing or no time."""
    seconds = payload.get(name)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < LAST:
        raise InvalidToken(RefusalReason.CLAIMS, f"The token has no valid {name}. Send the token as it was issued.")
    return seconds


def check_subject(said: TokenContents, _: TokenPolicy) -> None:
    """Refuse tokens without a printable subject, and the reserved one."""
    subject = said.payload.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT or not subject.isprintable():
        raise InvalidToken(
            RefusalReason.SUBJECT,
            f"The token has no subject of at most {LONGEST_SUBJECT} printable characters. Have it issued with a sub.",
        )
    if subject == DEVELOPER:
        raise InvalidToken(
            RefusalReason.SUBJECT,
            f"The subject {DEVELOPER} is reserved. Log in as another user.",
        )


def check_scope(said: TokenContents, expected: TokenPolicy) -> None:
    """Refuse tokens that lack a scope."""
    if not expected.scopes <= scopes_of(said.payload):
        raise InsufficientScope(f"The token lacks a scope. Get one with: {' '.join(sorted(expected.scopes))}")


def scopes_of(payload: Json) -> frozenset[str]:
    """Return the scopes of a token: `scope` or `scp`, a text or a list of them."""
    named: Any = payload.get("scope", payload.get("scp", ""))
    each = named.split() if isinstance(named, str) else named if isinstance(named, list) else []
    return frozenset(scope for scope in each if isinstance(scope, str))


CHECKS: Mapping[str, Callable[[TokenContents, TokenPolicy], None]] = {
    "issuer": check_issuer,
    "audience": check_audience,
    "type": check_type,
    "times": check_times,
    "subject": check_subject,
    "scope": check_scope,
}
