"""The importer against hosts that do not mean well: real ones, over TLS, with addresses that the test decides."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from hashlib import sha256
from ipaddress import IPv4Network, ip_address
from pathlib import Path
from typing import Any

import pytest

from engine.model.errors import Refusal
from server.base.interfaces import MinimumRate, Principal
from server.base.links import Host
from server.base.requests import HostFile
from server.caller.importer import AT_ONCE, NOT_PUBLIC, Address, Importer
from server.caller.uploads import CallerImports, CallerUploads
from server.tools.toolbox import TOOLS
from tests.support.books.holders import archive_in, keeping_in
from tests.support.service.hosts import HERE, INSIDE, Answers, Authority, RunningHost, drips, hosting, leads_to, sends
from tests.support.service.leavers import ClientGone, LeavingClient
from tests.unit.server.http.test_dispatch import dispatch_of

CLOSED = (
    *(network for network in NOT_PUBLIC if ip_address(HERE) not in network),
    *IPv4Network("127.0.0.0/8").address_exclude(IPv4Network(HERE)),
)
MOST = 2 << 20
PATIENT, QUICK = MinimumRate(at_first=30.0), MinimumRate(bytes_a_second=1 << 20, at_first=1.0)
BODY = b"month,amount\n2026-01,100\n"
CHUNKED = "Transfer-Encoding: chunked"
Resolved = dict[str, Sequence[str]]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority that the importers trust."""
    return Authority(tmp_path_factory.mktemp("authority"))


class ImportScene:
    """An importer, the hosts that it may ask, and what its caller has."""

    def __init__(self, authority: Authority, folder: Path) -> None:
        self.authority = authority
        self.folder = folder
        self.archive = archive_in(folder)
        self.asked: list[str] = []  # names that were looked up

    def importer(
        self, *hosts: Host, at: Callable[[str], Sequence[str]] = lambda _: [HERE], pace: MinimumRate = PATIENT
    ) -> Importer:
        """Return an importer that finds names where a test says."""

        def resolve(name: str) -> list[Address]:
            self.asked.append(name)
            return [ip_address(address) for address in at(name)]

        return Importer(hosts, 60.0, pace=pace, resolve=resolve, closed=CLOSED, trust=self.authority.trust)

    def take(self, importer: Importer, url: str, stop: Callable[[], None] = lambda: None, **told: Any) -> CallerImports:
        """Import a file as ann; return her imports."""
        imports = CallerImports(CallerUploads(Principal("ann"), self.archive), importer, stop)
        self.imported = imports.take(HostFile(download_url=url, **told))
        return imports

    def refused(self, importer: Importer, url: str, **told: Any) -> dict[str, Any]:
        """Import a file that is refused; return what the caller is told, and leave nothing behind."""
        with pytest.raises(Refusal) as refusal:
            self.take(importer, url, **told)
        self.nothing_is_left()
        data = refusal.value.as_data()
        assert "127.0" not in str(data)
        assert "secret" not in str(data)
        return data

    def nothing_is_left(self) -> None:
        """Hold that no byte of a file and no room for one is left."""
        assert [path for path in self.folder.iterdir() if path.is_file()] == []
        with CallerUploads(Principal("ann"), self.archive).room("x", "a/b", 10 << 20):
            pass  # all of the quota


@pytest.fixture
def scene(authority: Authority, tmp_path: Path) -> ImportScene:
    """A scene."""
    (tmp_path / "files").mkdir()
    return ImportScene(authority, tmp_path / "files")


def taken(scene: ImportScene, answers: Answers, **told: Any) -> RunningHost:
    """Import a file of a host that answers so."""
    with hosting(answers, scene.authority.shows("files.test")) as host:
        importer = scene.importer(Host("files.test", host.port))
        scene.take(importer, f"https://files.test:{host.port}/a?secret=1", **told)
    return host


def refused(
    scene: ImportScene, answers: Answers, shows: str = "files.test", pace: MinimumRate = PATIENT
) -> dict[str, object]:
    """Return what a caller is told whose host answers so."""
    with hosting(answers, scene.authority.shows(shows)) as host:
        importer = scene.importer(Host("files.test", host.port), pace=pace)
        return scene.refused(importer, f"https://files.test:{host.port}/a?secret=1")


def test_a_file_is_imported_as_its_host_sends_it(scene: ImportScene) -> None:
    host = taken(scene, sends(BODY, "Content-Type: text/csv; charset=utf-8"), file_name="../Budget.csv")
    file = scene.imported.file
    assert (file.name, file.mime_type, file.size_bytes, file.purpose) == ("Budget.csv", "text/csv", len(BODY), "import")
    assert file.sha256 == sha256(BODY).hexdigest()
    assert scene.archive.volume.path(file.file_id).read_bytes() == BODY
    assert scene.imported.notes == []
    assert scene.asked == ["files.test"]
    lines = host.heard[0].decode().split("\r\n")
    assert lines[0] == "GET /a?secret=1 HTTP/1.1"
    assert sorted(line.partition(":")[0].lower() for line in lines[1:] if line) == [
        *("accept", "accept-encoding", "connection", "host", "user-agent"),  # and nothing of the caller
    ]


def test_a_file_of_unknown_length_counts_as_what_came(scene: ImportScene) -> None:
    taken(scene, sends(b"3\r\nabc\r\n0\r\n\r\n", CHUNKED))
    assert (scene.imported.file.size_bytes, scene.imported.file.mime_type) == (3, "application/octet-stream")
    with CallerUploads(Principal("ann"), scene.archive).room("x", "a/b", (10 << 20) - 3):
        pass


def test_a_file_that_came_as_something_else_says_so(scene: ImportScene) -> None:
    taken(scene, sends(b"<form>", "Content-Type: text/html"), mime_type="text/csv", file_name="b.csv")
    (note,) = scene.imported.notes
    assert note.code == "type_differs"
    assert "text/csv and came as text/html" in note.message
    assert scene.imported.file.mime_type == "text/csv"


def test_a_length_that_is_not_that_of_the_body_reserves_nothing(scene: ImportScene) -> None:
    """Both ways of telling a length at once are a way of telling two readers two things."""
    chunks = b"".join(b"10000\r\n" + b"x" * 65536 + b"\r\n" for _ in range(4)) + b"0\r\n\r\n"
    with (
        CallerUploads(Principal("ann"), scene.archive).room("x", "a/b", (10 << 20) - 5),
        pytest.raises(Refusal) as refusal,
    ):
        taken(scene, sends(chunks, CHUNKED, "Content-Length: 1"))
    assert refusal.value.error_type == "quota_exceeded"
    taken(scene, sends(chunks, CHUNKED, "Content-Length: 1"))
    assert scene.imported.file.size_bytes == 4 * 65536


def test_redirects_are_followed_among_the_hosts_that_are_named(scene: ImportScene) -> None:
    shown = scene.authority.shows("files.test", "store.test")
    with (
        hosting(sends(BODY), shown) as store,
        hosting(leads_to(f"https://STORE.test:{store.port}/b#c"), shown) as files,
    ):
        importer = scene.importer(Host("files.test", files.port), Host("store.test", store.port))
        scene.take(importer, f"https://files.test:{files.port}/a")
    assert scene.imported.file.size_bytes == len(BODY)
    assert scene.asked == ["files.test", "store.test"]
    assert store.heard[0].startswith(b"GET /b HTTP/1.1\r\n")


@pytest.mark.parametrize(
    "location",
    [
        "https://elsewhere.test/secret",
        "https://files.test.elsewhere.test/secret",
        "http://files.test/secret",
        "//elsewhere.test/secret",
        "https://files.test/secret",  # at the usual port, which is not named
        "https://files.test@elsewhere.test/secret",
        "https://127.0.0.2/secret",
        "https://[::1]/secret",
        "https://2130706433/secret",
        "file:///etc/secret",
        "https://files.test:99999/secret",
        "https://files.test\\@elsewhere.test/secret",
    ],
)
def test_a_redirect_to_anywhere_else_is_refused(scene: ImportScene, location: str) -> None:
    told: dict[str, Any] = refused(scene, leads_to(location))
    assert told["error_type"] == "host_not_allowed"
    assert "leads to a place that nothing is imported from" in str(told["error"])
    assert scene.asked == ["files.test"]


def test_redirects_without_an_end_are_given_up(scene: ImportScene) -> None:
    told: dict[str, Any] = refused(scene, leads_to("/a?secret=2", status="307 Temporary Redirect"))
    assert told["error_type"] == "host_not_allowed"
    assert "leads on and on" in str(told["error"])
    assert len(scene.asked) == 4


def test_no_private_address_is_ever_connected_to(scene: ImportScene) -> None:
    """Named hosts that lead inside: at once, beside a public address, by a redirect, and at the second look."""
    shown = scene.authority.shows("files.test", "inside.test")
    with hosting(sends(b"secret"), shown, INSIDE) as inside:
        named = Host("inside.test", inside.port)
        for addresses in ([INSIDE], [HERE, INSIDE], [INSIDE, HERE], ["::1"], ["::ffff:127.0.0.1"], ["64:ff9b::7f00:1"]):
            importer = scene.importer(named, at=lambda _, found=addresses: found)  # type: ignore[misc]  # its own
            told = scene.refused(importer, f"https://{named}/a")
            assert told["error_type"] == "host_not_allowed"
        with hosting(leads_to(f"https://{named}/a"), shown) as files:
            importer = scene.importer(
                Host("files.test", files.port), named, at=lambda name: [INSIDE if name == "inside.test" else HERE]
            )
            assert scene.refused(importer, f"https://files.test:{files.port}/")["error_type"] == "host_not_allowed"
        assert inside.connections == 0


def test_an_address_that_nobody_answers_at_is_told_as_one_where_somebody_does(scene: ImportScene) -> None:
    with hosting(sends(b"secret"), scene.authority.shows("inside.test"), INSIDE) as inside:
        importer = scene.importer(Host("inside.test", inside.port), at=lambda _: [INSIDE])
        answered = scene.refused(importer, f"https://inside.test:{inside.port}/")
    assert scene.refused(importer, f"https://inside.test:{inside.port}/") == answered


def test_a_name_is_looked_up_once_a_connection_so_that_it_cannot_change_its_mind(scene: ImportScene) -> None:
    found = iter([HERE, INSIDE])
    with (
        hosting(leads_to("/b"), scene.authority.shows("files.test")) as files,
        hosting(sends(b"secret"), scene.authority.shows("files.test"), INSIDE) as inside,
    ):
        importer = scene.importer(Host("files.test", files.port), at=lambda _: [next(found)])
        told = scene.refused(importer, f"https://files.test:{files.port}/a")
    assert told["error_type"] == "host_not_allowed"
    assert (files.connections, inside.connections) == (1, 0)


def test_the_next_address_of_a_name_is_tried_where_one_does_not_answer(scene: ImportScene) -> None:
    with hosting(sends(BODY), scene.authority.shows("files.test")) as files:
        closed = [network for network in CLOSED if ip_address(INSIDE) not in network]
        found = [ip_address(INSIDE), ip_address(HERE)]
        importer = Importer(
            [Host("files.test", files.port)], 60.0, resolve=lambda _: found, closed=closed, trust=scene.authority.trust
        )
        scene.take(importer, f"https://files.test:{files.port}/a")
    assert scene.imported.file.size_bytes == len(BODY)


CHUNK = b"10000\r\n" + b"x" * 65536 + b"\r\n"
HEAD = b"HTTP/1.1 200 OK\r\n"
SLOW = "did not send the file in time"
BROKE = "broke off, or did not answer as a web server does"


@pytest.mark.parametrize(
    "answers",
    [
        drips(HEAD + b"Content-Length: 100\r\n\r\n", b"x"),
        drips(HEAD, b"a"),
        drips(HEAD, b"a: b\r\n", 0.001),
        drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.001),
    ],
    ids=["body", "header", "headers", "interim answers"],
)
def test_a_host_that_takes_its_time_is_given_up(scene: ImportScene, answers: Answers) -> None:
    told: dict[str, Any] = refused(scene, answers, pace=QUICK)
    assert (told["error_type"], told["retryable"], SLOW in str(told["error"])) == ("unavailable", True, True)


@pytest.mark.parametrize(
    ("answers", "error_type", "words"),
    [
        (drips(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", CHUNK, 0), "bad_arguments", "larger than 2097152 bytes"),
        (drips(HEAD, b"a: " + b"x" * 65536, 0), "unavailable", BROKE),
        (sends(b"x" * 9, f"Content-Length: {1 << 40}"), "bad_arguments", "larger than 2097152 bytes"),
        (sends(b"x" * 9, "Content-Length: 10"), "unavailable", BROKE),
        (sends(b"x" * 9, "Content-Length: 9", "Content-Length: 8"), "unavailable", BROKE),
        (sends(b"x" * 9, "Content-Length: -1"), "unavailable", BROKE),
        (sends(b"3\r\nabc\r\n", CHUNKED), "unavailable", BROKE),
        (sends(b"not hexadecimal\r\n", CHUNKED), "unavailable", BROKE),
        (sends(b""), "bad_arguments", "empty"),
        (lambda connection, _: connection.sendall(HEAD + b"\r\nhalf"), "bad_arguments", "where the file ends"),
        (sends(b"0\r\n\r\n", CHUNKED), "bad_arguments", "empty"),
        (sends(b"\x1f\x8b", "Content-Encoding: gzip"), "bad_arguments", "content coding"),
        (lambda connection, _: connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), "unavailable", BROKE),
        (lambda connection, _: connection.close(), "unavailable", BROKE),
        (sends(b"no", status="404 Not Found"), "bad_arguments", "has no file at this address (404)"),
        (sends(b"no", status="403 Forbidden"), "bad_arguments", "take a new one from the host"),
        (sends(b"x", "Content-Range: bytes 0-0/9", status="206 Partial Content"), "bad_arguments", "(206)"),
        (leads_to("", status="304 Not Modified"), "bad_arguments", "(304)"),
        (sends(b"no", status="503 Service Unavailable"), "unavailable", "cannot send the file just now (503)"),
        (sends(b"no", status="429 Too Many Requests"), "unavailable", "just now (429)"),
    ],
)
def test_what_a_host_sends_is_bounded_and_what_is_wrong_with_it_is_told(
    scene: ImportScene, answers: Answers, error_type: str, words: str
) -> None:
    told: dict[str, Any] = refused(scene, answers)
    assert told["error_type"] == error_type
    assert words in str(told["error"])
    assert ("retryable" in told) is (error_type == "unavailable")


def test_a_host_must_prove_who_it_is(scene: ImportScene, tmp_path: Path) -> None:
    told: dict[str, Any] = refused(scene, sends(BODY), shows="other.test")
    assert told["error_type"] == "unavailable"
    assert "No secure connection to files.test" in str(told["error"])
    stranger = Authority(tmp_path)
    with hosting(sends(BODY), stranger.shows("files.test")) as host:
        importer = scene.importer(Host("files.test", host.port))
        assert "No secure" in str(scene.refused(importer, f"https://files.test:{host.port}/")["error"])


def test_a_host_without_encryption_or_without_words_is_given_up(scene: ImportScene) -> None:
    def waits(_: object, hosted: RunningHost) -> None:
        hosted.ends.wait(10)

    with hosting(waits, None) as host:
        importer = scene.importer(Host("files.test", host.port), pace=QUICK)
        told = scene.refused(importer, f"https://files.test:{host.port}/")
    assert (told["error_type"], SLOW in str(told["error"])) == ("unavailable", True)
    told = scene.refused(importer, f"https://files.test:{host.port}/")  # nobody listens there any more
    assert "No secure connection" in str(told["error"])


def test_a_name_that_is_not_known_or_not_answered_for_is_told_alike(scene: ImportScene) -> None:
    def unknown(_: str) -> Sequence[str]:
        raise OSError

    importer = scene.importer(Host("files.test"), at=unknown)
    assert "No secure connection" in str(scene.refused(importer, "https://files.test/")["error"])
    assert scene.refused(scene.importer(Host("files.test"), at=lambda _: []), "https://files.test/")["error_type"] == (
        "unavailable"
    )


@pytest.mark.parametrize(
    ("url", "error_type"),
    [
        ("https://elsewhere.test/a", "host_not_allowed"),
        ("https://afiles.test/a", "host_not_allowed"),
        ("https://files.test.elsewhere.test/a", "host_not_allowed"),
        ("https://files.test:8443/a", "host_not_allowed"),
        ("https://xn--fles-4ya.test/a", "host_not_allowed"),
        ("https://fìles.test/a", "host_not_allowed"),
        ("http://files.test/a", "bad_arguments"),
        ("ftp://files.test/a", "bad_arguments"),
        ("file:///etc/passwd", "bad_arguments"),
        ("https://files.test./a", "bad_arguments"),
        ("https://ann@files.test/a", "bad_arguments"),
        ("https://files.test@elsewhere.test/a", "bad_arguments"),
        ("https://files.test\\@elsewhere.test/a", "bad_arguments"),
        ("https://files.test%2eelsewhere.test/a", "bad_arguments"),
        ("https://files.test:0/a", "bad_arguments"),
        ("https://files.test:/a", "bad_arguments"),
        ("https://127.0.0.1/a", "bad_arguments"),
        ("https://2130706433/a", "bad_arguments"),
        ("https://0x7f000001/a", "bad_arguments"),
        ("https://0177.0.0.1/a", "bad_arguments"),
        ("https://[::1]/a", "bad_arguments"),
        ("https://①②⑦.0.0.1/a", "bad_arguments"),
        ("https://files.test/a b", "bad_arguments"),
        ("https://files.test/a\r\nX: y", "bad_arguments"),
        (" https://files.test/a", "bad_arguments"),
        ("https:/files.test/a", "bad_arguments"),
        ("https://", "bad_arguments"),
        ("", "bad_arguments"),
        ("https://files.test/" + "a" * 9000, "bad_arguments"),
    ],
)
def test_an_address_of_no_named_host_is_refused_before_anything_is_asked(
    scene: ImportScene, url: str, error_type: str
) -> None:
    with pytest.raises(Refusal) as refusal:
        scene.take(scene.importer(Host("files.test")), url)
    told: dict[str, Any] = refusal.value.as_data()
    assert told["error_type"] == error_type
    assert told["field"] == "file.download_url"
    assert told.get("valid", ["files.test"]) == ["files.test"]
    assert scene.asked == []


def test_a_caller_who_is_gone_is_noticed_while_the_host_is_waited_for(scene: ImportScene) -> None:
    with hosting(drips(HEAD + b"Content-Length: 100\r\n\r\n", b"x"), scene.authority.shows("files.test")) as host:
        importer = scene.importer(Host("files.test", host.port))
        with pytest.raises(ClientGone):
            scene.take(importer, f"https://files.test:{host.port}/a", LeavingClient(8))
    scene.nothing_is_left()


def test_a_file_beyond_the_quota_is_not_read(scene: ImportScene) -> None:
    with (
        CallerUploads(Principal("ann"), scene.archive).room("x", "a/b", (10 << 20) - 5),
        hosting(sends(BODY), scene.authority.shows("files.test")) as host,
    ):
        importer = scene.importer(Host("files.test", host.port))
        with pytest.raises(Refusal, match="more than 10 MB") as refusal:
            scene.take(importer, f"https://files.test:{host.port}/a")
    assert refusal.value.error_type == "quota_exceeded"


def test_few_files_are_imported_at_once_so_that_others_are_answered(scene: ImportScene) -> None:
    with hosting(sends(BODY), scene.authority.shows("files.test")) as host, ExitStack() as imports:
        importer = scene.importer(Host("files.test", host.port))
        url = f"https://files.test:{host.port}/a"
        for _ in range(AT_ONCE):
            imports.enter_context(importer.opened(url, lambda: None))
        told = scene.refused(importer, url)
        assert (told["error_type"], told["retryable"]) == ("busy", True)
        imports.close()
        scene.take(importer, url)


def test_a_call_of_the_tool_answers_with_the_file_and_what_is_to_be_said_of_it(
    scene: ImportScene, small_instance: tuple[Path, Path]
) -> None:
    with hosting(sends(b"<form>", "Content-Type: text/html"), scene.authority.shows("files.test")) as host:
        dispatch = dispatch_of(
            small_instance,
            TOOLS,
            keeping=keeping_in(scene.folder, scene.importer(Host("files.test", host.port))),
            uploads_enabled=True,
            import_hosts="files.test",
        )
        file = {
            "download_url": f"https://files.test:{host.port}/a",
            "file_id": "file_1",
            "file_name": "Budget.csv",
            "mime_type": "text/csv",
            "size": 6,  # which is of the host
        }
        outcome = asyncio.run(dispatch.call("import_host_file", {"file": file}, Principal("ann")))
    assert not outcome.is_error, outcome.text
    assert outcome.result["sha256"] == sha256(b"<form>").hexdigest()
    assert set(outcome.result) == {"file_id", "name", "mime_type", "size_bytes", "sha256", "expires_at", "notes"}
    assert [note["code"] for note in outcome.result["notes"]] == ["type_differs"]
