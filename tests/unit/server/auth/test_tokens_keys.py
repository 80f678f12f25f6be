"""The keys of an identity provider: read seldom, found at once, kept through outages, and only from where they are."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from server.auth.keys import MOST_BYTES, KeyCache, OidcProvider, ProviderUnavailable, RefreshTimes, SigningKey
from server.auth.tokens import VerificationUnavailable
from tests.support.service.issuers import DISCOVERY, KEYS, Issuer, ec_key, issuing, rsa_key

ONE, NEW = ("one", "RS256"), ("new", "RS256")


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """An issuer that answers."""
    with issuing() as running:
        yield running


def provider_of(issuer: Issuer, discovery: str | None = None, seconds: float = 30) -> OidcProvider:
    """Return an issuer as a provider, with time enough for a busy machine."""
    return OidcProvider(issuer.url, discovery or issuer.url + DISCOVERY, seconds, seconds)


def in_cache(issuer: Issuer, scene: Callable[[KeyCache], Awaitable[Any]], **times: float) -> Any:
    """Return what a scene with a cache of an issuer's keys ends with."""

    async def run() -> Any:
        return await scene(KeyCache(provider_of(issuer, seconds=3).keys, RefreshTimes(**times)))

    return asyncio.run(run())


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Poll until something holds."""
    deadline = time.monotonic() + 20
    while not await holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def test_known_keys_are_read_once(issuer: Issuer) -> None:
    async def scene(cache: KeyCache) -> list[SigningKey | None]:
        return [await cache.key(*ONE) for _ in range(100)]

    assert {key and key.kid for key in in_cache(issuer, scene)} == {"one"}
    assert issuer.asked == [DISCOVERY, KEYS]


def test_many_who_need_keys_share_one_look(issuer: Issuer) -> None:
    issuer.open.clear()

    async def scene(cache: KeyCache) -> list[SigningKey | None]:
        waiting = asyncio.gather(*(cache.key(*ONE) for _ in range(200)))
        await asyncio.sleep(0.1)
        issuer.open.set()
        return await waiting

    assert None not in in_cache(issuer, scene)
    assert issuer.asked == [DISCOVERY, KEYS]


def test_a_thousand_unknown_keys_cost_one_look(issuer: Issuer) -> None:
    async def scene(cache: KeyCache) -> list[SigningKey | None]:
        await cache.key(*ONE)
        return [await cache.key(f"unknown{number}", "RS256") for number in range(1000)]

    assert set(in_cache(issuer, scene)) == {None}
    assert len(issuer.asked) == 2, "the look that brought the known key is recent enough"


def test_a_thousand_unknown_keys_cost_one_look_while_the_provider_fails_too(issuer: Issuer) -> None:
    issuer.answers[DISCOVERY] = (500, {}, b"")

    async def scene(cache: KeyCache) -> int:
        failed = 0
        for number in range(1000):
            try:
                await cache.key(f"unknown{number}", "RS256")
            except VerificationUnavailable:
                failed += 1
        return failed

    assert in_cache(issuer, scene) == 1000, "nobody can say that there is no such key"
    assert issuer.asked == [DISCOVERY]


def test_a_new_key_is_found_at_once_and_a_removed_one_is_gone_after_the_look(issuer: Issuer) -> None:
    async def scene(cache: KeyCache) -> tuple[SigningKey | None, SigningKey | None]:
        assert await cache.key(*ONE)
        issuer.keys[:] = [rsa_key("new").published()]
        return await cache.key(*NEW), await cache.key(*ONE)

    new, removed = in_cache(issuer, scene, pause=0)
    assert new is not None
    assert removed is None


def test_a_watched_provider_is_looked_at_by_itself(issuer: Issuer) -> None:
    async def scene(cache: KeyCache) -> None:
        watching = asyncio.create_task(cache.watch())
        await cache.key(*ONE)
        issuer.keys[:] = [rsa_key("new").published()]

        async def is_gone() -> bool:
            return await cache.key(*ONE) is None

        await until(is_gone)
        watching.cancel()

    in_cache(issuer, scene, every=0.05, pause=0.05)


def test_a_provider_that_hangs_delays_no_known_key(issuer: Issuer) -> None:
    async def scene(cache: KeyCache) -> None:
        assert await cache.key(*ONE)
        issuer.open.clear()
        hanging = [asyncio.create_task(cache.key(f"unknown{number}", "RS256")) for number in range(8)]
        await until(lambda: asyncio.sleep(0, len(issuer.asked) == 3))
        for _ in range(100):
            assert await cache.key(*ONE)
        assert not any(task.done() for task in hanging), "the known ones came while these waited"
        outcomes = await asyncio.gather(*hanging, return_exceptions=True)
        assert all(isinstance(outcome, VerificationUnavailable) for outcome in outcomes)

    in_cache(issuer, scene, pause=0)


def test_keys_serve_through_an_outage_until_they_are_too_old(issuer: Issuer) -> None:
    async def scene(cache: KeyCache) -> None:
        watching = asyncio.create_task(cache.watch())
        assert await cache.key(*ONE)
        issuer.answers[KEYS] = (503, {}, b"")
        asked = len(issuer.asked)
        await until(lambda: asyncio.sleep(0, len(issuer.asked) > asked + 3))
        assert await cache.key(*ONE), "several looks failed, and what was read serves"

        async def is_too_old() -> bool:
            try:
                return await cache.key(*ONE) is None
            except VerificationUnavailable:
                return True

        await until(is_too_old)
        del issuer.answers[KEYS]

        async def is_back() -> bool:
            return not await is_too_old()

        await until(is_back)
        watching.cancel()

    in_cache(issuer, scene, every=0.02, pause=0.02, longest=1.5)


def test_who_leaves_while_waiting_does_not_end_the_look_for_others(issuer: Issuer) -> None:
    issuer.open.clear()

    async def scene(cache: KeyCache) -> SigningKey | None:
        leaving, staying = (asyncio.create_task(cache.key(*ONE)) for _ in range(2))
        await until(lambda: asyncio.sleep(0, len(issuer.asked) == 1))
        leaving.cancel()
        await asyncio.sleep(0)
        issuer.open.set()
        return await staying

    assert in_cache(issuer, scene) is not None


def fault_of(provider: OidcProvider) -> str:
    """Return why a provider's keys cannot be had."""
    with pytest.raises(ProviderUnavailable) as caught:
        asyncio.run(provider.keys())
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "answer", "said"),
    [
        (DISCOVERY, (500, {}, b"{}"), "answered 500"),
        (DISCOVERY, (302, {"Location": KEYS}, b""), "answered 302"),
        (DISCOVERY, (200, {}, b"{"), "no JSON object"),
        (DISCOVERY, (200, {}, b"[]"), "no JSON object"),
        (DISCOVERY, (200, {}, b'{"issuer": "a", "issuer": "b"}'), "no JSON object"),
        (DISCOVERY, (200, {}, b"[" * 100_000), "no JSON object"),
        (DISCOVERY, (200, {}, b"{" + b" " * MOST_BYTES + b"}"), "more than"),
        (DISCOVERY, (200, {}, b"\xff"), "no JSON object"),
        (KEYS, (302, {"Location": "http://169.254.169.254/"}, b""), "answered 302"),
        (KEYS, (200, {}, b"{" + b" " * MOST_BYTES + b"}"), "more than"),
        (KEYS, (200, {}, b'{"keys": []}'), "no key for RS256 or ES256"),
        (KEYS, (200, {}, b'{"keys": {"kid": "one"}}'), "no key for RS256 or ES256"),
        (KEYS, (200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"), "no JSON object"),
    ],
)
def test_what_a_provider_answers_is_bounded(
    issuer: Issuer, path: str, answer: tuple[int, dict[str, str], bytes], said: str
) -> None:
    issuer.answers[path] = answer
    assert said in fault_of(provider_of(issuer))


@pytest.mark.parametrize("named", ["{}/", "http://127.0.0.1", None, ["{}"]])
def test_the_metadata_must_be_those_of_the_issuer(issuer: Issuer, named: Any) -> None:
    issuer.metadata["issuer"] = named.format(issuer.url) if isinstance(named, str) else named
    assert "of another issuer" in fault_of(provider_of(issuer))


@pytest.mark.parametrize(
    "address",
    ["http://elsewhere.example/keys", "file:///etc/passwd", "https://user:pw@idp.example/", "http://[", 5, None],
)
def test_keys_are_read_nowhere_but_at_the_provider(issuer: Issuer, address: Any) -> None:
    issuer.metadata["jwks_uri"] = address
    assert "is no https address" in fault_of(provider_of(issuer))
    assert issuer.asked == [DISCOVERY]


def test_keys_are_read_in_the_clear_beside_metadata_in_the_clear_alone() -> None:
    inside = OidcProvider("https://idp.example", "http://identity:8080/.well-known/openid-configuration")
    assert inside.leads_to("http://identity:8080/keys")
    assert inside.leads_to("https://elsewhere.example/keys")
    assert not inside.leads_to("http://elsewhere.example/keys")
    assert not OidcProvider("https://idp.example", "https://idp.example/x").leads_to("http://idp.example/keys")


def test_nobody_answers(issuer: Issuer) -> None:
    assert "cannot be read" in fault_of(provider_of(issuer, "http://127.0.0.1:9/x"))
    assert "cannot be read" in fault_of(provider_of(issuer, "http://no-such-host.invalid/x"))


def test_both_kinds_of_keys_are_read(issuer: Issuer) -> None:
    read = asyncio.run(provider_of(issuer).keys())
    assert set(read) == {ONE, ("two", "ES256")}
    message = b"message"
    signature = ec_key("two").private
    assert not read["two", "ES256"].signed(message, b"\0" * 64)
    assert not read["two", "ES256"].signed(message, json.dumps(str(signature)).encode())
