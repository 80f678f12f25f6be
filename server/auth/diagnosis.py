"""Diagnosis of one token: the result of every check, for an operator who asks why it is refused."""

from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct

from server.auth.bearer import key_of_header, verify
from server.auth.claims import CHECKS, TokenContents, TokenPolicy, claims_of, scopes_of
from server.auth.keys import Keys
from server.auth.tokens import InvalidToken, Json, TokenParts, parse_object, split_token

TIMES = {"iat": "issued", "nbf": "valid from", "exp": "valid until"}


class TokenFinding(Struct, frozen=True):
    """The result of one check: the fault and its remedy if it fails, a remark otherwise."""

    check: str
    fault: str | None = None
    remark: str = ""


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
    yield check_signature(parts, keys)
    contents = TokenContents(parts.header, payload, now)
    for name, check in CHECKS.items():
        try:
            check(contents, expected)
            yield TokenFinding(name, remark=describe_contents(name, payload))
        except InvalidToken as why:
            yield TokenFinding(name, str(why), describe_contents(name, payload))
    try:
        claims_of(payload)
        yield TokenFinding("claims")
    except InvalidToken as why:
        yield TokenFinding("claims", str(why))


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
