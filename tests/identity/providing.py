"""A real identity provider in a process of its own, clients of it, and a person who logs in."""

import asyncio
import json
import os
import re
import signal
import ssl
import subprocess
from asyncio.subprocess import PIPE
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.support.service.issuers import IssuerKey
from tests.support.service.servers import DEADLINE, STARTING, free_port, wait_for

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
SECRET = "of the tests, of the tests alone"  # noqa: S105 - of a provider that lives as long as a test
BACK = "http://127.0.0.1:9/back"  # where logins lead back to; nobody has to listen there
BROWSING_SECONDS = 60.0
FORM = re.compile(r'action="([^"]+)"')
PROMPT = re.compile(r'name="prompt" value="(\w+)"')
PATHS = {"": "", "keycloak": "/realms/tieout", "okta": "/oauth2/default", "auth0": "/"}  # of issuers by preset
Json = dict[str, Any]


@dataclass
class IdentityProvider:
    """A provider that runs, or is away."""

    node: Path
    folder: Path
    resources: Sequence[str]
    lifetime: int = 300
    expired: int = 0
    shape: str = ""  # the preset whose documents and tokens it writes
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """Its issuer."""
        return f"http://127.0.0.1:{self.port}{PATHS[self.shape]}"

    @property
    def base(self) -> str:
        """Where its endpoints begin."""
        return self.url.rstrip("/")

    def start(self, *keys: IssuerKey) -> None:
        """Start it with some keys; the first one signs."""
        told = {
            "port": self.port,
            "keys": [private_jwk(key) for key in keys],
            "signs": keys[0].kid,
            "resources": list(self.resources),
            "lifetime": self.lifetime,
            "expired": self.expired,
            "shape": self.shape,
        }
        environment = {"PATH": os.environ["PATH"], "TIEOUT_PROVIDER": json.dumps(told)}
        with (self.folder / "provider.log").open("ab") as log:
            command = [self.node, HERE / "provider.js"]
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        wait_for(self.answers, STARTING)

    def answers(self) -> bool:
        """Tell whether it is there; fail with its log where it ended."""
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "provider.log").read_text()
        try:
            return httpx2.get(f"{self.base}/jwks", timeout=DEADLINE).status_code == 200
        except httpx2.TransportError:
            return False

    def stop(self) -> None:
        """Take it away."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(DEADLINE)
            self.process = None

    def hang(self) -> None:
        """Leave it listening and let it answer nothing."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def grant(self, **form: str) -> httpx2.Response:
        """Ask for a token."""
        return httpx2.post(f"{self.base}/token", data=form, timeout=DEADLINE)

    def service_token(self, client: str = "accountant", resource: str = "", scope: str = "mcp:read") -> str:
        """Return the token of a client in its own name."""
        named = {"resource": resource or self.resources[0], "scope": scope}
        answer = self.grant(grant_type="client_credentials", client_id=client, client_secret=SECRET, **named)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["access_token"])


@dataclass(frozen=True)
class LoggedIn:
    """What a person who logged in got, and what their client registered as."""

    client: str
    issued: Json

    def refresh(self, provider: IdentityProvider, resource: str) -> httpx2.Response:
        """Ask for another token of a resource."""
        form = {"client_id": self.client, "refresh_token": self.issued["refresh_token"], "resource": resource}
        return provider.grant(grant_type="refresh_token", **form)


def by_hand(provider: IdentityProvider) -> LoggedIn:
    """Register a client and log a person in, step by step as any client does it."""
    resource, verifier = provider.resources[0], token_urlsafe(48)
    told = {"redirect_uris": [BACK], "token_endpoint_auth_method": "none"}
    flows = {"grant_types": ["authorization_code", "refresh_token"]}
    client = (
        httpx2.post(f"{provider.url}/reg", json=told | flows, timeout=DEADLINE).raise_for_status().json()["client_id"]
    )
    asked = {
        "client_id": client,
        "response_type": "code",
        "redirect_uri": BACK,
        "scope": "openid mcp:read",
        "resource": resource,
        "code_challenge": urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    back = log_in(str(httpx2.URL(f"{provider.url}/auth", params=asked)))
    assert back["iss"] == provider.url
    form = {"client_id": client, "redirect_uri": BACK, "code": back["code"], "resource": resource}
    wrong = provider.grant(grant_type="authorization_code", **form, code_verifier="w" * 43)
    assert wrong.json()["error"] == "invalid_grant", "only who asked for the code has its proof key"
    issued = provider.grant(grant_type="authorization_code", **form, code_verifier=verifier)
    return LoggedIn(client, issued.raise_for_status().json())


@contextmanager
def providing(node: Path, folder: Path, *keys: IssuerKey, **more: Any) -> Iterator[IdentityProvider]:
    """Run a provider until the block ends."""
    provider = IdentityProvider(node, folder, **more)
    try:
        provider.start(*keys)
        yield provider
    finally:
        provider.stop()


def private_jwk(key: IssuerKey) -> Json:
    """Return both halves of a key as a provider keeps them."""
    to_jwk = (RSAAlgorithm if key.algorithm == "RS256" else ECAlgorithm).to_jwk
    kept = to_jwk(key.private, as_dict=True)
    kept.pop("key_ops", None)
    return {**kept, "kid": key.kid, "alg": key.algorithm, "use": "sig"}


def log_in(url: str, name: str = "ann") -> dict[str, str]:
    """Log in and agree as a person in a browser would, from the address that a client sent them to.

    Returns the parameters of the address that they are sent back to.
    """
    with httpx2.Client(timeout=DEADLINE) as browser:
        answer = browser.get(url)
        while not answer.headers.get("location", "").startswith(BACK):
            if answer.is_redirect:
                answer = browser.get(urljoin(str(answer.url), answer.headers["location"]))
                continue
            form, prompt = FORM.search(answer.text), PROMPT.search(answer.text)
            assert form, answer.text
            assert prompt, answer.text
            filled = {"prompt": prompt[1], "login": name, "password": "any"}
            answer = browser.post(urljoin(str(answer.url), form[1]), data=filled)
        return {key: values[0] for key, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}


class ClientStorage:
    """What a client keeps between its runs: its registration and its tokens."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None
        self.issued: list[OAuthToken] = []

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep tokens."""
        self.tokens = tokens
        self.issued.append(tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the registration."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the registration."""
        self.client = client_info


@dataclass
class Person:
    """Who sits before a client: logs in wherever it leads, and counts how often."""

    name: str = "ann"
    logins: int = 0
    _back: dict[str, str] = field(default_factory=dict)

    async def follow(self, url: str) -> None:
        """Log in at an address."""
        self.logins += 1
        self._back = log_in(url, self.name)

    async def come_back(self) -> AuthorizationCodeResult:
        """Return with what the provider said."""
        return AuthorizationCodeResult(code=self._back["code"], state=self._back["state"], iss=self._back.get("iss"))


@dataclass(kw_only=True)
class PersonAtABrowser(Person):
    """Who logs in in a browser."""

    node: str
    chromium: str

    async def follow(self, url: str) -> None:
        """Log in at an address."""
        self.logins += 1
        command = [self.node, str(HERE / "browser_login.mjs"), url, BACK, self.name]
        environment = {**os.environ, "CHROMIUM": self.chromium}
        process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, env=environment)
        told, complaint = await asyncio.wait_for(process.communicate(), BROWSING_SECONDS)
        assert process.returncode == 0, complaint.decode()
        query = parse_qs(urlsplit(told.decode().strip()).query)
        self._back = {key: values[0] for key, values in query.items()}


def oauth(url: str, kept: ClientStorage, person: Person) -> OAuthClientProvider:
    """Return the SDK's OAuth flow for a server."""
    return OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(
            client_name="A client of the tests",
            redirect_uris=[AnyUrl(BACK)],
            grant_types=["authorization_code", "refresh_token"],
            token_endpoint_auth_method="none",  # noqa: S106 - a public client
        ),
        storage=kept,
        redirect_handler=person.follow,
        callback_handler=person.come_back,
    )


def http(trust: ssl.SSLContext, auth: OAuthClientProvider) -> httpx2.AsyncClient:
    """Return an HTTP client that logs in as a flow says."""
    return httpx2.AsyncClient(auth=auth, verify=trust, timeout=DEADLINE)
