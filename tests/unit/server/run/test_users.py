"""The user that the embedded PostgreSQL runs as, where Tieout is root, an ordinary user, or one that no list names."""

import os
import pwd
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec.structs import replace

from server.run.embedded import users
from server.run.embedded.binaries import StartFailure, known_binaries, private_folder
from server.run.embedded.keeper import Keeper
from server.run.embedded.servers import EmbeddedPostgres
from server.run.embedded.users import ServerUser, programs_for, server_user
from tests.support.books.loads import ROOT
from tests.support.machine import confined
from tests.support.service.keeper import DEADLINE, kept, postmaster, program_of, reached_by, said, using

OF_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its user")
OTHERS = [entry for entry in pwd.getpwall() if entry.pw_uid != 0]
NAMESPACE = ("unshare", "--user", "--map-root-user")
NOBODY = pwd.getpwnam("nobody")
CODE = (
    "from pathlib import Path; import sys; from server.run.embedded.platform import *; "
    "opened = Platform(Settings(state=Path(sys.argv[1])))\n"
    "try: opened.wait(); print('up')\n"
    "except StoreDown as down: print(down)\n"
    "opened.close()"
)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder that is not there yet."""
    return tmp_path / "state"


@pytest.fixture
def namespace() -> tuple[str, ...]:
    """What starts a command as root of a namespace, who may not change its user; skips where none can be made."""
    refused = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True, check=False)
    if refused.returncode:
        pytest.skip(f"no user namespace can be made: {refused.stderr.strip()}")
    return NAMESPACE


def opened(state: Path, *before: str | Path) -> str:
    """Return what a process says that uses the platform of a state folder; `before` is what starts it."""
    command = [*before, sys.executable, "-c", CODE, state]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def owner_of(process: int) -> int:
    """Return the user that a process runs as."""
    return Path(f"/proc/{process}").stat().st_uid


def start_as(state: Path, uid: int) -> None:
    """Use the platform of a state folder until its PostgreSQL runs, which must be that of a user."""
    with using(state) as keeper:
        assert said(keeper) == "up"
        assert owner_of(postmaster(state)) == uid


@OF_ROOT
def test_root_runs_it_as_nobody_in_a_folder_that_nobody_cannot_reach(state: Path) -> None:
    state.mkdir(mode=0o700)
    start_as(state, NOBODY.pw_uid)
    assert {path.lstat().st_uid for path in (state / "postgres" / "data").rglob("*")} == {NOBODY.pw_uid}
    assert state.stat().st_uid == 0


@OF_ROOT
@pytest.mark.parametrize("again", ["root", "namespace"])
def test_data_that_root_made_through_a_namespace_are_handed_over(
    state: Path, namespace: tuple[str, ...], again: str
) -> None:
    assert opened(state, *namespace) == "up\n"
    data = state / "postgres" / "data"
    assert data.stat().st_uid == 0
    assert opened(state, *(namespace if again == "namespace" else ())) == "up\n"
    assert data.stat().st_uid == (0 if again == "namespace" else NOBODY.pw_uid)


@OF_ROOT
def test_root_runs_it_as_the_owner_of_the_state_folder_who_then_runs_it_as_well(state: Path) -> None:
    entry = next(entry for entry in OTHERS if entry.pw_name != "nobody")
    state.mkdir()
    os.chown(state, entry.pw_uid, entry.pw_gid)
    start_as(state, entry.pw_uid)
    owner = (sys.executable, confined.__file__, "--user", str(entry.pw_uid), str(entry.pw_gid))
    reached_by(*owner)
    with using(state, *owner) as keeper:
        assert said(keeper) == "up"
    start_as(state, entry.pw_uid)


@OF_ROOT
def test_an_owner_without_an_entry_is_not_taken(state: Path) -> None:
    absent = max(entry.pw_uid for entry in OTHERS if entry.pw_uid < 60_000) + 1
    state.mkdir()
    os.chown(state, absent, absent)
    assert server_user(state / "postgres") == ServerUser(NOBODY.pw_uid, NOBODY.pw_gid)


@OF_ROOT
def test_a_user_without_an_entry_is_refused_in_a_sentence(state: Path) -> None:
    absent = max(entry.pw_uid for entry in OTHERS if entry.pw_uid < 60_000) + 1
    state.mkdir()
    os.chown(state, absent, absent)
    stranger = (sys.executable, confined.__file__, "--user", str(absent), str(absent))
    reached_by(*stranger)
    told = opened(state, *stranger)
    assert told == (
        f"the embedded PostgreSQL cannot be started: the user {absent} has no entry in /etc/passwd, and PostgreSQL "
        "does not run as such a user; add the entry, run Tieout as a user who has one, or set DATABASE_URL to a "
        "database\n"
    )


@OF_ROOT
def test_programs_that_only_root_reads_are_copied_once_and_each_start_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    installed = next(known_binaries())
    package = installed.folder.parents[1]
    hidden = replace(installed, folder=tmp_path / installed.folder.relative_to(package.parent))
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, tmp_path / part.name, symlinks=True)  # below a folder of root alone
    user = ServerUser(NOBODY.pw_uid, NOBODY.pw_gid)
    assert programs_for(None, hidden) == hidden
    with TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setattr(users, "PROGRAMS", Path(folder) / "tieout" / "programs")
        Path(folder).chmod(0o755)
        copy = programs_for(user, hidden)
        assert copy.folder.is_relative_to(users.PROGRAMS)
        assert programs_for(user, copy) == copy
        with caplog.at_level("INFO", "tieout"):
            assert programs_for(user, hidden) == copy
        (copied,) = users.PROGRAMS.iterdir()
        said = f"PostgreSQL runs from the copy {copied}: the user {user.uid} cannot read {hidden.folder.parent}"
        assert said in caplog.messages
        keeper = Keeper(EmbeddedPostgres(lambda: hidden, tmp_path / "state" / "postgres"))
        with closing(keeper):
            keeper.start()
            keeper.wait(DEADLINE)
            (server,) = kept(tmp_path / "state")
            assert program_of(server).is_relative_to(copy.folder)


@OF_ROOT
def test_root_who_may_not_change_its_user_and_has_no_namespace_is_told_what_to_do(
    state: Path, namespace: tuple[str, ...]
) -> None:
    nested = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    told = opened(state, *namespace, "sh", "-c", nested, "sh")
    assert "the embedded PostgreSQL cannot be started: no namespace without privileges: No space left on device" in told
    assert "run Tieout as another user than root, or set DATABASE_URL to a database" in told


@OF_ROOT
def test_a_folder_that_anybody_could_make_for_the_other_user_is_not_believed(tmp_path: Path) -> None:
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o1777)
    for parent, is_believed in ((tmp_path, True), (open_folder, False)):
        folder = parent / "sockets"
        folder.mkdir()
        os.chown(folder, NOBODY.pw_uid, NOBODY.pw_gid)
        if is_believed:
            assert private_folder(folder, NOBODY.pw_uid) == folder
        else:
            with pytest.raises(StartFailure, match="belongs to another user"):
                private_folder(folder, NOBODY.pw_uid)
