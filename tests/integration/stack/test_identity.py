"""The realm that the bundled identity provider imports: what tokens hold and which clients may ask for them.

The provider itself cannot run here; these are the rules that its documentation and source give for such a file.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.books.loads import ROOT

REALM = json.loads((ROOT / "deploy" / "identity" / "tieout-realm.json").read_text(encoding="utf-8"))
RESOURCE = "${SVC_BASE_URL}/mcp"  # the provider fills it in from its environment
SCOPES = {scope["name"]: scope for scope in REALM["clientScopes"]}
CLIENTS = {client["clientId"]: client for client in REALM["clients"]}
PROFILES = {profile["name"]: profile for profile in REALM["clientProfiles"]["profiles"]}
POLICIES = {policy["name"]: policy for policy in REALM["clientPolicies"]["policies"]}


def mappers(scope: str) -> dict[str, dict[str, Any]]:
    """Return the mappers of a scope by their kind."""
    return {mapper["protocolMapper"]: mapper["config"] for mapper in SCOPES[scope]["protocolMappers"]}


def configuration(profile: str, executor: str) -> dict[str, Any]:
    """Return how an executor of a profile is configured."""
    return next(each["configuration"] for each in PROFILES[profile]["executors"] if each["executor"] == executor)


def texts(part: object) -> Iterator[str]:
    """Return every description below a part of the realm."""
    if isinstance(part, dict):
        yield from (text for key, text in part.items() if key == "description")
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from texts(each)


def test_every_token_says_whose_it_is_and_that_it_is_for_this_service() -> None:
    assert set(REALM["defaultDefaultClientScopes"]) == set(SCOPES) == {"basic", "mcp:read"}
    assert mappers("basic")["oidc-sub-mapper"]["access.token.claim"] == "true"
    audience = mappers("mcp:read")["oidc-audience-mapper"]
    assert (audience["included.custom.audience"], audience["access.token.claim"]) == (RESOURCE, "true")
    assert (
        mappers("mcp:read")["oidc-group-membership-mapper"]["claim.name"] == "groups"
    )  # what profiles.yaml assigns by
    assert REALM["defaultSignatureAlgorithm"] == "RS256"


def test_the_resource_is_known_so_that_clients_can_name_it() -> None:
    assert CLIENTS[RESOURCE]["attributes"]["resource_url"] == RESOURCE
    assert CLIENTS[RESOURCE]["bearerOnly"]
    for profile in ("claude", "vscode"):
        assert configuration(profile, "client-id-metadata-document")["cimd-resource-indicator-allow-list"] == [RESOURCE]


def test_every_client_needs_a_proof_key_and_none_may_ask_with_a_password() -> None:
    (condition,) = POLICIES["oauth-2.1"]["conditions"]
    assert condition == {"condition": "client-access-type", "configuration": {"type": ["public", "confidential"]}}
    executors = {each["executor"] for each in PROFILES["oauth-2.1"]["executors"]}
    assert executors == {"pkce-enforcer", "reject-implicit-grant", "reject-ropc-grant"}


def test_metadata_documents_are_taken_from_named_hosts_alone() -> None:
    hosts = {
        name: policy["conditions"][0]["configuration"]["client-id-uri-allow-permitted-domains"]
        for name, policy in POLICIES.items()
        if policy["conditions"][0]["condition"] == "client-id-uri"
    }
    assert hosts == {"claude": ["claude.ai"], "vscode": ["vscode.dev"]}  # one policy a host: two refuse each other
    claude = configuration("claude", "client-id-metadata-document")
    assert set(claude["cimd-allow-permitted-domains"]) == {"claude.ai", "localhost", "127.0.0.1"}
    assert claude["accept-public-client-with-confidential-client-only-grant"]
    for profile in ("claude", "vscode"):
        document = configuration(profile, "client-id-metadata-document")
        assert not document["cimd-allow-http-scheme"]
        assert not document["cimd-restrict-same-domain"]


def test_the_client_for_others_is_public_and_answers_on_this_machine_alone() -> None:
    client = CLIENTS["svc-cli"]
    assert client["publicClient"]
    assert client["consentRequired"]
    assert client["attributes"]["pkce.code.challenge.method"] == "S256"
    assert {uri.split("/")[2] for uri in client["redirectUris"]} == {"127.0.0.1", "localhost"}
    for flow in ("implicitFlowEnabled", "directAccessGrantsEnabled", "serviceAccountsEnabled", "fullScopeAllowed"):
        assert not client[flow]


def test_nobody_registers_and_no_secret_is_in_the_file() -> None:
    assert not REALM["registrationAllowed"]
    assert not {"users", "components", "smtpServer", "identityProviders"} & set(REALM)
    assert not any("secret" in client for client in CLIENTS.values())


def test_policies_name_profiles_that_are_there() -> None:
    assert {profile for policy in POLICIES.values() for profile in policy["profiles"]} == set(PROFILES)


@pytest.mark.parametrize("text", list(texts(REALM)))
def test_a_description_fits_its_column(text: str) -> None:
    assert len(text) <= 255
