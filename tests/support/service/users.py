"""A server of many users: small books that two of three callers see, with tokens of an issuer of our own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.service.issuers import RESOURCE
from tests.support.service.servers import DEADLINE, Server, serving

ORIGIN = RESOURCE.removesuffix("/mcp")
HOST = ORIGIN.removeprefix("https://")
SIGNING_KEY = "5f1e9a07" * 8
ACCEPTED = {"Accept": "application/json, text/event-stream", "Host": HOST}
PROFILES = """
all_of_it: {operations: true, scenarios: {'*': {}}}
north: {scenarios: {actual: {dimensions: {region: {allow: [north]}}}}}
assign:
  - {claim: {groups: finance}, profile: all_of_it}
  - {claim: {realm_access.roles: north}, profile: north}
"""


def write_books(folder: Path) -> tuple[Path, Path]:
    """Write and load an instance of one ledger; return it and its state folder."""
    instance = write_instance(
        folder / "instance",
        facts={"gl": "scenario date region amount\nactual 2026-01-15 north 100\nactual 2026-01-20 south 20"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {region: region}
            measures: {amount: {places: 2}}
            metrics:
              revenue: {measure: amount}
            """
        },
        dimensions="region: {kind: leaf}",
        statements={"pnl": "  - {metric: revenue}\n"},
        profiles=PROFILES,
    )
    load_instance(instance, folder / "state")
    return instance, folder / "state"


@contextmanager
def serving_many(books: tuple[Path, Path], issuer: str, **settings: str) -> Iterator[Server]:
    """Serve books to many users, who have tokens of an issuer, until the block ends."""
    usual: dict[str, Any] = {
        "MCP_DEV_KEY": "",
        "SVC_OIDC_ISSUER": issuer,
        "SVC_BASE_URL": ORIGIN,
        "ARTIFACT_SIGNING_KEY": SIGNING_KEY,
        "SVC_LOG_FORMAT": "json",
    }
    with serving(*books, **usual | settings) as server:
        yield server


@dataclass(frozen=True)
class RawRequest:
    """A request as bytes would have it: a call of a tool, with whatever headers."""

    url: str

    def post(self, token: str | None = None, content: bytes | str | None = None, **headers: str) -> httpx2.Response:
        """Send a call of list_scenarios, or other content."""
        sent = {
            **ACCEPTED,
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {token}"} if token else {}),
        }
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = content or call("list_scenarios")
        return httpx2.post(self.url, content=body, headers=sent, timeout=DEADLINE)


def call(tool: str, arguments: str = "{}") -> str:
    """Return the body of a call, its arguments as they stand."""
    return f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}'


def result(answer: httpx2.Response) -> Mapping[str, Any]:
    """Return what a tool answered."""
    assert answer.status_code == 200, answer.text
    found: Mapping[str, Any] = answer.json()["result"]["structuredContent"]
    return found
