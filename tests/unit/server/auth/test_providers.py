"""Presets of identity providers: tokens as they are documented are accepted, and every other one is refused."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from engine.model.profiles import Assignment, Profile, Profiles
from server.auth.bearer import AccessTokenVerifier
from server.auth.claims import TokenPolicy, claims_of
from server.auth.keys import KeyCache, OidcProvider, RefreshTimes
from server.auth.tokens import InvalidToken, RefusalReason
from server.base.interfaces import Principal
from server.base.providers import PRESETS
from server.base.settings import BadSetting, Settings, read_settings
from tests.support.service.issuers import Issuer, rsa_key
from tests.support.service.provider_tokens import (
    COGNITO,
    ENTRA_SHARED,
    ENTRA_V1,
    ENTRA_V2,
    GOOGLE_ID_TOKEN,
    GROUP,
    OKTA,
    OTHER_TENANT,
    PROVIDERS,
    TENANT,
    DocumentedProvider,
)
from tests.support.service.users import ORIGIN, SIGNING_KEY

MANY = {"SVC_BASE_URL": ORIGIN, "ARTIFACT_SIGNING_KEY": SIGNING_KEY}
every_provider = pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)


def settings_of(provider: DocumentedProvider, issuer: Issuer, **changed: str) -> Settings:
    """Return the settings of a server, read as a server reads them."""
    return read_settings({**MANY, **provider.environment(issuer), **changed})


def principal_of(token: str, provider: DocumentedProvider, issuer: Issuer, **changed: str) -> Principal:
    """Return whose a token is for a server with the settings of a provider."""
    provider.publish(issuer)
    issuer.asked.clear()
    settings = settings_of(provider, issuer, **changed)
    published = OidcProvider.by(settings)
    keys = OidcProvider(published.issuer, published.discovery, connect_seconds=30, whole_seconds=30)
    return asyncio.run(AccessTokenVerifier(KeyCache(keys.keys), TokenPolicy.by(settings)).principal(token))


def refusal_of(token: str, provider: DocumentedProvider, issuer: Issuer, **changed: str) -> RefusalReason:
    """Return why a token is refused."""
    with pytest.raises(InvalidToken) as refused:
        principal_of(token, provider, issuer, **changed)
    return refused.value.reason


@every_provider
def test_a_token_as_it_is_documented_is_accepted_with_its_groups(provider: DocumentedProvider, issuer: Issuer) -> None:
    principal = principal_of(provider.issued(issuer), provider, issuer)
    assert principal.subject == provider.claims["sub"]
    assert principal.claims.get("groups") == (GROUP,)


@every_provider
def test_a_token_for_another_audience_is_refused(provider: DocumentedProvider, issuer: Issuer) -> None:
    for other in ("https://other.example.com", ["https://other.example.com"], "", [], 5):
        token = provider.issued(issuer, aud=other)
        assert refusal_of(token, provider, issuer) is RefusalReason.AUDIENCE
    if provider is not COGNITO:
        assert refusal_of(provider.issued(issuer, aud=None), provider, issuer) is RefusalReason.AUDIENCE


@every_provider
def test_a_token_of_another_client_is_refused(provider: DocumentedProvider, issuer: Issuer) -> None:
    expected = RefusalReason.AUDIENCE if provider is COGNITO else RefusalReason.CLIENT
    others: list[Any] = ["other", None, [provider.claims[provider.client]]]
    for other in others:
        named: dict[str, Any] = {provider.client: other}
        token = provider.issued(issuer, **named)
        assert refusal_of(token, provider, issuer) is expected
    two: dict[str, Any] = {"azp": "other", "client_id": provider.claims[provider.client]}
    assert refusal_of(provider.issued(issuer, **two), provider, issuer) is expected, "each claim of it is held to it"


@every_provider
@pytest.mark.parametrize("typ", ["logout+jwt", "dpop+jwt", "", "none", 5, None])
def test_a_token_of_another_type_is_refused(provider: DocumentedProvider, issuer: Issuer, typ: Any) -> None:
    if typ is None and provider.header.get("typ") is None:
        typ = "id_token+jwt"
    token = provider.issued(issuer, header={"typ": typ})
    assert refusal_of(token, provider, issuer) is RefusalReason.TYPE


@every_provider
def test_a_token_that_lacks_the_scope_is_refused(provider: DocumentedProvider, issuer: Issuer) -> None:
    held = settings_of(provider, issuer).oidc_scope
    for other in ("openid", f"{held}.all", f"other\t{held}", f"other\u00a0{held}", held.upper()):
        named: dict[str, Any] = {provider.scope: other}
        token = provider.issued(issuer, **named)
        assert refusal_of(token, provider, issuer) is RefusalReason.SCOPE


@every_provider
def test_an_id_token_is_refused_although_its_audience_is_right(provider: DocumentedProvider, issuer: Issuer) -> None:
    if provider.header.get("typ") == "at+jwt":
        provider = replace(provider, header={"typ": "JWT"})
    client = {provider.client: provider.claims[provider.client]}
    assert refusal_of(provider.id_token(issuer, **client), provider, issuer) is RefusalReason.TYPE
    scoped = client | {provider.scope: provider.claims[provider.scope]}
    assert refusal_of(provider.id_token(issuer, **scoped), provider, issuer) is RefusalReason.TYPE


@every_provider
def test_a_token_without_an_expiry_or_past_it_is_refused(provider: DocumentedProvider, issuer: Issuer) -> None:
    assert refusal_of(provider.issued(issuer, exp=None), provider, issuer) is RefusalReason.CLAIMS
    assert refusal_of(provider.issued(issuer, exp=5), provider, issuer) is RefusalReason.EXPIRED


@every_provider
def test_a_token_of_another_issuer_is_refused(provider: DocumentedProvider, issuer: Issuer) -> None:
    right = provider.issuer_of(issuer)
    for other in (right.replace(TENANT, OTHER_TENANT) + "x", right + "/", right.upper(), [right], None):
        assert refusal_of(provider.issued(issuer, iss=other), provider, issuer) is RefusalReason.ISSUER


@every_provider
def test_a_token_of_a_key_that_is_not_published_is_refused(provider: DocumentedProvider, issuer: Issuer) -> None:
    forged = provider.issued(issuer, header={"kid": "two"})
    assert refusal_of(forged, provider, issuer) is RefusalReason.KEY


@pytest.mark.parametrize("provider", [ENTRA_V2, ENTRA_SHARED, ENTRA_V1])
def test_a_token_of_another_tenant_is_refused_unless_tenants_list_it(
    provider: DocumentedProvider, issuer: Issuer
) -> None:
    token = provider.issued(issuer, iss=provider.issuer_of(issuer).replace(TENANT, OTHER_TENANT), tid=OTHER_TENANT)
    assert refusal_of(token, provider, issuer) is RefusalReason.ISSUER
    shared = replace(provider, path=ENTRA_SHARED.path, metadata_issuer=ENTRA_SHARED.metadata_issuer)
    listed = {"SVC_OIDC_TENANTS": f"{TENANT}, {OTHER_TENANT}"}
    assert principal_of(token, shared, issuer, **listed).claims["tid"] == (OTHER_TENANT,)


def test_the_pattern_of_every_tenant_is_no_issuer_of_tokens(issuer: Issuer) -> None:
    for named in ("{tenantid}", "organizations", "common"):
        token = ENTRA_SHARED.issued(issuer, iss=f"{issuer.url}/{named}/v2.0")
        assert refusal_of(token, ENTRA_SHARED, issuer) is RefusalReason.ISSUER


def test_a_token_without_an_audience_is_accepted_of_a_listed_client_alone(issuer: Issuer) -> None:
    assert principal_of(COGNITO.issued(issuer), COGNITO, issuer).claims["client_id"] == ("xxxxxxxxxxxxexample",)
    assert refusal_of(COGNITO.issued(issuer, client_id="other"), COGNITO, issuer) is RefusalReason.AUDIENCE
    assert refusal_of(OKTA.issued(issuer, aud=None), OKTA, issuer) is RefusalReason.AUDIENCE


def test_an_id_token_of_google_is_refused_by_every_preset(issuer: Issuer) -> None:
    for provider in PROVIDERS.values():
        accepting = {
            "SVC_OIDC_AUDIENCES": GOOGLE_ID_TOKEN["aud"],
            "SVC_OIDC_CLIENTS": GOOGLE_ID_TOKEN["azp"],
            "SVC_OIDC_TYPES": "jwt,none,at+jwt",
        }
        claims = {"groups": None, "scope": None, **GOOGLE_ID_TOKEN, "iss": provider.issuer_of(issuer)}
        token = issuer.token(header={"typ": "JWT"}, **claims)
        assert refusal_of(token, provider, issuer, **accepting) is RefusalReason.TYPE


OVERAGES: list[dict[str, Any]] = [
    {
        "groups": None,
        "_claim_names": {"groups": "src1"},
        "_claim_sources": {"src1": {"endpoint": "https://graph.windows.net/t/users/u/getMemberObjects"}},
    },
    {"groups": "src1", "_claim_sources": {"src1": {"endpoint": "https://graph.microsoft.com/v1.0/users/u"}}},
    {"groups": None, "hasgroups": True},
]


@pytest.mark.parametrize("overage", OVERAGES)
def test_a_caller_of_too_many_groups_holds_none_and_nobody_is_asked(issuer: Issuer, overage: dict[str, Any]) -> None:
    token = ENTRA_V2.issued(issuer, **overage)
    principal = principal_of(token, ENTRA_V2, issuer)
    assert not principal.claims.get("groups")
    assert "src1" not in {value for values in principal.claims.values() for value in values}
    profiles = Profiles.of(
        [Profile(key="all", grants=())],
        [Assignment(profile="all", claims=(("groups", name),)) for name in ("src1", GROUP, "other")]
        + [Assignment(profile="all", subject=principal.subject)],
    )
    assert profiles.held_by(principal.subject, principal.claims) == (), "one of the groups could assign what denies"
    by_subject = Profiles.of([Profile(key="all", grants=())], [Assignment(profile="all", subject=principal.subject)])
    assert len(by_subject.held_by(principal.subject, principal.claims)) == 1
    assert {path.rpartition("/")[2] for path in issuer.asked} == {"openid-configuration", "keys"}
    roles = principal_of(token, ENTRA_V2, issuer, SVC_OIDC_GROUPS_CLAIM="roles")
    assert roles.claims["groups"] == ("Reports.Read",), "app roles are in the token"


def test_groups_are_those_of_the_named_claim_alone() -> None:
    payload = {"groups": ["admins"], "roles": ["r"], "realm_access": {"roles": ["a", "b"]}}
    assert claims_of(payload)["groups"] == ("admins",)
    assert claims_of(payload, "roles")["groups"] == ("r",)
    assert claims_of(payload, "realm_access.roles")["groups"] == ("a", "b")
    assert "groups" not in claims_of(payload, "permissions")


@every_provider
def test_old_and_new_keys_verify_and_an_unknown_one_within_the_pause_costs_no_look(
    provider: DocumentedProvider, issuer: Issuer
) -> None:
    provider.publish(issuer)
    issuer.asked.clear()
    settings = settings_of(provider, issuer)
    published = OidcProvider.by(settings)
    keys = OidcProvider(published.issuer, published.discovery, connect_seconds=30, whole_seconds=30)

    async def scene() -> None:
        bearer = AccessTokenVerifier(KeyCache(keys.keys), TokenPolicy.by(settings))
        assert (await bearer.principal(provider.issued(issuer))).subject
        for _ in range(5):
            with pytest.raises(InvalidToken):
                await bearer.principal(provider.issued(issuer, header={"kid": "new"}))
        assert (await bearer.principal(provider.issued(issuer))).subject

    asyncio.run(scene())
    assert issuer.asked.count(provider.keys) == 1

    async def rotation() -> None:
        cache = KeyCache(keys.keys, RefreshTimes(pause=0))
        bearer = AccessTokenVerifier(cache, TokenPolicy.by(settings))
        assert (await bearer.principal(provider.issued(issuer))).subject
        provider.publish(issuer, "one", "new")
        new = provider.issued(issuer, key=rsa_key("new"), header={"kid": "new"})
        assert (await bearer.principal(new)).subject
        assert (await bearer.principal(provider.issued(issuer))).subject

    asyncio.run(rotation())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"SVC_OIDC_PROVIDER": "azure"}, "SVC_OIDC_PROVIDER is 'azure'; it takes entra, entra-v1, okta"),
        ({"SVC_OIDC_PROVIDER": "google"}, "SVC_OIDC_PROVIDER is 'google'; the access tokens of Google are opaque"),
        (
            {"SVC_OIDC_PROVIDER": "entra"},
            "SVC_OIDC_ISSUER is 'https://id.example.com'; with Entra ID it takes https://",
        ),
        ({"SVC_OIDC_PROVIDER": "cognito"}, "SVC_OIDC_CLIENTS is missing"),
        ({"SVC_OIDC_TENANTS": TENANT}, "SVC_OIDC_TENANTS is set; it takes tenants of Entra ID"),
        ({"SVC_OIDC_CLIENTS": " , "}, "SVC_OIDC_CLIENTS is ','; it takes entries, separated by commas"),
        ({"SVC_OIDC_TYPES": ","}, "SVC_OIDC_TYPES is ','"),
        (
            {"SVC_OIDC_PROVIDER": "entra", "SVC_OIDC_ISSUER": f"https://l.example/{TENANT}/v2.0"},
            "SVC_OIDC_AUDIENCES is",
        ),
        (
            {"SVC_OIDC_PROVIDER": "entra-v1", "SVC_OIDC_ISSUER": "https://l.example/common/v2.0"},
            "SVC_OIDC_TENANTS is missing; SVC_OIDC_ISSUER logs in people of every tenant (common)",
        ),
        (
            {
                "SVC_OIDC_PROVIDER": "entra-v1",
                "SVC_OIDC_ISSUER": f"https://l.example/{TENANT}/v2.0",
                "SVC_OIDC_TENANTS": OTHER_TENANT,
            },
            "SVC_OIDC_TENANTS is set, and SVC_OIDC_ISSUER names one tenant",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_a_sentence_that_names_one(changed: dict[str, str], words: str) -> None:
    with pytest.raises(BadSetting) as refused:
        read_settings({**MANY, "SVC_OIDC_ISSUER": "https://id.example.com", **changed})
    assert words in str(refused.value)


def test_an_empty_entry_of_types_accepts_nothing(issuer: Issuer) -> None:
    for types in ("at+jwt,", "at+jwt,application/", "at+jwt, ,"):
        for typ in ("", 5, "none", None, "application/"):
            token = ENTRA_V2.issued(issuer, header={"typ": typ})
            assert refusal_of(token, ENTRA_V2, issuer, SVC_OIDC_TYPES=types) is RefusalReason.TYPE


def test_no_preset_lifts_a_check() -> None:
    for name, preset in PRESETS.items():
        types = set(preset.types.split(","))
        assert types <= {"at+jwt", "jwt", "none"}, name
    assert {name for name, preset in PRESETS.items() if preset.client_for_audience} == {"cognito"}


def test_without_a_preset_and_new_settings_a_policy_is_what_it_was() -> None:
    settings = read_settings({**MANY, "SVC_OIDC_ISSUER": "https://id.example.com"})
    policy = TokenPolicy.by(settings)
    assert policy == TokenPolicy(
        issuers=frozenset(["https://id.example.com"]),
        login="https://id.example.com",
        audiences=frozenset([f"{ORIGIN}/mcp"]),
        types=frozenset(["at+jwt"]),
        scopes=frozenset(["mcp:read"]),
    )
    assert settings.asked_scope == "mcp:read"
