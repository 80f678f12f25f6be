"""compose.yaml, read by the compose binary: what is pinned, hardened, awaited, published and secret."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from server.base.settings import Settings
from server.run.workers.supervisor import FAREWELL, GRACE
from tests.integration.stack.conftest import DIGEST, compose, variables
from tests.support.books.loads import ROOT

Services = dict[str, dict[str, Any]]
SECRETS = {name for name in variables() if re.search("KEY$|PASSWORD$", name) and not name.startswith("TLS_")}
EXACT = re.compile(r".+:(\d+\.\d+\.\d+|\d+\.\d+)(-\w+)?(@sha256:[0-9a-f]{64})?")
DONE_OR_RESTARTED = {"migrate", "backup", "daemon"}  # two end, the other has no port to ask


def dockerfile_of(service: dict[str, Any]) -> str:
    """Return the Dockerfile that a service's image is built from."""
    built = service["build"]
    return Path(built["context"], built["dockerfile"]).read_text(encoding="utf-8")


def test_every_service_of_the_issue_is_there(services: Services) -> None:
    assert set(services) == {"server", "daemon", "migrate", "backup", "database", "cache", "identity", "proxy"}
    assert [name for name, service in services.items() if "profiles" in service] == ["backup"]  # when it is asked for


def test_every_image_is_pinned_to_an_exact_version(services: Services) -> None:
    assert {name: service["image"] for name, service in services.items() if not EXACT.fullmatch(service["image"])} == {}


@pytest.mark.parametrize("tag", ["0.3.0", f"0.3.0@{DIGEST}"])
def test_svc_mcp_tag_selects_the_image_of_the_service(filled: dict[str, str], tag: str) -> None:
    listed = compose({**filled, "SVC_MCP_TAG": tag}, "config", "--images").stdout.split()
    assert listed.count(f"tieout:{tag}") == 3  # server, daemon, migrate


def test_nobody_is_root_and_nothing_is_writable_or_privileged(services: Services) -> None:
    for name, service in services.items():
        user, _, _ = service["user"].partition(":")
        assert user.isdigit(), name
        assert int(user) > 0, name
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["init"], name
        assert not set(service) & {"privileged", "cap_add", "network_mode", "pid", "ipc", "devices"}, name


def test_temporary_folders_are_bounded(services: Services) -> None:
    for name, service in services.items():
        assert all("size=" in folder for folder in service["tmpfs"]), name


def test_the_memory_of_every_service_is_bounded_and_the_server_holds_a_full_worker_and_the_next(
    services: Services,
) -> None:
    assert {name for name, service in services.items() if not int(service.get("mem_limit", 0))} == set()
    defaults = Settings()
    full = defaults.worker_megabytes + 512 * defaults.scripts_at_once  # beside it the parent, exports and a new worker
    assert int(services["server"]["mem_limit"]) >= (defaults.workers * full + 1024) << 20


def test_every_service_says_how_it_is_found_healthy(services: Services) -> None:
    for name, service in services.items():
        check = service.get("healthcheck", {})
        if name in DONE_OR_RESTARTED:
            assert check == {"disable": True}
        else:
            assert check.get("test") or "HEALTHCHECK" in dockerfile_of(service), name


def test_the_server_waits_for_migrations_and_the_proxy_for_the_server(services: Services) -> None:
    waits = {
        (name, awaited): how["condition"]
        for name, service in services.items()
        for awaited, how in service.get("depends_on", {}).items()
    }
    assert waits["server", "migrate"] == "service_completed_successfully"
    assert waits["daemon", "migrate"] == "service_completed_successfully"
    assert waits["migrate", "database"] == "service_healthy"
    assert waits["proxy", "server"] == "service_healthy"
    assert services["migrate"]["entrypoint"] == ["python", "scripts/migrate.py", "--scope", "open"]
    assert services["migrate"]["restart"] == "no"


def test_only_the_proxy_is_published_and_the_ops_port_on_loopback(services: Services) -> None:
    published = {
        (name, port.get("host_ip"), port["published"], port["target"])
        for name, service in services.items()
        for port in service.get("ports", [])
    }
    assert published == {("proxy", None, "443", 8443), ("server", "127.0.0.1", "8769", 8769)}
    assert services["server"]["environment"]["SVC_OPS_BIND"] == "0.0.0.0:8769"


def test_the_server_is_given_the_time_that_its_calls_may_take(services: Services) -> None:
    grace = re.fullmatch(r"(?:(\d+)m)?(\d+)s", services["server"]["stop_grace_period"])
    assert grace
    assert int(grace[1] or 0) * 60 + int(grace[2]) > Settings().deadline_seconds + GRACE + FAREWELL


def test_database_and_cache_stand_on_networks_that_lead_nowhere(stack: dict[str, Any], services: Services) -> None:
    on = {
        network: {name for name, service in services.items() if network in service["networks"]}
        for network in stack["networks"]
    }
    assert {name for name, network in stack["networks"].items() if network.get("internal")} == {"back", "cache"}
    assert on["cache"] == {"server", "cache"}  # which has no password
    assert on["back"] == {"server", "daemon", "migrate", "backup", "database", "identity"}
    assert on["front"] == {"proxy", "server", "daemon", "identity"}


def test_files_books_and_database_are_volumes_of_their_own(services: Services) -> None:
    volumes = {
        (name, volume["source"]): volume.get("read_only", False)
        for name, service in services.items()
        for volume in service.get("volumes", [])
        if volume["type"] == "volume"
    }
    assert volumes == {
        ("database", "database"): False,
        ("daemon", "books"): False,
        ("server", "books"): True,
        ("backup", "books"): True,
        ("backup", "files"): True,
        ("daemon", "files"): True,
        ("server", "files"): False,
    }
    for name in ("server", "daemon", "backup"):
        assert services[name]["environment"]["USER_DATA_DIR"] == "/var/lib/tieout/files"


def test_whatever_else_is_mounted_cannot_be_written_but_for_backups(services: Services) -> None:
    writable = {
        (name, volume["target"])
        for name, service in services.items()
        for volume in service.get("volumes", [])
        if volume["type"] == "bind" and not volume.get("read_only")
    }
    assert writable == {("backup", "/backups"), ("daemon", "/backups")}
    assert (ROOT / "backups").is_dir()  # a folder that is missing would keep the daemon from starting


def test_no_variable_of_the_example_may_be_left_out_and_each_is_used(filled: dict[str, str]) -> None:
    refused = compose({}, "config", "--quiet")
    assert refused.returncode != 0
    said = set(re.findall(r"required variable (\w+) is missing", refused.stderr))
    assert said == set(variables())
    assert compose(filled, "config", "--quiet").returncode == 0


def test_a_provider_of_your_own_takes_the_place_of_the_bundled_one(filled: dict[str, str], tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operations" / "security.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(services:\n  identity: .*?)```", page, re.DOTALL)
    override = tmp_path / "compose.override.yaml"
    override.write_text(block, encoding="utf-8")
    model = compose(filled, "--file", str(override), "config", "--format", "json")
    assert model.returncode == 0, model.stderr
    services = json.loads(model.stdout)["services"]
    assert {"server", "proxy", "database"} <= set(services)
    assert "identity" not in services
    assert services["server"]["environment"]["SVC_OIDC_ISSUER"] == "https://login.example.com"


def test_several_servers_have_a_port_each(filled: dict[str, str], tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operations" / "install.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(services:\n  server:\n    scale: .*?)```", page, re.DOTALL)
    override = tmp_path / "compose.override.yaml"
    override.write_text(block, encoding="utf-8")
    model = compose(filled, "--file", str(override), "config", "--format", "json")
    assert model.returncode == 0, model.stderr
    server = json.loads(model.stdout)["services"]["server"]
    assert server["scale"] == 2
    assert [(port["host_ip"], port["published"], port["target"]) for port in server["ports"]] == [
        ("127.0.0.1", "8769-8770", 8769)
    ]


def test_an_instance_that_is_not_there_is_not_made(services: Services) -> None:
    mounted = [
        volume
        for service in services.values()
        for volume in service.get("volumes", [])
        if volume["target"] == "/srv/instance"
    ]
    assert [volume["bind"] for volume in mounted] == [{"create_host_path": False}] * 3


def test_secrets_have_no_default_and_reach_only_who_needs_them(services: Services, filled: dict[str, str]) -> None:
    assert all(not variables()[name] for name in SECRETS)
    holders = {
        secret: {name for name, service in services.items() if filled[secret] in str(service.get("environment"))}
        for secret in SECRETS
    }
    assert holders == {
        "ARTIFACT_SIGNING_KEY": {"server"},
        "IDENTITY_ADMIN_PASSWORD": {"identity"},
        "IDENTITY_DATABASE_PASSWORD": {"identity", "database"},
        "POSTGRES_PASSWORD": {"database"},
        "TIEOUT_DATABASE_PASSWORD": {"server", "daemon", "migrate", "backup", "database"},
    }
    for name, service in services.items():
        elsewhere = str({key: value for key, value in service.items() if key != "environment"})
        assert not [secret for secret in SECRETS if filled[secret] in elsewhere], name


def test_every_setting_is_decided_by_the_stack_or_can_be(services: Services) -> None:
    known = {str(known.metadata["variable"]) for known in fields(Settings)}
    single_user = {"MCP_DEV_KEY", "SVC_PORT", "PG_BIN_DIR"}  # the port is the image's, the database no child
    taken = {name for service in ("server", "daemon") for name in services[service]["environment"]}
    assert known - taken - single_user == set()


def test_credentials_of_sources_are_read_by_the_daemon_alone() -> None:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    assert text.count("env_file") == 1
    assert "env_file" in text.partition("  daemon:")[2].partition("  migrate:")[0]
