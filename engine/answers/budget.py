"""How long a result is, as a model counts it."""

from typing import Any

from pydantic_core import to_json

Json = dict[str, Any]
CHARACTERS_PER_TOKEN = 2.5  # of compact JSON full of digits, measured low rather than high


def tokens(result: Json) -> int:
    """Return about how many tokens a result has as JSON text."""
    return int(len(to_json(result)) / CHARACTERS_PER_TOKEN)
