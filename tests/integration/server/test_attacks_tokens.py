"""Attacks by token and header: each is a clean refusal, the server goes on, and nothing of it is in the log."""

import hmac
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.service.issuers import KEYS, RESOURCE, Issuer, IssuerKey, Json, ec_key, issuing, rsa_key, segment
from tests.support.service.raw_http import Raw
from tests.support.service.servers import Server, wait_for
from tests.support.service.users import HOST, PROFILES, RawRequest, call, result, serving_many, write_books

ONE, TWO, ATTACKER = rsa_key("one"), ec_key("two"), rsa_key("attacker")
MARKER = "m4rk3r-of-a-claim"
PEM = ONE.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
addresses = (f"203.0.{number // 250}.{number % 250 + 1}" for number in itertools.count())
sent: list[str] = []  # every token that was refused


@pytest.fixture(scope="module")
def many(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of many users, whose log has nothing of what was sent when all is over."""
    with serving_many(write_books(tmp_path_factory.mktemp("attacked")), issuer.url) as server:
        yield server
        log = server.log.read_text()
        assert sent
        assert not [part for token in sent for part in token.split(".") if len(part) > 8 and part in log]
        assert MARKER not in log
        assert "Traceback" not in log


@pytest.fixture(autouse=True)
def goes_on(many: Server, issuer: Issuer) -> Iterator[None]:
    """After each attack others are served."""
    yield
    assert result(RawRequest(many.url).post(issuer.token()))["scenarios"]


def refused(many: Server, token: str) -> str:
    """Send a token that must open nothing; return the words of the refusal."""
    sent.append(token)
    answer = RawRequest(many.url).post(token, **{"X-Forwarded-For": next(addresses)})
    assert answer.status_code == 401, answer.text
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]
    return str(answer.json()["error"])


def hmac_token(issuer: Issuer, secret: bytes, kid: str = "one", **header: str) -> str:
    """Return a token signed with HS256, as an attacker does it by hand."""
    first = segment({"alg": "HS256", "typ": "at+jwt", "kid": kid, **header})
    message = f"{first}.{segment(issuer.claims(note=MARKER))}"
    return f"{message}.{segment(hmac.digest(secret, message.encode(), 'sha256'))}"


@pytest.mark.parametrize("spelling", ["".join(each) for each in itertools.product("nN", "oO", "nN", "eE")])
def test_no_signature(many: Server, issuer: Issuer, spelling: str) -> None:
    unsigned = f"{segment({'alg': spelling, 'typ': 'at+jwt', 'kid': 'one'})}.{segment(issuer.claims())}"
    for token in (f"{unsigned}.", unsigned, f"{unsigned}.AA", f"{unsigned}.{issuer.token().rpartition('.')[2]}"):
        refused(many, token)


@pytest.mark.parametrize(
    "algorithm", ["", "rs256", "RS256 ", "RS384", "PS256", "ES384", "ES256K", "EdDSA", "HS512", "dir"]
)
def test_another_algorithm(many: Server, issuer: Issuer, algorithm: str) -> None:
    assert "not signed with RS256 or ES256" in refused(many, issuer.token(header={"alg": algorithm}))


@pytest.mark.parametrize("algorithm", [None, 5, ["RS256"], {"RS256": 1}, True])
def test_an_algorithm_that_is_no_text(many: Server, issuer: Issuer, algorithm: object) -> None:
    assert "not signed with RS256 or ES256" in refused(many, issuer.token(header={"alg": algorithm}))


def test_the_public_key_as_a_shared_secret(many: Server, issuer: Issuer) -> None:
    entry = issuer.keys[0]
    forms = (PEM, PEM.strip(), json.dumps(entry).encode(), str(entry["n"]).encode(), b"")
    for secret, name in itertools.product(forms, ("one", "two")):
        refused(many, hmac_token(issuer, secret, name))
        token = hmac_token(issuer, secret, name)
        refused(many, f"{segment({'alg': 'RS256', 'typ': 'at+jwt', 'kid': name})}.{token.partition('.')[2]}")


def test_the_key_of_another_kind(many: Server, issuer: Issuer) -> None:
    for key, header in (
        (TWO, {"alg": "RS256"}),
        (TWO, {"alg": "RS256", "kid": "one"}),
        (ONE, {"alg": "ES256"}),
        (ONE, {"alg": "ES256", "kid": "two"}),
        (ONE, {"kid": "two"}),
        (TWO, {"kid": "one"}),
        (ATTACKER, {"kid": "one"}),
    ):
        refused(many, issuer.token(key, header))


@pytest.mark.parametrize(
    "kid",
    [
        "../../../../dev/null",
        "file:///etc/passwd",
        "http://attacker.example/keys",
        "' OR 1=1 --",
        "one\u0000",
        "one ",
        "ONE",
        "*",
        "",
        "k" * 300,
        None,
        5,
        ["one"],
        {"one": "one"},
        True,
        "\u0430ne",
    ],
)
def test_tricks_with_the_name_of_the_key(many: Server, issuer: Issuer, kid: object) -> None:
    said = refused(many, issuer.token(ATTACKER, {"kid": kid}))
    assert "publishes no such key" in said or "does not name its key" in said
    refused(many, issuer.token(header={"kid": kid}))


def test_a_thousand_unknown_keys_fetch_nothing_to_speak_of(many: Server, issuer: Issuer) -> None:
    asking, asked, begun = RawRequest(many.url), len(issuer.asked), time.monotonic()
    for number in range(1000):
        headers = {"X-Forwarded-For": f"198.51.100.{number % 250 + 1}"}
        answer = asking.post(issuer.token(ATTACKER, {"kid": f"unknown{number}"}), **headers)
        assert answer.status_code in (401, 429)
    looks = 1 + (time.monotonic() - begun) / 5
    assert len(issuer.asked) - asked <= 2 * looks + 2, "metadata and keys, at most once in 5 s"


def test_keys_that_the_token_brings_along(many: Server, issuer: Issuer) -> None:
    with issuing() as elsewhere:
        elsewhere.keys[:] = [ATTACKER.published(), ATTACKER.published(kid="one")]
        for header in (
            {"jku": elsewhere.url + KEYS},
            {"x5u": elsewhere.url + KEYS},
            {"jwk": ATTACKER.published()},
            {"x5c": [PEM.decode()]},
            {"kid": "one", "jwk": ATTACKER.published(kid="one")},
            {"kid": "one", "jku": elsewhere.url + KEYS},
        ):
            refused(many, issuer.token(ATTACKER, header))
        assert elsewhere.asked == []


@pytest.mark.parametrize("critical", [[], ["exp"], ["b64"], "exp", False, ["b64", "exp"]])
def test_critical_extensions(many: Server, issuer: Issuer, critical: object) -> None:
    header: Json = {"b64": False} if critical == ["b64"] else {}
    assert "RS256 or ES256 alone" in refused(many, issuer.token(header={"crit": critical, **header}))


def test_what_was_signed_is_changed(many: Server, issuer: Issuer) -> None:
    header, payload, signature = issuer.token().split(".")
    more = segment(issuer.claims(groups=["finance", MARKER], sub="admin"))
    for token in (
        f"{header}.{more}.{signature}",
        f"{header}.{payload}.{signature[:-4]}AAAA",
        f"{header}.{payload}.{signature[:100]}",
        f"{header}.{payload}.{signature}AA",
        f"{header}.{payload}.{segment(bytes(256))}",
        f"{header}.{payload}.{signature}.",
        f"{header}.{payload}.{signature}.{signature}",
        f"{header}.{payload}.{signature}=",
        f"{header}..{signature}",
        f".{payload}.{signature}",
        f"{header}.{payload}",
        f"{header}.{payload}.",
        f"{header} .{payload}.{signature}",
        f"{header}.{payload}.{signature},{header}.{payload}.{signature}",
        f"{header}.{payload}+.{signature}",
        "..",
        "...",
        ".",
    ):
        refused(many, token)
    first, second, third = issuer.token(TWO).split(".")
    refused(many, f"{first}.{second}.{segment(bytes(64))}")
    refused(many, f"{first}.{second}.{third[:-2]}")


def test_encrypted_and_nested_tokens(many: Server, issuer: Issuer) -> None:
    refused(many, f"{segment({'alg': 'RSA-OAEP', 'enc': 'A256GCM', 'kid': 'one'})}.AAAA.AAAA.AAAA.AAAA")
    inner = issuer.token()
    refused(many, issuer.signed(inner.encode(), header={"cty": "JWT"}))
    refused(many, issuer.signed(json.dumps(inner).encode()))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"null",
        b"[]",
        b"5",
        b"{",
        b"\xff{}",
        b"[" * 9000,
        b'{"a":' * 2000 + b"1" + b"}" * 2000,
        b'{"exp":' + b"9" * 5000 + b"}",
        b'{"exp":NaN}',
        b'{"sub":"ann","level":Infinity}',
        b"\xef\xbb\xbf{}",
    ],
    ids=lambda payload: str(payload[:12]),
)
def test_a_signed_payload_that_is_no_set_of_claims(many: Server, issuer: Issuer, payload: bytes) -> None:
    refused(many, issuer.signed(payload))


@pytest.mark.parametrize("name", ["sub", "aud", "iss", "exp", "scope", "groups"])
def test_a_claim_that_stands_twice(many: Server, issuer: Issuer, name: str) -> None:
    claims = issuer.claims()
    whole = json.dumps(claims)
    for first, then in (("other", claims[name]), (claims[name], "other")):
        twice = f"{{{json.dumps(name)}: {json.dumps(first)}, {whole[1:-1]}, {json.dumps(name)}: {json.dumps(then)}}}"
        refused(many, issuer.signed(twice.encode()))


def test_a_header_member_that_stands_twice(many: Server, issuer: Issuer) -> None:
    header = '{"alg":"none","alg":"RS256","typ":"at+jwt","kid":"one"}'
    refused(many, f"{segment(header.encode())}.{issuer.token().partition('.')[2]}")


def test_half_a_character_in_a_claim(many: Server, issuer: Issuer) -> None:
    for name in ("sub", "groups", MARKER):
        claim: dict[str, Any] = {name: "\ud800"}
        refused(many, issuer.token(**claim))


def test_tokens_of_others_for_others_and_of_other_kinds(many: Server, issuer: Issuer) -> None:
    for claims in (
        {"aud": RESOURCE.removesuffix("/mcp")},
        {"aud": RESOURCE + "/"},
        {"aud": RESOURCE.replace("https", "http")},
        {"aud": RESOURCE.replace("reports", "REPORTS")},
        {"iss": issuer.url + "/"},
        {"iss": issuer.url.upper()},
        {"iss": issuer.url.replace("127.0.0.1", "localhost")},
        {"nbf": 9_999_999_999},
        {"iat": 9_999_999_999},
        {"exp": None},
        {"exp": 10},
        {"sub": "dev"},
        {"sub": f"{MARKER}\r\nforged: line"},
    ):
        refused(many, issuer.token(**claims))
    refused(many, issuer.token(header={"typ": "JWT"}))
    refused(many, issuer.token(header={"typ": "id_token"}, aud=[RESOURCE, "client"], nonce=MARKER))


def test_a_token_that_is_too_long(many: Server, issuer: Issuer) -> None:
    token = issuer.token(note=MARKER * 1000)
    assert "longer than 16384 bytes" in refused(many, token)
    sent.append(token)
    huge = Raw(many.url).send(f"POST /mcp HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {'a' * 200_000}\r\n\r\n")
    assert huge.status in (400, 401, 431)


def test_a_library_agrees_on_what_opens(issuer: Issuer) -> None:
    """The tokens that these attacks start from are good ones: otherwise they would show nothing."""
    for key in (ONE, TWO):
        public = key.private.public_key()
        claims = jwt.decode(issuer.token(key), public, [key.algorithm], audience=RESOURCE, issuer=issuer.url)
        assert claims["sub"] == "ann"


def head(token: str, *more: str, target: str = "/mcp") -> str:
    """Return the beginning of a request with a token, as bytes have it."""
    lines = (f"POST {target} HTTP/1.1", f"Host: {HOST}", f"Authorization: Bearer {token}")
    kinds = ("Content-Type: application/json", "Accept: application/json, text/event-stream", "Connection: close")
    return "\r\n".join((*lines, *kinds, *more)) + "\r\n"


def test_two_headers_are_no_token(many: Server, issuer: Issuer) -> None:
    body = call("list_scenarios")
    length, token = f"Content-Length: {len(body)}", issuer.token()
    for second in (
        f"Authorization: Bearer {token}",
        "Authorization: Bearer x",
        "authorization: Basic eDp5",
        "AUTHORIZATION:",
    ):
        answer = Raw(many.url).send(head(token, length, second) + "\r\n" + body)
        assert (answer.status, b'error="invalid_request"' in answer.content) == (400, True)
    for joined in (f"{token}, Bearer {token}", f"{token},{token}", f"{token} {token}", f"{token}\tx"):
        assert Raw(many.url).send(head(joined, length) + "\r\n" + body).status == 401
    folded = head(token, length).replace(f"Bearer {token}", f"Bearer x\r\n {token}")
    assert Raw(many.url).send(folded + "\r\n" + body).status in (400, 401)
    spaced = head(token, length).replace("Authorization:", "Authorization :")
    assert Raw(many.url).send(spaced + "\r\n" + body).status in (400, 401)
    underscored = head(token, length).replace("Authorization:", "Authorization_:")
    assert Raw(many.url).send(underscored + "\r\n" + body).status in (400, 401)


def test_two_lengths_are_no_request(many: Server, issuer: Issuer) -> None:
    body, token = call("list_scenarios"), issuer.token()
    hidden = f"POST /mcp HTTP/1.1\r\nHost: {HOST}\r\nX-Smuggled: 1\r\n\r\n"
    for more in (
        (f"Content-Length: {len(body)}", "Transfer-Encoding: chunked"),
        (f"Content-Length: {len(body)}", "Content-Length: 0"),
        (f"Content-Length: {len(body)}, 0",),
        ("Content-Length: -1",),
        ("Content-Length: +5",),
        ("Content-Length: 1e3",),
        (f"Content-Length: {'9' * 40}",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
    ):
        answer = Raw(many.url).send(head(token, *more) + "\r\n" + body + hidden)
        assert 400 <= answer.status < 500 or answer.status == 501, (more, answer.content[:200])
        assert answer.content.count(b"HTTP/1.1 ") == 1, "nothing of the body became a request"


@pytest.mark.parametrize(
    ("target", "statuses"),
    [
        (f"https://{HOST}/mcp", {200, 404}),
        ("https://evil.example/mcp", {404, 421, 200}),
        ("/mcp/../mcp", {404}),
        ("//evil.example/mcp", {404}),
        ("/mcp%2f", {404, 307}),
        ("/MCP", {404}),
        ("*", {404}),
    ],
)
def test_other_ways_to_name_the_endpoint(many: Server, issuer: Issuer, target: str, statuses: set[int]) -> None:
    body = call("list_scenarios")
    request = head(issuer.token(), f"Content-Length: {len(body)}", target=target) + "\r\n" + body
    assert Raw(many.url).send(request).status in statuses
    wrong = request.replace(f"Host: {HOST}", "Host: evil.example")
    assert Raw(many.url).send(wrong).status in {404, 421, 307}, "the Host header decides, whatever the target says"


def test_a_wrong_host_twice_or_none(many: Server, issuer: Issuer) -> None:
    body = call("list_scenarios")
    request = head(issuer.token(), f"Content-Length: {len(body)}") + "\r\n" + body
    for hosts in (
        "",
        "Host: evil.example",
        f"Host: {HOST}\r\nHost: evil.example",
        f"Host: {HOST}, evil.example",
        "Host: ",
    ):
        answer = Raw(many.url).send(request.replace(f"Host: {HOST}\r\n", f"{hosts}\r\n" if hosts else ""))
        assert answer.status in (400, 421), hosts


def test_a_revoked_key_opens_nothing(issuer: Issuer, many: Server) -> None:
    kept = issuer.keys[:]
    extra: IssuerKey = rsa_key("short-lived")
    asking, token = RawRequest(many.url), issuer.token(extra)
    other = issuer.token(rsa_key("successor"))

    def opens(token: str) -> bool:
        return asking.post(token, **{"X-Forwarded-For": next(addresses)}).status_code == 200

    try:
        issuer.keys[:] = [*kept, extra.published()]
        wait_for(lambda: opens(token))
        issuer.keys[:] = [*kept, rsa_key("successor").published()]
        wait_for(lambda: opens(other))  # for its sake the keys are read anew
        assert not opens(token)
    finally:
        issuer.keys[:] = kept


def test_a_withdrawn_profile_opens_nothing_to_a_token_that_is_still_good(issuer: Issuer, tmp_path: Path) -> None:
    books = write_books(tmp_path)
    with serving_many(books, issuer.url) as server:
        asking, token = RawRequest(server.url), issuer.token()
        assert result(asking.post(token))["scenarios"]
        (books[0] / "profiles.yaml").write_text(PROFILES.replace("groups: finance", "groups: nobody"))
        wait_for(lambda: result(asking.post(token))["scenarios"] == [], 10)


def test_the_limit_of_guesses_is_no_way_to_shut_others_out(many: Server, issuer: Issuer) -> None:
    asking, shared = RawRequest(many.url), {"X-Forwarded-For": "203.0.113.200"}
    for _ in range(60):
        asking.post("x.y.z", **shared)
    assert asking.post("x.y.z", **shared).status_code == 429
    for _ in range(20):
        assert result(asking.post(issuer.token(), **shared))["scenarios"]
    assert asking.post(**shared).status_code == 401, "the challenge that a login begins with"


def test_addresses_are_taken_from_the_proxy_alone(many: Server) -> None:
    path = urlsplit(many.url)._replace(path="/health").geturl()
    answer = httpx2.get(path, headers={"X-Forwarded-For": "not an address, " + "1" * 5000})
    assert answer.status_code == 200
    for forged in ("not an address", "1" * 4000, "::1%eth0", "[::1", "", ", ,"):
        assert RawRequest(many.url).post("x.y.z", **{"X-Forwarded-For": forged}).status_code in (401, 429)
