"""The identity provider: its metadata and its keys, read over HTTP.

It is trusted for what it signs and for nothing else: what it answers is bounded in time and size, it leads to no
other place, and its metadata must be those of the very issuer that was configured.
"""

import asyncio
from dataclasses import dataclass
from functools import cache
from ssl import SSLContext
from urllib.parse import urlsplit

import httpx2

from server.settings import LOOPBACK, is_url
from server.tokens.authority import TokenRefused
from server.tokens.keys import Keys, read_keys
from server.tokens.parts import Json, json_object

CONNECT_SECONDS, WHOLE_SECONDS = 1.0, 3.0
MOST_BYTES = 256 * 1024
ASKS_FOR = {"Accept": "application/json", "Accept-Encoding": "identity"}


class ProviderDown(Exception):
    """The keys of the identity provider cannot be had; says why, to operators."""


@dataclass(frozen=True, slots=True)
class Provider:
    """An identity provider: its issuer, and where its metadata is read."""

    issuer: str
    discovery: str

    async def keys(self) -> Keys:
        """Return the keys that it publishes now; ProviderDown where they cannot be had."""
        limits = httpx2.Timeout(WHOLE_SECONDS, connect=CONNECT_SECONDS)
        async with httpx2.AsyncClient(verify=trust(), timeout=limits, headers=ASKS_FOR) as client:
            metadata = await fetched(client, self.discovery)
            if metadata.get("issuer") != self.issuer:
                raise ProviderDown(f"{self.discovery} is of another issuer than {self.issuer}")
            address = metadata.get("jwks_uri")
            if not isinstance(address, str) or not self.leads_to(address):
                raise ProviderDown(f"the jwks_uri of {self.discovery} is no https address")
            keys = read_keys(await fetched(client, address))
        if not keys:
            raise ProviderDown(f"{address} has no key for RS256 or ES256")
        return keys

    def leads_to(self, address: str) -> bool:
        """Tell whether keys may be read at an address: by https, or in the clear beside the metadata or here."""
        if not is_url(address, "http"):
            return is_url(address, "https")
        read = urlsplit(self.discovery)
        beside = (read.hostname,) if read.scheme == "http" else ()
        return urlsplit(address).hostname in (*beside, *LOOPBACK)


async def fetched(client: httpx2.AsyncClient, url: str) -> Json:
    """Return the JSON object at an address; ProviderDown where there is none within the bounds."""
    body = bytearray()
    try:
        async with asyncio.timeout(WHOLE_SECONDS), client.stream("GET", url) as answer:
            if answer.status_code != httpx2.codes.OK:
                raise ProviderDown(f"{url} answered {answer.status_code}")
            async for part in answer.aiter_raw():
                body += part
                if len(body) > MOST_BYTES:
                    raise ProviderDown(f"{url} answered more than {MOST_BYTES} bytes")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as fault:
        raise ProviderDown(f"{url} cannot be read: {type(fault).__name__} {fault}") from fault
    try:
        return json_object(bytes(body))
    except TokenRefused as fault:
        raise ProviderDown(f"{url} answered no JSON object") from fault


@cache
def trust() -> SSLContext:
    """Return whom connections trust; SSL_CERT_FILE and SSL_CERT_DIR name authorities of one's own."""
    return httpx2.create_ssl_context()
