"""tieout stdio: several hosts share one server, which ends with the last of them, and nothing but messages is told."""

import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from server.base.interfaces import File
from server.caller.files import now, write_bytes
from tests.support.answers.workbooks import grid
from tests.support.books.holders import archive_in
from tests.support.service.keeper import alive
from tests.support.service.servers import ERAS, McpBooks, Server, connected, free_port, serving, wait_for
from tests.support.service.stdio import DEADLINE, TIEOUT, DesktopHost, bridge_environment, hosting

ASKED = {"statement": "pnl", "scenarios": [{"scenario": "actual"}], "period_start": "2021-01", "period_end": "2021-02"}
UPLOADS: dict[str, Any] = {"SVC_MCP_UPLOADS_ENABLED": "true", "SVC_FILE_IMPORT_HOSTS": "files.example.com"}


@pytest.fixture(scope="module")
def loaded(small_instance: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The small instance with a state folder that no other test serves."""
    state = tmp_path_factory.mktemp("bridged")
    shutil.copytree(small_instance[1] / "store", state / "store")
    return small_instance[0], state


@pytest.fixture(scope="module")
def joined(loaded: tuple[Path, Path]) -> Iterator[tuple[DesktopHost, Server]]:
    """A host whose bridge joined a served instance, which takes uploads."""
    with serving(*loaded, **UPLOADS) as server, hosting(*loaded) as host:
        host.shake_hands()
        yield host, server


def test_a_bridge_joins_the_server_that_runs_and_answers_what_it_answers(joined: tuple[DesktopHost, Server]) -> None:
    host, server = joined
    with connected(server.url, "legacy") as over_http:
        for tool, asked in (("run_statement", ASKED), ("svc_orientation", {}), ("run_metric", {"metrics": ["none"]})):
            ours = host.call(tool, **asked)
            assert {key: part for key, part in ours.items() if key != "data_ref"} == over_http.call(tool, **asked).told
        listed = {tool["name"] for tool in host.ask("tools/list")["result"]["tools"]}
        takes = {"begin_file_upload", "complete_file_upload", "import_host_file"}
        assert {tool.name for tool in over_http.tools()} - listed == takes
    for tool in takes:
        assert host.call(tool)["error_type"] == "tool_disabled"
    assert host.servers == []


def test_an_export_is_a_file_of_this_user_alone(joined: tuple[DesktopHost, Server], loaded: tuple[Path, Path]) -> None:
    host, server = joined
    made = host.call("export_dataset", data_ref=host.call("run_statement", **ASKED)["data_ref"], format="xlsx")
    assert not made.keys() & {"download_url", "link_expires_at", "reachable_from"}
    path = Path(made["path"])
    assert path.is_absolute()
    assert path.is_relative_to(loaded[1])
    assert made["file_id"] in path.name
    assert [stat.S_IMODE(found.stat().st_mode) for found in (path.parent, path)] == [0o700, 0o600]
    assert len(grid(path)) > 1
    path.write_bytes(b"changed by its user")
    assert host.call("get_file_download", file_id=made["file_id"])["path"] == str(path)
    assert path.read_bytes() == b"changed by its user"
    path.unlink()
    host.call("get_file_download", file_id=made["file_id"])
    assert len(grid(path)) > 1
    with connected(server.url, "legacy") as over_http:
        assert "path" not in over_http.ask("get_file_download", file_id=made["file_id"])
    words = {tool["name"]: tool["description"] for tool in host.ask("tools/list")["result"]["tools"]}
    assert all("download_url" not in words[name] for name in ("export_dataset", "get_file_download"))


def test_garbage_and_endless_messages_get_errors_of_the_protocol(joined: tuple[DesktopHost, Server]) -> None:
    host, _ = joined
    host.send(b"garbage", b"[1, 2]", b"\xff\xfe", b"", b"[" * 100_000)
    assert [host.receive()["error"]["code"] for _ in range(4)] == [-32700] * 4
    host.send(b"x" * 100_000_000)
    told = host.receive()["error"]
    assert (told["code"], "4194304 bytes" in told["message"]) == (-32600, True)
    host.send(b'{"jsonrpc": "2.0", "id": "twice", "method": "tools/list", "params": {"a": 1, "a": 2}}')
    told = host.receive()
    assert told["id"] == "twice"  # so that its client does not wait for ever
    assert "stands twice" in told["error"]["message"]
    assert host.ask("no/such/method")["error"]["code"] == -32601
    assert host.call("run_statement", **ASKED)["rows"]


def test_the_private_socket_opens_nothing_to_the_network(
    joined: tuple[DesktopHost, Server], loaded: tuple[Path, Path]
) -> None:
    _, server = joined
    folder = loaded[1] / "stdio"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for headers in ({}, {"Host": "private"}, {"Authorization": "Bearer private"}, {"X-Private": "true"}):
        assert httpx2.post(server.url, json=body, headers=headers).status_code in (401, 421)


@pytest.mark.parametrize("era", ERAS)
def test_the_client_of_the_sdk_speaks_both_eras(
    joined: tuple[DesktopHost, Server], loaded: tuple[Path, Path], era: str
) -> None:
    instance, state = loaded
    known = dict(bridge_environment(state))
    program = StdioServerParameters(command=str(TIEOUT), args=["stdio", "--instance", str(instance)], env=known)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(program), mode=era)) as client,
    ):
        found = McpBooks(portal, client, [])
        assert len(found.tools()) == len(joined[0].ask("tools/list")["result"]["tools"])
        assert found.ask("run_statement", **ASKED)["rows"]
        assert found.call("run_statement", statement="none").result["error_type"] == "unknown_name"


def test_two_hosts_share_a_server_that_ends_with_them_and_comes_back_when_it_is_killed(
    small_instance: tuple[Path, Path], tmp_path: Path
) -> None:
    shutil.copytree(small_instance[1] / "store", tmp_path / "store")
    own = small_instance[0], tmp_path
    with hosting(*own) as first, hosting(*own) as second:
        assert first.shake_hands()["result"]["serverInfo"]["name"] == "tieout"
        second.shake_hands()
        (started,) = first.servers + second.servers
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(DEADLINE)
        assert second.call("run_statement", **ASKED)["rows"]
        signal_to(started, signal.SIGKILL)
        (other,) = until_another_serves(second, started)
        second.process.send_signal(signal.SIGKILL)
        second.process.wait(DEADLINE)
        wait_for(lambda: not alive(other))


def until_another_serves(host: DesktopHost, killed: int) -> list[int]:
    """Call until the bridge has started another server; the workers of the killed one may answer until they notice."""
    others: list[int] = []

    def answered() -> bool:
        assert host.call("run_statement", **ASKED)["rows"]
        others.extend(process for process in host.servers if process != killed and alive(process))
        return bool(others)

    wait_for(answered)
    return others


def signal_to(process: int, number: int) -> None:
    """Send a signal to a process by its id."""
    os.kill(process, number)


def refused(instance: Path, state: Path, *messages: bytes, **settings: str) -> subprocess.CompletedProcess[bytes]:
    """Run a bridge that is told some messages, to its end."""
    return subprocess.run(
        [TIEOUT, "stdio", "--instance", instance],
        input=b"".join(message + b"\n" for message in messages),
        capture_output=True,
        timeout=DEADLINE,
        check=False,
        env=bridge_environment(state, **settings),
    )


def test_a_bridge_that_cannot_work_says_why_on_standard_error_alone(
    small_instance: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    cases: list[tuple[Path, Path, dict[str, Any], str]] = [
        (tmp_path / "none", tmp_path / "state", {}, "there is no such folder. Name the folder of your instance"),
        (small_instance[0], tmp_path / "file" / "state", {}, "cannot be written"),
        (
            small_instance[0],
            tmp_path / "state",
            {"SVC_OIDC_ISSUER": "https://login.example.com", "SVC_BASE_URL": "https://reports.example.com"}
            | {"ARTIFACT_SIGNING_KEY": "0123456789abcdef" * 4},
            "connect to https://reports.example.com/mcp instead",
        ),
    ]
    for instance, state, settings, words in cases:
        ended = refused(instance, state, **settings)
        assert (ended.returncode, ended.stdout) == (1, b"")
        assert words in ended.stderr.decode()
        assert b"Traceback" not in ended.stderr


def test_an_instance_with_faults_is_told_to_the_client_and_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "instance").mkdir()
    ended = refused(tmp_path / "instance", tmp_path / "state", b'{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}')
    assert ended.returncode == 0
    assert b"instance.yaml" in ended.stderr
    assert b'"id": 7' in ended.stdout
    assert b"instance.yaml" in ended.stdout
    assert b"Traceback" not in ended.stdout + ended.stderr


def test_books_that_are_not_loaded_are_told_on_standard_error_and_show_nothing(
    small_instance: tuple[Path, Path], tmp_path: Path
) -> None:
    with serving(small_instance[0], tmp_path, healthy=False), hosting(small_instance[0], tmp_path) as host:
        host.shake_hands()
        assert host.process.stderr is not None
        assert b"no books are loaded yet" in host.process.stderr.readline()
        assert {value for row in host.call("run_statement", **ASKED)["rows"] for value in row["values"]} == {None}


def test_a_server_of_many_users_has_no_private_socket(small_instance: tuple[Path, Path], tmp_path: Path) -> None:
    many = {
        "SVC_OIDC_ISSUER": f"http://127.0.0.1:{free_port()}",
        "SVC_BASE_URL": "https://reports.example.com",
        "ARTIFACT_SIGNING_KEY": "0123456789abcdef" * 4,
        "MCP_DEV_KEY": "",
    }
    with serving(small_instance[0], tmp_path, healthy=False, **many):
        assert not (tmp_path / "stdio").exists()


def test_a_placed_copy_is_deleted_when_its_file_expires(tmp_path: Path) -> None:
    archive = archive_in(tmp_path / "files")
    kept, over = "a" * 32, "b" * 32
    for file_id, ends in ((kept, timedelta(hours=1)), (over, timedelta(hours=-1))):
        size, digest = archive.volume.keep(file_id, lambda path: write_bytes(path, b"{}"))
        file = File(
            file_id=file_id,
            owner="dev",
            purpose="export",
            name="Pnl.json",
            mime_type="application/json",
            size_bytes=size,
            sha256=digest,
            cell=None,
            created_at=now(),
            expires_at=now() + ends,
        )
        assert archive.files.add(file, 1000)
        assert archive.volume.place(file_id, file.name).read_bytes() == b"{}"
    archive.sweep()
    assert [path.name for path in (tmp_path / "files" / "paths").iterdir()] == [f"Pnl-{kept}.json"]
