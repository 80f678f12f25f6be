"""Presets of identity providers: what the access tokens of each look like, and which settings it needs."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

SHARED = ("common", "organizations")  # endpoints of Entra ID that log in people of every tenant
ENTRA_ISSUER = re.compile(r"(https?://[^/]+)/([^/]+)/v2\.0")
GROUPS = "groups"  # the claim that profiles read
Issuers = tuple[str, ...]


class BadProvider(ValueError):
    """Settings do not fit a provider; the message names the setting and what it takes."""


class Preset(Struct, frozen=True, kw_only=True):
    """What is known of a provider. A preset names what a token has to be; it lifts no check."""

    types: str = "at+jwt"
    marks: tuple[tuple[str, str], ...] = ()  # claims of every access token of it, which its other tokens lack
    groups: str = GROUPS
    token_issuers: Callable[[str, Sequence[str]], Issuers] = lambda issuer, _: (issuer,)
    metadata_issuer: Callable[[str], str] = str
    needs_audiences: str = ""  # what its tokens name as their audience, where that is never the address of the server
    has_tenants: bool = False
    client_for_audience: bool = False  # its tokens may lack an audience; the client stands for it
    unusable: str = ""  # why its tokens cannot be verified


def entra_tenants(issuer: str, tenants: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the origin and the tenants of an issuer of Entra ID; BadProvider if it has none."""
    named = ENTRA_ISSUER.fullmatch(issuer)
    if named is None:
        raise BadProvider(
            f"SVC_OIDC_ISSUER is '{issuer}'; with Entra ID it takes https://login.microsoftonline.com/TENANT/v2.0"
        )
    if named[2] not in SHARED:
        if tenants:
            raise BadProvider(
                "SVC_OIDC_TENANTS is set, and SVC_OIDC_ISSUER names one tenant; take one of them out, or name "
                "https://login.microsoftonline.com/organizations/v2.0 as the issuer"
            )
        return named[1], (named[2],)
    if not tenants:
        raise BadProvider(
            f"SVC_OIDC_TENANTS is missing; SVC_OIDC_ISSUER logs in people of every tenant ({named[2]}), and this "
            "setting takes the ids of those that may"
        )
    return named[1], tenants


def entra_issuers(issuer: str, tenants: Sequence[str]) -> Issuers:
    """Return the issuers of tokens of version 2."""
    origin, named = entra_tenants(issuer, tenants)
    return tuple(f"{origin}/{tenant}/v2.0" for tenant in named)


def entra_v1_issuers(issuer: str, tenants: Sequence[str]) -> Issuers:
    """Return the issuers of tokens of version 1, which people get at the same address."""
    return tuple(f"https://sts.windows.net/{tenant}/" for tenant in entra_tenants(issuer, tenants)[1])


def entra_metadata(issuer: str) -> str:
    """Return the issuer that the metadata name: for an endpoint of every tenant, the pattern of all of them."""
    named = ENTRA_ISSUER.fullmatch(issuer)
    return f"{named[1]}/{{tenantid}}/v2.0" if named and named[2] in SHARED else issuer


def adfs_issuers(issuer: str, _: Sequence[str]) -> Issuers:
    """Return the issuer of access tokens of AD FS: the identifier of its federation service."""
    host = issuer.partition("://")[2].rstrip("/")
    return (f"http://{host}/services/trust",)


PRESETS: Final[Mapping[str, Preset]] = {
    "entra": Preset(
        types="jwt",
        marks=(("ver", "2.0"),),
        token_issuers=entra_issuers,
        metadata_issuer=entra_metadata,
        has_tenants=True,
        needs_audiences="the client id of the application that exposes the API",
    ),
    "entra-v1": Preset(
        types="jwt",
        marks=(("ver", "1.0"),),
        token_issuers=entra_v1_issuers,
        metadata_issuer=entra_metadata,
        has_tenants=True,
    ),
    "okta": Preset(types="none"),
    "auth0": Preset(types="at+jwt,jwt"),
    "cognito": Preset(
        types="none", marks=(("token_use", "access"),), groups="cognito:groups", client_for_audience=True
    ),
    "google": Preset(
        unusable="the access tokens of Google are opaque, and an ID token is not one; let Keycloak or another provider "
        "log people in with Google, and name that one"
    ),
    "keycloak": Preset(types="at+jwt,jwt", marks=(("typ", "Bearer"),)),
    "adfs": Preset(types="jwt", token_issuers=adfs_issuers),
    "ping": Preset(types="at+jwt,none"),
}
OTHER: Final = Preset()  # a provider without a preset


def preset_of(name: str | None) -> Preset:
    """Return the preset of a name; BadProvider if there is none of it, or if its tokens cannot be verified."""
    if name is None:
        return OTHER
    if name not in PRESETS:
        raise BadProvider(f"SVC_OIDC_PROVIDER is '{name}'; it takes {', '.join(PRESETS)}, or nothing for any other")
    if unusable := PRESETS[name].unusable:
        raise BadProvider(f"SVC_OIDC_PROVIDER is '{name}'; {unusable}")
    return PRESETS[name]


class ProviderLists(Struct, frozen=True):
    """The lists of settings, as they are written; the name of a field is the end of its variable."""

    tenants: str
    audiences: str
    clients: str
    types: str


def check_provider(preset: Preset, issuer: str, lists: ProviderLists, token_issuer: str | None) -> None:
    """Raise BadProvider if settings do not fit a provider, or lack what it needs."""
    for name, text in asdict(lists).items():
        if text and not listed(text):
            raise BadProvider(f"SVC_OIDC_{name.upper()} is '{text}'; it takes entries, separated by commas")
    if lists.tenants and (token_issuer or not preset.has_tenants):
        raise BadProvider(
            "SVC_OIDC_TENANTS is set; it takes tenants of Entra ID, with SVC_OIDC_PROVIDER=entra or entra-v1 and "
            "without SVC_OIDC_TOKEN_ISSUER"
        )
    if not token_issuer:
        preset.token_issuers(issuer, listed(lists.tenants))
    if preset.needs_audiences and not lists.audiences:
        raise BadProvider(f"SVC_OIDC_AUDIENCES is missing; tokens of this provider are for {preset.needs_audiences}")
    if preset.client_for_audience and not lists.clients:
        raise BadProvider(
            "SVC_OIDC_CLIENTS is missing; tokens of this provider name no audience, so this setting takes the ids of "
            "the clients whose tokens are accepted"
        )


def listed(text: str) -> tuple[str, ...]:
    """Return the entries of a list that is separated by commas."""
    return tuple(each for part in text.split(",") if (each := part.strip()))


def scope_words(text: str) -> tuple[str, ...]:
    """Return the scopes of a text. Spaces alone separate them (RFC 6749, 3.3); any other space is part of one."""
    return tuple(each for each in text.split(" ") if each)
