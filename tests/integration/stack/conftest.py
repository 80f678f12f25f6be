"""The stack as the compose binary reads it, with an .env that was filled in; and a server of small books."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.books.loads import ROOT, load_instance
from tests.support.books.small import write_instance
from tests.support.service.servers import Server, serving

COMPOSE = Path(sys.executable).with_name("docker-compose")
EXAMPLE = ROOT / "deploy" / ".env.example"
DIGEST = "sha256:" + "5" * 64


def variables() -> dict[str, str]:
    """Return the variables of the example with the values it gives, most of them empty."""
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def compose(environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the compose binary on compose.yaml with no variables but these."""
    command: list[str | Path] = [COMPOSE, "--env-file", os.devnull, "--file", ROOT / "compose.yaml", *arguments]
    clean = {"PATH": os.environ["PATH"], "HOME": os.devnull, **environment}
    return subprocess.run(command, env=clean, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def filled() -> dict[str, str]:
    """Every variable of the example, filled in; each value tells whose it is."""
    values = {name: value or f"value-of-{name}" for name, value in variables().items()}
    folders = {"SVC_INSTANCE_DIR": "/srv/books", "TLS_CERTIFICATE": "/srv/tls.pem", "TLS_CERTIFICATE_KEY": "/srv/key"}
    return values | folders | {"SVC_BASE_URL": "https://reports.example.com"}


@pytest.fixture(scope="session")
def stack(filled: dict[str, str]) -> dict[str, Any]:
    """The whole model, as `docker compose config` prints it."""
    read = compose(filled, "--profile", "backup", "config", "--format", "json")
    assert read.returncode == 0, read.stderr
    model: dict[str, Any] = json.loads(read.stdout)
    return model


@pytest.fixture(scope="session")
def services(stack: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The services of the stack."""
    found: dict[str, dict[str, Any]] = stack["services"]
    return found


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A single-user server of a ledger with one statement."""
    folder = tmp_path_factory.mktemp("stack")
    instance = write_instance(
        folder / "small",
        facts={"gl": "date scenario region amount\n2021-01-05 actual EU 10.50\n2021-01-06 budget EU 9.00"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {region: region}
            measures: {amount: {places: 2}}
            metrics: {revenue: {measure: amount}}
            """
        },
        dimensions="region: {kind: leaf}",
        statements={"pnl": "  - {metric: revenue}\n"},
        profiles="everyone: {operations: true, scenarios: {'*': {}}}\nassign: [{subject: dev, profile: everyone}]\n",
    )
    load_instance(instance, folder / "state")
    with serving(instance, folder / "state") as server:
        yield server
