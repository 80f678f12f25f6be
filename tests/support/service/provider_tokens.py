"""Access and ID tokens of identity providers as their documentation writes them, and the settings that accept them.

docs/operations/identity.md links the documentation of each. Only issuer, times, audience and scope are those of a test.
"""

import json
from dataclasses import dataclass, field

from tests.support.service.issuers import RESOURCE, Issuer, IssuerKey, Json, rsa_key

TENANT, OTHER_TENANT = "aaaabbbb-0000-cccc-1111-dddd2222eeee", "bbbbcccc-1111-dddd-2222-eeee3333ffff"
API, CLIENT = "00001111-aaaa-2222-bbbb-3333cccc4444", "11112222-bbbb-3333-cccc-4444dddd5555"
JWT = {"typ": "JWT"}
UNTYPED: Json = {"typ": None}
GROUP = "finance"


@dataclass(frozen=True)
class DocumentedProvider:
    """A provider: where it publishes what, its settings, its tokens, and which claim of them names what."""

    preset: str
    path: str  # of its issuer
    keys: str  # path of its key set
    claims: Json  # of an access token, without issuer and times
    id_claims: Json  # of an ID token for the same audience, without issuer and times
    settings: dict[str, str] = field(default_factory=dict)
    header: Json = field(default_factory=lambda: UNTYPED)
    token_issuer: str = ""  # with {url} and {host} of the test
    metadata_issuer: str = ""
    audience: str = "aud"
    client: str = "client_id"
    scope: str = "scope"
    groups: str = "groups"
    wrong_type: str = "logout+jwt"

    def environment(self, issuer: Issuer) -> dict[str, str]:
        """Return the settings of a server that accepts its tokens."""
        return {"SVC_OIDC_PROVIDER": self.preset, "SVC_OIDC_ISSUER": issuer.url + self.path, **self.settings}

    def publish(self, issuer: Issuer, *kids: str) -> None:
        """Let an issuer answer as this provider: metadata in its shape, and keys where they are."""
        path = self.path.rstrip("/") + "/.well-known/openid-configuration"
        named = (self.metadata_issuer or "{url}" + self.path).replace("{url}", issuer.url)
        metadata = {
            "issuer": named,
            "authorization_endpoint": issuer.url + "/authorize",
            "token_endpoint": issuer.url + "/token",
            "jwks_uri": issuer.url + self.keys,
            "id_token_signing_alg_values_supported": ["RS256"],
        }
        issuer.answers[path] = (200, {}, json.dumps(metadata).encode())
        published = [rsa_key(kid).published() for kid in kids or ("one",)]
        issuer.answers[self.keys] = (200, {}, json.dumps({"keys": published}).encode())

    def issued(self, issuer: Issuer, header: Json | None = None, key: IssuerKey | None = None, **claims: object) -> str:
        """Return an access token, with some claims of its own."""
        usual = {"scope": None, "groups": None, **self.claims, "iss": self.issuer_of(issuer)}
        return issuer.token(key, self.header | (header or {}), **usual | claims)

    def id_token(self, issuer: Issuer, **claims: object) -> str:
        """Return an ID token, with the issuer and the header of an access token."""
        usual = {"scope": None, "groups": None, **self.id_claims, "iss": self.issuer_of(issuer)}
        return issuer.token(header=self.header, **usual | claims)

    def issuer_of(self, issuer: Issuer) -> str:
        """Return the issuer in tokens."""
        named = self.token_issuer or "{url}" + self.path
        return named.replace("{url}", issuer.url).replace("{host}", issuer.url.partition("://")[2])


ENTRA_ID_TOKEN: Json = {
    "aud": API,
    "name": "Ada Lovelace",
    "nonce": "12345",
    "oid": "aaaaaaaa-0000-1111-2222-bbbbbbbbbbbb",
    "preferred_username": "ada@contoso.com",
    "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
    "tid": TENANT,
    "groups": [GROUP],
}
ENTRA_V2 = DocumentedProvider(
    preset="entra",
    path=f"/{TENANT}/v2.0",
    keys=f"/{TENANT}/discovery/v2.0/keys",
    settings={
        "SVC_OIDC_AUDIENCES": API,
        "SVC_OIDC_CLIENTS": CLIENT,
        "SVC_OIDC_SCOPE": "mcp.read",
        "SVC_OIDC_ASK_SCOPE": f"api://{API}/mcp.read",
    },
    header=JWT,
    claims={
        "aud": API,
        "azp": CLIENT,
        "azpacr": "0",
        "name": "Ada Lovelace",
        "oid": "aaaaaaaa-0000-1111-2222-bbbbbbbbbbbb",
        "preferred_username": "ada@contoso.com",
        "rh": "0.AAAA",
        "scp": "mcp.read",
        "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
        "tid": TENANT,
        "uti": "fqiBqXLPj0eQa82S-IYFAA",
        "ver": "2.0",
        "groups": [GROUP],
        "roles": ["Reports.Read"],
    },
    id_claims=ENTRA_ID_TOKEN | {"ver": "2.0"},
    client="azp",
    scope="scp",
)
ENTRA_SHARED = DocumentedProvider(
    preset="entra",
    path="/organizations/v2.0",
    keys="/organizations/discovery/v2.0/keys",
    settings={**ENTRA_V2.settings, "SVC_OIDC_TENANTS": TENANT},
    header=JWT,
    claims=ENTRA_V2.claims,
    id_claims=ENTRA_V2.id_claims,
    token_issuer=f"{{url}}/{TENANT}/v2.0",
    metadata_issuer="{url}/{tenantid}/v2.0",
    client="azp",
    scope="scp",
)
ENTRA_V1 = DocumentedProvider(
    preset="entra-v1",
    path=f"/{TENANT}/v2.0",
    keys=f"/{TENANT}/discovery/v2.0/keys",
    settings={
        "SVC_OIDC_AUDIENCES": f"api://{API}",
        "SVC_OIDC_CLIENTS": CLIENT,
        "SVC_OIDC_SCOPE": "mcp.read",
        "SVC_OIDC_ASK_SCOPE": f"api://{API}/mcp.read",
    },
    header=JWT | {"x5t": "one"},
    claims={
        "aud": f"api://{API}",
        "acr": "1",
        "amr": ["pwd"],
        "appid": CLIENT,
        "appidacr": "0",
        "ipaddr": "192.0.2.1",
        "name": "Ada Lovelace",
        "oid": "aaaaaaaa-0000-1111-2222-bbbbbbbbbbbb",
        "scp": "mcp.read",
        "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
        "tid": TENANT,
        "unique_name": "ada@contoso.com",
        "uti": "FVsGxYXI30-TuikuuUoFAA",
        "ver": "1.0",
        "groups": [GROUP],
    },
    id_claims=ENTRA_ID_TOKEN | {"aud": f"api://{API}", "ver": "1.0"},
    token_issuer=f"https://sts.windows.net/{TENANT}/",
    client="appid",
    scope="scp",
)
OKTA = DocumentedProvider(
    preset="okta",
    path="/oauth2/default",
    keys="/oauth2/default/v1/keys",
    settings={"SVC_OIDC_CLIENTS": "nmdP1fcyvdVO11AL7ECm"},
    claims={
        "ver": 1,
        "jti": "AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE",
        "aud": RESOURCE,
        "sub": "ada@example.com",
        "cid": "nmdP1fcyvdVO11AL7ECm",
        "uid": "00ujmkLgagxeRrAg20g3",
        "scp": ["openid", "mcp:read"],
        "auth_time": 1467142021,
        "groups": [GROUP],
    },
    id_claims={
        "ver": 1,
        "aud": RESOURCE,
        "sub": "00uid4BxXw6I6TV4m0g3",
        "jti": "ID.4eAWJOCMB3SX8XewDfVR",
        "amr": ["pwd"],
        "nonce": "YsG76jo",
        "at_hash": "preview_at_hash",
        "groups": [GROUP],
    },
    client="cid",
    scope="scp",
)
AUTH0 = DocumentedProvider(
    preset="auth0",
    path="/",
    keys="/.well-known/jwks.json",
    settings={"SVC_OIDC_CLIENTS": "my_client_id", "SVC_OIDC_GROUPS_CLAIM": "https://example.com/groups"},
    header=JWT,
    claims={
        "sub": "auth0|123456",
        "aud": [RESOURCE, "https://my-domain.auth0.com/userinfo"],
        "azp": "my_client_id",
        "scope": "openid profile mcp:read",
        "https://example.com/groups": [GROUP],
    },
    id_claims={
        "name": "Ada Lovelace",
        "aud": RESOURCE,
        "sub": "auth0|123456",
        "at_hash": "IoS3ZGppJKUn3Bta_LgE2A",
        "https://example.com/groups": [GROUP],
    },
    client="azp",
    groups="https://example.com/groups",
)
AUTH0_RFC9068 = DocumentedProvider(
    preset="auth0",
    path="/",
    keys="/.well-known/jwks.json",
    settings=AUTH0.settings,
    header={"typ": "at+jwt"},
    claims={name: value for name, value in AUTH0.claims.items() if name != "azp"}
    | {"client_id": "my_client_id", "jti": "73WakrfVbNJBaAmhQtEeDv"},
    id_claims=AUTH0.id_claims,
    groups="https://example.com/groups",
)
COGNITO = DocumentedProvider(
    preset="cognito",
    path="/us-west-2_example",
    keys="/us-west-2_example/.well-known/jwks.json",
    settings={"SVC_OIDC_CLIENTS": "xxxxxxxxxxxxexample", "SVC_OIDC_SCOPE": "tieout/mcp.read"},
    claims={
        "sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
        "aud": None,
        "cognito:groups": [GROUP],
        "version": 2,
        "client_id": "xxxxxxxxxxxxexample",
        "origin_jti": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
        "event_id": "64f513be-32db-42b0-b78e-b02127b4f463",
        "token_use": "access",
        "scope": "openid tieout/mcp.read",
        "auth_time": 1676312777,
        "username": "ada",
    },
    id_claims={
        "sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
        "cognito:groups": [GROUP],
        "cognito:username": "ada",
        "aud": RESOURCE,
        "client_id": "xxxxxxxxxxxxexample",
        "token_use": "id",
        "scope": "openid tieout/mcp.read",
        "at_hash": "preview_at_hash",
    },
    groups="cognito:groups",
)
KEYCLOAK = DocumentedProvider(
    preset="keycloak",
    path="/realms/tieout",
    keys="/realms/tieout/protocol/openid-connect/certs",
    settings={"SVC_OIDC_CLIENTS": "svc-cli"},
    header=JWT,
    claims={
        "sub": "36fa0f91-f94d-4a0c-afed-6b7d952e47da",
        "aud": [RESOURCE, "account"],
        "typ": "Bearer",
        "azp": "svc-cli",
        "acr": "1",
        "realm_access": {"roles": ["offline_access"]},
        "scope": "openid mcp:read",
        "groups": [GROUP],
    },
    id_claims={
        "sub": "36fa0f91-f94d-4a0c-afed-6b7d952e47da",
        "aud": RESOURCE,
        "typ": "ID",
        "azp": "svc-cli",
        "nonce": "n",
        "at_hash": "h",
        "groups": [GROUP],
    },
    client="azp",
)
ADFS = DocumentedProvider(
    preset="adfs",
    path="/adfs",
    keys="/adfs/discovery/keys",
    settings={"SVC_OIDC_CLIENTS": CLIENT},
    header=JWT | {"x5t": "one"},
    claims={
        "aud": RESOURCE,
        "apptype": "Public",
        "appid": CLIENT,
        "authmethod": "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport",
        "auth_time": "2026-01-05T20:30:17.507Z",
        "ver": "1.0",
        "scp": "openid mcp:read",
        "sub": "ada@contoso.com",
        "groups": [GROUP],
    },
    id_claims={"aud": RESOURCE, "nonce": "n", "sub": "x1", "upn": "ada@contoso.com", "unique_name": "CONTOSO\\ada"},
    token_issuer="http://{host}/adfs/services/trust",  # noqa: S106 - an address
    client="appid",
    scope="scp",
)
PING = DocumentedProvider(
    preset="ping",
    path="/abfba8f6-49eb-49f5-a5d9-80ad5c98f9f6/as",
    keys="/abfba8f6-49eb-49f5-a5d9-80ad5c98f9f6/as/jwks",
    settings={"SVC_OIDC_CLIENTS": "my-client"},
    claims={
        "sub": "5f2ea43a-1d40-4d0a-a2ae-0c7c4b6e9ca6",
        "client_id": "my-client",
        "aud": [RESOURCE],
        "scope": "openid mcp:read",
        "sid": "e0d1f9bb-2b2f-4a1e-a2ae-5a0f1d6a1f4e",
        "groups": [GROUP],
    },
    id_claims={"sub": "5f2ea43a", "aud": RESOURCE, "nonce": "n", "at_hash": "h", "acr": "Single_Factor"},
)
PROVIDERS = {
    "entra": ENTRA_V2,
    "entra-organizations": ENTRA_SHARED,
    "entra-v1": ENTRA_V1,
    "okta": OKTA,
    "auth0": AUTH0,
    "auth0-rfc9068": AUTH0_RFC9068,
    "cognito": COGNITO,
    "keycloak": KEYCLOAK,
    "adfs": ADFS,
    "ping": PING,
}
GOOGLE_ID_TOKEN: Json = {
    "azp": "1234987819200.apps.googleusercontent.com",
    "aud": "1234987819200.apps.googleusercontent.com",
    "sub": "10769150350006150715113082367",
    "at_hash": "HK6E_P6Dh8Y93mRNtsDB1Q",
    "hd": "example.com",
    "email": "jsmith@example.com",
    "email_verified": "true",
    "nonce": "0394852-3190485-2490358",
}
