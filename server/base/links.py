"""Links: signed addresses of files that open without a token, and the addresses that files are imported from."""

import hmac
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from hashlib import sha256
from urllib.parse import urlencode, urljoin

import idna
from msgspec import Struct

# Transfer links open a file without a token until they expire. The signature covers purpose, file, owner and expiry,
# so that a download link cannot upload. A link names its owner by a digest, which is compared with the file's owner.


PATH = "/api/artifacts/"
FILE_ID = re.compile(r"[a-z0-9]{1,64}")
END = re.compile(r"[1-9][0-9]{0,11}")
OWNER_DIGITS = 16


class LinkPurpose(Enum):
    """What a link is for."""

    GET = "get"
    PUT = "put"


class BadLink(Exception):
    """A link that is malformed or has a wrong signature."""


class LinkExpired(Exception):
    """A valid link that has expired."""


class LinkSigner(Struct, frozen=True):
    """Signs and verifies the links of one deployment."""

    base_url: str
    key: str

    def make(self, purpose: LinkPurpose, file_id: str, owner: str, ends: int) -> str:
        """Return a link that opens a file of an owner until a time, in seconds since 1970."""
        signed = {"owner": owner_mark(owner), "ends": str(ends)}
        query = urlencode({**signed, "signature": self._sign(purpose, file_id, signed)})
        return f"{self.base_url}{PATH}{file_id}?{query}"

    def read(self, purpose: LinkPurpose, file_id: str, asked: Sequence[tuple[str, str]], now: float) -> str:
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

    def _sign(self, purpose: LinkPurpose, file_id: str, query: Mapping[str, str]) -> str:
        text = "\n".join((purpose.value, file_id, query["owner"], query["ends"]))
        return hmac.new(self.key.encode(), text.encode(errors="replace"), sha256).hexdigest()


def owner_mark(subject: str) -> str:
    """Return what stands for an owner in a link."""
    return sha256(subject.encode()).hexdigest()[:OWNER_DIGITS]


# Hosts and addresses of files to import. The grammar is narrower than the standard's: it refuses whatever two parsers
# could read as different hosts (a login, a backslash, brackets, a numeric host name, white space).


HTTPS = 443
LAST_PORT = 65_535
LONGEST = 8192
LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
NAME = re.compile(rf"(?=.{{1,253}}\Z)(?:{LABEL}\.)*(?=[a-z]){LABEL}")  # the last label of no number is letters first
PORT = r"(?::(?P<port>[0-9]{1,5}))?"
ENTRY = re.compile(rf"(?P<name>[^\x00-\x20/:@?#%\\]+){PORT}")
ADDRESS = re.compile(rf"https://{ENTRY.pattern}(?P<target>(?:[/?][!-\[\]-~]*)?)", re.ASCII | re.IGNORECASE)


class Host(Struct, frozen=True, order=True):
    """A host that is asked over TLS."""

    name: str
    port: int = HTTPS

    def __str__(self) -> str:
        return self.name if self.port == HTTPS else f"{self.name}:{self.port}"


class RemoteFile(Struct, frozen=True):
    """The https address of a file: a host, and the target of the request."""

    host: Host
    target: str

    def led_to(self, location: str) -> "RemoteFile":
        """Return the address that a redirect leads to; ValueError if it is not acceptable."""
        return parse_remote_file(urljoin(f"https://{self.host}{self.target}", location))


def parse_hosts(text: str) -> tuple[Host, ...]:
    """Return the hosts of a setting, separated by commas; ValueError names the first that is none."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return tuple(parse_host(ENTRY.fullmatch(part), part) for part in parts)


def parse_remote_file(address: str) -> RemoteFile:
    """Parse the address of a file; ValueError if it is not an acceptable https address."""
    plain = address.partition("#")[0]
    parts = ADDRESS.fullmatch(plain) if len(plain) <= LONGEST else None
    host = parse_host(parts, address)
    target = parts["target"] if parts else ""
    return RemoteFile(host, target if target.startswith("/") else f"/{target}")


def parse_host(parts: re.Match[str] | None, said: str) -> Host:
    """Return the host that stands in a text; ValueError where it is none."""
    if parts is None:
        raise ValueError(said)
    name, port = ascii_name(parts["name"]), int(parts["port"] or HTTPS)
    if not NAME.fullmatch(name) or not 0 < port <= LAST_PORT:
        raise ValueError(said)
    return Host(name, port)


def ascii_name(name: str) -> str:
    """Return a host name as the network has it; ValueError where it is none."""
    if name.isascii():
        return name.lower()
    try:
        return idna.encode(name, uts46=True).decode()
    except idna.IDNAError as fault:
        raise ValueError(name) from fault
