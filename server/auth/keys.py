"""The identity provider: its metadata and signing keys, read over HTTP and cached."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import cache
from itertools import groupby
from ssl import SSLContext
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWTError
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from msgspec import Struct

from server.auth.tokens import InvalidToken, Json, VerificationUnavailable, parse_object
from server.base.addresses import LOOPBACK, is_url
from server.base.settings import Settings

# Signing keys, of the kinds and lengths that are accepted.


SHORTEST_RSA, LONGEST_RSA = 2048, 8192  # bits; longer ones make every token slow
LONGEST_KID = 256
ALGORITHMS: Mapping[str, RSAAlgorithm | ECAlgorithm] = {
    "RS256": RSAAlgorithm(RSAAlgorithm.SHA256),
    "ES256": ECAlgorithm(ECAlgorithm.SHA256, SECP256R1),
}
FAMILIES = {"RSA": ("RS256", ("n", "e")), "EC": ("ES256", ("x", "y", "crv"))}  # what signs, and what makes the key
NOT_PUBLIC = frozenset(("d", "p", "q", "dp", "dq", "qi", "oth", "k"))
Keys = Mapping[tuple[str, str], "SigningKey"]  # by kid and algorithm


class SigningKey(Struct, frozen=True):
    """A public key with the name that tokens give it and the one algorithm that it is for."""

    kid: str
    algorithm: str
    material: Any  # of the cryptography library; of the kind that the algorithm takes

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Tell whether a signature of a message is of this key."""
        return bool(ALGORITHMS[self.algorithm].verify(message, self.material, signature))


def read_keys(published: Json) -> Keys:
    """Return the keys of a key set that may verify tokens; of two different ones of a name, none."""
    entries = published.get("keys")
    read = [key for entry in (entries if isinstance(entries, list) else []) for key in keys_of(entry)]
    read.sort(key=key_id)
    groups = ((name, list(of_name)) for name, of_name in groupby(read, key_id))
    return {name: keys[0] for name, keys in groups if all(key.material == keys[0].material for key in keys)}


def key_id(key: SigningKey) -> tuple[str, str]:
    """Return what a key is found by."""
    return key.kid, key.algorithm


def keys_of(entry: object) -> Iterator[SigningKey]:
    """Yield the key of an entry of a key set, where it is one that may verify tokens."""
    if not isinstance(entry, dict) or not NOT_PUBLIC.isdisjoint(entry):
        return
    algorithm, parts = FAMILIES.get(str(entry.get("kty")), ("", ()))
    kid = entry.get("kid")
    if not algorithm or not is_kid(kid) or entry.get("alg", algorithm) != algorithm or not is_for_signatures(entry):
        return
    if not all(isinstance(entry.get(part), str) for part in parts):
        return
    try:
        material = ALGORITHMS[algorithm].from_jwk(entry)
    except (PyJWTError, ValueError):
        return
    if is_strong(material):
        yield SigningKey(str(kid), algorithm, material)


def is_kid(kid: object) -> bool:
    """Tell whether something is the name of a key."""
    return isinstance(kid, str) and 0 < len(kid) <= LONGEST_KID


def is_for_signatures(entry: Json) -> bool:
    """Tell whether a key may verify signatures, by what is said of it."""
    operations = entry.get("key_ops", ["verify"])
    return entry.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations


def is_strong(material: object) -> bool:
    """Tell whether a key is of a kind and a length that holds."""
    if isinstance(material, RSAPublicKey):
        return SHORTEST_RSA <= material.key_size <= LONGEST_RSA
    return isinstance(material, EllipticCurvePublicKey) and isinstance(material.curve, SECP256R1)


# The identity provider over HTTP. It is trusted only for its signatures: its answers are limited in time and size,
# redirects are not followed, and its metadata must name the configured issuer.


MOST_BYTES = 256 * 1024
ASKS_FOR = {"Accept": "application/json", "Accept-Encoding": "identity"}


class ProviderUnavailable(Exception):
    """The keys of the identity provider cannot be read; the message tells operators why."""


class OidcProvider(Struct, frozen=True):
    """An identity provider: its issuer, where its metadata is read, and how long an answer may take."""

    issuer: str
    discovery: str
    connect_seconds: float = 1.0
    whole_seconds: float = 3.0

    @classmethod
    def by(cls, settings: Settings) -> "OidcProvider":
        """Return the provider of a server with many users."""
        return cls(settings.preset.metadata_issuer(f"{settings.oidc_issuer}"), settings.discovery)

    async def keys(self) -> Keys:
        """Return the keys that it publishes now; ProviderUnavailable where they cannot be had."""
        limits = httpx2.Timeout(self.whole_seconds, connect=self.connect_seconds)
        async with httpx2.AsyncClient(verify=ssl_context(), timeout=limits, headers=ASKS_FOR) as client:
            metadata = await self.fetch_json(client, self.discovery)
            if metadata.get("issuer") != self.issuer:
                raise ProviderUnavailable(f"{self.discovery} is of another issuer than {self.issuer}")
            address = metadata.get("jwks_uri")
            if not isinstance(address, str) or not self.leads_to(address):
                raise ProviderUnavailable(f"the jwks_uri of {self.discovery} is no https address")
            keys = read_keys(await self.fetch_json(client, address))
        if not keys:
            raise ProviderUnavailable(f"{address} has no key for RS256 or ES256")
        return keys

    def leads_to(self, address: str) -> bool:
        """Tell whether keys may be read at an address: by https, or in the clear beside the metadata or here."""
        if not is_url(address, "http"):
            return is_url(address, "https")
        read = urlsplit(self.discovery)
        beside = (read.hostname,) if read.scheme == "http" else ()
        return urlsplit(address).hostname in (*beside, *LOOPBACK)

    async def fetch_json(self, client: httpx2.AsyncClient, url: str) -> Json:
        """Return the JSON object at an address; ProviderUnavailable where there is none within the bounds."""
        body = bytearray()
        try:
            async with asyncio.timeout(self.whole_seconds), client.stream("GET", url) as answer:
                if answer.status_code != httpx2.codes.OK:
                    raise ProviderUnavailable(f"{url} answered {answer.status_code}")
                async for part in answer.aiter_raw():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise ProviderUnavailable(f"{url} answered more than {MOST_BYTES} bytes")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as fault:
            raise ProviderUnavailable(f"{url} cannot be read: {type(fault).__name__} {fault}") from fault
        try:
            return parse_object(bytes(body))
        except InvalidToken as fault:
            raise ProviderUnavailable(f"{url} answered no JSON object") from fault


@cache
def ssl_context() -> SSLContext:
    """Return whom connections trust; SSL_CERT_FILE and SSL_CERT_DIR name authorities of one's own."""
    return httpx2.create_ssl_context()


# The key cache. A known key is returned without waiting. Requests for unknown keys share one refresh, which is not
# repeated for a while even if it fails. Cached keys stay valid while the provider is down, up to a limit.


log = logging.getLogger("tieout.tokens")


class RefreshTimes(Struct, frozen=True, kw_only=True):
    """Seconds between refreshes, until cached keys expire, and between two refreshes at least."""

    every: float = 300.0
    longest: float = 3600.0
    pause: float = 5.0


DEFAULT_TIMES: Final = RefreshTimes()


class KeyCache:
    """The keys of one identity provider, in one process."""

    def __init__(
        self,
        read: Callable[[], Awaitable[Keys]],
        times: RefreshTimes = DEFAULT_TIMES,
        tell: Callable[[str | None], None] = lambda _: None,
    ) -> None:
        """`tell` is called with the reason when the provider's keys cannot be read, with None when they can again."""
        self._read = read
        self._tell = tell
        self._times = times
        self._keys: Keys = {}
        self._read_at = self._looked_at = float("-inf")
        self._fault: ProviderUnavailable | None = None
        self._looking: asyncio.Task[None] | None = None

    async def key(self, kid: str, algorithm: str) -> SigningKey | None:
        """Return a published key, None if there is none; VerificationUnavailable while the provider is down."""
        found = self._known().get((kid, algorithm))
        if found is None:
            await self._look()
            found = self._known().get((kid, algorithm))
        if found is None and self._fault is not None:
            raise VerificationUnavailable from self._fault
        return found

    async def watch(self) -> None:
        """Look as often as the times say, sooner where the latest look failed, until cancelled."""
        while True:
            await self._look()
            await asyncio.sleep(self._times.pause if self._fault else self._times.every)

    def _known(self) -> Keys:
        return self._keys if monotonic() - self._read_at <= self._times.longest else {}

    async def _look(self) -> None:
        if self._looking is None:
            if monotonic() - self._looked_at < self._times.pause:
                return
            self._looking = asyncio.create_task(self._take())
        await asyncio.shield(self._looking)  # whoever leaves does not end it for the others

    async def _take(self) -> None:
        try:
            self._keys = await self._read()
            self._read_at = monotonic()
            if self._fault is not None:
                log.info("the keys of the identity provider are read again")
                self._tell(None)
            self._fault = None
        except ProviderUnavailable as fault:
            if self._fault is None:
                log.warning("the keys of the identity provider cannot be read", extra={"reason": str(fault)})
                self._tell(str(fault))
            self._fault = fault.with_traceback(None)
        finally:
            self._looked_at, self._looking = monotonic(), None
