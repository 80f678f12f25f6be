"""What a client without a token that opens anything is told over HTTP, and where it learns to get one."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from secrets import token_urlsafe
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.support.service.issuers import RESOURCE, Issuer, issuing
from tests.support.service.operations import events, metric
from tests.support.service.servers import DEADLINE, ERAS, KEY, Server, connected, wait_for
from tests.support.service.users import ACCEPTED, HOST, ORIGIN, RawRequest, result, serving_many, write_books

METADATA = f"{ORIGIN}/.well-known/oauth-protected-resource/mcp"
PARAMETER = re.compile(r'(\w+)="([^"\\]*)"')


@pytest.fixture(scope="module")
def many(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of many users behind a proxy on this machine."""
    with serving_many(write_books(tmp_path_factory.mktemp("many")), issuer.url) as server:
        yield server


@pytest.fixture
def asking(many: Server) -> RawRequest:
    """Requests to it."""
    return RawRequest(many.url)


def from_address(number: int) -> dict[str, str]:
    """Return the header by which the proxy says where a request comes from."""
    return {"X-Forwarded-For": f"192.0.2.{number}"}


def challenge(answer: httpx2.Response) -> dict[str, str]:
    """Return the parameters of an answer's challenge."""
    header = answer.headers["WWW-Authenticate"]
    assert re.fullmatch(r'Bearer \w+="[^"\\]*"(, \w+="[^"\\]*")*', header)
    return dict(PARAMETER.findall(header))


@pytest.mark.parametrize("era", ERAS)
def test_a_token_opens_what_its_claims_grant(many: Server, issuer: Issuer, era: str) -> None:
    asked = {"metrics": ["revenue"], "scenarios": [{"scenario": "actual", "alias": "A"}], "period_start": "2026-01"}
    for claims, figure in (
        ({"groups": ["finance"]}, 120),
        ({"groups": [], "realm_access": {"roles": ["north"]}}, 100),
    ):
        with connected(many.url, era, issuer.token(**claims), Host=HOST) as books:
            (row,) = books.ask("run_metric_data", **asked)["rows"]
            assert row["values"] == [figure]
    with connected(many.url, era, issuer.token(groups=["nobody"]), Host=HOST) as books:
        assert books.ask("list_scenarios")["scenarios"] == []


def test_without_a_token_the_challenge_leads_to_the_metadata_and_names_no_error(asking: RawRequest) -> None:
    for headers in ({}, {"Authorization": "Basic YTpi"}, {"Authorization": "Bearer"}):
        answer = asking.post(**headers)
        assert answer.status_code == 401
        assert challenge(answer) == {"realm": "tieout", "resource_metadata": METADATA, "scope": "mcp:read"}
        assert answer.json()["error"].startswith("Send a bearer token in the Authorization header")


def test_a_refused_token_is_told_why(asking: RawRequest, issuer: Issuer) -> None:
    answer = asking.post(issuer.token(aud="https://other.example"))
    assert answer.status_code == 401
    assert challenge(answer) == {
        "realm": "tieout",
        "error": "invalid_token",
        "error_description": f"The token is for another service. Get one for the resource {RESOURCE}.",
        "resource_metadata": METADATA,
        "scope": "mcp:read",
    }
    assert answer.json() == {"error": challenge(answer)["error_description"]}
    assert answer.headers["Cache-Control"] == "no-store"


def test_an_expired_token_is_a_401_that_says_so_however_many_others_were_refused(
    many: Server, asking: RawRequest, issuer: Issuer
) -> None:
    here = from_address(10)
    for _ in range(25):
        asking.post("guess", **here)
    assert asking.post("guess", **here).status_code == 429
    before = many.log.read_text().count("token refused")
    for _ in range(60):
        answer = asking.post(issuer.token(exp=5), **here)
        assert answer.status_code == 401
        assert "expired" in challenge(answer)["error_description"]
    assert many.log.read_text().count("token refused") - before < 40, "a burst of them is one line, too"


def test_a_good_token_without_the_scope_is_a_403_that_names_it(asking: RawRequest, issuer: Issuer) -> None:
    answer = asking.post(issuer.token(scope="openid"))
    assert answer.status_code == 403
    assert challenge(answer)["error"] == "insufficient_scope"
    assert challenge(answer)["scope"] == "mcp:read"
    assert challenge(answer)["resource_metadata"] == METADATA


def test_only_the_header_counts(many: Server, issuer: Issuer) -> None:
    token = issuer.token()
    plain = RawRequest(f"{many.url}?access_token={token}")
    assert plain.post().status_code == 401
    form = f"access_token={token}"
    assert plain.post(content=form, Content_Type="application/x-www-form-urlencoded").status_code == 401
    assert RawRequest(many.url).post(Cookie=f"access_token={token}").status_code == 401
    assert RawRequest(many.url).post(token).status_code == 200


def test_two_tokens_are_a_bad_request(many: Server, issuer: Issuer) -> None:
    token = issuer.token()
    headers = [*ACCEPTED.items(), ("Content-Type", "application/json")]
    twice = [("Authorization", f"Bearer {token}"), ("Authorization", f"Bearer {token}")]
    answer = httpx2.post(many.url, content="{}", headers=[*headers, *twice])
    assert (answer.status_code, challenge(answer)["error"]) == (400, "invalid_request")


def test_where_tokens_come_from_is_told_to_anybody(many: Server, issuer: Issuer) -> None:
    for path in ("/.well-known/oauth-protected-resource", urlsplit(METADATA).path):
        answer = httpx2.get(many.url.replace("/mcp", path), headers={"Host": HOST, "Origin": "https://client.example"})
        assert answer.json() == {
            "resource": RESOURCE,
            "authorization_servers": [issuer.url],
            "scopes_supported": ["mcp:read"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Tieout",
        }
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "max-age=300" in answer.headers["Cache-Control"]


def test_a_server_of_one_user_has_no_provider_to_tell_of(small_server: Server) -> None:
    for path in ("/.well-known/oauth-protected-resource", urlsplit(METADATA).path):
        assert httpx2.get(small_server.url.replace("/mcp", path)).status_code == 404
    answer = httpx2.post(small_server.url, headers={"Authorization": f"Bearer {KEY}x"})
    assert challenge(answer).keys() == {"realm", "error", "error_description"}


def test_requests_without_a_token_are_answered_before_their_body_comes(many: Server) -> None:
    port = urlsplit(many.url).port
    head = f"POST /mcp HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 4000000000\r\nExpect: 100-continue\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as plain:
        plain.sendall(head.encode())
        assert plain.recv(64).startswith(b"HTTP/1.1 401 ")


def test_while_no_token_can_be_verified_nobody_is_sent_to_log_in(tmp_path: Path) -> None:
    with issuing() as away:
        away.answers["/.well-known/openid-configuration"] = (500, {}, b"")
        with serving_many(write_books(tmp_path), away.url) as server:
            wait_for(lambda: bool(away.asked))  # the provider is watched from the start, not from the first token on
            answer = RawRequest(server.url).post(away.token())
            assert answer.status_code == 503
            assert int(answer.headers["Retry-After"]) >= 1
            assert "WWW-Authenticate" not in answer.headers
            assert "Send the same request again" in answer.json()["error"]
            assert metric(server, "tieout_refused_tokens_total", reason="unverifiable") == 1
            ready = httpx2.get(f"{server.ops}/readyz")
            assert (ready.status_code, ready.json()["status"]) == (200, "ok"), "tokens of known keys are accepted"
            assert ready.json()["identity_provider"]["status"] == "unavailable"
            assert "answered 500" in ready.json()["identity_provider"]["reason"]
            del away.answers["/.well-known/openid-configuration"]
            wait_for(lambda: httpx2.get(f"{server.ops}/readyz").json()["identity_provider"]["status"] == "ok")


def test_refused_tokens_are_counted_and_logged_with_reason_and_address_and_without_the_token(
    many: Server, asking: RawRequest, issuer: Issuer
) -> None:
    before = metric(many, "tieout_refused_tokens_total", reason="signature")
    token = issuer.token()[:-8] + "AAAAAAAA"
    answer = asking.post(token, **from_address(20), X_Request_ID="forged-one")
    assert answer.status_code == 401
    assert metric(many, "tieout_refused_tokens_total", reason="signature") == before + 1
    (line,) = [event for event in events(many) if event.get("request_id") == "forged-one"]
    assert (line["logger"], line["reason"], line["address"]) == ("tieout.tokens", "signature", "192.0.2.20")
    assert not [part for part in token.split(".") if part in many.log.read_text()]


def test_an_address_that_guesses_is_made_to_wait_and_told_of_once_while_others_and_good_tokens_pass(
    many: Server, asking: RawRequest, issuer: Issuer
) -> None:
    here = from_address(30)
    answers = [asking.post(token_urlsafe(16), **here) for _ in range(40)]
    assert [answer.status_code for answer in answers[:20]] == [401] * 20
    assert answers[-1].status_code == 429
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 3
    assert "Wait" in answers[-1].json()["error"]
    assert asking.post(issuer.token(), **here).status_code == 200
    assert asking.post("guess", **from_address(31)).status_code == 401
    told = [event for event in events(many) if event.get("address") == "192.0.2.30"]
    bursts = [event for event in told if event["event"].startswith("too many")]
    assert len(bursts) == 1
    assert len(told) < 30


def test_requests_without_a_token_are_no_guesses(asking: RawRequest) -> None:
    assert {asking.post(**from_address(40)).status_code for _ in range(60)} == {401}


def test_the_key_of_one_user_is_guessed_no_faster(small_server: Server) -> None:
    def guess(**headers: str) -> int:
        return httpx2.post(
            small_server.url, headers={"Authorization": f"Bearer {token_urlsafe(32)}", **headers}
        ).status_code

    statuses = [guess(**{"X-Forwarded-For": f"192.0.2.{number}"}) for number in range(30)]
    assert statuses[-1] == 429, "no proxy is believed there"
    good = httpx2.post(small_server.url, headers={**ACCEPTED, "Host": "", "Authorization": f"Bearer {KEY}"})
    assert good.status_code != 429


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": HOST}, 200),
        ({"Host": f"{HOST}:443"}, 200),
        ({"Host": f"{HOST}:8443"}, 421),
        ({"Host": f"{HOST}.evil.example"}, 421),
        ({"Host": f"evil.example:443@{HOST}"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Origin": ORIGIN}, 200),
        ({"Origin": f"{ORIGIN}.evil.example"}, 403),
        ({"Origin": ORIGIN.replace("https", "http")}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_hosts_and_origins_are_those_of_the_public_address(
    asking: RawRequest, issuer: Issuer, headers: dict[str, str], status: int
) -> None:
    assert asking.post(issuer.token(), **headers).status_code == status


def test_a_bare_answer_is_that_of_a_tool(asking: RawRequest, issuer: Issuer) -> None:
    assert [found["id"] for found in result(asking.post(issuer.token()))["scenarios"]][:1] == ["actual"]
