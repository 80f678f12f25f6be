"""Attachments over TLS through a proxy of the operator, from the call of a client to the file that it opens."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import httpx2
import pytest

from engine.model.errors import Refusal
from server.base.links import Host
from server.base.settings import BadSetting, read_settings
from server.caller.importer import Importer
from tests.support.service.hosts import (
    HERE,
    Answers,
    Authority,
    RunningHost,
    hosting,
    keeps_out,
    leads_to,
    sends,
    tunnels,
)
from tests.support.service.operations import events
from tests.support.service.servers import McpBooks, Server, connected, serving

BODY = b"month,amount\n2026-01,100.25\n" * 1000
LOGIN = "tieout:not%2Fsaid"
PASSWORD = LOGIN.partition(":")[2].replace("%2F", "/")
CREDENTIAL = b"dGllb3V0Om5vdC9zYWlk"  # of "tieout:not/said", in base64


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority that the server trusts as SSL_CERT_FILE says."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def files(authority: Authority) -> Iterator[RunningHost]:
    """A host of files on loopback, with a certificate of its name."""
    with hosting(sends(BODY, "Content-Type: text/csv"), authority.shows("files.test")) as host:
        yield host


@pytest.fixture(scope="module")
def proxy() -> Iterator[RunningHost]:
    """A proxy on loopback."""
    with hosting(tunnels, None) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def server(
    small_instance: tuple[Path, Path], authority: Authority, files: RunningHost, proxy: RunningHost
) -> Iterator[Server]:
    """The small books, which import from that host, and one whose certificate is another's, through that proxy."""
    with serving(
        *small_instance,
        SVC_MCP_UPLOADS_ENABLED="true",
        SVC_FILE_IMPORT_HOSTS=f"files.test:{files.port}, other.test:{files.port}",
        SVC_FILE_IMPORT_PROXY=f"http://{LOGIN}@{HERE}:{proxy.port}",
        SVC_LOG_FORMAT="json",
        SSL_CERT_FILE=str(authority.file),
    ) as server:
        yield server


@pytest.fixture
def books(server: Server) -> Iterator[McpBooks]:
    """A client of them."""
    with connected(server.url, "auto") as books:
        yield books


def test_an_attachment_comes_over_tls_and_is_a_file_like_any_other(
    books: McpBooks, server: Server, files: RunningHost, proxy: RunningHost
) -> None:
    url = f"https://files.test:{files.port}/a?signature=secret"
    file = books.ask("import_host_file", file={"download_url": url, "file_name": "Budget.csv"})
    told = {"name": "Budget.csv", "mime_type": "text/csv", "size_bytes": len(BODY), "sha256": sha256(BODY).hexdigest()}
    assert {key: file[key] for key in told} == told
    given = httpx2.get(books.ask("get_file_download", file_id=file["file_id"])["download_url"])
    assert given.content == BODY
    assert given.headers["content-disposition"].startswith("attachment;")
    assert files.heard[-1].startswith(b"GET /a?signature=secret HTTP/1.1\r\n")
    assert b"Proxy-Authorization" not in files.heard[-1]
    head = proxy.heard[-1]
    assert head.startswith(f"CONNECT files.test:{files.port} HTTP/1.1\r\n".encode())
    assert b"Proxy-Authorization: Basic " + CREDENTIAL in head
    assert b"signature" not in head
    log = server.log.read_text() + server.log.with_suffix(".out").read_text()
    assert not [word for word in ("signature=", PASSWORD, LOGIN, CREDENTIAL.decode()) if word in log]


def test_behind_a_proxy_the_list_of_hosts_and_the_proof_of_the_host_hold(
    books: McpBooks, server: Server, files: RunningHost, proxy: RunningHost
) -> None:
    asked = len(proxy.heard)
    refused = books.call("import_host_file", file={"download_url": f"https://elsewhere.test:{files.port}/a"}).result
    assert refused["error_type"] == "host_not_allowed"
    assert len(proxy.heard) == asked
    refused = books.call("import_host_file", file={"download_url": f"https://other.test:{files.port}/a"}).result
    assert (refused["error_type"], refused["retryable"]) == ("unavailable", True)
    assert "No secure connection to other.test" in refused["error"]
    assert len(proxy.heard) == asked + 1
    (line,) = [event for event in events(server) if event["logger"] == "tieout.imports"]
    assert line["level"] == "warning"
    assert line["event"].startswith(f"no file of other.test:{files.port} came through SVC_FILE_IMPORT_PROXY: ")
    assert "CERTIFICATE_VERIFY_FAILED" in line["event"]


# ---------------------------------------------------------------------------------- proxies that do not let through


def told(authority: Authority, url: str, port: int, proxy: str | None) -> dict[str, object]:
    """Return what the caller is told whose import fails."""
    importer = Importer([Host("files.test", port)], 30.0, trust=authority.trust, proxy=proxy)
    with pytest.raises(Refusal) as refusal, importer.opened(url, lambda: None):
        pass
    return refusal.value.as_data()


@contextmanager
def behind(answers: Answers) -> Iterator[tuple[str, RunningHost]]:
    """Run a proxy; yield its URL and what it hears."""
    with hosting(answers, None) as proxy:
        yield f"http://{HERE}:{proxy.port}", proxy


@pytest.mark.parametrize(
    ("status", "error_type", "words", "logged"),
    [
        (
            "407 Proxy Authentication Required",
            "host_not_allowed",
            "begin_file_upload takes the file itself",
            "another login",
        ),
        ("403 Forbidden", "host_not_allowed", "only its operator can change that", "the proxy answers 403"),
        ("502 Bad Gateway", "unavailable", "cannot reach files.test just now", "the proxy answers 502"),
        ("429 Too Many Requests", "unavailable", "cannot reach files.test just now", "the proxy answers 429"),
    ],
)
def test_a_proxy_that_keeps_a_host_out_is_told_to_the_caller_and_to_the_operator(
    authority: Authority, caplog: pytest.LogCaptureFixture, status: str, error_type: str, words: str, logged: str
) -> None:
    with behind(keeps_out(status)) as (proxy, heard):
        refused = told(authority, "https://files.test/a?secret", 443, proxy)
    assert len(heard.heard) == 1
    assert (refused["error_type"], words in str(refused["error"])) == (error_type, True)
    assert ("retryable" in refused) is (error_type == "unavailable")
    assert HERE not in json.dumps(refused)
    (line,) = caplog.records
    assert (line.name, line.levelno) == ("tieout.imports", logging.WARNING)
    assert line.message.startswith("no file of files.test came through SVC_FILE_IMPORT_PROXY: ")
    assert logged in line.message
    assert "secret" not in line.message


def test_a_proxy_that_is_away_or_is_none_is_told_to_the_caller_and_to_the_operator(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    with behind(lambda connection, _: connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")) as (proxy, _):
        refused = told(authority, "https://files.test/a", 443, proxy)
    assert "broke off, or did not answer as a web server does" in str(refused["error"])
    refused = told(authority, "https://files.test/a", 443, proxy)  # nobody listens there any more
    assert (refused["error_type"], refused["retryable"]) == ("unavailable", True)
    assert "No secure connection to files.test can be had just now" in str(refused["error"])
    assert HERE not in json.dumps(refused)
    assert caplog.records[-1].message.endswith(f"SVC_FILE_IMPORT_PROXY: no address of {HERE} answers")


def test_a_redirect_goes_through_the_proxy_among_the_hosts_that_are_named(authority: Authority) -> None:
    shown = authority.shows("files.test")
    with behind(tunnels) as (proxy, heard), hosting(leads_to("https://inside.test/"), shown) as files:
        refused = told(authority, f"https://files.test:{files.port}/a", files.port, proxy)
    assert refused["error_type"] == "host_not_allowed"
    assert len(heard.heard) == 1


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HTTP_PROXY"])
def test_no_other_variable_of_the_environment_names_a_proxy(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, variable: str
) -> None:
    with behind(tunnels) as (proxy, heard), hosting(sends(BODY), authority.shows("localhost")) as files:
        monkeypatch.setenv(variable, proxy)
        assert read_settings().import_proxy is None
        importer = Importer(
            [Host("localhost", files.port)], 30.0, closed=(), trust=authority.trust, proxy=read_settings().import_proxy
        )
        with importer.opened(f"https://localhost:{files.port}/", lambda: None) as found:
            assert b"".join(found.chunks) == BODY
    assert (heard.connections, files.connections) == (0, 1)
    assert not caplog.records


@pytest.mark.parametrize("value", ["proxy.test:3128", "socks5://proxy.test:1080", "http://", "http://proxy.test/path"])
def test_a_proxy_that_is_no_address_of_one_is_refused(value: str) -> None:
    with pytest.raises(BadSetting, match=r"SVC_FILE_IMPORT_PROXY.*it takes a URL, as http://proxy\.example\.com:3128"):
        read_settings({"SVC_FILE_IMPORT_PROXY": value})
    with pytest.raises(BadSetting) as refused:
        read_settings({"SVC_FILE_IMPORT_PROXY": f"ftp://ann:{PASSWORD}@proxy.test:3128"})
    assert PASSWORD not in str(refused.value)
    assert read_settings({"SVC_FILE_IMPORT_PROXY": f"https://{LOGIN}@proxy.test"}).import_proxy is not None
