"""Addresses as settings and answers write them: hosts, origins, URLs and networks."""

from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def bracket_host(host: str) -> str:
    """Return a host as URLs write it."""
    return f"[{host}]" if ":" in host else host


def without_login(url: str) -> str:
    """Return a URL without who logs in there."""
    scheme, separator, rest = url.partition("://")
    return scheme + separator + rest.rpartition("@")[2]


def is_origin(url: str | None, *schemes: str) -> bool:
    """Tell whether a text is an origin of one of some schemes."""
    return is_url(url, *schemes) and not urlsplit(f"{url}").path.strip("/")


def is_url(url: str | None, *schemes: str) -> bool:
    """Tell whether a text is a URL of one of some schemes, of a place and not of somebody's login there."""
    try:
        parts = urlsplit(url or "")
        port = parts.port
    except ValueError:  # brackets that close nothing, a port that is none
        return False
    return (
        parts.scheme in schemes
        and bool(parts.hostname)
        and port != 0
        and not (parts.query or parts.fragment or "@" in parts.netloc)
    )


def is_network(text: str) -> bool:
    """Tell whether a text is an IP address or a network of them."""
    try:
        (ip_network if "/" in text else ip_address)(text)
    except ValueError:
        return False
    return True


def is_loopback_url(url: str | None) -> bool:
    """Tell whether a text is a URL of this machine."""
    return is_url(url, "http") and urlsplit(f"{url}").hostname in LOOPBACK
