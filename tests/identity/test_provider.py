"""A server of many users and a real identity provider: tokens of services, other audiences, new keys, outages."""

import asyncio
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from server.auth.bearer import AccessTokenVerifier
from server.auth.claims import TokenPolicy
from server.auth.keys import KeyCache, OidcProvider, RefreshTimes
from server.auth.tokens import VerificationUnavailable
from tests.identity.providing import HERE, SECRET, IdentityProvider, LoggedIn, by_hand, providing
from tests.support.service.issuers import RESOURCE, Issuer, ec_key, rsa_key
from tests.support.service.servers import Server, wait_for
from tests.support.service.users import RawRequest, result, serving_many

ELSEWHERE = "https://elsewhere.example.com/mcp"
OLD, NEW = rsa_key("one"), ec_key("two")
ADDRESSES = count()


@pytest.fixture(scope="module")
def standing(
    node: Path, books: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[IdentityProvider, Server]]:
    """A provider and a server that takes its tokens."""
    folder = tmp_path_factory.mktemp("provider")
    with (
        providing(node, folder, OLD, resources=[RESOURCE, ELSEWHERE]) as provider,
        serving_many(books, provider.url) as server,
    ):
        yield provider, server


@pytest.fixture
def provider(standing: tuple[IdentityProvider, Server]) -> Iterator[IdentityProvider]:
    """The provider, which is there with its first key before and after a test, and the server knows that key."""
    there, server = standing
    yield there
    there.stop()
    there.start(OLD)
    token = there.service_token()
    wait_for(lambda: is_taken(RawRequest(server.url), token))  # a test may have taught it others


def is_taken(asking: RawRequest, token: str) -> bool:
    """Tell whether a token opens, asked from an address of its own: refused ones count as guesses of an address."""
    return asking.post(token, X_Forwarded_For=f"198.51.100.{next(ADDRESSES) % 250 + 1}").status_code == 200


@pytest.fixture
def asking(standing: tuple[IdentityProvider, Server]) -> RawRequest:
    """Requests to the server."""
    return RawRequest(standing[1].url)


def test_the_lock_file_pins_versions_and_names_no_index() -> None:
    packages = json.loads((HERE / "package-lock.json").read_bytes())["packages"]
    assert all("version" in package and "integrity" in package for path, package in packages.items() if path)
    assert not [path for path, package in packages.items() if "resolved" in package]


def test_a_service_reads_what_its_groups_grant(provider: IdentityProvider, asking: RawRequest) -> None:
    assert result(asking.post(provider.service_token()))["scenarios"]
    assert result(asking.post(provider.service_token("stranger")))["scenarios"] == []


def test_a_token_for_another_resource_opens_nothing(provider: IdentityProvider, asking: RawRequest) -> None:
    answer = asking.post(provider.service_token(resource=ELSEWHERE))
    assert answer.status_code == 401
    assert RESOURCE in answer.json()["error"]


def test_a_token_without_the_scope_is_forbidden(provider: IdentityProvider, asking: RawRequest) -> None:
    assert asking.post(provider.service_token(scope="other")).status_code == 403


def test_a_resource_that_is_not_there_gets_no_token(provider: IdentityProvider) -> None:
    form = {"client_id": "accountant", "client_secret": SECRET, "scope": "mcp:read", "resource": RESOURCE + "/"}
    answer = provider.grant(grant_type="client_credentials", **form)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_target")


def test_without_a_resource_the_token_is_none_of_ours(provider: IdentityProvider, asking: RawRequest) -> None:
    form = {"client_id": "accountant", "client_secret": SECRET}
    answer = provider.grant(grant_type="client_credentials", **form).raise_for_status()
    assert asking.post(answer.json()["access_token"]).status_code == 401


def test_of_what_a_login_brings_the_access_token_alone_opens(provider: IdentityProvider, asking: RawRequest) -> None:
    person = by_hand(provider)
    assert result(asking.post(person.issued["access_token"]))["scenarios"]
    assert asking.post(person.issued["id_token"]).status_code == 401
    assert asking.post(person.issued["refresh_token"]).status_code == 401
    again = LoggedIn(person.client, person.refresh(provider, RESOURCE).raise_for_status().json())
    assert result(asking.post(again.issued["access_token"]))["scenarios"]
    elsewhere = again.refresh(provider, ELSEWHERE)
    assert (elsewhere.status_code, elsewhere.json()["error"]) == (400, "invalid_target")


def test_a_new_key_is_taken_at_once_and_a_removed_one_opens_nothing(
    provider: IdentityProvider, asking: RawRequest
) -> None:
    before = provider.service_token()
    assert asking.post(before).status_code == 200
    provider.stop()
    provider.start(NEW, OLD)
    after = provider.service_token()
    wait_for(lambda: is_taken(asking, after))  # a look a moment ago makes the next one wait for 5 s
    assert is_taken(asking, before), "both keys are published"
    provider.stop()
    provider.start(rsa_key("three"))
    newest = provider.service_token()
    wait_for(lambda: is_taken(asking, newest))
    assert {asking.post(token, X_Forwarded_For="192.0.2.9").status_code for token in (before, after)} == {401}


def test_while_the_provider_is_away_or_hangs_tokens_of_known_keys_open(
    provider: IdentityProvider, asking: RawRequest
) -> None:
    token, unknown = provider.service_token(), token_of_another_key()
    assert asking.post(token).status_code == 200
    provider.hang()
    for _ in range(20):
        assert asking.post(token).status_code == 200
    wait_for(lambda: asking.post(unknown).status_code == 503)
    assert asking.post(token).status_code == 200
    provider.stop()
    assert asking.post(unknown).status_code == 503
    assert asking.post(token).status_code == 200
    provider.start(OLD)
    wait_for(lambda: asking.post(unknown).status_code == 401)


def token_of_another_key() -> str:
    """Return a token of a key that nobody publishes."""
    return Issuer("https://nobody.example").token(rsa_key("unpublished"))


def test_an_outage_ends_the_use_of_old_keys_in_the_end(provider: IdentityProvider) -> None:
    expected = TokenPolicy(
        issuers=frozenset([provider.url]),
        login=provider.url,
        audiences=frozenset([RESOURCE]),
        types=frozenset(["at+jwt"]),
        scopes=frozenset(["mcp:read"]),
    )
    keys = OidcProvider(provider.url, f"{provider.url}/.well-known/openid-configuration").keys
    token = provider.service_token()

    async def scene() -> None:
        bearer = AccessTokenVerifier(KeyCache(keys, RefreshTimes(every=0.1, longest=4.0, pause=0.1)), expected)
        assert (await bearer.principal(token)).subject == "accountant"
        provider.stop()
        assert (await bearer.principal(token)).subject == "accountant"
        with pytest.raises(VerificationUnavailable):
            while True:
                await bearer.principal(token)
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(scene(), 30))


def test_an_expired_token_is_a_401_and_after_a_refresh_the_call_succeeds(
    node: Path, books: tuple[Path, Path], tmp_path: Path
) -> None:
    with (
        providing(node, tmp_path, OLD, resources=[RESOURCE], expired=1) as provider,
        serving_many(books, provider.url) as server,
    ):
        person, asking = by_hand(provider), RawRequest(server.url)
        late = asking.post(person.issued["access_token"])
        assert late.status_code == 401
        assert 'error="invalid_token"' in late.headers["WWW-Authenticate"]
        assert late.json()["error"] == "The token has expired. Refresh it, or log in again."
        refreshed = person.refresh(provider, RESOURCE).raise_for_status().json()
        assert result(asking.post(refreshed["access_token"]))["scenarios"]
