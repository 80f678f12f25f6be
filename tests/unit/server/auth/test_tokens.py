"""Tokens of an identity provider: whose they are, and every reason why one opens nothing."""

import asyncio
import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.auth.authority import CannotVerify, Reason, ScopeMissing, TokenRefused
from server.auth.bearer import Bearer
from server.auth.checks import Expected, claims_of
from server.auth.keys import KeyCache, Provider, read_keys
from server.base.interfaces import Principal
from tests.support.issuing import DISCOVERY, RESOURCE, Issuer, Json, ec_key, issuing, rsa_key

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def expected(issuer: Issuer, types: str = "at+jwt", scopes: str = "mcp:read") -> Expected:
    """Return what our tokens are held against."""
    return Expected(
        issuer=issuer.url, audience=RESOURCE, types=frozenset(types.split(",")), scopes=frozenset(scopes.split())
    )


def bearer_of(issuer: Issuer, **more: str) -> Bearer:
    """Return what takes an issuer's tokens."""
    return Bearer(KeyCache(Provider(issuer.url, issuer.url + DISCOVERY).keys), expected(issuer, **more))


def principal_of(token: str, issuer: Issuer, **more: str) -> Principal:
    """Return who a token is of."""
    return asyncio.run(bearer_of(issuer, **more).principal(token))


def refused(token: str, issuer: Issuer, **more: str) -> TokenRefused:
    """Return why a token is refused."""
    with pytest.raises(TokenRefused) as caught:
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
        ({"iss": "https://other.example"}, Reason.ISSUER),
        ({"iss": ["x"]}, Reason.ISSUER),
        ({"iss": None}, Reason.ISSUER),
        ({"aud": "https://other.example/mcp"}, Reason.AUDIENCE),
        ({"aud": RESOURCE + "/"}, Reason.AUDIENCE),
        ({"aud": RESOURCE.upper()}, Reason.AUDIENCE),
        ({"aud": [RESOURCE[:-1], {}]}, Reason.AUDIENCE),
        ({"aud": {RESOURCE: RESOURCE}}, Reason.AUDIENCE),
        ({"aud": None}, Reason.AUDIENCE),
        ({"exp": 1}, Reason.EXPIRED),
        ({"exp": None}, Reason.CLAIMS),
        ({"exp": "9999999999"}, Reason.CLAIMS),
        ({"exp": True}, Reason.CLAIMS),
        ({"exp": 1e300}, Reason.CLAIMS),
        ({"exp": -1}, Reason.CLAIMS),
        ({"exp": [9999999999]}, Reason.CLAIMS),
        ({"iat": None}, Reason.CLAIMS),
        ({"iat": 9999999999}, Reason.EARLY),
        ({"iat": 9999999999, "nbf": 5}, Reason.EARLY),
        ({"level": float("nan")}, Reason.MALFORMED),
        ({"nbf": 9999999999}, Reason.EARLY),
        ({"nbf": "soon"}, Reason.CLAIMS),
        ({"sub": None}, Reason.SUBJECT),
        ({"sub": ""}, Reason.SUBJECT),
        ({"sub": 7}, Reason.SUBJECT),
        ({"sub": ["ann"]}, Reason.SUBJECT),
        ({"sub": "a" * 256}, Reason.SUBJECT),
        ({"sub": "ann\n"}, Reason.SUBJECT),
        ({"sub": "ann\u202e"}, Reason.SUBJECT),
        ({"sub": "dev"}, Reason.SUBJECT),
        ({"scope": None}, Reason.SCOPE),
        ({"scope": "mcp:reader other"}, Reason.SCOPE),
        ({"scope": 5}, Reason.SCOPE),
        ({"scope": None, "scp": ["other", 5]}, Reason.SCOPE),
        ({"groups": [str(number) for number in range(1001)]}, Reason.CLAIMS),
        ({f"claim{number}": 1 for number in range(200)}, Reason.CLAIMS),
        ({"a": {"b.c": 1}, "a.b": {"c": 2}}, Reason.CLAIMS),
    ],
)
def test_a_token_that_says_something_else_is_refused(issuer: Issuer, claims: Json, reason: Reason) -> None:
    why = refused(issuer.token(**claims), issuer)
    assert why.reason is reason
    assert isinstance(why, ScopeMissing) is (reason is Reason.SCOPE)


def test_clocks_may_differ_by_half_a_minute(issuer: Issuer) -> None:
    now = int(time.time())
    assert principal_of(issuer.token(exp=now - 20, iat=now - 60), issuer).subject == "ann"
    assert principal_of(issuer.token(iat=now + 20, nbf=now + 20), issuer).subject == "ann"
    assert refused(issuer.token(exp=now - 40), issuer).reason is Reason.EXPIRED
    assert refused(issuer.token(iat=now + 60), issuer).reason is Reason.EARLY


def test_the_audience_may_be_one_of_several_and_the_scope_be_in_a_list(issuer: Issuer) -> None:
    claims = {"aud": ["account", RESOURCE], "scope": None, "scp": ["openid", "mcp:read"]}
    assert principal_of(issuer.token(**claims), issuer).subject == "ann"
    assert principal_of(issuer.token(scope=None, scp="openid mcp:read"), issuer).subject == "ann"
    assert refused(issuer.token(), issuer, scopes="mcp:read reports").reason is Reason.SCOPE


@pytest.mark.parametrize("written", ["at+jwt", "AT+JWT", "application/at+jwt", "Application/At+Jwt"])
def test_a_type_may_be_written_in_several_ways(issuer: Issuer, written: str) -> None:
    assert principal_of(issuer.token(header={"typ": written}), issuer).subject == "ann"


@pytest.mark.parametrize(
    "kind", [5, None, "", "JWT", "id_token+jwt", ["at+jwt"], {"at+jwt": 1}, "at+jwt\u0000", "dpop+jwt"]
)
def test_another_type_is_refused(issuer: Issuer, kind: Any) -> None:
    assert refused(issuer.token(header={"typ": kind}), issuer).reason is Reason.TYPE


@pytest.mark.parametrize("inner", ["ID", "Refresh", "Logout", "Offline", "", 5, ["Bearer"], "bearer "])
def test_where_the_header_says_but_jwt_the_payload_tells_access_tokens_from_others(issuer: Issuer, inner: Any) -> None:
    header, types = {"typ": "JWT"}, "at+jwt,jwt"
    assert principal_of(issuer.token(header=header, typ="Bearer"), issuer, types=types).subject == "ann"
    assert principal_of(issuer.token(header=header), issuer, types=types).subject == "ann"
    assert refused(issuer.token(header=header, typ=inner), issuer, types=types).reason is Reason.TYPE


def test_an_expired_token_is_told_to_be_refreshed(issuer: Issuer) -> None:
    assert str(refused(issuer.token(exp=5), issuer)) == "The token has expired. Refresh it, or log in again."


def test_no_refusal_says_anything_of_the_token(issuer: Issuer) -> None:
    for claims in ({"iss": "marker"}, {"aud": "marker"}, {"sub": "marker\n"}, {"scope": "marker"}, {"exp": "marker"}):
        assert "marker" not in str(refused(issuer.token(**claims), issuer))


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
        with suppress(TokenRefused):
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
        with pytest.raises(CannotVerify):
            principal_of(other.token(rsa_key("weak", 1024)), other)
