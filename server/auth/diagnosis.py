"""Diagnosis of one token: the result of every check, for an operator who asks why it is refused."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from server.auth.bearer import key_of_header, verify
from server.auth.claims import CHECKS, TokenContents, TokenPolicy, claims_elsewhere, claims_of, scopes_of
from server.auth.keys import Keys
from server.auth.tokens import InvalidToken, Json, TokenParts, parse_object, split_token

TIMES = {"iat": "issued", "nbf": "valid from", "exp": "valid until"}


class TokenFinding(Struct, frozen=True):
    """The result of one check: the fault and its remedy if it fails, the settings that decide, a remark otherwise."""

    check: str
    fault: str | None = None
    remark: str = ""
    settings: str = ""


def deciding_settings(check: str, expected: TokenPolicy) -> str:
    """Return the settings that decide a check, and what they accept now; nothing of the token."""
    return {
        "signature": "SVC_OIDC_ISSUER and SVC_OIDC_DISCOVERY say where keys are read",
        "issuer": f"SVC_OIDC_ISSUER, SVC_OIDC_TOKEN_ISSUER and SVC_OIDC_TENANTS accept {listing(expected.issuers)}",
        "audience": f"SVC_OIDC_AUDIENCES accepts {listing(expected.audiences)}",
        "client": f"SVC_OIDC_CLIENTS accepts {listing(expected.clients)}",
        "type": f"SVC_OIDC_TYPES accepts {listing(expected.types)}{marked(expected)}",
        "scope": f"SVC_OIDC_SCOPE asks for {listing(expected.scopes)}",
    }.get(check, "")


def listing(values: Iterable[str]) -> str:
    """Return values in a row."""
    return ", ".join(sorted(values))


def marked(expected: TokenPolicy) -> str:
    """Return the claims that a provider's access tokens have, as a remark on their types."""
    marks = " and ".join(f"{name} {value}" for name, value in expected.marks)
    return marks and f", and SVC_OIDC_PROVIDER asks for {marks}"


def examine_token(token: str, keys: Keys | str, expected: TokenPolicy, now: float) -> Iterator[TokenFinding]:
    """Yield the result of every check; `keys` are those of the provider, or why they are unavailable.

    A token that cannot be parsed yields one finding.
    """
    try:
        parts = split_token(token)
        payload = parse_object(parts.payload)
    except InvalidToken as why:
        yield TokenFinding("form", str(why))
        return
    yield TokenFinding("form")
    signature = check_signature(parts, keys)
    yield replace(signature, settings=deciding_settings("signature", expected) if signature.fault else "")
    contents = TokenContents(parts.header, payload, now)
    for name, check in CHECKS.items():
        try:
            check(contents, expected)
            yield TokenFinding(name, remark=describe_contents(name, payload))
        except InvalidToken as why:
            remark = describe_contents(name, payload) if name == "times" else ""
            yield TokenFinding(name, str(why), remark, deciding_settings(name, expected))
    try:
        claims_of(payload, expected.groups)
        yield TokenFinding("claims", remark=describe_elsewhere(payload))
    except InvalidToken as why:
        yield TokenFinding("claims", str(why))


def describe_elsewhere(payload: Json) -> str:
    """Return which claims a token has elsewhere and what helps, as text."""
    names = ", ".join(sorted(claims_elsewhere(payload)))
    return names and (
        f"the token says where to ask for {names}, and the server asks nobody: the caller holds none of them. Assign "
        "groups to the application, or use app roles with SVC_OIDC_GROUPS_CLAIM=roles"
    )


def check_signature(parts: TokenParts, keys: Keys | str) -> TokenFinding:
    """Check the signature of a token."""
    try:
        kid, algorithm = key_of_header(parts.header)
        if isinstance(keys, str):
            return TokenFinding("signature", f"It cannot be verified: {keys}.")
        verify(parts, keys.get((kid, algorithm)))
    except InvalidToken as why:
        return TokenFinding("signature", str(why))
    return TokenFinding("signature", remark=f"{algorithm}, key {kid}")


def describe_contents(check: str, payload: Json) -> str:
    """Return the contents of a token that a check reads, as text."""
    if check == "times":
        times = (f"{word} {format_time(payload[name])}" for name, word in TIMES.items() if name in payload)
        return ", ".join(times)
    if check == "scope":
        return " ".join(sorted(scopes_of(payload)))
    return ""


def format_time(seconds: object) -> str:
    """Return a time as this machine's clock shows it."""
    try:
        return f"{datetime.fromtimestamp(float(str(seconds)), UTC).astimezone():%Y-%m-%d %H:%M:%S %Z}"
    except (ValueError, OverflowError, OSError):
        return "an invalid time"
