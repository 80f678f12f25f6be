"""Servers of many users over HTTP, each with the preset of a provider that publishes its metadata in its own shape."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.service.issuers import RESOURCE, Issuer
from tests.support.service.provider_tokens import PROVIDERS, DocumentedProvider
from tests.support.service.servers import DEADLINE, Server
from tests.support.service.users import HOST, ORIGIN, RawRequest, call, result, serving_many, write_books

ASKED = '{"metrics": ["revenue"], "scenarios": [{"scenario": "actual", "alias": "A"}], "period_start": "2026-01"}'


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Small books that finance sees."""
    return write_books(tmp_path_factory.mktemp("providers"))


@pytest.fixture(scope="module", params=list(PROVIDERS.values()), ids=list(PROVIDERS))
def served(
    request: pytest.FixtureRequest, issuer: Issuer, books: tuple[Path, Path]
) -> Iterator[tuple[DocumentedProvider, Server]]:
    """A provider, and a server with its settings."""
    provider: DocumentedProvider = request.param
    provider.publish(issuer)
    environment = provider.environment(issuer)
    with serving_many(books, environment.pop("SVC_OIDC_ISSUER"), **environment) as server:
        yield provider, server


def test_a_token_of_the_provider_reads_a_figure_and_no_other_does(
    served: tuple[DocumentedProvider, Server], issuer: Issuer
) -> None:
    provider, server = served
    asking = RawRequest(server.url)
    figures = call("run_metric_data", ASKED)
    (row,) = result(asking.post(provider.issued(issuer), figures))["rows"]
    assert row["values"] == [120]
    scope: dict[str, Any] = {provider.scope: "openid"}
    client: dict[str, Any] = {provider.client: "other"}
    assert asking.post(provider.issued(issuer, aud="https://other.example.com")).status_code == 401
    assert asking.post(provider.issued(issuer, **client)).status_code == 401
    assert asking.post(provider.id_token(issuer)).status_code == 401
    assert asking.post(provider.issued(issuer, exp=None)).status_code == 401
    lacking = asking.post(provider.issued(issuer, **scope))
    assert lacking.status_code == 403
    assert f'scope="{asked_scope(provider)}"' in lacking.headers["WWW-Authenticate"]


def test_clients_are_told_where_to_log_in_and_which_scope_to_ask(
    served: tuple[DocumentedProvider, Server], issuer: Issuer
) -> None:
    provider, server = served
    address = server.url.removesuffix("/mcp") + "/.well-known/oauth-protected-resource/mcp"
    metadata = httpx2.get(address, headers={"Host": HOST}, timeout=DEADLINE).json()
    assert metadata["resource"] == RESOURCE == f"{ORIGIN}/mcp"
    assert metadata["authorization_servers"] == [issuer.url + provider.path]
    assert metadata["scopes_supported"] == [asked_scope(provider)]


def asked_scope(provider: DocumentedProvider) -> str:
    """Return the scope that clients of a provider ask for."""
    return provider.settings.get("SVC_OIDC_ASK_SCOPE") or provider.settings.get("SVC_OIDC_SCOPE", "mcp:read")
