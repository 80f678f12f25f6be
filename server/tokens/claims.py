"""Claims: what a token says of its subject, by the names and in the texts that profiles are assigned by."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from server.tokens.authority import Reason, TokenRefused
from server.tokens.parts import Json

MOST_NAMES, MOST_VALUES = 200, 1000
OF_THE_TOKEN = ("exp", "iat", "nbf", "jti")  # new in every token, so nobody is known by them
Claims = Mapping[str, tuple[str, ...]]


def claims_of(payload: Json) -> Claims:
    """Return the claims of a payload: a value or the values of a list as texts, nested ones by dotted path.

    `{"realm_access": {"roles": ["a", "b"]}}` has `realm_access.roles` with `a` and `b`; where a claim is itself named
    with dots, it alone has that name. TokenRefused where there are too many: what is left out could be what denies.
    """
    found: dict[str, tuple[str, ...]] = {}
    level: list[tuple[str, Any]] = [(name, value) for name, value in payload.items() if name not in OF_THE_TOKEN]
    while level:
        deeper: list[tuple[str, Any]] = []
        for name, value in level:
            if isinstance(value, dict):
                deeper += [(f"{name}.{key}", held) for key, held in value.items() if f"{name}.{key}" not in payload]
            elif name in found:
                raise TokenRefused(Reason.CLAIMS, "The token has two claims of the same name. Have one renamed.")
            else:
                found[name] = tuple(texts(value))
        level = deeper
    if len(found) > MOST_NAMES or sum(map(len, found.values())) > MOST_VALUES:
        raise TokenRefused(
            Reason.CLAIMS,
            f"The token has more than {MOST_NAMES} claims or {MOST_VALUES} values. Have it issued with fewer.",
        )
    return found


def texts(value: object) -> Iterator[str]:
    """Yield a claim's values as texts; what is neither text, number nor truth has none."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool | int | float):
        yield json.dumps(value)
    elif isinstance(value, list):
        for each in value:
            if not isinstance(each, list):
                yield from texts(each)
