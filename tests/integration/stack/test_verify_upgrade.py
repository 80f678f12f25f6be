"""make verify-upgrade, against a real single-user server: what holds, what fails and why, and what it never prints."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.books.loads import ROOT
from tests.support.service.forks import script
from tests.support.service.servers import KEY, Server, connected, free_port, serving

SCRIPT = ROOT / "scripts" / "verify_upgrade.py"
STEP = re.compile(r"(ok|FAILED|not applicable) +([\w ]+): (.+)")
CHECKS = ("relational_database", "analytical_store", "cache_store", "artifacts", "workers")
READY = {"status": "ok", "checks": {name: {"status": "ok", "ms": 1.0} for name in CHECKS}}
APPLIED = ["printf", r"applied  001_load_attempts.sql\napplied  008_artifacts.sql\n"]


@contextmanager
def answering(status: int, body: object) -> Iterator[str]:
    """Answer everything the same way until the block ends; yield where."""

    class UpgradeAnswers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), UpgradeAnswers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def verify(url: str, *arguments: str, **environment: str) -> tuple[int, dict[str, tuple[str, str]], str]:
    """Run the script; return its status, how each step went and why, and all that it printed."""
    base = url.removesuffix("/mcp")
    given = {"SVC_TOKEN": KEY, **environment}
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SVC_", "MCP_"))}
    done = script(SCRIPT, "--base-url", base, *arguments, environment={**clean, **given})
    assert done.stderr == ""
    found = [match.groups() for line in done.stdout.splitlines() if (match := STEP.fullmatch(line))]
    return done.returncode, {step: (how, told) for how, step, told in found}, done.stdout


def beside(server: Server, ops: str) -> tuple[str, ...]:
    """Return a server's address with other operators' answers beside it."""
    return (server.url, "--ops-url", ops, "--migrations", f"{APPLIED[0]} '{APPLIED[1]}'")


def assert_verified(status: int, steps: dict[str, tuple[str, str]]) -> None:
    """Assert that a single-user server passes every step."""
    assert steps["readiness"] == ("ok", ", ".join(CHECKS))
    assert steps["migrations"] == ("ok", "008_artifacts.sql and all others are applied")
    assert steps["tools"][0] == "ok"
    assert steps["query"][0] == "ok", steps["query"]
    for step in ("export to json", "export to xlsx", "renewed link"):
        assert steps[step][0] == "ok", steps[step]
        assert steps[step][1].endswith(" bytes")
    assert steps["chart"] == ("ok", "a bar chart, exported to json and xlsx")
    assert steps["uploads disabled"] == ("ok", "absent and rejected")
    assert steps["exports and downloads enabled"] == ("ok", "export_dataset, get_file_download")
    assert steps["expired access token"][0] == "not applicable"
    assert status == 0


def test_every_step_of_the_list_says_how_it_went(served: Server) -> None:
    status, steps, _ = verify(served.url, "--ops-url", served.ops, SVC_STATE_DIR=str(served.log.parent))
    assert steps["query"] == ("ok", "revenue of actual in 2021")
    assert_verified(status, steps)


def test_the_demo_is_verified_though_its_first_metric_has_no_figure_on_the_last_day(demo_server: Server) -> None:
    with connected(demo_server.url, "auto") as books:
        domain = books.ask("list_kpis")["domains"][0]
        metric, (scenario, last_day) = domain["metrics"][0]["key"], next(iter(domain["loaded_through"].items()))
        columns = [{"scenario": scenario, "alias": "Verified"}]
        asked = {"metrics": [metric], "scenarios": columns, "period_start": last_day, "period_end": last_day}
        assert [row["values"] for row in books.ask("run_metric_data", **asked)["rows"]] == [[None]]
    state = str(demo_server.log.parent)
    status, steps, _ = verify(demo_server.url, "--ops-url", demo_server.ops, SVC_STATE_DIR=state)
    assert_verified(status, steps)


def test_a_stack_that_is_not_ready_is_reported_with_the_reason(served: Server) -> None:
    state, nothing = served.log.parent, f"127.0.0.1:{free_port()}"
    with serving(state.parent / "small", state, healthy=False, CACHE_HOST=nothing) as server:
        status, steps, _ = verify(*beside(server, server.ops))
    assert steps["readiness"] == ("FAILED", "cache_store: the cache store cannot be reached")
    assert steps["query"] == (
        "FAILED",
        "run_metric_data gave no data_ref, so that nothing can be exported; is the cache store ready?",
    )
    assert steps["tools"][0] == "ok"
    assert status == 1


def test_a_check_that_is_missing_is_reported(served: Server) -> None:
    with answering(200, {"status": "ok", "checks": {"artifacts": {"status": "ok"}}}) as ops:
        _, steps, _ = verify(*beside(served, ops))
    assert steps["readiness"] == ("FAILED", "4 checks are expected, and it tells of artifacts")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("printf 'applied  001_a.sql'", "008_artifacts.sql is not listed"),
        (r"printf 'applied  008_artifacts.sql\npending  009_b.sql\n'", "009_b.sql is pending"),
        (r"printf 'CHECKSUM MISMATCH  008_artifacts.sql'", "008_artifacts.sql is CHECKSUM MISMATCH"),
        ("sh -c 'echo no database >&2; exit 3'", "sh -c 'echo no database >&2; exit 3' ended with 3: no database"),
    ],
)
def test_migrations_that_are_not_applied_are_reported(command: str, reason: str) -> None:
    with answering(404, {}) as nothing:
        _, steps, _ = verify(nothing, "--ops-url", nothing, "--migrations", command)
    assert steps["migrations"] == ("FAILED", reason)


def test_a_stack_that_is_not_there_fails_step_by_step() -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    status, steps, printed = verify(nowhere, "--ops-url", nowhere, "--migrations", "true")
    assert {how for how, _ in steps.values()} == {"FAILED", "not applicable"}
    assert len(steps) == 11
    assert "does not answer" in steps["readiness"][1]
    assert printed.splitlines()[-1] == "10 of 11 steps failed"
    assert status == 1


def test_a_token_that_is_refused_is_reported_and_not_printed(served: Server) -> None:
    with answering(200, READY) as ops:
        _, steps, printed = verify(*beside(served, ops), SVC_TOKEN="wrong-token-of-this-test")  # noqa: S106 - wrong
    assert "refuses the token (401)" in steps["tools"][1]
    assert "wrong-token-of-this-test" not in printed


def test_an_expired_token_that_the_server_still_takes_is_reported(served: Server) -> None:
    with answering(200, {"access_token": KEY, "expires_in": 1}) as issuer:
        credentials = {"SVC_OIDC_TOKEN_URL": issuer, "SVC_CLIENT_ID": "verifier", "SVC_CLIENT_SECRET": "its-secret"}
        with answering(200, READY) as ops:
            _, steps, printed = verify(*beside(served, ops), "--lenience", "1", **credentials)
    assert steps["tools"][0] == "ok"
    assert steps["expired access token"] == ("FAILED", "the server still takes a token 1 s after it expired")
    assert "its-secret" not in printed
    assert KEY not in printed


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (401, {"error": "invalid_client"}, "gave no token (401)"),
        (200, {"access_token": KEY, "expires_in": 86_400}, "tokens live 86400 s"),
        (200, {"token": KEY}, "the answer is not as it should be"),
    ],
)
def test_an_identity_provider_that_gives_no_usable_token_is_reported(
    served: Server, status: int, body: object, reason: str
) -> None:
    with answering(status, body) as issuer, answering(200, READY) as ops:
        _, steps, _ = verify(*beside(served, ops), SVC_OIDC_TOKEN_URL=issuer)
    assert steps["expired access token"][0] == "FAILED"
    assert reason in steps["expired access token"][1]


def test_a_setting_that_does_not_hold_is_named() -> None:
    told = subprocess.run(
        [sys.executable, SCRIPT], env={**os.environ, "SVC_PORT": "http"}, capture_output=True, text=True, check=False
    )
    assert told.returncode == 2
    assert "SVC_PORT is 'http'; it takes a whole number above 0" in told.stderr
