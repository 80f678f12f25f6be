"""Findings: what each check makes of one token, for whoever wants to know why it is refused."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from server.auth.authority import Json, Parts, TokenRefused, json_object, take_apart
from server.auth.bearer import named_key, verify
from server.auth.checks import CHECKS, Expected, Said, claims_of, scopes_of
from server.auth.keys import Keys

TIMES = {"iat": "issued", "nbf": "valid from", "exp": "valid until"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found: what to do where it does not hold, else what it found worth saying."""

    check: str
    fault: str | None = None
    remark: str = ""


def findings(token: str, keys: Keys | str, expected: Expected, now: float) -> Iterator[Finding]:
    """Yield what every check finds; `keys` are those of the provider, or why they cannot be had.

    Where a token cannot be taken apart there is nothing else to say of it.
    """
    try:
        parts = take_apart(token)
        payload = json_object(parts.payload)
    except TokenRefused as why:
        yield Finding("form", str(why))
        return
    yield Finding("form")
    yield signature(parts, keys)
    said = Said(parts.header, payload, now)
    for name, check in CHECKS.items():
        try:
            check(said, expected)
            yield Finding(name, remark=remark(name, payload))
        except TokenRefused as why:
            yield Finding(name, str(why), remark(name, payload))
    try:
        claims_of(payload)
        yield Finding("claims")
    except TokenRefused as why:
        yield Finding("claims", str(why))


def signature(parts: Parts, keys: Keys | str) -> Finding:
    """Return what the signature is found to be."""
    try:
        kid, algorithm = named_key(parts.header)
        if isinstance(keys, str):
            return Finding("signature", f"It cannot be verified: {keys}.")
        verify(parts, keys.get((kid, algorithm)))
    except TokenRefused as why:
        return Finding("signature", str(why))
    return Finding("signature", remark=f"{algorithm}, key {kid}")


def remark(check: str, payload: Json) -> str:
    """Return what a token says where a check looked."""
    if check == "times":
        told = (f"{word} {moment(payload[name])}" for name, word in TIMES.items() if name in payload)
        return ", ".join(told)
    if check == "scope":
        return " ".join(sorted(scopes_of(payload)))
    return ""


def moment(seconds: object) -> str:
    """Return a time as this machine's clock shows it."""
    try:
        return f"{datetime.fromtimestamp(float(str(seconds)), UTC).astimezone():%Y-%m-%d %H:%M:%S %Z}"
    except (ValueError, OverflowError, OSError):
        return "at no time"
