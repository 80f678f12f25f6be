"""The reverse proxy: a real nginx with the stack's own configuration, in front of real servers."""

import re
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from server.base.settings import Settings
from tests.support.service.proxies import TEMPLATE, Proxy, RequestRecorder, naming, proxying, recording
from tests.support.service.servers import DEADLINE, ERAS, KEY, Server, free_port, wait_for

LINK = "/api/artifacts/get/the-token-in-the-path?signature=the-secret-signature&expires=1"
TELL_TALE = re.compile("the-token-in-the-path|the-secret-signature|signature=", re.IGNORECASE)
MEBIBYTE = 2**20
REALM = "/realms/tieout"
pytestmark = pytest.mark.program("nginx", "openssl")


@pytest.fixture(scope="module")
def identity() -> Iterator[RequestRecorder]:
    """What stands where the identity provider does."""
    with recording() as recorder:
        yield recorder


@pytest.fixture(scope="module")
def behind() -> Iterator[RequestRecorder]:
    """What stands where the server does."""
    with recording() as recorder:
        yield recorder


@pytest.fixture(scope="module")
def proxy(behind: RequestRecorder, identity: RequestRecorder) -> Iterator[Proxy]:
    """The proxy before servers that remember."""
    with proxying(behind.port, identity.port) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: Proxy) -> Iterator[httpx2.Client]:
    """A client of that proxy."""
    with proxy.client() as client:
        yield client


@pytest.fixture(scope="module")
def before_tieout(served: Server, identity: RequestRecorder) -> Iterator[tuple[Proxy, str]]:
    """The proxy before a real server, and the host under which that server is known."""
    host = served.url.removeprefix("http://").removesuffix("/mcp")
    with proxying(int(host.rpartition(":")[2]), identity.port) as proxy:
        yield proxy, host


def test_the_stack_fills_in_every_name_of_the_template(services: dict[str, dict[str, Any]]) -> None:
    given = {name for name in services["proxy"]["environment"] if name.startswith("PROXY_")}
    assert given == set(re.findall(r"\$\{([A-Z_]+)\}", TEMPLATE.read_text(encoding="utf-8")))


@pytest.mark.parametrize("era", ERAS)
def test_an_mcp_client_works_through_it(before_tieout: tuple[Proxy, str], era: str) -> None:
    proxy, host = before_tieout
    url, headers = f"https://127.0.0.1:{proxy.port}/mcp", {"Authorization": f"Bearer {KEY}", "Host": host}

    async def scenarios() -> list[str]:
        async with (
            httpx2.AsyncClient(headers=headers, verify=proxy.trust, timeout=DEADLINE) as http,
            Client(streamable_http_client(url, http_client=http), mode=era) as client,
        ):
            answer = await client.call_tool("list_scenarios", {})
        assert not answer.is_error
        return [scenario["id"] for scenario in answer.structured_content["scenarios"]]

    assert anyio.run(scenarios) == ["actual", "budget", "forecast"]


def test_the_host_is_passed_on_for_the_server_to_judge(before_tieout: tuple[Proxy, str]) -> None:
    proxy, host = before_tieout
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    known = {"Authorization": f"Bearer {KEY}", "Accept": "application/json, text/event-stream"}
    with proxy.client() as client:
        assert client.post("/mcp", json=body, headers={**known, "Host": host}).status_code == 200
        assert client.post("/mcp", json=body, headers={**known, "Host": "evil.example.com"}).status_code == 421
        assert client.post("/mcp", json=body, headers={"Host": host}).status_code == 401
        assert client.get("/health", headers={"Host": host}).json()["status"] == "ok"


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT"])
def test_a_transfer_link_reaches_the_server_and_no_log(
    proxy: Proxy, client: httpx2.Client, behind: RequestRecorder, method: str
) -> None:
    asked = client.request(method, LINK, headers={"Referer": f"https://reports.example.com{LINK}"})
    assert asked.status_code == 200
    assert (behind.heard[-1].method, behind.heard[-1].path) == (method, LINK)
    wait_for(lambda: ("artifacts", method) in {(line["route"], line["method"]) for line in proxy.lines()})
    assert not TELL_TALE.search(proxy.log.read_text())


@pytest.mark.parametrize(
    "asked",
    [
        LINK.upper(),
        f"/elsewhere{LINK}",
        f"/{LINK}",
        f"/mcp?from={LINK}",
        f"/realms/tieout/protocol/x?to={LINK}",
        LINK.replace("get/", "%zz/"),
        LINK.replace("get/", "../" * 9),
        LINK + "x" * 70_000,
        LINK + " HTTP/9.9\r\nx:",
        LINK + "\0",
    ],
    ids=range(10),
)
def test_a_mangled_link_reaches_no_log_either(proxy: Proxy, asked: str) -> None:
    before = len(proxy.lines())
    proxy.send(f"GET {asked} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    wait_for(lambda: len(proxy.lines()) > before)
    assert not TELL_TALE.search(proxy.log.read_text())


def test_a_link_reaches_no_log_while_the_server_is_down(identity: RequestRecorder) -> None:
    with proxying(free_port(), identity.port) as proxy, proxy.client() as client:
        assert client.get(LINK).status_code == 502
        assert client.post(f"/mcp?from={LINK}").status_code == 502
        wait_for(lambda: [line["status"] for line in proxy.lines()].count(502) == 2)
        assert not TELL_TALE.search(proxy.log.read_text())


def test_a_log_line_names_the_route_and_how_it_went(proxy: Proxy, client: httpx2.Client) -> None:
    client.get("/health", headers={"X-Request-ID": "the-id-of-this-request"})
    wait_for(lambda: [line for line in proxy.lines() if line["request_id"] == "the-id-of-this-request"] != [])
    (line,) = (line for line in proxy.lines() if line["request_id"] == "the-id-of-this-request")
    assert (line["route"], line["method"], line["status"], line["client"]) == ("health", "GET", 200, "127.0.0.1")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/metrics",
        "/readyz",
        "/mcp/",
        "/api/",
        "/admin/master/console/",
        "/realms/master/protocol/openid-connect/token",
        f"{REALM}/account/",
        f"{REALM}/clients-registrations/openid-connect",
        f"{REALM}/protocol/../../master/protocol/openid-connect/token",
        f"{REALM}/protocol/%2e%2e/clients-registrations/openid-connect",
    ],
)
def test_nothing_else_can_be_reached_through_it(
    proxy: Proxy, behind: RequestRecorder, identity: RequestRecorder, path: str
) -> None:
    before = len(behind.heard) + len(identity.heard)
    answer = proxy.send(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 404")
    assert len(behind.heard) + len(identity.heard) == before


@pytest.mark.parametrize(
    ("asked", "heard"),
    [
        (f"{REALM}/protocol/openid-connect/auth?client_id=x&code_challenge=y",) * 2,
        (f"{REALM}/login-actions/authenticate?session_code=y",) * 2,
        (f"{REALM}/.well-known/openid-configuration",) * 2,
        ("/resources/abc/login/logo.svg",) * 2,
        ("/.well-known/oauth-authorization-server/realms/tieout", f"{REALM}/.well-known/oauth-authorization-server"),
        ("/.well-known/openid-configuration/realms/tieout", f"{REALM}/.well-known/openid-configuration"),
    ],
)
def test_logging_in_reaches_the_identity_provider(
    client: httpx2.Client, identity: RequestRecorder, asked: str, heard: str
) -> None:
    assert client.get(asked).status_code == 200
    assert identity.heard[-1].path == heard


@pytest.mark.parametrize("suffix", ["", "/mcp"])
def test_the_metadata_of_the_resource_is_the_servers(
    client: httpx2.Client, behind: RequestRecorder, suffix: str
) -> None:
    asked = f"/.well-known/oauth-protected-resource{suffix}"
    assert client.get(asked).status_code == 200
    assert behind.heard[-1].path == asked


@pytest.mark.parametrize(("size", "status"), [(4 * MEBIBYTE, 200), (4 * MEBIBYTE + 1, 413)])
def test_a_request_may_be_as_large_as_the_server_takes(client: httpx2.Client, size: int, status: int) -> None:
    assert client.post("/mcp", content=b"x" * size).status_code == status


def test_an_upload_is_as_large_as_the_server_lets_it_be(client: httpx2.Client, behind: RequestRecorder) -> None:
    assert client.put(LINK, content=b"x" * (64 * MEBIBYTE)).status_code == 200
    assert behind.heard[-1].size == 64 * MEBIBYTE


def test_a_call_may_take_its_deadline() -> None:
    endpoint = TEMPLATE.read_text(encoding="utf-8").partition("location = /mcp {")[2].partition("}")[0]
    (seconds,) = re.findall(r"proxy_read_timeout (\d+)s", endpoint)
    assert int(seconds) > Settings().deadline_seconds + 5


@pytest.mark.parametrize(
    ("sent", "passed"),
    [
        ("01J9-abc.DEF_123", "01J9-abc.DEF_123"),
        (None, "[0-9a-f]{32}"),
        (".hidden", "[0-9a-f]{32}"),
        ('quotes"and spaces', "[0-9a-f]{32}"),
        ("x" * 65, "[0-9a-f]{32}"),
    ],
)
def test_a_request_id_is_passed_on_or_made(
    client: httpx2.Client, behind: RequestRecorder, sent: str | None, passed: str
) -> None:
    client.get("/health", headers={"X-Request-ID": sent} if sent else {})
    assert re.fullmatch(passed, behind.heard[-1].headers["X-Request-ID"])


def test_what_a_client_says_of_itself_is_not_believed(client: httpx2.Client, behind: RequestRecorder) -> None:
    said = {f"X-Forwarded-{name}": "evil.example.com" for name in ("For", "Host", "Port", "Proto")}
    client.get("/health", headers=said)
    told = behind.heard[-1].headers
    assert told["X-Forwarded-For"] == "127.0.0.1"
    assert told["X-Forwarded-Proto"] == "https"
    assert "evil.example.com" not in str(told)


def test_browsers_are_told_to_stay_with_tls(client: httpx2.Client) -> None:
    assert "max-age=" in client.get("/health").headers["Strict-Transport-Security"]
    assert "max-age=" in client.get("/nothing").headers["Strict-Transport-Security"]


def test_a_server_that_is_made_anew_at_another_address_is_found_again(identity: RequestRecorder) -> None:
    addresses = {"server.test": "127.0.0.1"}
    with (
        naming(addresses) as resolver,
        recording() as old,
        recording("127.0.0.2", old.port) as new,
        proxying(old.port, identity.port, "server.test", resolver) as proxy,
        proxy.client() as client,
    ):
        assert client.get("/health?deep=1").status_code == 200
        assert [heard.path for heard in old.heard] == ["/health?deep=1"]
        addresses["server.test"] = "127.0.0.2"
        wait_for(lambda: client.get("/health").status_code == 200 and bool(new.heard))
        del addresses["server.test"]
        wait_for(lambda: client.get("/health").status_code == 502)
        addresses["server.test"] = "127.0.0.1"
        wait_for(lambda: client.get("/health").status_code == 200)


def test_of_two_servers_the_one_that_lives_answers_every_request(identity: RequestRecorder) -> None:
    with (
        naming({"server.test": "127.0.0.1 127.0.0.2"}) as resolver,
        recording("127.0.0.2") as living,
        proxying(living.port, identity.port, "server.test", resolver) as proxy,
        proxy.client() as client,
    ):
        asked = [client.post("/mcp", json={}) if number % 2 else client.get("/health") for number in range(20)]
        assert [answer.status_code for answer in asked] == [200] * 20
        assert len(living.heard) == 20


def test_a_renewed_certificate_is_served_without_a_restart(behind: RequestRecorder, identity: RequestRecorder) -> None:
    with proxying(behind.port, identity.port) as proxy, proxy.client() as client:
        before = proxy.certificate()
        assert client.get("/health").status_code == 200
        proxy.renew()
        wait_for(lambda: proxy.certificate() not in (b"", before))
        assert proxy.process.poll() is None
