"""Bearer tokens: the interface that verifies them, strict parsing, and the limit on refused attempts."""

import binascii
import json
import re
from base64 import urlsafe_b64decode
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv6Address, ip_address
from time import monotonic
from typing import Any, NoReturn, Protocol

from msgspec import Struct

from server.base.interfaces import Principal


class RefusalReason(StrEnum):
    """Why a token is refused, as metrics and logs name it."""

    MISSING = "missing"
    MALFORMED = "malformed"
    UNKNOWN = "unknown"
    KEY = "key"
    SIGNATURE = "signature"
    ISSUER = "issuer"
    AUDIENCE = "audience"
    CLIENT = "client"
    TYPE = "type"
    EXPIRED = "expired"
    EARLY = "early"
    SUBJECT = "subject"
    CLAIMS = "claims"
    SCOPE = "scope"
    UNVERIFIABLE = "unverifiable"


class InvalidToken(Exception):
    """A token is refused. The message is for the client and contains no part of the token."""

    def __init__(self, reason: RefusalReason, words: str) -> None:
        super().__init__(words)
        self.reason = reason


class InsufficientScope(InvalidToken):
    """A valid token lacks the required scope."""

    def __init__(self, words: str) -> None:
        super().__init__(RefusalReason.SCOPE, words)


class VerificationUnavailable(Exception):
    """Tokens cannot be verified now, because the keys of the identity provider are unavailable."""


class TokenVerifier(Protocol):
    """Verifies bearer tokens."""

    async def principal(self, token: str) -> Principal:
        """Return the caller whom a token names. Raises InvalidToken, InsufficientScope, VerificationUnavailable."""

    async def watch(self) -> None:
        """Keep the verification keys up to date until cancelled."""


# Strict parsing of a JSON web token. It refuses whatever two parsers could read differently: repeated names, numbers
# that JSON lacks, invalid Unicode, characters between the segments.


LONGEST = 16 * 1024
SEGMENTS = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
NO_TOKEN = "The bearer token is not a signed JSON web token. Send the access token as the identity provider issued it."  # noqa: S105 - words
Json = Mapping[str, Any]


class TokenParts(Struct, frozen=True):
    """The decoded header, the payload as it was signed, the signed bytes and the signature of a token."""

    header: Json
    payload: bytes
    signed: bytes
    signature: bytes


def split_token(token: str) -> TokenParts:
    """Return the parts of a token. Raises InvalidToken if it is too long or not a signed JSON web token."""
    if len(token) > LONGEST:
        raise InvalidToken(
            RefusalReason.MALFORMED,
            f"The bearer token is longer than {LONGEST} bytes. Have it issued with fewer claims.",
        )
    if not SEGMENTS.fullmatch(token):
        raise InvalidToken(RefusalReason.MALFORMED, NO_TOKEN)
    signed, _, signature = token.rpartition(".")
    header, _, payload = signed.partition(".")
    return TokenParts(
        parse_object(decode_segment(header)), decode_segment(payload), signed.encode("ascii"), decode_segment(signature)
    )


def decode_segment(segment: str) -> bytes:
    """Decode a base64url segment. Raises InvalidToken if it is malformed."""
    try:
        return urlsafe_b64decode(segment + "=" * (-len(segment) % 4))
    except binascii.Error as fault:
        raise InvalidToken(RefusalReason.MALFORMED, NO_TOKEN) from fault


def parse_object(text: bytes) -> Json:
    """Parse a JSON object. Raises InvalidToken if the text is not one, or is ambiguous."""
    try:
        value = json.loads(text.decode("utf-8"), object_pairs_hook=unique_members, parse_constant=refuse_constant)
        if b"\\ud" in text.lower():  # an unpaired surrogate fails to encode
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as fault:
        raise InvalidToken(RefusalReason.MALFORMED, NO_TOKEN) from fault
    if not isinstance(value, dict):
        raise InvalidToken(RefusalReason.MALFORMED, NO_TOKEN)
    return value


def unique_members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object. Raises ValueError if a name is repeated."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name is repeated")
    return members


def refuse_constant(_: str) -> NoReturn:
    """Refuse NaN and infinities, which JSON lacks."""
    raise ValueError("not a JSON number")


# The limit on refused tokens: each address has a bucket that refusals empty and time refills. IPv6 addresses count by
# their network, because one client owns all of it.


AT_ONCE, EVERY_SECONDS = 20, 3.0  # refusals in a burst, and the seconds that restore one
MOST_ADDRESSES = 10_000
NETWORK = 64  # bits of the network of an IPv6 address
NOWHERE = "?"  # counts requests without an address


@dataclass(slots=True)
class RefusalBucket:
    """The refusals that an address has left, when that was computed, and whether its burst was logged."""

    left: float
    at: float
    logged: bool = False


class RefusalCount(Struct, frozen=True):
    """The effect of one refusal: how long the address should wait, and whether a burst begins."""

    wait: float
    begins: bool


class RefusalLimiter:
    """Limits refused tokens by address, in one process."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._buckets: OrderedDict[str, RefusalBucket] = OrderedDict()

    def count(self, address: str) -> RefusalCount:
        """Count a refusal at an address."""
        now = self._clock()
        bucket = self._buckets.pop(address, None) or RefusalBucket(AT_ONCE, now)
        bucket.left = min(AT_ONCE, bucket.left + (now - bucket.at) / EVERY_SECONDS)
        bucket.at = now
        self._buckets[address] = bucket  # kept in order of use: the first is the least recent
        if len(self._buckets) > MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        if bucket.left >= 1:
            bucket.left -= 1
            bucket.logged = bucket.logged and bucket.left < AT_ONCE - 1
            return RefusalCount(0, begins=False)
        begins, bucket.logged = not bucket.logged, True
        return RefusalCount((1 - bucket.left) * EVERY_SECONDS, begins)


def network_of(host: str | None) -> str:
    """Return the key that an address counts under: itself, or the network of an IPv6 address."""
    try:
        address = ip_address(host or "")
    except ValueError:
        return NOWHERE
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return f"{IPv6Address(int(address) >> NETWORK << NETWORK)}/{NETWORK}"
    return str(address)
