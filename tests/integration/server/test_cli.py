"""The command line as an operator meets it."""

import asyncio
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from server.auth.bearer import dev_key
from server.auth.tokens import InvalidToken
from server.base.credentials import read_or_create_key
from server.base.interfaces import DEVELOPER, Principal, StoreDown
from server.base.settings import BadSetting, Settings, read_settings
from server.base.sockets import listen
from tests.support.books.small import write_instance
from tests.support.service.forks import tieout
from tests.support.service.servers import connected, free_port, free_ports, serving


def ledger(folder: Path, rows: str) -> Path:
    """Write an instance of one amount."""
    return write_instance(
        folder / "books",
        facts={"gl": f"date scenario amount\n{rows}"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {}
            measures: {amount: {places: 2}}
            metrics:
              revenue: {measure: amount}
            """
        },
    )


def test_check_says_what_there_is_or_every_fault_and_fails(tmp_path: Path) -> None:
    instance = ledger(tmp_path, "2021-01-05 actual 1")
    good = tieout("check", instance)
    assert (good.returncode, good.stderr) == (0, "")
    assert "no faults; 1 domains, 1 metrics, 0 statements, 3 scenarios, 1 feeds" in good.stdout
    assert "closed_through" not in good.stdout
    assert "1 of 1 metrics have no `description`, which list_kpis shows: revenue" in good.stdout
    unloaded = tieout("check", "--data", instance)
    assert unloaded.returncode == 1
    assert "domains/gl.yaml:2: live.gl (gl) is not loaded" in unloaded.stderr
    (instance / "profiles.yaml").write_text("p: {scenarios: {actuals: {}}}\nassign: [{profile: p}]\n")
    closed = tieout("check", instance)
    assert closed.returncode == 1
    assert "profiles.yaml:1: there is no scenario 'actuals' — did you mean 'actual' or" in closed.stderr
    assert "profiles.yaml:2: assign.0: assigns a profile to nobody" in closed.stderr
    assert "1 of 1 rows" in tieout("load", "--instance", instance).stdout  # profiles are no reason not to load
    (instance / "scenarios.yaml").write_text("actual: {alias: A, kin: actual}\n")
    bad = tieout("check", instance)
    assert "profiles.yaml:2: assign.0" in bad.stderr
    assert bad.returncode == 1
    assert "scenarios.yaml:1: unknown key 'actual.kin' — did you mean 'kind'?" in bad.stderr


def test_check_names_the_period_that_closed_through_cuts(tmp_path: Path) -> None:
    instance = ledger(tmp_path, "2021-01-05 actual 1")
    domain = instance / "domains" / "gl.yaml"
    domain.write_text(domain.read_text(encoding="utf-8").replace("{column: date}", "{column: date, grain: quarter}"))
    (instance / "scenarios.yaml").write_text("actual: {alias: A, kind: actual, closed_through: 2021-02}\n")
    told = " ".join(tieout("check", instance).stdout.split())
    assert "closed_through of actual ends within 2021-Q1 of gl: 2021-Q1 is not closed" in told
    assert "actual is closed through 2020-12-31 there" in told


def test_load_tells_rows_and_keeps_the_rejected_ones_in_a_file(tmp_path: Path) -> None:
    instance = ledger(tmp_path, "2021-01-05 actual 1\n2021-01-06 actual x")
    failed = tieout("load", "--instance", instance)
    assert failed.returncode == 1
    assert "Nothing was published. gl: 1 of 2 rows rejected, 0 allowed" in failed.stderr
    assert "gl.csv row 3, amount: 'x' is no number" in failed.stderr
    (report,) = (instance / ".tieout" / "rejects").iterdir()
    assert "1 row: amount is no number ('x' 1)" in failed.stderr
    assert report.read_text().splitlines() == [
        "file,row,column,found,reason,rows",
        ",,amount,,is no number,1",
        "gl.csv,3,amount,x,is no number,",
    ]
    (instance / "data" / "gl.csv").write_text("date,scenario,amount\n2021-01-05,actual,1\n")
    loaded = tieout("load", "--instance", instance, "gl")
    assert (loaded.returncode, loaded.stdout.split(" (")[0]) == (0, "gl: 1 of 1 rows")
    assert tieout("check", "--data", instance).returncode == 0
    unknown = tieout("load", "--instance", instance, "gll")
    assert (unknown.returncode, unknown.stderr.strip()) == (1, "There is no feed gll; known: gl")


def test_other_users_of_the_machine_cannot_read_the_books(tmp_path: Path) -> None:
    instance = ledger(tmp_path, "2021-01-05 actual 1")
    assert tieout("load", "--instance", instance).returncode == 0
    state = instance / ".tieout"
    found = [state, *state.rglob("*")]
    assert any(path.suffix == ".arrow" for path in found)
    assert [path for path in found if path.stat().st_mode & 0o077] == []
    for folder in (state, state / "store"):  # as an older release left them
        folder.chmod(0o755)
    assert tieout("check", instance).stderr == ""
    assert [folder.stat().st_mode & 0o777 for folder in (state, state / "store")] == [0o700, 0o700]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another user")
def test_check_tells_that_others_can_read_what_it_cannot_close(tmp_path: Path) -> None:
    instance = ledger(tmp_path, "2021-01-05 actual 1")
    (tmp_path / "state").mkdir(mode=0o755)
    os.chown(tmp_path / "state", 4711, 4711)
    checked = tieout("check", instance, SVC_STATE_DIR=str(tmp_path / "state"))
    assert checked.returncode == 0
    assert f"other users of this machine may read {tmp_path / 'state'}, and it cannot be closed" in checked.stderr


@pytest.mark.parametrize("command", ["serve", "daemon", "load"])
def test_a_state_folder_that_cannot_be_made_is_named_with_its_setting(tmp_path: Path, command: str) -> None:
    instance = ledger(tmp_path, "2021-01-05 actual 1")
    (tmp_path / "file").touch()
    for state in (tmp_path / "file", Path("/proc/nope/state")):
        refused = tieout(command, "--instance", instance, **free_ports() | {"SVC_STATE_DIR": str(state)})
        assert refused.returncode == 1
        assert "Traceback" not in refused.stderr
        assert str(state) in refused.stderr
        assert "choose another SVC_STATE_DIR" in " ".join(refused.stderr.split())


def test_a_key_that_cannot_be_read_is_named_with_what_to_do(tmp_path: Path) -> None:
    instance = ledger(tmp_path, "2021-01-05 actual 1")
    key = instance / ".tieout" / "dev.key"
    key.mkdir(parents=True)  # root reads any file
    refused = tieout("serve", "--instance", instance, **free_ports())
    assert (refused.returncode, "Traceback" in refused.stderr) == (1, False)
    assert " ".join(refused.stderr.split()) == (
        f"{key} cannot be made or read (Is a directory); let the server's user read and write it, or choose another "
        "SVC_STATE_DIR"
    )


@pytest.mark.parametrize("manifest", ["{", '{"format": 99}'])
def test_a_server_whose_books_cannot_be_opened_says_why_until_they_can(tmp_path: Path, manifest: str) -> None:
    instance, state = ledger(tmp_path, "2021-01-05 actual 1"), tmp_path / "state"
    assert tieout("load", "--instance", instance, SVC_STATE_DIR=str(state)).returncode == 0
    path = state / "store" / "manifests" / "000001.json"
    kept = path.read_text()
    path.write_text(manifest)
    for command in ("load", "provision"):
        refused = tieout(command, "--instance", instance, SVC_STATE_DIR=str(state))
        assert (refused.returncode, "Traceback" in refused.stderr) == (1, False)
    with serving(instance, state, healthy=False) as server, connected(server.url, "auto") as books:
        refusal = books.call("list_kpis").result
        assert refusal["error_type"] == "unavailable"
        assert "manifests/000001.json" in refusal["error"] or "in format 99" in refusal["error"]
        path.write_text(kept)
        assert not books.call("list_kpis").is_error


def test_a_taken_port_is_refused_before_anything_is_announced(tmp_path: Path) -> None:
    instance = ledger(tmp_path, "2021-01-05 actual 1")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = tieout("serve", "--instance", instance, **free_ports() | {"SVC_PORT": str(taken.getsockname()[1])})
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert "choose another port with SVC_PORT" in refused.stderr


def test_a_folder_that_is_none_is_refused_and_not_made(tmp_path: Path) -> None:
    refused = tieout("serve", "--instance", tmp_path / "nowhere", **free_ports())
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "nowhere'; there is no such folder" in refused.stderr
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("arguments", [("serve", "--workers", "0"), ("loads", "--limit", "-1")])
def test_a_count_below_one_is_refused(arguments: tuple[str, ...]) -> None:
    refused = tieout(*arguments)
    assert refused.returncode == 2
    assert f"'{arguments[-1]}' is no whole number above 0" in refused.stderr


def test_answers_do_not_wait_for_acknowledgements() -> None:
    with listen(Settings(port=free_port())) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # what asyncio turns Nagle's algorithm off by


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"SVC_PORT": "eight"}, "SVC_PORT is 'eight'; it takes a whole number above 0"),
        ({"SVC_PORT": "65536"}, "SVC_PORT is '65536'; it takes a port, 1 to 65535"),
        ({"SVC_HOST": "0.0.0.0"}, "listens on loopback only"),  # noqa: S104 - refused
        ({"MCP_DEV_KEY": "short"}, "it has 5 characters, and takes at least 32; make one with: openssl rand -hex 32"),
        ({"MCP_DEV_KEY": "ab" * 20}, "it repeats 2 characters, and is not random"),
        ({"MCP_DEV_KEY": "0123456789abcdef 0123456789abcdef"}, "it has blanks"),
        ({"ARTIFACT_SIGNING_KEY": "0" * 64}, "takes 32 random bytes"),
        ({"SVC_ANSWER_TOKENS": "500"}, "it takes at least 2000"),
        ({"SVC_LOG_FORMAT": "xml"}, "it takes text or json"),
        *(
            ({"SVC_BASE_URL": url}, f"SVC_BASE_URL is '{url}'; it takes an origin without a path, as https://")
            for url in ("notaurl", "ftp://127.0.0.1", "http://127.0.0.1:8768/mcp")
        ),
        *(
            ({"SVC_PROXIES": named}, f"SVC_PROXIES has '{wrong}'; it takes IP addresses and networks, as 127.0.0.1,")
            for named, wrong in (("foo.bar", "foo.bar"), ("::1, 10.0.0.1/8", "10.0.0.1/8"), ("127.0.0.1,", ""))
        ),
        *(
            ({f"SVC_{name}_SECONDS": "315360001"}, f"SVC_{name}_SECONDS is '315360001'; it takes at most 315360000")
            for name in ("FILE", "LINK", "SNAPSHOT", "SNAPSHOT_IDLE", "DEADLINE")
        ),
        *(
            ({"SVC_OPS_BIND": bind}, "it takes an address and a port, as 127.0.0.1:8769")
            for bind in ("8769", ":8769", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:0")
        ),
    ],
)
def test_settings_that_do_not_hold(environment: dict[str, str], says: str) -> None:
    with pytest.raises(BadSetting, match=says):
        read_settings(environment)


def test_proxies_may_be_addresses_and_networks_of_either_family_and_times_ten_years() -> None:
    for named in ("*", "127.0.0.1", "10.0.0.0/8, ::1,fd00::/8"):
        assert read_settings({"SVC_PROXIES": named, "SVC_FILE_SECONDS": "315360000"}).proxies == named


def test_where_operators_are_answered_may_be_an_address_of_either_family() -> None:
    assert read_settings({}).ops_address == ("127.0.0.1", 8769)
    assert read_settings({"SVC_OPS_BIND": "[::1]:9000"}).ops_address == ("::1", 9000)


def test_the_dev_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    made = dev_key(None, tmp_path / "state")
    assert len(made.key) >= 32
    assert dev_key(None, tmp_path / "state") == made
    assert (tmp_path / "state" / "dev.key").stat().st_mode & 0o777 == 0o600
    assert asyncio.run(made.principal(made.key)) == Principal(DEVELOPER)
    for wrong in (made.key + "x", "\N{SNOWMAN}", ""):
        with pytest.raises(InvalidToken, match="not known"):
            asyncio.run(made.principal(wrong))


@pytest.mark.parametrize("name", ["dev.key", "signing.key"])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it has 0 characters"),
        (b"password", "it has 8 characters"),
        (b"a" * 40, "it repeats 1 characters"),
        (b"0123456789abcdef\n0123456789abcdef", "it has blanks, line ends"),
        (("0123456789abcdef" * 3 + "\N{SNOWMAN}").encode(), "characters that are not ASCII"),
    ],
)
def test_a_key_file_is_judged_like_the_setting(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StoreDown) as refused:
        read_or_create_key(tmp_path / name)
    assert all(words in str(refused.value) for words in (name, says, "Delete the file, and a new one is made"))


MANY = {
    "SVC_OIDC_ISSUER": "https://id.example.com/realms/tieout",
    "SVC_BASE_URL": "https://reports.example.com",
    "ARTIFACT_SIGNING_KEY": "0123456789abcdef" * 4,
    "SVC_HOST": "0.0.0.0",  # noqa: S104 - a server of many users stands behind a proxy
}


def test_a_server_of_many_users_may_listen_beyond_this_machine() -> None:
    settings = read_settings(MANY)
    assert settings.resource == "https://reports.example.com/mcp"
    assert settings.discovery == "https://id.example.com/realms/tieout/.well-known/openid-configuration"
    assert read_settings({**MANY, "SVC_OIDC_ISSUER": "http://127.0.0.1:9000"}).many_users
    assert not read_settings({}).many_users


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"SVC_BASE_URL": ""}, "SVC_BASE_URL is ''"),
        ({"SVC_BASE_URL": "http://reports.example.com"}, "takes the public https origin"),
        ({"SVC_BASE_URL": "https://reports.example.com/tieout"}, "without a path"),
        ({"SVC_BASE_URL": "https://reports.example.com/"}, "write it as https://reports.example.com,"),
        ({"SVC_BASE_URL": "https://Reports.example.com"}, "write it as https://reports.example.com,"),
        ({"SVC_BASE_URL": "https://reports.example.com:443"}, "write it as https://reports.example.com,"),
        ({"SVC_OIDC_ISSUER": "http://id.example.com"}, "it takes an https URL"),
        ({"SVC_OIDC_ISSUER": "id.example.com"}, "it takes an https URL"),
        ({"SVC_OIDC_ISSUER": "ftp://127.0.0.1"}, "it takes an https URL"),
        ({"SVC_OIDC_ISSUER": "https://[::1"}, "it takes an https URL"),
        ({"SVC_OIDC_ISSUER": "https://id.example.com:port"}, "it takes an https URL"),
        ({"SVC_OIDC_DISCOVERY": "ftp://id.example.com"}, "SVC_OIDC_DISCOVERY is"),
        ({"ARTIFACT_SIGNING_KEY": ""}, "ARTIFACT_SIGNING_KEY is missing"),
        *(
            ({"ARTIFACT_SIGNING_KEY": key}, "64 hex digits; make them with: openssl rand -hex 32")
            for key in ("short", "z" * 32, "z" * 64, "a" * 63, "a" * 65, "a" * 63 + "\n", "٣" * 64)
        ),
        ({"DATABASE_URL": f"postgresql://me:{MANY['ARTIFACT_SIGNING_KEY']}@db/x"}, "takes a key of its own"),
        ({"MCP_DEV_KEY": "k" * 40}, "MCP_DEV_KEY is the key of one user"),
        ({"SVC_OIDC_ISSUER": ""}, "SVC_HOST is '0.0.0.0'"),
        ({"SVC_PROFILES": "ldap"}, "takes file or database"),
    ],
)
def test_a_server_of_many_users_does_not_start_without_secrets_and_https(changed: dict[str, str], words: str) -> None:
    with pytest.raises(BadSetting, match=re.escape(words)):
        read_settings({**MANY, **changed})


@pytest.mark.parametrize(
    ("origin", "hosts", "origins"),
    [
        ("https://r.example.com", {"r.example.com", "r.example.com:443"}, {"https://r.example.com"}),
        ("https://r.example.com:8443", {"r.example.com:8443"}, {"https://r.example.com:8443"}),
        ("https://[2001:db8::1]", {"[2001:db8::1]", "[2001:db8::1]:443"}, {"https://[2001:db8::1]"}),
    ],
)
def test_hosts_and_origins_are_the_public_ones_as_clients_write_them(
    origin: str, hosts: set[str], origins: set[str]
) -> None:
    settings = read_settings({**MANY, "SVC_BASE_URL": origin})
    assert (set(settings.hosts), set(settings.origins)) == (hosts, origins)
    assert settings.resource == f"{origin}/mcp"


def test_benches_are_run_by_name() -> None:
    done = tieout("bench", "nothing", "--rows", "1000")
    assert done.returncode == 2
    assert "there is no bench nothing" in done.stderr


def test_without_what_benches_need_the_command_says_what_installs_it() -> None:
    without = "import sys; sys.modules['duckdb'] = None; "
    code = without + "from server.run.cli import main; sys.exit(main(['bench', 'overhead']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "make bench installs" in done.stderr


@pytest.mark.parametrize("command", [("backup", "made.tar"), ("migrate",), ("migrate", "--status")])
def test_a_misspelt_folder_is_neither_backed_up_nor_made(tmp_path: Path, command: tuple[str, ...]) -> None:
    misspelt = tmp_path / "instanse"
    for state in ("", str(tmp_path / "state")):
        done = tieout(*command, "--instance", str(misspelt), SVC_STATE_DIR=state, DATABASE_URL="")
        assert (done.returncode, "has no instance.yaml" in done.stderr, list(tmp_path.iterdir())) == (1, True, [])


@pytest.mark.parametrize("command", ["serve", "stdio"])
def test_the_demo_and_an_instance_are_not_served_at_once(tmp_path: Path, command: str) -> None:
    done = tieout(command, "--demo", "--instance", str(tmp_path))
    assert (done.returncode, "leave one of the two out" in done.stderr) == (1, True)
