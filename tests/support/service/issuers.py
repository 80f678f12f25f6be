"""An issuer of tokens: signs whatever a test wants, and publishes its keys over HTTP as well or badly as told."""

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt import PyJWS
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

RESOURCE = "https://reports.example.com/mcp"
DISCOVERY, KEYS = "/.well-known/openid-configuration", "/keys"
Json = dict[str, Any]


@dataclass(frozen=True)
class IssuerKey:
    """A key that signs: its name, its algorithm and what both halves are made of."""

    kid: str
    algorithm: str
    private: Any

    def published(self, **more: Any) -> Json:
        """Return its public half as a key set has it."""
        to_jwk = (RSAAlgorithm if self.algorithm == "RS256" else ECAlgorithm).to_jwk
        public = to_jwk(self.private.public_key(), as_dict=True)
        public.pop("key_ops", None)
        return {**public, "kid": self.kid, "alg": self.algorithm, "use": "sig", **more}


@cache
def rsa_key(kid: str, bits: int = 2048) -> IssuerKey:
    """Return an RSA key, the same one for a name."""
    return IssuerKey(kid, "RS256", rsa.generate_private_key(public_exponent=65537, key_size=bits))


@cache
def ec_key(kid: str) -> IssuerKey:
    """Return an EC key on P-256, the same one for a name."""
    return IssuerKey(kid, "ES256", ec.generate_private_key(ec.SECP256R1()))


def segment(content: object) -> str:
    """Return a segment of a token: bytes as they are, everything else as JSON."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class Issuer:
    """An issuer that runs: what it answers by path, how often it was asked, and whether it answers at all."""

    url: str
    keys: list[Json] = field(default_factory=list)
    metadata: Json = field(default_factory=dict)
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    open: threading.Event = field(default_factory=threading.Event)

    def claims(self, **more: Any) -> Json:
        """Return the claims of a token that opens everything; None takes one out."""
        now = int(time.time())
        usual = {
            "iss": self.url,
            "sub": "ann",
            "aud": RESOURCE,
            "exp": now + 300,
            "iat": now,
            "scope": "mcp:read",
            "groups": ["finance"],
        }
        return {name: value for name, value in (usual | more).items() if value is not None}

    def token(self, key: IssuerKey | None = None, header: Json | None = None, **claims: Any) -> str:
        """Return a token with some claims and members of the header of its own; None takes one out."""
        return self.signed(json.dumps(self.claims(**claims)).encode(), key, header)

    def signed(self, payload: bytes, key: IssuerKey | None = None, header: Json | None = None) -> str:
        """Return a token of a payload as it stands."""
        key = key or rsa_key("one")
        usual: Json = {"alg": key.algorithm, "typ": "at+jwt", "kid": key.kid} | (header or {})
        first = segment({name: value for name, value in usual.items() if value is not None})
        message = f"{first}.{segment(payload)}"
        algorithm = PyJWS().get_algorithm_by_name(key.algorithm)
        return f"{message}.{segment(algorithm.sign(message.encode(), key.private))}"

    def body(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Return what is answered at a path."""
        usual = {
            DISCOVERY: {"issuer": self.url, "jwks_uri": self.url + KEYS, **self.metadata},
            KEYS: {"keys": self.keys},
        }
        if path in self.answers:
            return self.answers[path]
        return (200, {}, json.dumps(usual[path]).encode()) if path in usual else (404, {}, b"{}")


@contextmanager
def issuing() -> Iterator[Issuer]:
    """Run an issuer with the RSA key `one` and the EC key `two` until the block ends."""

    class IssuerAnswers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
            issuer.open.wait()
            status, headers, body = issuer.body(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):  # whoever asked had enough of it
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), IssuerAnswers)
    server.daemon_threads = True
    issuer = Issuer(f"http://127.0.0.1:{server.server_port}")
    issuer.keys += [rsa_key("one").published(), ec_key("two").published()]
    issuer.open.set()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield issuer
    finally:
        issuer.open.set()
        server.shutdown()
        thread.join()
        server.server_close()
