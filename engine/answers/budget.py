"""How long a result is, as a model counts it.

Tokenizers take JSON at very different rates: words at four characters a token, rows of short numbers at two. Digits
cost them more than anything else, and most of what is left is keys and punctuation that come again and again.
"""

from typing import Any

from pydantic_core import to_json

Json = dict[str, Any]
DIGITS = b"0123456789"
TOKENS_PER_DIGIT = 0.75
TOKENS_PER_BYTE = 0.3  # of anything else; together 2 to 26 % above what tokenizers take: docs/tokens.md


def tokens(result: Json) -> int:
    """Return about how many tokens a result has as JSON text."""
    return tokens_of(to_json(result))


def tokens_of(text: bytes) -> int:
    """Return about how many tokens a text has, high rather than low."""
    rest = len(text.translate(None, DIGITS))
    return int((len(text) - rest) * TOKENS_PER_DIGIT + rest * TOKENS_PER_BYTE)
