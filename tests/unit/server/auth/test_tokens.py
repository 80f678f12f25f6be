"""Tokens of an identity provider: whose they are, and every reason why one opens nothing."""

import asyncio
import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.auth.bearer import AccessTokenVerifier
from server.auth.claims import TokenPolicy, claims_of
from server.auth.keys import KeyCache, OidcProvider, read_keys
from server.auth.tokens import InsufficientScope, InvalidToken, RefusalReason, VerificationUnavailable
from server.base.interfaces import Principal
from tests.support.service.issuers import DISCOVERY, RESOURCE, Issuer, Json, ec_key, issuing, rsa_key

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def expected(issuer: Issuer, types: str = "at+jwt", scopes: str = "mcp:read") -> TokenPolicy:
    """Return what our tokens are held against."""
    return TokenPolicy(
        issuers=frozenset([issuer.url]),
        login=issuer.url,
        audiences=frozenset([RESOURCE]),
        types=frozenset(types.split(",")),
        scopes=frozenset(scopes.split()),
    )


def bearer_of(issuer: Issuer, **more: str) -> AccessTokenVerifier:
    """Return what takes an issuer's tokens; the limits of the issuer's answers are tested elsewhere."""
    provider = OidcProvider(issuer.url, issuer.url + DISCOVERY, connect_seconds=30, whole_seconds=30)
    return AccessTokenVerifier(KeyCache(provider.keys), expected(issuer, **more))


def principal_of(token: str, issuer: Issuer, **more: str) -> Principal:
    """Return who a token is of."""
    return asyncio.run(bearer_of(issuer, **more).principal(token))


def refused(token: str, issuer: Issuer, **more: str) -> InvalidToken:
    """Return why a token is refused."""
    with pytest.raises(InvalidToken) as caught:
        principal_of(token, issuer, **more)
    assert ". " in str(caught.value), "it says what to do, too"
    return caught.value


@pytest.mark.parametrize("key", [rsa_key("one"), ec_key("two")], ids=lambda key: key.algorithm)
def test_a_token_says_whose_it_is(issuer: Issuer, key: Any) -> None:
    principal = principal_of(issuer.token(key), issuer)
    assert principal.subject == "ann"
    assert principal.claims["groups"] == ("finance",)
    assert principal.claims["scope"] == ("mcp:read",)
    assert not {"exp", "iat", "nbf", "jti"} & set(principal.claims)


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://other.example"}, RefusalReason.ISSUER),
        ({"iss": ["x"]}, RefusalReason.ISSUER),
        ({"iss": None}, RefusalReason.ISSUER),
        ({"aud": "https://other.example/mcp"}, RefusalReason.AUDIENCE),
        ({"aud": RESOURCE + "/"}, RefusalReason.AUDIENCE),
        ({"aud": RESOURCE.upper()}, RefusalReason.AUDIENCE),
        ({"aud": [RESOURCE[:-1], {}]}, RefusalReason.AUDIENCE),
        ({"aud": {RESOURCE: RESOURCE}}, RefusalReason.AUDIENCE),
        ({"aud": None}, RefusalReason.AUDIENCE),
        ({"exp": 1}, RefusalReason.EXPIRED),
        ({"exp": None}, RefusalReason.CLAIMS),
        ({"exp": "9999999999"}, RefusalReason.CLAIMS),
        ({"exp": True}, RefusalReason.CLAIMS),
        ({"exp": 1e300}, RefusalReason.CLAIMS),
        ({"exp": -1}, RefusalReason.CLAIMS),
        ({"exp": [9999999999]}, RefusalReason.CLAIMS),
        ({"iat": None}, RefusalReason.CLAIMS),
        ({"iat": 9999999999}, RefusalReason.EARLY),
        ({"iat": 9999999999, "nbf": 5}, RefusalReason.EARLY),
        ({"level": float("nan")}, RefusalReason.MALFORMED),
        ({"nbf": 9999999999}, RefusalReason.EARLY),
        ({"nbf": "soon"}, RefusalReason.CLAIMS),
        ({"sub": None}, RefusalReason.SUBJECT),
        ({"sub": ""}, RefusalReason.SUBJECT),
        ({"sub": 7}, RefusalReason.SUBJECT),
        ({"sub": ["ann"]}, RefusalReason.SUBJECT),
        ({"sub": "a" * 256}, RefusalReason.SUBJECT),
        ({"sub": "ann\n"}, RefusalReason.SUBJECT),
        ({"sub": "ann\u202e"}, RefusalReason.SUBJECT),
        ({"sub": "dev"}, RefusalReason.SUBJECT),
        ({"scope": None}, RefusalReason.SCOPE),
        ({"scope": "mcp:reader other"}, RefusalReason.SCOPE),
        ({"scope": 5}, RefusalReason.SCOPE),
        ({"scope": None, "scp": ["other", 5]}, RefusalReason.SCOPE),
        ({"groups": [str(number) for number in range(1001)]}, RefusalReason.CLAIMS),
        ({f"claim{number}": 1 for number in range(200)}, RefusalReason.CLAIMS),
        ({"a": {"b.c": 1}, "a.b": {"c": 2}}, RefusalReason.CLAIMS),
    ],
)
def test_a_token_that_says_something_else_is_refused(issuer: Issuer, claims: Json, reason: RefusalReason) -> None:
    why = refused(issuer.token(**claims), issuer)
    assert why.reason is reason
    assert isinstance(why, InsufficientScope) is (reason is RefusalReason.SCOPE)


def test_clocks_may_differ_by_half_a_minute(issuer: Issuer) -> None:
    now = int(time.time())
    assert principal_of(issuer.token(exp=now - 20, iat=now - 60), issuer).subject == "ann"
    assert principal_of(issuer.token(iat=now + 20, nbf=now + 20), issuer).subject == "ann"
    assert refused(issuer.token(exp=now - 40), issuer).reason is RefusalReason.EXPIRED
    assert refused(issuer.token(iat=now + 60), issuer).reason is RefusalReason.EARLY


def test_the_audience_may_be_one_of_several_and_the_scope_be_in_a_list(issuer: Issuer) -> None:
    claims: dict[str, Any] = {"aud": ["account", RESOURCE], "scope": None, "scp": ["openid", "mcp:read"]}
    assert principal_of(issuer.token(**claims), issuer).subject == "ann"
    assert principal_of(issuer.token(scope=None, scp="openid mcp:read"), issuer).subject == "ann"
    assert refused(issuer.token(), issuer, scopes="mcp:read reports").reason is RefusalReason.SCOPE


@pytest.mark.parametrize("written", ["at+jwt", "AT+JWT", "application/at+jwt", "Application/At+Jwt"])
def test_a_type_may_be_written_in_several_ways(issuer: Issuer, written: str) -> None:
    assert principal_of(issuer.token(header={"typ": written}), issuer).subject == "ann"


@pytest.mark.parametrize(
    "kind", [5, None, "", "JWT", "id_token+jwt", ["at+jwt"], {"at+jwt": 1}, "at+jwt\u0000", "dpop+jwt"]
)
def test_another_type_is_refused(issuer: Issuer, kind: Any) -> None:
    assert refused(issuer.token(header={"typ": kind}), issuer).reason is RefusalReason.TYPE


@pytest.mark.parametrize("inner", ["ID", "Refresh", "Logout", "Offline", "", 5, ["AccessTokenVerifier"], "bearer "])
def test_where_the_header_says_but_jwt_the_payload_tells_access_tokens_from_others(issuer: Issuer, inner: Any) -> None:
    header, types = {"typ": "JWT"}, "at+jwt,jwt"
    assert principal_of(issuer.token(header=header, typ="Bearer"), issuer, types=types).subject == "ann"
    assert principal_of(issuer.token(header=header), issuer, types=types).subject == "ann"
    assert refused(issuer.token(header=header, typ=inner), issuer, types=types).reason is RefusalReason.TYPE


def test_an_expired_token_is_told_to_be_refreshed(issuer: Issuer) -> None:
    assert str(refused(issuer.token(exp=5), issuer)) == "The token has expired. Refresh it, or log in again."


def test_no_refusal_says_anything_of_the_token(issuer: Issuer) -> None:
    values = {"iss": "marker", "aud": "marker", "sub": "marker\n", "scope": "marker", "exp": "marker"}
    for name, value in values.items():
        claim: dict[str, Any] = {name: value}
        assert "marker" not in str(refused(issuer.token(**claim), issuer))


def test_claims_have_the_names_and_texts_that_profiles_ask_for() -> None:
    payload = {
        "sub": "ann",
        "exp": 9,
        "groups": ["a", "b", 3, True, None, {"x": 1}, ["deep"]],
        "level": 7,
        "share": 0.5,
        "staff": False,
        "nothing": None,
        "empty": [],
        "realm_access": {"roles": ["r1", "r2"], "more": {"less": "l"}},
        "resource_access": {"svc": {"roles": ["nested"]}},
        "resource_access.svc": {"roles": ["exact"]},
        "realm_access.more.less": "exact",
    }
    assert claims_of(payload) == {
        "sub": ("ann",),
        "groups": ("a", "b", "3", "true"),
        "level": ("7",),
        "share": ("0.5",),
        "staff": ("false",),
        "nothing": (),
        "empty": (),
        "realm_access.roles": ("r1", "r2"),
        "realm_access.more.less": ("exact",),
        "resource_access.svc.roles": ("exact",),
    }


@given(
    payload=st.dictionaries(st.text(max_size=6), JSON, max_size=6), header=st.dictionaries(st.text(max_size=4), JSON)
)
def test_whatever_a_signed_token_holds_it_is_taken_or_refused(issuer: Issuer, payload: Json, header: Json) -> None:
    bearer = bearer_of(issuer)
    for claims, members in ((payload, {}), (issuer.claims() | payload, {}), (issuer.claims(), header)):
        with suppress(InvalidToken):
            asyncio.run(bearer.principal(issuer.signed(json.dumps(claims).encode(), header=members)))


@given(JSON)
def test_whatever_a_key_set_holds_is_a_key_or_ignored(entry: object) -> None:
    usable = rsa_key("one").published()
    assert read_keys({"keys": [entry, usable]}).keys() == {("one", "RS256")}
    assert read_keys({"keys": entry}) == {}
    for name in usable:
        read_keys({"keys": [usable | {name: entry}]})


@pytest.mark.parametrize(
    "entry",
    [
        rsa_key("weak", 1024).published(),
        rsa_key("one").published(use="enc"),
        rsa_key("one").published(alg="RS512"),
        rsa_key("one").published(alg="HS256"),
        rsa_key("one").published(kid=""),
        rsa_key("one").published(kid="k" * 257),
        rsa_key("one").published(kid=5),
        rsa_key("one").published(d="AQAB"),
        rsa_key("one").published(k="c2VjcmV0"),
        rsa_key("one").published(key_ops=["encrypt"]),
        rsa_key("one").published(e="Ag"),
        rsa_key("one").published(n=5),
        ec_key("two").published(crv="P-384"),
        ec_key("two").published(crv="secp256k1"),
        ec_key("two").published(x="AA"),
        ec_key("two").published(d="AA"),
        ec_key("two").published(alg="RS256"),
        {"kty": "oct", "kid": "one", "k": "c2VjcmV0", "alg": "HS256"},
        {"kty": "OKP", "crv": "Ed25519", "kid": "one", "x": "AA"},
        "one",
    ],
)
def test_a_key_that_is_none_of_ours_is_ignored(entry: Any) -> None:
    assert read_keys({"keys": [entry]}) == {}


def test_of_two_keys_of_a_name_neither_is_taken() -> None:
    one, other = rsa_key("one").published(), rsa_key("another").published(kid="one")
    assert read_keys({"keys": [one, other]}) == {}
    assert read_keys({"keys": [one, one]}).keys() == {("one", "RS256")}
    assert read_keys({"keys": [one, ec_key("one").published()]}).keys() == {("one", "RS256"), ("one", "ES256")}


def test_a_provider_without_a_key_that_we_take_verifies_nothing() -> None:
    with issuing() as other:
        other.keys[:] = [rsa_key("weak", 1024).published()]
        with pytest.raises(VerificationUnavailable):
            principal_of(other.token(rsa_key("weak", 1024)), other)
