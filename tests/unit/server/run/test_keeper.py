"""The embedded servers: kept by one process of several, taken over, restarted, stopped, and never reached by others."""

import os
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from threading import enumerate as enumerate_threads
from time import sleep

import psycopg
import pytest

from server.base.interfaces import StoreDown
from server.base.settings import Settings
from server.run.embedded import binaries
from server.run.embedded import keeper as keeper_module
from server.run.embedded.binaries import StartFailure, known_binaries, private_folder, socket_folder
from server.run.embedded.keeper import FAILURE, Keeper
from server.run.embedded.platform import Platform, platform
from server.run.embedded.servers import EmbeddedPostgres
from server.run.embedded.users import server_user
from tests.support.service.keeper import alive, cache_of, kept, postmaster, said, sees_into, using
from tests.support.service.servers import wait_for


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder that is not there yet."""
    return tmp_path / "state"


def write(opened: Platform, text: str) -> None:
    """Write something down."""
    with opened.database.transaction() as connection:
        connection.execute("create table if not exists kept (text text)")
        connection.execute("insert into kept values (%s)", (text,))


def written(opened: Platform) -> list[str]:
    """Read what was written down."""
    with opened.database.transaction() as connection:
        return [text for (text,) in connection.execute("select text from kept")]


def works(opened: Platform) -> bool:
    """Tell whether both stores answer."""
    try:
        opened.database.ping()
        cache_of(opened).ping()
    except StoreDown:
        return False
    return True


def test_both_servers_are_up_and_nobody_else_reaches_them(state: Path) -> None:
    with platform(Settings(state=state)) as opened:
        opened.start()
        opened.wait()
        cache_of(opened).ping()
        assert works(opened)
        for folder in (state / "postgres", state / "postgres" / "data", state / "valkey"):
            assert folder.stat().st_mode & 0o777 == 0o700
        servers = kept(state)
        for server in filter(sees_into, servers):
            listening = Path(f"/proc/{server}/net/tcp").read_text()
            held = {str(link.readlink()) for link in Path(f"/proc/{server}/fd").iterdir()}
            assert not [line for line in listening.splitlines()[1:] if f"socket:[{line.split()[9]}]" in held]
            assert set(Path(f"/proc/{server}/environ").read_text().split("\0")) <= {
                f"PATH={os.defpath}",
                "LC_ALL=C",
                "TZ=UTC",
                "",
            }
        assert postmaster(state) in servers
    assert not [server for server in servers if alive(server)]


def test_what_was_committed_is_there_at_the_next_start(state: Path) -> None:
    for text in ("first", "second"):
        with platform(Settings(state=state)) as opened:
            opened.wait()
            write(opened, text)
    with platform(Settings(state=state)) as opened:
        assert written(opened) == ["first", "second"]  # the first use starts it


def test_a_server_that_is_killed_is_started_again(state: Path) -> None:
    with platform(Settings(state=state)) as opened:
        opened.wait()
        cache_of(opened).ping()
        write(opened, "before")
        for server in kept(state):
            os.kill(server, signal.SIGKILL)
        wait_for(lambda: works(opened))
        assert written(opened) == ["before"]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_whoever_is_left_takes_over_when_the_keeper_ends(state: Path, end: signal.Signals) -> None:
    with using(state) as keeper, platform(Settings(state=state)) as opened:
        assert said(keeper) == "up"
        opened.wait()
        assert works(opened)
        write(opened, "before")
        first = postmaster(state)
        assert first in kept(state, keeper.pid)
        assert kept(state) == []
        keeper.send_signal(end)
        keeper.wait()
        wait_for(lambda: not alive(first))
        wait_for(lambda: works(opened))
        assert postmaster(state) in kept(state)
        assert written(opened) == ["before"]


def test_who_ends_without_being_the_keeper_stops_nothing(state: Path) -> None:
    with platform(Settings(state=state)) as opened:
        opened.wait()
        server = postmaster(state)
        with using(state) as other:
            assert said(other) == "up"
        assert works(opened)
        assert postmaster(state) == server


def test_several_that_start_at_once_make_the_data_once(state: Path) -> None:
    with using(state) as one, using(state) as two, using(state) as three:
        assert [said(one), said(two), said(three)] == ["up", "up", "up"]
        keepers = [process.pid for process in (one, two, three) if postmaster(state) in kept(state, process.pid)]
        assert len(keepers) == 1


def test_data_that_were_half_made_are_made_anew(state: Path) -> None:
    half = state / "postgres" / "data.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    with platform(Settings(state=state)) as opened:
        opened.wait()
        assert works(opened)
    assert not half.exists()


def test_a_number_left_behind_that_another_process_has_by_now_is_no_obstacle(state: Path) -> None:
    with platform(Settings(state=state)) as opened:
        opened.wait()
        write(opened, "before")
        left = (state / "postgres" / "data" / "postmaster.pid").read_text().splitlines()
    path = state / "postgres" / "data" / "postmaster.pid"
    path.write_text("\n".join([str(os.getpid()), *left[1:]]) + "\n")  # what a machine that lost its power leaves
    with platform(Settings(state=state)) as opened:
        opened.wait()
        assert written(opened) == ["before"]


@pytest.mark.parametrize("name", ["x" * 120, "spaced out, 50%"])
def test_a_folder_whose_name_no_socket_can_have_gets_one_elsewhere(tmp_path: Path, name: str) -> None:
    state = tmp_path / name
    with platform(Settings(state=state)) as opened:
        opened.wait()
        assert works(opened)
        folder = Path(opened.database.uri.partition("host=")[2])
        assert not folder.is_relative_to(state)
        user = server_user(state / "postgres")
        assert (folder.stat().st_mode & 0o777, folder.stat().st_uid) == (0o700, user.uid if user else os.geteuid())
        with using(state) as other:
            assert said(other) == "up"
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has its folder in /run")
def test_a_link_among_the_folders_of_root_is_not_believed(tmp_path: Path) -> None:
    state = tmp_path / ("x" * 120)
    opened = Platform(Settings(state=state))
    path = Path(opened.database.uri.partition("host=")[2])
    path.symlink_to(tmp_path)  # only root can
    try:
        with pytest.raises(StoreDown, match="is not a folder; remove it, or choose another SVC_STATE_DIR"):
            opened.wait()
    finally:
        path.unlink()
        opened.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another user")
def test_a_database_of_another_user_is_to_be_given_back_and_not_removed(tmp_path: Path) -> None:
    folder = tmp_path / "postgres"
    folder.mkdir()
    os.chown(folder, 4711, 4711)
    with pytest.raises(StartFailure) as refused:
        private_folder(folder)
    assert str(refused.value) == (
        f"{folder} belongs to another user (4711) and may hold data: run Tieout as that user, give it back to the "
        f"server's user (chown -R USER {folder}), or choose another SVC_STATE_DIR"
    )


@pytest.mark.parametrize("is_link", [True, False])
def test_what_somebody_else_put_in_place_of_a_short_folder_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_link: bool
) -> None:
    monkeypatch.setattr(binaries, "RUN", tmp_path / "none")  # as where /run is not ours
    if not is_link and os.geteuid() != 0:
        pytest.skip("only root gives a folder to another user")
    long = tmp_path / ("x" * 120)
    short = socket_folder(long, "socket")
    if is_link:
        short.symlink_to(tmp_path)
    else:
        short.mkdir()
        os.chown(short, 4711, 4711)
    folder = socket_folder(long, "socket")
    try:
        assert private_folder(folder).lstat().st_uid == os.geteuid()
        assert not folder.is_symlink()
        assert socket_folder(long, "socket") == folder, "other processes find the same folder"
    finally:
        short.unlink() if is_link else short.rmdir()
    assert socket_folder(long, "socket") == folder, "it stays the same once the name is free"
    folder.rmdir()
    assert socket_folder(long, "socket") == short


def test_programs_that_are_not_there_are_told_with_what_to_do(state: Path, tmp_path: Path) -> None:
    with platform(Settings(state=state, postgres_binaries=tmp_path)) as opened:
        with pytest.raises(StoreDown) as failed:
            opened.wait()
        assert f"PG_BIN_DIR is {tmp_path}, which has no PostgreSQL 15 or newer" in str(failed.value)
        cache_of(opened).ping()  # the other one is up


def test_data_of_another_version_are_told_and_left_as_they_are(state: Path) -> None:
    with platform(Settings(state=state)) as opened:
        opened.wait()
    version = state / "postgres" / "data" / "PG_VERSION"
    version.write_text("14\n")
    with platform(Settings(state=state)) as opened, pytest.raises(StoreDown) as failed:
        opened.wait()
    assert "are of PostgreSQL 14" in str(failed.value)
    assert "set PG_BIN_DIR to the programs of PostgreSQL 14, or restore a backup" in str(failed.value)
    assert version.read_text() == "14\n"


def test_a_state_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with platform(Settings(state=tmp_path / "state")) as opened, pytest.raises(StoreDown) as failed:
        opened.wait(1)
    assert "the embedded PostgreSQL cannot be started: " in str(failed.value)
    assert "cannot be made (File exists); choose another SVC_STATE_DIR" in str(failed.value)


def test_every_postgresql_that_is_found_can_be_embedded(tmp_path: Path) -> None:
    for number, programs in enumerate(known_binaries()):
        program = EmbeddedPostgres(lambda found=programs: found, tmp_path / str(number))  # type: ignore[misc]  # its own
        with closing(Keeper(program)) as keeper:
            keeper.start()
            keeper.wait(30)
            with closing(psycopg.connect(program.uri)) as connection:
                assert connection.info.server_version // 10000 == programs.major


def test_a_keeper_that_is_closed_while_another_thread_starts_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, known = Event(), {*enumerate_threads()}  # with the keepers of servers that other tests share

    class LateThread(Thread):
        def start(self) -> None:
            begun.set()
            sleep(0.2)  # so that `close` comes first
            super().start()

    monkeypatch.setattr(keeper_module, "Thread", LateThread)
    keeper = Keeper(EmbeddedPostgres(lambda: next(iter(known_binaries())), tmp_path / "state"))
    starting = Thread(target=keeper.start)
    starting.start()
    assert begun.wait(30)
    keeper.close()
    starting.join()
    keeper.start()
    found = {*enumerate_threads()} - known
    assert not [thread for thread in found if thread.name == "keeper of PostgreSQL"]


def failing_programs(folder: Path, says: str) -> Path:
    """Write a PostgreSQL whose initdb fails with some words."""
    folder.chmod(0o755)  # whoever root runs them as enters
    for name, does in (("postgres", "echo 'postgres (PostgreSQL) 18.6'"), ("initdb", f"printf '{says}' >&2; exit 1")):
        (folder / name).write_text(f"#!/bin/sh\n{does}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("initdb: error: could not look up user ID 4242: user does not exist", "could not look up user ID 4242"),
        ("selecting default time zone ...\nit ends here", "it ends here"),
        ("", "exit status 1"),
    ],
)
def test_an_initdb_that_fails_is_told_at_once_by_its_last_line(state: Path, says: str, told: str) -> None:
    with TemporaryDirectory(dir="/tmp") as folder:
        programs = failing_programs(Path(folder), says)
        with platform(Settings(state=state, postgres_binaries=programs)) as opened, pytest.raises(StoreDown) as failed:
            opened.wait(86_400)  # a day would pass if it were not told at once
    assert f"the embedded PostgreSQL cannot be started: initdb: {told}" in str(failed.value)


@pytest.mark.parametrize(
    ("programs", "told"),
    [
        (lambda folder: failing_programs(folder, "initdb: error: no time zone"), "initdb: no time zone"),
        (lambda folder: folder, "which has no PostgreSQL 15 or newer"),
    ],
)
def test_who_waits_for_a_server_that_another_process_fails_to_start_is_told_why_at_once(
    state: Path, programs: Callable[[Path], Path], told: str
) -> None:
    with TemporaryDirectory(dir="/tmp") as folder:
        settings = Settings(state=state, postgres_binaries=programs(Path(folder)))
        with platform(settings) as keeper, platform(settings, keeps=False) as opened:
            keeper.start_database()
            with pytest.raises(StoreDown, match=told):
                opened.wait(30)
            with pytest.raises(StoreDown, match=told):
                opened.database.ping()
    assert not (state / "postgres" / FAILURE).exists(), "the next start is not told of this one"


def test_who_waits_is_told_of_no_failure_once_another_attempt_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_module, "LATEST", 0.1)
    attempts = iter([OSError("no space is left")])

    def find() -> binaries.PostgresBinaries:
        for fault in attempts:
            raise fault
        return next(iter(known_binaries()))

    program = EmbeddedPostgres(find, tmp_path / "state")
    with closing(Keeper(program)) as keeper, closing(Keeper(program, keeps=False)) as waiting:
        keeper.start()
        keeper_failed = (program.folder / FAILURE).exists
        wait_for(lambda: keeper_failed() or program.answers())
        wait_for(program.answers)
        waiting.wait(30)
        assert not keeper_failed()
        assert waiting.trouble() is None
