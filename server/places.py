"""Places that files are imported from: hosts as settings name them, and the addresses of files there.

An address is read by a grammar of our own that is narrower than the standard's: whatever two readers could take for two
hosts (a login, a backslash, brackets, numbers for a name, white space) is none.
"""

import re
from dataclasses import dataclass
from urllib.parse import urljoin

import idna

HTTPS = 443
LAST_PORT = 65_535
LONGEST = 8192
LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
NAME = re.compile(rf"(?=.{{1,253}}\Z)(?:{LABEL}\.)*(?=[a-z]){LABEL}")  # the last label of no number is letters first
PORT = r"(?::(?P<port>[0-9]{1,5}))?"
ENTRY = re.compile(rf"(?P<name>[^\x00-\x20/:@?#%\\]+){PORT}")
ADDRESS = re.compile(rf"https://{ENTRY.pattern}(?P<target>(?:[/?][!-\[\]-~]*)?)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True, order=True)
class Host:
    """A host that is asked over TLS."""

    name: str
    port: int = HTTPS

    def __str__(self) -> str:
        return self.name if self.port == HTTPS else f"{self.name}:{self.port}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file is: a host, and what to ask it for."""

    host: Host
    target: str

    def led_to(self, location: str) -> "Place":
        """Return where a redirect leads that is met here; ValueError where it leads to no place."""
        return read_place(urljoin(f"https://{self.host}{self.target}", location))


def read_hosts(text: str) -> tuple[Host, ...]:
    """Return the hosts of a setting, separated by commas; ValueError names the first that is none."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return tuple(read_host(ENTRY.fullmatch(part), part) for part in parts)


def read_place(address: str) -> Place:
    """Return where an address leads; ValueError where it is no https address of a file."""
    plain = address.partition("#")[0]
    parts = ADDRESS.fullmatch(plain) if len(plain) <= LONGEST else None
    host = read_host(parts, address)
    target = parts["target"] if parts else ""
    return Place(host, target if target.startswith("/") else f"/{target}")


def read_host(parts: re.Match[str] | None, said: str) -> Host:
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
