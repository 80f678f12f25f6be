"""The SDK's own OAuth flow, from a call without a token to an answer: through the proxy, TLS and a real login."""

import asyncio
import json
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from scripts.verification import Credentials, Verification
from tests.identity.providing import (
    SECRET,
    ClientStorage,
    IdentityProvider,
    Person,
    PersonAtABrowser,
    http,
    oauth,
    providing,
)
from tests.support.machine.browsers import WIDGETS
from tests.support.machine.programs import missing, needs_program
from tests.support.service.issuers import rsa_key
from tests.support.service.operations import metric
from tests.support.service.proxies import Proxy, proxying
from tests.support.service.servers import DEADLINE, ERAS, Server, free_port
from tests.support.service.users import RawRequest, serving_many

ASKED = {"metrics": ["revenue"], "scenarios": [{"scenario": "actual", "alias": "A"}], "period_start": "2026-01"}
OF_SHAPES = {"keycloak": {"typ", "azp"}, "okta": {"scp", "cid", "ver"}, "auth0": {"azp", "scope"}}  # claims
pytestmark = pytest.mark.program("nginx", "openssl")


@dataclass(frozen=True)
class Stack:
    """A proxy before a server of many users, and where clients reach it."""

    proxy: Proxy
    server: Server
    provider: IdentityProvider
    url: str

    def refused(self, reason: str) -> float:
        """Return how many requests no token let in, for a reason."""
        return metric(self.server, "tieout_refused_tokens_total", reason=reason)


@contextmanager
def stack(node: Path, folder: Path, books: tuple[Path, Path], **more: Any) -> Iterator[Stack]:
    """Run all of it until the block ends."""
    port = free_port()
    preset = {"SVC_OIDC_PROVIDER": more["shape"]} if "shape" in more else {}
    with proxying(port, free_port()) as proxy:
        origin = f"https://127.0.0.1:{proxy.port}"
        with (
            providing(node, folder, rsa_key("one"), resources=[f"{origin}/mcp"], **more) as provider,
            serving_many(books, provider.url, SVC_BASE_URL=origin, SVC_PORT=str(port), **preset) as server,
        ):
            yield Stack(proxy, server, provider, f"{origin}/mcp")


@pytest.fixture(scope="module")
def standing(node: Path, books: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose provider issues tokens that are good."""
    with stack(node, tmp_path_factory.mktemp("login"), books) as running:
        yield running


def with_client(
    standing: Stack, era: str, kept: ClientStorage, person: Person, scene: Callable[[Client], Awaitable[Any]]
) -> Any:
    """Return what a scene with a client that logs in by itself ends with."""

    async def run() -> Any:
        flow = oauth(standing.url, kept, person)
        async with (
            http(standing.proxy.trust, flow) as speaks,
            Client(streamable_http_client(standing.url, http_client=speaks), mode=era) as client,
        ):
            return await scene(client)

    return asyncio.run(run())


async def figure(client: Client) -> Any:
    """Return what revenue a caller sees."""
    answer = await client.call_tool("run_metric_data", ASKED)
    content = answer.structured_content or {}
    return [row["values"] for row in content["rows"]]


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_knows_nothing_but_the_address_logs_in_and_reads(standing: Stack, era: str) -> None:
    kept, person = ClientStorage(), Person()
    assert with_client(standing, era, kept, person, figure) == [[120]]
    assert person.logins == 1
    assert kept.tokens is not None
    assert kept.tokens.scope == "mcp:read", "the scope is that of the challenge"


@pytest.mark.parametrize("shape", ["keycloak", "okta", "auth0"])
def test_a_login_at_a_provider_with_a_preset_needs_nothing_but_the_preset(
    shape: str, node: Path, books: tuple[Path, Path], tmp_path: Path
) -> None:
    kept, person = ClientStorage(), Person()
    with stack(node, tmp_path, books, shape=shape) as running:
        document = httpx2.get(f"{running.provider.base}/.well-known/openid-configuration", timeout=DEADLINE).json()
        assert document["issuer"] == running.provider.url
        assert with_client(running, "auto", kept, person, figure) == [[120]]
    assert person.logins == 1
    assert kept.tokens is not None
    header, claims = (decoded(part) for part in kept.tokens.access_token.split(".")[:2])
    assert (header.get("typ"), claims["iss"]) == ({"okta": None}.get(shape, "JWT"), running.provider.url)
    assert OF_SHAPES[shape] <= claims.keys()


@pytest.mark.program("chromium")
@pytest.mark.parametrize("shape", ["keycloak", "okta", "auth0"])
def test_a_person_logs_in_at_such_a_provider_in_a_browser(
    shape: str, node: Path, books: tuple[Path, Path], tmp_path: Path
) -> None:
    if not (WIDGETS / "node_modules").is_dir():
        missing("widgets/node_modules is not there; run: npm ci --prefix widgets --ignore-scripts")
    person = PersonAtABrowser(node=str(node), chromium=str(needs_program("chromium")))
    with stack(node, tmp_path, books, shape=shape) as running:
        assert with_client(running, "auto", ClientStorage(), person, figure) == [[120]]
    assert person.logins == 1


@pytest.mark.parametrize(("shape", "preset"), [("okta", "keycloak"), ("keycloak", "okta"), ("auth0", "keycloak")])
def test_tokens_of_another_shape_than_that_of_the_preset_are_refused(
    shape: str, preset: str, node: Path, books: tuple[Path, Path], tmp_path: Path
) -> None:
    resource = "https://reports.example.com/mcp"
    with (
        providing(node, tmp_path, rsa_key("one"), resources=[resource], shape=shape) as provider,
        serving_many(
            books, provider.url, SVC_OIDC_PROVIDER=preset, SVC_BASE_URL=resource.removesuffix("/mcp")
        ) as server,
    ):
        assert RawRequest(server.url).post(provider.service_token()).status_code == 401


def decoded(part: str) -> Any:
    """Return a part of a token."""
    return json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_a_client_that_comes_again_does_not_log_in_again(standing: Stack) -> None:
    kept, person = ClientStorage(), Person()
    assert with_client(standing, "auto", kept, person, figure) == [[120]]
    missing = standing.refused("missing")
    assert with_client(standing, "auto", kept, person, figure) == [[120]]
    assert person.logins == 1
    assert standing.refused("missing") == missing


def test_who_holds_no_profile_logs_in_and_sees_nothing(standing: Stack) -> None:
    async def scene(client: Client) -> Any:
        return (await client.call_tool("list_scenarios", {})).structured_content

    assert with_client(standing, "auto", ClientStorage(), Person("eve"), scene)["scenarios"] == []


def test_a_client_whose_token_runs_out_refreshes_it_and_the_person_notices_nothing(
    node: Path, books: tuple[Path, Path], tmp_path: Path
) -> None:
    kept, person = ClientStorage(), Person()

    async def scene(client: Client) -> None:
        while len(kept.issued) < 3:
            assert await figure(client) == [[120]]

    with stack(node, tmp_path, books, lifetime=1) as running:
        with_client(running, "auto", kept, person, scene)
    assert person.logins == 1
    assert len({token.access_token for token in kept.issued}) == len(kept.issued)


def test_the_verification_of_an_upgrade_sees_a_token_expire_and_another_one_taken(
    node: Path, books: tuple[Path, Path], tmp_path: Path
) -> None:
    with stack(node, tmp_path, books, lifetime=1, expired=1) as running:
        verification = Verification(
            base_url=running.url.removesuffix("/mcp"),
            ops_url=running.server.ops,
            migrations=(),
            credentials=Credentials(
                token_url=f"{running.provider.url}/token", client_id="accountant", secret=SECRET, scope="mcp:read"
            ),
            trust=running.proxy.trust,
            tools=frozenset({"list_scenarios"}),
        )
        assert asyncio.run(verification.outlives_a_token()) == "the old token is refused and a fresh one taken"
        assert running.refused("expired") == 1
