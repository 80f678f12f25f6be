"""Request ids: what ties the lines, the span and the answer of one request together."""

import re
from secrets import token_hex

TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def request_id_of(sent: str | None) -> str:
    """Return the id that a client or proxy sent where it is a plain token, else one of our own."""
    return sent if sent and TOKEN.fullmatch(sent) else token_hex(8)
