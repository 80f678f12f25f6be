"""Parts of a JSON web token: taken apart strictly, before anything in it is believed.

Whatever two readers could take for two things is refused: a name that stands twice, a number that is none, a text
that is no Unicode, characters between the segments.
"""

import binascii
import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from server.tokens.authority import Reason, TokenRefused

LONGEST = 16 * 1024
SEGMENTS = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
NO_TOKEN = "The bearer token is no signed JSON web token. Send the access token as the identity provider issued it."  # noqa: S105 - words
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Parts:
    """A token taken apart: its header, its payload as it was signed, what was signed, and the signature."""

    header: Json
    payload: bytes
    signed: bytes
    signature: bytes


def take_apart(token: str) -> Parts:
    """Return the parts of a token; TokenRefused where it is too long or none."""
    if len(token) > LONGEST:
        raise TokenRefused(
            Reason.MALFORMED, f"The bearer token is longer than {LONGEST} bytes. Have it issued with fewer claims."
        )
    if not SEGMENTS.fullmatch(token):
        raise TokenRefused(Reason.MALFORMED, NO_TOKEN)
    signed, _, signature = token.rpartition(".")
    header, _, payload = signed.partition(".")
    return Parts(json_object(decoded(header)), decoded(payload), signed.encode("ascii"), decoded(signature))


def decoded(segment: str) -> bytes:
    """Return what a segment stands for."""
    try:
        return urlsafe_b64decode(segment + "=" * (-len(segment) % 4))
    except binascii.Error as fault:
        raise TokenRefused(Reason.MALFORMED, NO_TOKEN) from fault


def json_object(text: bytes) -> Json:
    """Return a JSON object; TokenRefused where a text is none, or could be taken for two."""
    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=once_each, parse_constant=no_number)
        if b"\\ud" in text.lower():  # half a character, which no text can be made of
            json.dumps(found, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as fault:
        raise TokenRefused(Reason.MALFORMED, NO_TOKEN) from fault
    if not isinstance(found, dict):
        raise TokenRefused(Reason.MALFORMED, NO_TOKEN)
    return found


def once_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object; ValueError where a name stands twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name stands twice")
    return members


def no_number(_: str) -> NoReturn:
    """Refuse what Python reads as a number and JSON does not."""
    raise ValueError("no number")
