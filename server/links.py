"""Transfer links: addresses of files that open without a token, for a while, for whoever was given them.

A link is signed over its purpose, its file, its owner and its end, so that none of them can be changed and a link to
read is none to write. It names its owner by a digest: whose file it is, is held against that after the signature.
"""

import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from urllib.parse import urlencode

PATH = "/api/artifacts/"
FILE_ID = re.compile(r"[a-z0-9]{1,64}")
END = re.compile(r"[1-9][0-9]{0,11}")
OWNER_DIGITS = 16


class Purpose(Enum):
    """What a link is for."""

    GET = "get"
    PUT = "put"


class BadLink(Exception):
    """A link that was changed, or never was one."""


class LinkExpired(Exception):
    """A link that was good, and is over."""


@dataclass(frozen=True, slots=True)
class Links:
    """Makes and reads the links of one deployment."""

    base_url: str
    key: str

    def make(self, purpose: Purpose, file_id: str, owner: str, ends: int) -> str:
        """Return a link that opens a file of an owner until a time, in seconds since 1970."""
        signed = {"owner": owner_mark(owner), "ends": str(ends)}
        query = urlencode({**signed, "signature": self._sign(purpose, file_id, signed)})
        return f"{self.base_url}{PATH}{file_id}?{query}"

    def read(self, purpose: Purpose, file_id: str, asked: Sequence[tuple[str, str]], now: float) -> str:
        """Return the mark of the owner of a link that is good; BadLink or LinkExpired where it is not."""
        query = dict(asked)
        if sorted(name for name, _ in asked) != ["ends", "owner", "signature"] or not FILE_ID.fullmatch(file_id):
            raise BadLink
        if not END.fullmatch(query["ends"]):
            raise BadLink
        if not hmac.compare_digest(query["signature"].encode(), self._sign(purpose, file_id, query).encode()):
            raise BadLink
        if now >= int(query["ends"]):
            raise LinkExpired
        return query["owner"]

    def _sign(self, purpose: Purpose, file_id: str, query: Mapping[str, str]) -> str:
        text = "\n".join((purpose.value, file_id, query["owner"], query["ends"]))
        return hmac.new(self.key.encode(), text.encode(errors="replace"), sha256).hexdigest()


def owner_mark(subject: str) -> str:
    """Return what stands for an owner in a link."""
    return sha256(subject.encode()).hexdigest()[:OWNER_DIGITS]
