"""What callers of the stack meet: paths, exports, charts, uploads, the jail, restarts, a renewed certificate."""

import json
import os
import re
import signal
import ssl
import time
from functools import partial
from hashlib import sha256
from pathlib import Path

import httpx2

from tests.integration.stack.containers import books
from tests.integration.stack.containers.deployment import (
    HOST,
    ORIGIN,
    SERVICES,
    InstalledStack,
    calling,
    write_certificate,
)
from tests.integration.stack.containers.install import UP, unhealthy
from tests.integration.stack.containers.traffic import traffic
from tests.support.books.loads import ROOT
from tests.support.service.servers import DEADLINE, wait_for

PATHS = {"/readyz": 404, "/metrics": 404, "/": 404, "/realms/master/": 404, "/mcp": 401, "/health": 200}
ATTACKS = ROOT / "tests" / "unit" / "sandbox" / "cases" / "attacks.json"
EACH = 6  # one attack in so many: all of them run in the jail's own tests
COMING_BACK = 120.0  # seconds
RENEW = """certificate=$(sed -n 's/^TLS_CERTIFICATE=//p' .env) key=$(sed -n 's/^TLS_CERTIFICATE_KEY=//p' .env)
cat NEW/fullchain.pem > "$certificate" && cat NEW/privkey.pem > "$key"
docker compose kill --signal HUP proxy"""
SIGNED = "signature="


def hardening(stack: InstalledStack) -> str:
    """Nobody is root, has a capability, may gain one, or writes to the image; each has a limit of memory."""
    for service in SERVICES:
        (container,) = stack.containers(service)
        made = stack.state(container)
        status = dict(
            line.split(":\t", 1)
            for line in Path(f"/proc/{made['State']['Pid']}/status").read_text(encoding="ascii").splitlines()
            if ":\t" in line
        )
        assert status["Uid"].split()[0] != "0", service
        assert (int(status["CapEff"], 16), int(status["CapBnd"], 16)) == (0, 0), service
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), service
        assert made["HostConfig"]["ReadonlyRootfs"], service
        assert made["HostConfig"]["Memory"], service
    return f"{len(SERVICES)} services"


def proxy_paths(_: InstalledStack) -> str:
    """The proxy forwards what it should and nothing else."""
    told = {path: httpx2.get(ORIGIN + path, timeout=DEADLINE).status_code for path in PATHS}
    told["/mcp"] = httpx2.post(f"{ORIGIN}/mcp", timeout=DEADLINE).status_code
    assert told == PATHS
    return ", ".join(f"{path} {status}" for path, status in told.items())


def exports(_: InstalledStack) -> str:
    """A statement is exported to JSON and XLSX, its links open, and a chart is drawn."""
    with calling() as caller:
        reference, sizes = books.data_ref(caller), {}
        for form in ("json", "xlsx"):
            made = caller.ask("export_dataset", data_ref=reference, format=form)
            content = httpx2.get(made["download_url"], timeout=DEADLINE).raise_for_status().content
            assert sha256(content).hexdigest() == made["sha256"]
            sizes[form] = len(content)
        chart = caller.call(
            "eval_chart_transform",
            data_refs=[reference],
            transform_code="result = df.select('line', 'value').head(1)",
            chart_spec={"chart_type": "bar", "title": "T", "x": "line", "y": "value"},
            picture=True,
        )
        assert not chart.is_error, chart.result
        assert len(chart.pictures) == 1
    return f"{sizes['json']:,} and {sizes['xlsx']:,} bytes, a picture of {len(chart.pictures[0]):,}"


def uploads(stack: InstalledStack) -> str:
    """With uploads allowed a file is reserved, sent through the proxy, completed and given back."""
    stack.fill_in(SVC_MCP_UPLOADS_ENABLED="true")
    stack.page(UP)
    wait_for(lambda: not unhealthy(stack), COMING_BACK)
    body = b"region,amount\nEU,1\n" * 50_000
    with calling() as caller:
        asked = {"filename": "more.csv", "mime_type": "text/csv", "size_bytes": len(body)}
        upload = caller.ask("begin_file_upload", **asked)
        assert httpx2.put(upload["upload_url"], content=body, timeout=DEADLINE).status_code == 201
        file = caller.ask("complete_file_upload", upload_id=upload["upload_id"])
        given = caller.ask("get_file_download", file_id=file["file_id"])
        assert httpx2.get(given["download_url"], timeout=DEADLINE).content == body
    stack.fill_in(SVC_MCP_UPLOADS_ENABLED="false")
    stack.page(UP)
    wait_for(lambda: not unhealthy(stack), COMING_BACK)
    return f"{len(body):,} bytes"


def jail(_: InstalledStack) -> str:
    """Attacks on the jail from outside, under the hardening of the stack."""
    attacks = json.loads(ATTACKS.read_text(encoding="utf-8"))[::EACH]
    with calling() as caller:
        reference = books.data_ref(caller)
        for attack in attacks:
            told = caller.call("eval_chart_transform", data_refs=[reference], transform_code=attack["code"])
            assert told.is_error or attack["expected"] != "rejected", (attack["id"], told.result)
            assert "CANARY" not in told.text, attack["id"]
        assert books.figures(caller) == books.expected()
    return f"{len(attacks)} attacks"


def killed(stack: InstalledStack) -> str:
    """Each container is killed, comes back, and the statement is answered again."""
    away = {}
    for service in SERVICES:
        (container,) = stack.containers(service)
        process, began = stack.state(container)["State"]["Pid"], time.monotonic()
        os.kill(process, signal.SIGKILL)
        wait_for(partial(runs_anew, stack, container, process), COMING_BACK)
        wait_for(answers, COMING_BACK)
        away[service] = time.monotonic() - began
    wait_for(lambda: not unhealthy(stack), COMING_BACK)
    wait_for(lambda: bool(stack.ready()["status"] == "ok"), COMING_BACK)
    return ", ".join(f"{service} {seconds:.1f} s" for service, seconds in away.items())


def runs_anew(stack: InstalledStack, container: str, process: int) -> bool:
    """Tell whether a container has another process than before."""
    return stack.state(container)["State"]["Pid"] not in (0, process)


def answers() -> bool:
    """Tell whether a new token gets the right statement."""
    try:
        with calling() as caller:
            return books.figures(caller) == books.expected()
    except (AssertionError, httpx2.HTTPError, ExceptionGroup):
        return False


def certificate(stack: InstalledStack) -> str:
    """A renewed certificate is served by the page's commands; calls under way are answered."""
    new = stack.tls / "new"
    new.mkdir()
    write_certificate(stack, new / "fullchain.pem", new / "privkey.pem")
    chain = (new / "fullchain.pem").read_text(encoding="ascii").split()
    with traffic(keeps=False) as calls:
        stack.page(RENEW, {"NEW": str(new)})
        wait_for(lambda: ssl.get_server_certificate((HOST, 443)).split() == chain)
        calls.wait_for_more(4)
    assert calls.answers.keys() == {"200"}, calls.answers
    return f"{calls.answers.total()} calls meanwhile, each 200"


def two_servers(stack: InstalledStack) -> str:
    """Two servers by the page's override: one leaves, then one is killed; no caller meets a 502 or 504."""
    (block,) = re.findall(
        r"```yaml\n(services:\n  server:\n    scale: .*?)```",
        (ROOT / "docs" / "operations" / "install.md").read_text(encoding="utf-8"),
        re.DOTALL,
    )
    override = stack.folder / "compose.override.yaml"
    override.write_text(block, encoding="utf-8")
    try:
        stack.page(UP)
        wait_for(lambda: len(stack.containers("server")) == 2 and not unhealthy(stack), COMING_BACK)
        for port in (8769, 8770):
            assert stack.ready(f"http://127.0.0.1:{port}")["status"] == "ok"
        first, second = stack.containers("server")
        with traffic() as stopping:  # calls in flight are finished
            stopping.wait_for_more(20)
            stack.docker("stop", first)
            stopping.wait_for_more(20)
        assert stopping.answers.keys() == {"200"}, stopping.answers
        stack.docker("start", first)
        wait_for(lambda: not unhealthy(stack), COMING_BACK)
        stack.docker("kill", second)  # between two calls, for one in flight is not asked a second time
        with traffic() as after:
            after.wait_for_more(40)
        assert after.answers.keys() == {"200"}, after.answers
    finally:
        override.unlink()
        stack.page(UP)
        wait_for(lambda: len(stack.containers("server")) == 1 and not unhealthy(stack), COMING_BACK)
    return f"{stopping.answers.total()} calls around a stop, {after.answers.total()} after a kill, each 200"


def logs(stack: InstalledStack) -> str:
    """No secret, no link and no traceback stands in a log."""
    said = stack.shell("docker compose logs --no-color").told
    for line in (stack.folder / ".env").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition("=")
        secret = name.endswith(("KEY", "PASSWORD")) and not name.startswith("TLS_")
        assert not secret or value not in said, name
    assert SIGNED not in said
    assert "Traceback" not in said, said[said.index("Traceback") - 500 :][:2500]
    return f"{len(said.splitlines()):,} lines"
