"""A stack that is installed as docs/operations/install.md says: its folder, its settings, the commands of the page."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.integration.stack.conftest import COMPOSE
from tests.integration.stack.containers.engine import SOCKET
from tests.integration.stack.containers.images import STANDINS
from tests.support.books.loads import ROOT
from tests.support.service.hosts import Authority
from tests.support.service.servers import DEADLINE, McpBooks, connected

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tieout" / "stack"
HOST = "reports.example.com"
ORIGIN = f"https://{HOST}"
OPERATORS = "http://127.0.0.1:8769"
TOKENS = f"{ORIGIN}/realms/tieout/protocol/openid-connect/token"
PAGE = (ROOT / "docs" / "operations" / "install.md").read_text(encoding="utf-8")
SERVICES = ("database", "cache", "identity", "server", "daemon", "proxy")
RELEASE = str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
CLIENTS = json.loads((STANDINS / "keycloak" / "clients.json").read_text(encoding="utf-8"))["clients"]
CERTIFICATE = "-----BEGIN CERTIFICATE-----"
PROXY_USER, SERVICE_USER = 101, 10001


def joined_lines(text: str) -> str:
    """Return a text with its continued lines joined and its white space as single spaces."""
    return " ".join(re.sub(r"\\\n", " ", text).split())


def on_the_page(command: str) -> str:
    """Return a command, which the install page must have word for word."""
    assert joined_lines(command) in joined_lines(PAGE), f"the page has no {command}"
    return command


@dataclass(frozen=True)
class Ran:
    """What a command printed, and its exit status."""

    status: int
    out: str
    errors: str

    @property
    def told(self) -> str:
        """All that it printed."""
        return self.out + self.errors


@dataclass(frozen=True)
class InstalledStack:
    """The folder of a stack, and what is asked of its containers."""

    work: Path
    authority: Authority

    @property
    def tls(self) -> Path:
        """The folder of certificates."""
        return self.work / "tls"

    @property
    def folder(self) -> Path:
        """The checkout that compose.yaml is read from."""
        return self.work / "stack"

    @property
    def skipped(self) -> Path:
        """The file of the tests that `make test` skips in a container."""
        return self.work / "skipped" / "tests.txt"

    @property
    def instance(self) -> Path:
        """The folder of the instance."""
        return self.work / "instance"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of an operator's commands."""
        engine = {"DOCKER_HOST": f"unix://{self.work / SOCKET}", "DOCKER_CONFIG": str(self.work / "client")}
        debian = f"{os.defpath}:{os.environ['PATH']}"  # whose docker builds with the engine, without a plugin
        return {"PATH": debian, "HOME": str(self.work), "COMPOSE_PROGRESS": "plain", **engine}

    def lay_out_client(self) -> None:
        """Give Docker's command the compose of the development dependencies."""
        plugins = self.work / "client" / "cli-plugins"
        plugins.mkdir(parents=True)
        (plugins / "docker-compose").symlink_to(COMPOSE)

    def docker(self, *words: str, check: bool = True, stdin: Any = subprocess.DEVNULL) -> str:
        """Run Docker's command and return what it prints."""
        done = subprocess.run(
            ["env", "docker", *words], env=self.environment, stdin=stdin, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or not check, (words, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout.strip()

    def shell(self, command: str, *, check: bool = True, **environment: str) -> Ran:
        """Run a line of an operator's shell in the folder of the stack."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or not check, (command, done.stdout[-3000:], done.stderr[-3000:])
        return Ran(done.returncode, done.stdout, done.stderr)

    def page(
        self, command: str, replaced: Mapping[str, str] | None = None, *, check: bool = True, **environment: str
    ) -> Ran:
        """Run a command of the install page, after its placeholders are filled in."""
        filled = on_the_page(command)
        for placeholder, value in (replaced or {}).items():
            assert placeholder in filled, placeholder
            filled = filled.replace(placeholder, value)
        return self.shell(filled, check=check, **environment)

    def fill_in(self, **values: str) -> None:
        """Write settings into .env, over those of the same names."""
        path = self.folder / ".env"
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.split("=")[0] not in values]
        path.write_text("\n".join([*lines, *(f"{name}={value}" for name, value in values.items())]) + "\n")

    def setting(self, name: str) -> str:
        """Return a setting of .env."""
        lines = (self.folder / ".env").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)[name]

    def containers(self, service: str) -> list[str]:
        """Return the containers of a service."""
        return self.shell(f"docker compose ps --quiet {service}").out.split()

    def state(self, container: str) -> dict[str, Any]:
        """Return what the engine tells of a container."""
        found: list[dict[str, Any]] = json.loads(self.docker("inspect", container))
        return found[0]

    def ready(self, operators: str = OPERATORS) -> dict[str, Any]:
        """Return what /readyz tells the operators."""
        told: dict[str, Any] = httpx2.get(f"{operators}/readyz", timeout=DEADLINE).json()
        return told

    def clear(self) -> None:
        """Remove every container, volume and network of the engine, which serves these tests alone."""
        for listed, removes in (("ps --all", "rm --force --volumes"), ("volume ls", "volume rm")):
            if found := self.docker(*listed.split(), "--quiet").split():
                self.docker(*removes.split(), *found)
        for what in ("network", "image"):
            self.docker(what, "prune", "--force")


def token(client: str) -> str:
    """Return a token that a client asks for in its own name."""
    form = {"grant_type": "client_credentials", "client_id": client, "client_secret": CLIENTS[client]["secret"]}
    answer = httpx2.post(TOKENS, data={**form, "scope": "basic mcp:read"}, timeout=DEADLINE)
    assert answer.status_code == httpx2.codes.OK, answer.text
    return str(answer.json()["access_token"])


@contextmanager
def calling(client: str = "accountant") -> Iterator[McpBooks]:
    """Connect a client over TLS until the block ends."""
    with connected(f"{ORIGIN}/mcp", "auto", token(client)) as books:
        yield books


def write_certificate(stack: InstalledStack, chain: Path, key: Path) -> None:
    """Write a new certificate of the host and its key."""
    stack.authority.shows(HOST)
    secret, begin, certificate = (stack.tls / f"{HOST}.pem").read_text(encoding="ascii").partition(CERTIFICATE)
    chain.write_text(begin + certificate, encoding="ascii")
    key.write_text(secret, encoding="ascii")


def check_out(stack: InstalledStack) -> None:
    """Check out the release as a user does whose files nobody else may read."""
    before = os.umask(0o077)
    try:
        subprocess.run(["git", "-c", "advice.detachedHead=false", "clone", "--quiet", ROOT, stack.folder], check=True)
    finally:
        os.umask(before)
    own = stack.folder / ".venv"  # whose packages are installed, as make reads it
    own.mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (own / name).symlink_to(ROOT / ".venv" / name)
    (own / "runtime.done").touch()


def copy_working_tree(stack: InstalledStack) -> None:
    """Bring what is not committed yet into the checkout."""
    asked = ("diff --name-only HEAD", "ls-files --others --exclude-standard")
    found = [
        subprocess.run(["git", "-C", ROOT, *words.split()], capture_output=True, text=True, check=True).stdout
        for words in asked
    ]
    for name in "".join(found).splitlines():
        if (ROOT / name).exists():
            (stack.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, stack.folder / name)
