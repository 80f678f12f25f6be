"""The claims of a token and the checks that a token must pass, in their order."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from engine.model.profiles import ELSEWHERE
from server.auth.tokens import InsufficientScope, InvalidToken, Json, RefusalReason
from server.base.interfaces import DEVELOPER
from server.base.providers import GROUPS, listed, scope_words
from server.base.settings import Settings

# Claims as names and texts, which assignments of profiles match.


MOST_NAMES, MOST_VALUES = 200, 1000
OF_THE_TOKEN = ("exp", "iat", "nbf", "jti")  # new in every token, so they identify nobody
Claims = Mapping[str, tuple[str, ...]]


def claims_of(payload: Json, groups: str = GROUPS) -> Claims:
    """Return the claims of a payload as lists of texts, by name; nested claims by dotted path.

    The claim `groups` is the one of that name at the provider, and a claim that is elsewhere has no values.

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
    return with_groups(claims, claims_elsewhere(payload), groups)


def claims_elsewhere(payload: Json) -> frozenset[str]:
    """Return the claims that a token leaves out because they are too long, as it says where to ask for them.

    OpenID Connect Core, 5.6.2; Entra ID also writes `"groups": "src1"` and `"hasgroups": true`. Nobody is asked.
    """
    names, sources = payload.get("_claim_names"), payload.get("_claim_sources")
    elsewhere = set(names) if isinstance(names, dict) else set()
    if isinstance(sources, dict):
        elsewhere |= {name for name, value in payload.items() if isinstance(value, str) and value in sources}
    if payload.get("hasgroups") not in (None, False):
        elsewhere.add(GROUPS)
    return frozenset(elsewhere)


def with_groups(claims: Claims, elsewhere: frozenset[str], groups: str) -> Claims:
    """Return claims with the groups that profiles read, and marks in place of the claims that are elsewhere."""
    kept = {name: values for name, values in claims.items() if not is_elsewhere(name, elsewhere)}
    marks = {ELSEWHERE + name for name in elsewhere}
    if groups != GROUPS:
        kept.pop(GROUPS, None)
        marks.discard(ELSEWHERE + GROUPS)
        if groups in kept:
            kept[GROUPS] = kept[groups]
        if groups in elsewhere:
            marks.add(ELSEWHERE + GROUPS)
    return kept | dict.fromkeys(marks, ())


def is_elsewhere(name: str, elsewhere: frozenset[str]) -> bool:
    """Tell whether a claim is elsewhere, or says where one is."""
    return name in elsewhere or name.startswith((ELSEWHERE, "_claim_sources."))


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
PLAIN, UNTYPED = "jwt", "none"  # types that ID tokens have, too; no `typ` at all counts as none
PLAIN_MARKS = {"typ": "Bearer", "token_use": "access"}  # of Keycloak and Cognito in the payload of access tokens
OF_A_LOGIN = frozenset(("nonce", "at_hash", "c_hash", "s_hash"))
SCOPE_CLAIMS = frozenset(("scope", "scp"))
CLIENT_CLAIMS = ("azp", "appid", "cid", "client_id")


class TokenPolicy(Struct, frozen=True, kw_only=True):
    """The issuers, audiences, clients, types and scopes that a token must have, and the claim of its groups."""

    issuers: frozenset[str]
    audiences: frozenset[str]
    types: frozenset[str]
    scopes: frozenset[str]
    login: str  # the issuer that people log in at
    clients: frozenset[str] = frozenset()  # every one where none is listed
    client_for_audience: bool = False
    marks: tuple[tuple[str, str], ...] = ()
    groups: str = GROUPS

    @classmethod
    def by(cls, settings: Settings) -> "TokenPolicy":
        """Return the policy of a server with many users."""
        preset = settings.preset
        return cls(
            issuers=frozenset(token_issuers(settings)),
            audiences=frozenset(listed(settings.oidc_audiences) or [settings.resource]),
            types=frozenset(normalize_type(each) for each in listed(settings.oidc_types or preset.types)),
            scopes=frozenset(scope_words(settings.oidc_scope)),
            login=f"{settings.oidc_issuer}",
            clients=frozenset(listed(settings.oidc_clients)),
            client_for_audience=preset.client_for_audience,
            marks=preset.marks,
            groups=settings.oidc_groups or preset.groups,
        )


def token_issuers(settings: Settings) -> tuple[str, ...]:
    """Return the issuers that tokens may have."""
    named = settings.oidc_token_issuer
    derived = settings.preset.token_issuers
    return (named,) if named else derived(f"{settings.oidc_issuer}", listed(settings.oidc_tenants))


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
    kind = type_of(said.header)
    is_access = kind in expected.types - {""} and all(said.payload.get(name) == value for name, value in expected.marks)
    if not is_access or (kind in (PLAIN, UNTYPED) and not is_plain_access(said.payload)):
        raise InvalidToken(RefusalReason.TYPE, "The token is not an access token. Send the access token.")


def type_of(header: Json) -> str:
    """Return the type of a token, an empty text if it is invalid."""
    if "typ" not in header:
        return UNTYPED
    written = header["typ"]
    kind = normalize_type(written) if isinstance(written, str) else ""
    return "" if kind == UNTYPED else kind


def is_plain_access(payload: Json) -> bool:
    """Tell whether a token whose type says nothing may be an access token: an ID token never may.

    An ID token has no scope (RFC 9068, 2.2.3, is of access tokens alone), and often what ties it to a login (OpenID
    Connect Core, 3.1.3.6 and 3.3.2.11). A provider that marks its tokens in the payload is held to the mark.
    """
    marks = [payload[name] == mark for name, mark in PLAIN_MARKS.items() if name in payload]
    if marks:
        return all(marks)
    return not SCOPE_CLAIMS.isdisjoint(payload) and OF_A_LOGIN.isdisjoint(payload)


def check_issuer(said: TokenContents, expected: TokenPolicy) -> None:
    """Refuse tokens of other issuers, and of other tenants of one that has many."""
    issuer = said.payload.get("iss")
    if not isinstance(issuer, str) or issuer not in expected.issuers:
        raise InvalidToken(RefusalReason.ISSUER, f"The token has another issuer. Get one from {expected.login}.")


def check_audience(said: TokenContents, expected: TokenPolicy) -> None:
    """Refuse tokens that were issued for other services."""
    if expected.client_for_audience and "aud" not in said.payload and is_of_client(said.payload, expected.clients):
        return
    named = said.payload.get("aud")
    texts = {each for each in (named if isinstance(named, list) else [named]) if isinstance(each, str)}
    if expected.audiences.isdisjoint(texts):
        raise InvalidToken(
            RefusalReason.AUDIENCE,
            f"The token is for another service. Get one for the resource {' or '.join(sorted(expected.audiences))}.",
        )


def check_client(said: TokenContents, expected: TokenPolicy) -> None:
    """Refuse tokens that were issued to clients that are not listed."""
    if expected.clients and not is_of_client(said.payload, expected.clients):
        raise InvalidToken(
            RefusalReason.CLIENT, "The token was issued to another client. Log in with one that the server accepts."
        )


def is_of_client(payload: Json, clients: frozenset[str]) -> bool:
    """Tell whether a token names a client, and every claim that names one names one of these."""
    named = [payload[name] for name in CLIENT_CLAIMS if name in payload]
    return bool(named) and all(isinstance(each, str) and each in clients for each in named)


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
        raise InsufficientScope(f"The token lacks a scope. Get one with: {' '.join(sorted(expected.scopes))}.")


def scopes_of(payload: Json) -> frozenset[str]:
    """Return the scopes of a token: `scope` or `scp`, a text or a list of them."""
    named: Any = payload.get("scope", payload.get("scp", ""))
    each = scope_words(named) if isinstance(named, str) else named if isinstance(named, list) else []
    return frozenset(scope for scope in each if isinstance(scope, str))


CHECKS: Mapping[str, Callable[[TokenContents, TokenPolicy], None]] = {
    "issuer": check_issuer,
    "audience": check_audience,
    "client": check_client,
    "type": check_type,
    "times": check_times,
    "subject": check_subject,
    "scope": check_scope,
}
