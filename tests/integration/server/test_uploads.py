"""Uploads over the wire: reserved, sent to a link, completed once; and whatever else may be sent there."""

import json
import shutil
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.integration.server.test_tools import NAMES
from tests.support.service.issuers import Issuer, issuing
from tests.support.service.operations import events
from tests.support.service.servers import ERAS, McpBooks, Server, connected, serving, wait_for
from tests.support.service.users import HOST, ORIGIN, RawRequest, call, result, serving_many, write_books

BODY = b"account,amount\n6010,100.50\n" * 100
ASKED = {"filename": "Budget 2026 – Entwurf.csv", "mime_type": "text/csv", "size_bytes": len(BODY)}
ON: dict[str, Any] = {"SVC_MCP_UPLOADS_ENABLED": "true"}
RECEIVING = ("begin_file_upload", "complete_file_upload", "import_host_file")


@pytest.fixture(scope="module")
def inside() -> Iterator[socket.socket]:
    """A server on this machine that nobody outside is to reach."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.5)
        yield listening


@pytest.fixture(scope="module")
def server(small_instance: tuple[Path, Path], inside: socket.socket) -> Iterator[Server]:
    """The small books, open to uploads and to attachments of a host on this machine."""
    port = inside.getsockname()[1]
    hosts: dict[str, Any] = {
        **ON,
        "SVC_FILE_IMPORT_HOSTS": f"localhost:{port}, Files.Example.com",
        "SVC_QUOTA_MEGABYTES": "20",
    }
    with serving(*small_instance, **hosts, SVC_UPLOAD_MEGABYTES="5", SVC_LOG_FORMAT="json") as server:
        yield server


@pytest.fixture(scope="module", params=ERAS)
def open_books(request: pytest.FixtureRequest, server: Server) -> Iterator[McpBooks]:
    """A client of them, in each era."""
    with connected(server.url, request.param) as books:
        yield books


@pytest.fixture
def one(server: Server) -> Iterator[McpBooks]:
    """A client of them."""
    with connected(server.url, "auto") as books:
        yield books


def put(url: str, content: Any = BODY, **headers: str) -> httpx2.Response:
    """Send a body to a link; one of several parts is sent without its length."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.put(url, content=content, headers=sent, timeout=30)


def begun(books: McpBooks, **asked: Any) -> Mapping[str, Any]:
    """Begin an upload."""
    return books.ask("begin_file_upload", **ASKED | asked)


def told(books: McpBooks, tool: str, **asked: Any) -> Mapping[str, Any]:
    """Call a tool that refuses."""
    called = books.call(tool, **asked)
    assert called.is_error, called.result
    return called.result


@contextmanager
def sending(url: str, body: bytes, length: int, *, waits: bool = False) -> Iterator[socket.socket]:
    """Send the beginning of a body, and no more of it until the block ends the connection.

    Who `waits` sends no byte of it before the server asks for them, which it does once it has made room.
    """
    parts = urlsplit(url)
    headers = [f"Host: {parts.netloc}", f"Content-Length: {length}", *(["Expect: 100-continue"] if waits else [])]
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as opened:
        opened.sendall("\r\n".join([f"PUT {parts.path}?{parts.query} HTTP/1.1", *headers, "", ""]).encode())
        if waits:
            assert opened.recv(64).startswith(b"HTTP/1.1 100 ")
        opened.sendall(body)
        yield opened


def test_while_they_are_not_enabled_nothing_is_received(books: McpBooks, small_server: Server) -> None:
    assert not set(RECEIVING) & {tool.name for tool in books.tools()}
    for tool in RECEIVING:
        refused = told(books, tool, **ASKED)
        assert (refused["error_type"], "retryable" in refused) == ("tool_disabled", False)
    origin = small_server.url.removesuffix("/mcp")
    assert httpx2.put(f"{origin}/api/artifacts/{'a' * 32}", content=b"x").status_code == 405


def test_tools_that_receive_are_listed_where_they_are_enabled(
    open_books: McpBooks, small_instance: tuple[Path, Path]
) -> None:
    tools = {tool.name: tool for tool in open_books.tools()}
    assert list(tools) == [*NAMES, *RECEIVING]
    attached = tools["import_host_file"]
    assert attached.meta["openai/fileParams"] == ["file"]
    assert attached.annotations.open_world_hint is True
    assert tools["begin_file_upload"].annotations.open_world_hint is False
    assert [tools[name].annotations.read_only_hint for name in RECEIVING] == [False, False, False]
    with serving(*small_instance, **ON) as server, connected(server.url, "auto") as books:
        assert [tool.name for tool in books.tools()] == [*NAMES, *RECEIVING[:2]]
        refused = told(books, "import_host_file", file={"download_url": "https://files.example.com/a"})
        assert refused["error_type"] == "tool_disabled"


def test_a_file_is_reserved_sent_completed_and_given_back(open_books: McpBooks) -> None:
    upload = begun(open_books)
    assert (upload["method"], upload["size_bytes"], upload["name"]) == ("PUT", len(BODY), ASKED["filename"])
    assert "machine of the server" in upload["reachable_from"]
    answer = put(upload["upload_url"])
    assert answer.status_code == 201
    assert answer.json() == {
        "upload_id": upload["upload_id"],
        "size_bytes": len(BODY),
        "sha256": sha256(BODY).hexdigest(),
    }
    assert answer.headers["cache-control"] == "no-store"
    file = open_books.ask("complete_file_upload", upload_id=upload["upload_id"])
    assert {key: file[key] for key in ("name", "mime_type", "size_bytes", "sha256")} == {
        "name": ASKED["filename"],
        "mime_type": "text/csv",
        "size_bytes": len(BODY),
        "sha256": sha256(BODY).hexdigest(),
    }
    assert open_books.ask("complete_file_upload", upload_id=upload["upload_id"]) == file
    given = open_books.ask("get_file_download", file_id=file["file_id"])
    came = httpx2.get(given["download_url"])
    assert came.content == BODY
    assert came.headers["content-disposition"].startswith("attachment;")
    assert came.headers["x-content-type-options"] == "nosniff"
    assert put(upload["upload_url"]).status_code == 409


def test_the_example_of_the_description_works(one: McpBooks) -> None:
    tool = next(tool for tool in one.tools() if tool.name == "begin_file_upload")
    assert one.ask("begin_file_upload", **json.loads(tool.description.partition("Example: ")[2]))["upload_url"]


def test_completing_one_whose_bytes_have_not_come_says_what_to_do(one: McpBooks) -> None:
    upload = begun(one)
    refused = told(one, "complete_file_upload", upload_id=upload["upload_id"])
    assert (refused["error_type"], refused["retryable"]) == ("upload_incomplete", True)
    assert f"The {len(BODY)} bytes of '{ASKED['filename']}' have not come yet" in refused["error"]
    assert "curl --upload-file FILE 'UPLOAD_URL'" in refused["error"]
    assert upload["expires_at"] in refused["error"]
    assert put(upload["upload_url"]).status_code == 201
    assert one.ask("complete_file_upload", upload_id=upload["upload_id"])["size_bytes"] == len(BODY)


@pytest.mark.parametrize(
    ("content", "headers", "status", "words"),
    [
        (BODY[:-1], {}, 400, f"{len(BODY) - 1} came"),
        (BODY + b"x", {}, 400, f"{len(BODY) + 1} came"),
        ([BODY[:-1]], {}, 400, f"{len(BODY) - 1} came"),
        ([BODY, b"x"], {}, 400, "more came"),
        (b"", {}, 400, "0 came"),
        (BODY, {"Content_Encoding": "gzip"}, 415, "without a content coding"),
        (BODY, {"Content_Range": f"bytes 0-{len(BODY) - 1}/{2 * len(BODY)}"}, 415, "whole file"),
    ],
)
def test_a_body_that_is_not_what_was_reserved_is_refused_and_may_be_sent_again(
    one: McpBooks, content: Any, headers: Mapping[str, str], status: int, words: str
) -> None:
    upload = begun(one)
    answer = put(upload["upload_url"], iter(content) if isinstance(content, list) else content, **headers)
    assert (answer.status_code, words in answer.json()["error"]) == (status, True), answer.text
    assert told(one, "complete_file_upload", upload_id=upload["upload_id"])["error_type"] == "upload_incomplete"
    assert put(upload["upload_url"], iter([BODY])).status_code == 201  # without its length
    assert put(upload["upload_url"]).json()["error"].endswith("Call complete_file_upload.")


def test_of_two_who_send_at_once_the_second_is_told(one: McpBooks) -> None:
    upload = begun(one)
    with sending(upload["upload_url"], BODY[:100], len(BODY), waits=True) as first:
        second = put(upload["upload_url"])
        assert second.status_code == 409
        assert "being sent already" in second.json()["error"]
        first.sendall(BODY[100:])
        assert b" 201 " in first.recv(64)
    assert one.ask("complete_file_upload", upload_id=upload["upload_id"])["sha256"] == sha256(BODY).hexdigest()


def test_a_connection_that_breaks_leaves_the_upload_as_it_was(one: McpBooks) -> None:
    upload = begun(one)
    with sending(upload["upload_url"], BODY[:100], len(BODY)):
        pass
    wait_for(lambda: put(upload["upload_url"]).status_code == 201)
    assert one.ask("complete_file_upload", upload_id=upload["upload_id"])["sha256"] == sha256(BODY).hexdigest()


def test_many_who_complete_at_once_get_the_same_file(one: McpBooks) -> None:
    upload = begun(one)
    assert put(upload["upload_url"]).status_code == 201
    with ThreadPoolExecutor(8) as threads:
        files = list(threads.map(lambda _: one.ask("complete_file_upload", upload_id=upload["upload_id"]), range(8)))
    assert all(file == files[0] for file in files)


def test_a_link_to_write_is_none_to_read_and_the_other_way_round(one: McpBooks) -> None:
    upload = begun(one)
    assert httpx2.get(upload["upload_url"]).status_code == 404
    assert put(upload["upload_url"]).status_code == 201
    one.ask("complete_file_upload", upload_id=upload["upload_id"])
    given = one.ask("get_file_download", file_id=upload["upload_id"])["download_url"]
    assert httpx2.get(upload["upload_url"]).status_code == 404
    assert put(given).status_code == 404
    assert httpx2.get(given).content == BODY


@pytest.mark.parametrize("change", ["signature", "owner", "ends", "upload", "none"])
def test_a_link_that_was_changed_takes_nothing(one: McpBooks, change: str) -> None:
    url, other = begun(one)["upload_url"], begun(one)["upload_id"]
    head, _, query = url.partition("?")
    wrong = {
        "signature": url.replace("signature=", "signature=0"),
        "owner": url.replace("owner=", "owner=0"),
        "ends": url.replace("ends=", "ends=9"),
        "upload": f"{head.rpartition('/')[0]}/{other}?{query}",
        "none": head,
    }[change]
    answer = put(wrong)
    assert (answer.status_code, "begin_file_upload" in answer.json()["error"]) == (404, True)


def test_browsers_of_other_origins_are_not_let_in(one: McpBooks) -> None:
    url = begun(one)["upload_url"]
    asked = {"Origin": "https://elsewhere.test", "Access-Control-Request-Method": "PUT"}
    answer = httpx2.request("OPTIONS", url, headers=asked)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("tool", "asked", "error_type", "field"),
    [
        *(
            ("begin_file_upload", ASKED | {"filename": name}, "bad_arguments", "filename")
            for name in ("", " ", ".", "..", "../x.csv", "a/b", "a\\b", "/etc/passwd", "x\0", "a\nb", "\u202excod.exe")
        ),
        ("begin_file_upload", ASKED | {"filename": "x" * 121}, "bad_arguments", "filename"),
        ("begin_file_upload", ASKED | {"filename": 7}, "bad_arguments", "filename"),
        *(
            ("begin_file_upload", ASKED | {"mime_type": kind}, "bad_arguments", "mime_type")
            for kind in ("", "csv", "text/", "text/csv; charset=utf-8", "text/csv\r\nX: y", "a/b/c", "te xt/csv")
        ),
        *(
            ("begin_file_upload", ASKED | {"size_bytes": size}, "bad_arguments", "size_bytes")
            for size in (0, -1, (5 << 20) + 1, 10**30, 1.5, "7", True)
        ),
        ("begin_file_upload", {"filename": "x", "mime_type": "a/b"}, "bad_arguments", "size_bytes"),
        ("begin_file_upload", ASKED | {"path": "x"}, "bad_arguments", "path"),
        ("complete_file_upload", {"upload_id": "a" * 32}, "unknown_file", "upload_id"),
        ("complete_file_upload", {"upload_id": "../x"}, "unknown_file", "upload_id"),
        ("complete_file_upload", {"upload_id": "' or 1=1"}, "unknown_file", "upload_id"),
        ("complete_file_upload", {}, "bad_arguments", "upload_id"),
        ("import_host_file", {"file": {}}, "bad_arguments", "file.download_url"),
        ("import_host_file", {"file": {"download_url": "https://a.test/", "size": 1}}, "host_not_allowed", None),
        ("import_host_file", {"file": {"download_url": "https://a.test/"}, "x": 1}, "bad_arguments", "x"),
        ("import_host_file", {"file": "https://files.example.com/a"}, "bad_arguments", "file"),
        ("import_host_file", {"file": {"download_url": "http://localhost/"}}, "bad_arguments", "file.download_url"),
        ("import_host_file", {"file": {"download_url": "https://localhost:1/"}}, "host_not_allowed", None),
        ("import_host_file", {"file": {"download_url": "https://localhost/"}}, "host_not_allowed", None),
    ],
)
def test_what_cannot_be_received_is_refused_with_what_to_mend(
    one: McpBooks, inside: socket.socket, tool: str, asked: Mapping[str, Any], error_type: str, field: str | None
) -> None:
    refused = told(one, tool, **asked)
    assert (refused["error_type"], refused["field"]) == (error_type, field or "file.download_url")
    if error_type == "host_not_allowed":
        assert refused["valid"] == ["files.example.com", f"localhost:{inside.getsockname()[1]}"]


def test_a_host_that_is_named_and_leads_inside_is_never_reached(inside: socket.socket, one: McpBooks) -> None:
    port = inside.getsockname()[1]
    refused = told(one, "import_host_file", file={"download_url": f"https://localhost:{port}/secret"})
    assert (refused["error_type"], "no public host" in refused["error"]) == ("host_not_allowed", True)
    with pytest.raises(TimeoutError):
        inside.accept()
    assert "127.0.0.1" not in json.dumps(refused)


def test_no_link_stands_in_a_log_and_each_file_that_came_does(server: Server, one: McpBooks) -> None:
    upload = begun(one)
    assert put(upload["upload_url"] + "0").status_code == 404
    assert put(upload["upload_url"]).status_code == 201
    one.call("import_host_file", file={"download_url": "https://files.test/a?sig=PLANTED-SIGNATURE"})
    signature = upload["upload_url"].rpartition("signature=")[2]
    log = server.log.read_text() + server.log.with_suffix(".out").read_text()
    assert signature not in log
    assert "PLANTED-SIGNATURE" not in log
    (line, *_) = [event for event in events(server)[::-1] if event["logger"] == "tieout.transfers"]
    assert (line["event"], line["subject"], line["bytes"]) == ("file received", "dev", len(BODY))


def test_room_that_is_reserved_is_nobody_elses_and_no_more_is_reserved_at_once(
    small_instance: tuple[Path, Path], tmp_path: Path
) -> None:
    instance, state = small_instance
    shutil.copytree(state / "store", tmp_path / "store")  # so that no other test has files there
    with (
        serving(
            instance, tmp_path, **ON, SVC_QUOTA_MEGABYTES="3", SVC_FILE_SECONDS="40", SVC_LINK_SECONDS="5400"
        ) as server,
        connected(server.url, "auto") as books,
    ):
        with ThreadPoolExecutor(8) as threads:
            asked = ASKED | {"size_bytes": 1 << 20}
            called = list(threads.map(lambda _: books.call("begin_file_upload", **asked), range(8)))
        refused = [known.result for known in called if known.is_error]
        assert len(refused) == 5
        assert {known["error_type"] for known in refused} == {"quota_exceeded"}
        assert refused[0] == {
            "error": "Your files would be more than 3 MB. A file is deleted 40 seconds after it was made, and room "
            "reserved for an upload is free 90 minutes after it was reserved. Ask for less, or later.",
            "error_type": "quota_exceeded",
            "retryable": True,
        }
        alone = books.call("begin_file_upload", **asked | {"size_bytes": (3 << 20) + 1}).result
        assert (alone["error_type"], "retryable" in alone) == ("quota_exceeded", False)
        assert alone["error"] == "This file would be more than 3 MB, your quota. Ask for less."


def test_a_reservation_that_is_over_takes_nothing(small_instance: tuple[Path, Path]) -> None:
    with (
        serving(*small_instance, **ON, SVC_LINK_SECONDS="1") as server,
        connected(server.url, "auto") as books,
    ):
        upload = begun(books)

        def is_over() -> bool:
            refused = told(books, "complete_file_upload", upload_id=upload["upload_id"])
            return bool(refused["error_type"] == "unknown_file")

        wait_for(is_over)
        answer = put(upload["upload_url"])
        assert (answer.status_code, "begin_file_upload" in answer.json()["error"]) == (410, True)


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    """An issuer of tokens."""
    with issuing() as issuer:
        yield issuer


def test_nobody_completes_or_opens_what_another_uploads(issuer: Issuer, tmp_path: Path) -> None:
    with serving_many(write_books(tmp_path), issuer.url, **ON) as server:

        def ask(token: str, tool: str, **arguments: Any) -> Mapping[str, Any]:
            return result(RawRequest(server.url).post(token, call(tool, json.dumps(arguments))))

        ann, bob = (issuer.token(sub=name, groups=["finance"]) for name in ("ann", "bob"))
        upload = ask(ann, "begin_file_upload", **ASKED)
        assert "reachable_from" not in upload
        assert upload["upload_url"].startswith(ORIGIN)
        url = f"http://{urlsplit(server.url).netloc}{upload['upload_url'].removeprefix(ORIGIN)}"
        unknown = ask(bob, "complete_file_upload", upload_id="a" * 32)
        for _ in range(2):
            other = ask(bob, "complete_file_upload", upload_id=upload["upload_id"])
            assert {**other, "got": ""} == {**unknown, "got": ""}
            put(url, Host=HOST)
        file = ask(ann, "complete_file_upload", upload_id=upload["upload_id"])
        assert ask(bob, "complete_file_upload", upload_id=upload["upload_id"])["error_type"] == "unknown_file"
        assert ask(bob, "get_file_download", file_id=file["file_id"])["error_type"] == "unknown_file"
        given = ask(ann, "get_file_download", file_id=file["file_id"])["download_url"]
        there = f"http://{urlsplit(server.url).netloc}{given.removeprefix(ORIGIN)}"
        assert httpx2.get(there, headers={"Host": HOST}).content == BODY
