"""The steps that verify a stack, from a client's or an operator's view."""

import json
import shlex
import ssl
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

MIGRATION = "008_artifacts.sql"
CHECKS = 4  # at least: database, analytical store, cache store, artifacts; not every release has the workers
RECEIVING = ("begin_file_upload", "complete_file_upload", "import_host_file")
GIVING = ("export_dataset", "get_file_download")
CHART = {
    "transform_code": "result = df.select('label', 'value')",
    "chart_spec": {"chart_type": "bar", "title": "Verified", "x": "label", "y": "value"},
}
TIMEOUT = 90.0  # seconds; longer than the deadline of a call
LONGEST_LIFE = 900  # seconds that this waits for a token to expire
REFUSED = 401
Json = dict[str, Any]


class StepFailure(Exception):
    """A step failed; the message says why."""


class NotApplicable(Exception):
    """A step does not apply to this stack; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The client credentials for the identity provider."""

    token_url: str
    client_id: str
    secret: str
    scope: str


@dataclass(slots=True, kw_only=True)
class Verification:
    """The steps against one stack; each returns what it found, or raises Failed or NotApplicable."""

    base_url: str
    ops_url: str
    migrations: Sequence[str]
    token: str = ""
    credentials: Credentials | None = None
    trust: ssl.SSLContext | bool = True
    lenience: int = 60  # seconds that a server may accept an expired token
    tools: frozenset[str] = frozenset()
    data_ref: str = ""
    files: dict[str, str] = field(default_factory=dict)  # format to file id

    async def readiness(self) -> str:
        """All checks report ok."""
        answer = await self.get(f"{self.ops_url}/readyz")
        checks = answer.json().get("checks", {}) if answer.headers.get("content-type") == "application/json" else {}
        bad = [
            f"{name}: {told.get('reason', told['status'])}" for name, told in checks.items() if told["status"] != "ok"
        ]
        if bad or answer.status_code != httpx2.codes.OK:
            raise StepFailure("; ".join(bad) or f"{self.ops_url}/readyz answered {answer.status_code}")
        if len(checks) < CHECKS:
            raise StepFailure(f"{CHECKS} checks are expected, and it tells of {', '.join(checks) or 'none'}")
        return ", ".join(checks)

    async def migrated(self) -> str:
        """The migration of the artifact tables is applied."""
        told = await anyio.to_thread.run_sync(lambda: run(self.migrations))
        standing = {line.split()[-1]: " ".join(line.split()[:-1]) for line in told.splitlines() if line.strip()}
        if standing.get(MIGRATION) != "applied":
            raise StepFailure(f"{MIGRATION} is {standing.get(MIGRATION, 'not listed')}")
        others = [f"{name} is {how}" for name, how in standing.items() if name.endswith(".sql") and how != "applied"]
        if others:
            raise StepFailure("; ".join(others))
        return f"{MIGRATION} and all others are applied"

    async def listed(self) -> str:
        """The token is taken and tools are listed."""
        if self.credentials and not self.token:
            self.token, _ = await self.fresh_token()
        if not self.token:
            raise StepFailure("there is no token: set SVC_TOKEN, MCP_DEV_KEY or the client's credentials")
        answer = await self.answer_to(self.token)
        if answer.status_code != httpx2.codes.OK:
            raise StepFailure(f"{self.base_url}/mcp refuses the token ({answer.status_code}): {words_of(answer)}")
        async with self.client() as client:
            self.tools = frozenset(tool.name for tool in (await client.list_tools()).tools)
        return f"{len(self.tools)} tools"

    async def queried(self) -> str:
        """A query for a figure is answered with a reference to its data."""
        metric, scenario, period = await self.cell_with_a_figure()
        answer = await self.ask("run_metric_data", metric_arguments([metric], scenario, period))
        if "data_ref" not in answer:
            raise StepFailure(
                "run_metric_data gave no data_ref, so that nothing can be exported; is the cache store ready?"
            )
        self.data_ref = answer["data_ref"]
        return f"{metric} of {scenario} in {period}"

    async def cell_with_a_figure(self) -> tuple[str, str, str]:
        """Return a metric, a scenario and a period that have a figure, in the year, month or day last loaded."""
        told = "the caller sees no rows of any scenario; does its profile grant any, and is anything loaded?"
        for domain in (await self.ask("list_kpis"))["domains"]:
            metrics = [metric["key"] for metric in domain["metrics"]]
            for scenario, through in domain.get("loaded_through", {}).items():
                for period in accumulate(through.split("-"), "{}-{}".format):  # 2026, 2026-10, 2026-10-31
                    found = await self.call("run_metric_data", metric_arguments(metrics, scenario, period))
                    if metric := first_with_a_figure(found):
                        return metric, scenario, period
                    told = found.get("error", f"no metric of {scenario} has a figure in {period}")
        raise StepFailure(told)

    async def exported(self, form: str) -> str:
        """The query is exported in a format and the link opens."""
        self.needs("export_dataset")
        made = await self.ask("export_dataset", {"data_ref": self.reference(), "format": form})
        content = await self.download(made)
        if form == "json":
            json.loads(content)
        elif not content.startswith(b"PK"):
            raise StepFailure("what the link gave is no workbook")
        self.files[form] = made["file_id"]
        return f"{len(content):,} bytes"

    async def renewed(self) -> str:
        """The link of a file is renewed and opens."""
        self.needs("get_file_download")
        if not self.files:
            raise StepFailure("nothing was exported")
        content = await self.download(await self.ask("get_file_download", {"file_id": next(iter(self.files.values()))}))
        return f"{len(content):,} bytes"

    async def charted(self) -> str:
        """A chart is made of the query, and its table is exported."""
        self.needs("eval_chart_transform", "export_dataset")
        chart = await self.ask("eval_chart_transform", {"data_refs": [self.reference()], **CHART})
        for form in ("json", "xlsx"):
            made = await self.ask("export_dataset", {"data_ref": chart.get("data_ref", ""), "format": form})
            await self.download(made)
        return "a bar chart, exported to json and xlsx"

    async def closed_to_uploads(self) -> str:
        """While uploads are disabled, the tools that receive files are absent and direct calls are rejected."""
        if shown := [name for name in RECEIVING if name in self.tools]:
            raise NotApplicable(f"uploads are enabled: {', '.join(shown)}")
        self.needs()
        for name in RECEIVING:
            answer = await self.call(name, {})
            if answer.get("error_type") not in ("tool_disabled", "unknown_name"):
                raise StepFailure(f"a direct call of {name} was not rejected")
        return "absent and rejected"

    async def open_to_downloads(self) -> str:
        """Exports and downloads stay enabled."""
        self.needs(*GIVING)
        return ", ".join(GIVING)

    async def outlives_a_token(self) -> str:
        """With OAuth, a call succeeds after the access token expired: with a fresh one, and not with the old."""
        if self.credentials is None:
            raise NotApplicable("no client credentials are given, so there is no OAuth to verify")
        old, life = await self.fresh_token()
        if life > LONGEST_LIFE:
            raise StepFailure(f"tokens live {life} s; name a client whose tokens live {LONGEST_LIFE} s at most")
        print(f"{'':<16}waiting {life} s for an access token to expire", flush=True)
        await anyio.sleep(life)
        for _ in range(self.lenience):
            if (await self.answer_to(old)).status_code == REFUSED:
                break
            await anyio.sleep(1)
        else:
            raise StepFailure(f"the server still takes a token {self.lenience} s after it expired")
        self.token, _ = await self.fresh_token()
        await self.ask("list_scenarios")
        return "the old token is refused and a fresh one taken"

    def needs(self, *names: str) -> None:
        """Raise Failed if no tools are known or one of these is missing."""
        if not self.tools:
            raise StepFailure("no tools were listed")
        if missing := [name for name in names if name not in self.tools]:
            raise StepFailure(f"there is no tool {' and no '.join(missing)}")

    def reference(self) -> str:
        """Return the reference to the data of the query."""
        if not self.data_ref:
            raise StepFailure("the query gave no data_ref")
        return self.data_ref

    async def ask(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Json:
        """Call a tool that must answer."""
        self.needs(tool)
        answer = await self.call(tool, arguments or {})
        if "error_type" in answer:
            raise StepFailure(f"{tool}: {answer['error']} ({answer['error_type']})")
        return answer

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Json:
        """Call a tool and return what it answered, an error or not."""
        async with self.client() as client:
            answer = await client.call_tool(tool, dict(arguments))
        return dict(answer.structured_content or {"error": "no structured content", "error_type": "internal"})

    async def download(self, artifact: Json) -> bytes:
        """Return the bytes that a link serves without a token."""
        url = str(artifact.get("download_url", ""))
        if not url.startswith(("https://", "http://127.0.0.1:", "http://[::1]:", "http://localhost:")):
            raise StepFailure("the answer has no https download_url")
        answer = await self.get(url)
        if answer.status_code != httpx2.codes.OK:
            raise StepFailure(f"the link answered {answer.status_code}")
        return answer.content

    async def fresh_token(self) -> tuple[str, int]:
        """Return an access token of the client and how many seconds it lives."""
        asked = self.credentials
        assert asked is not None  # noqa: S101 - the caller has checked
        form = {"grant_type": "client_credentials", "client_id": asked.client_id, "client_secret": asked.secret}
        wanted = {"scope": asked.scope, "resource": f"{self.base_url}/mcp"}
        async with self.http() as http:
            answer = await http.post(asked.token_url, data={**form, **wanted})
        if answer.status_code != httpx2.codes.OK:
            raise StepFailure(f"{asked.token_url} gave no token ({answer.status_code})")
        return answer.json()["access_token"], int(answer.json()["expires_in"])

    async def answer_to(self, token: str) -> httpx2.Response:
        """Request the list of tools with a token and return the response."""
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        accepts = {"Accept": "application/json, text/event-stream"}
        async with self.http() as http:
            headers = {"Authorization": f"Bearer {token}", **accepts}
            return await http.post(f"{self.base_url}/mcp", json=body, headers=headers)

    async def get(self, url: str) -> httpx2.Response:
        """Request a URL without a token and return the response."""
        try:
            async with self.http() as http:
                return await http.get(url)
        except httpx2.TransportError as fault:  # names no path: a link is a key to its file
            raise StepFailure(f"{httpx2.URL(url).copy_with(raw_path=b'/')} does not answer: {fault}") from fault

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """Lend an MCP client."""
        async with (
            self.http({"Authorization": f"Bearer {self.token}"}) as http,
            Client(streamable_http_client(f"{self.base_url}/mcp", http_client=http)) as client,
        ):
            yield client

    def http(self, headers: Mapping[str, str] | None = None) -> httpx2.AsyncClient:
        """Return an HTTP client that trusts the given certificates."""
        return httpx2.AsyncClient(verify=self.trust, timeout=TIMEOUT, headers=headers)


def words_of(answer: httpx2.Response) -> str:
    """Return the reason for a refusal, if the response states one."""
    try:
        return str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        return "it does not say why"


def metric_arguments(metrics: Sequence[str], scenario: str, period: str) -> Json:
    """Return the arguments of a query for some metrics in one scenario and period."""
    columns = [{"scenario": scenario, "alias": "Verified"}]
    return {"metrics": list(metrics), "scenarios": columns, "period_start": period, "period_end": period}


def first_with_a_figure(answer: Json) -> str | None:
    """Return the first metric of an answer that has a figure."""
    values = answer["rows"][0]["values"] if answer.get("rows") else []
    figures = zip(answer.get("metrics", ()), values, strict=False)  # of one scenario; a refusal has neither
    return next((metric["key"] for metric, value in figures if value is not None), None)


def run(command: Sequence[str]) -> str:
    """Return what a command prints."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as fault:
        raise StepFailure(f"{shlex.join(command)}: {fault.strerror}") from fault
    if done.returncode != 0:
        raise StepFailure(f"{shlex.join(command)} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout
